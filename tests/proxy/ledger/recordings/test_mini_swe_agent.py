"""Trajectories of mini-swe-agent, as 2.4.6 writes them with each of its three kinds of models, and as its first version did."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Usage

INFO: Json = {"info": {"model_stats": {"api_calls": 2}, "config": {"model": {"model_name": "deepseek/deepseek-chat"}},
                       "mini_version": "2.4.6", "exit_status": "Submitted"}, "trajectory_format": "mini-swe-agent-1.1"}
COMMANDS = ["seq 1 2", "exit 3"]
SEEN = ["<returncode>0</returncode>\n<output>\n1\n2\n</output>", "<returncode>3</returncode>\n<output>\n</output>"]
BEFORE: list[Json] = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "mend the parser"}]
AFTER: list[Json] = [{"role": "exit", "content": "patch", "extra": {"exit_status": "Submitted", "submission": "patch"}}]
EXTRA: Json = {"actions": [{"command": command, "tool_call_id": f"c{i}"} for i, command in enumerate(COMMANDS)], "cost": 1.0,
               "response": {"usage": {"prompt_tokens": 110, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}}}}
TEXT: list[Json] = [
    {"role": "assistant", "tool_calls": None, "function_call": None,
     "content": "I go.\n\n```mswea_bash_command\nseq 1 2\n```\n\n```mswea_bash_command\nexit 3\n```", "extra": EXTRA},
    *({"role": "user", "content": text, "extra": {"raw_output": "", "returncode": 0}} for text in SEEN)]
CALLS: list[Json] = [
    {"role": "assistant", "content": "I go.", "extra": EXTRA, "tool_calls": [
        {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        for i, command in enumerate(COMMANDS)]},
    *({"role": "tool", "tool_call_id": f"c{i}", "content": text, "extra": {}} for i, text in enumerate(SEEN))]
ITEMS: list[Json] = [
    {"object": "response", "extra": EXTRA, "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I go."}]},
        *({"type": "function_call", "call_id": f"c{i}", "name": "bash", "arguments": json.dumps({"command": command})}
          for i, command in enumerate(COMMANDS))]},
    *({"type": "function_call_output", "call_id": f"c{i}", "output": text, "extra": {}} for i, text in enumerate(SEEN))]


@pytest.mark.parametrize("messages", [TEXT, CALLS, ITEMS], ids=["text", "calls", "items"])
def test_each_command_is_a_call(tmp_path: Path, messages: list[Json]) -> None:
    told: list[str] = []
    (tmp_path / "a.traj.json").write_text(json.dumps({**INFO, "messages": [*BEFORE, *messages, *AFTER]}, indent=2))  # type: ignore[dict-item]
    (found,) = read_file(str(tmp_path / "a.traj.json"), told.append)
    assert (found.source, found.model, found.task, found.system, told) == (
        "mini-swe-agent", "deepseek/deepseek-chat", "mend the parser", 8, [])
    assert [(t.tool, t.arguments, t.output) for t in found.turns] == [
        ("bash", {"command": command}, text) for command, text in zip(COMMANDS, SEEN, strict=True)]
    assert found.first_action.count("seq 1 2") == 1, "a command that stands in the text is no second one"
    assert found.usage == Usage(1, 10, 100, 0, 5)


def test_the_list_alone_is_read_and_what_answers_no_command_is_no_output(tmp_path: Path) -> None:
    messages: list[Json] = [*BEFORE, {"role": "assistant", "content": "I think."}, {"role": "user", "content": "no command"},
                            {"role": "assistant", "content": "```bash\nls\n```"}, {"role": "user", "content": SEEN[0]}]
    (tmp_path / "a.traj.json").write_text(json.dumps(messages, indent=2))
    (found,) = read_file(str(tmp_path / "a.traj.json"), print)
    assert (found.source, [turn.output for turn in found.turns]) == ("mini-swe-agent", SEEN[:1])
