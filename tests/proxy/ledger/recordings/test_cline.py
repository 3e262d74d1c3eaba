"""Conversations of Cline and Roo Code with calls in the model's text."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file


def message(role: str, *texts: str) -> dict[str, Json]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


OWN = "<environment_details>\n# VSCode Visible Files\n</environment_details>"
LIST: list[dict[str, Json]] = [
    message("user", "<task>\nmend the parser\n</task>", OWN),
    message("assistant", "I look.\n<execute_command>\n<command>make | tail -5</command>\n</execute_command>"),
    message("user", "[execute_command for 'make | tail -5'] Result:", "Command executed.\nOutput:\nerror in parse_header", OWN),
    message("assistant", "<read_file>\n<path>a.py</path>\n</read_file>"),
    message("user", "[read_file for 'a.py'] Result:\ndef parse_header():", "more of it", "[list_files for 'src'] Result:", "b.py", OWN),
    message("assistant", "<attempt_completion>\n<result>parse_header it is</result>\n</attempt_completion>"),
    message("user", "[attempt_completion] Result:", "The user has provided feedback"), {"role": "user", "content": "[a note] of mine"}]


def test_results_in_the_text_are_outputs_of_calls(tmp_path: Path) -> None:
    (tmp_path / "api_conversation_history.json").write_text(json.dumps(LIST, indent=1))
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "api_conversation_history.json"), told.append)
    assert told == [] and (found.source, found.task) == ("Cline", "<task>\nmend the parser\n</task>")
    assert [(t.tool, t.arguments, t.output) for t in found.turns] == [
        ("execute_command", {"command": "make | tail -5"}, "Command executed.\nOutput:\nerror in parse_header"),
        ("read_file", {"path": "a.py"}, "def parse_header():\nmore of it"), ("list_files", {"path": "src"}, "b.py"),
        ("attempt_completion", {}, "The user has provided feedback")]
    assert found.turns[1].next_action.endswith("</attempt_completion>") and found.requests() == [1, 2, 2, 3]


def test_with_tools_of_the_api_it_is_read_as_such(tmp_path: Path) -> None:
    used = [{"role": "user", "content": "<task>mend</task>"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a.py"}}]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "[read_file for 'a.py'] Result:\nx"}]}]
    (tmp_path / "a.json").write_text(json.dumps(used))
    (found,) = read_file(str(tmp_path / "a.json"), print)
    assert found.source == "Messages API" and len(found.turns) == 1


def test_what_is_no_list_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": LIST}) + '\n{"a": 1}\n')
    told: list[str] = []
    assert len(list(read_file(str(tmp_path / "a.jsonl"), told.append))) == 1
    assert told == [f"{tmp_path / 'a.jsonl'}:2: an object that is no part of the file's format"]
