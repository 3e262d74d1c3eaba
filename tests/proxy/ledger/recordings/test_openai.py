"""Message lists of OpenAI: Chat Completions and items of the Responses API."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Usage

CHAT: list[Json] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "mend the parser"},
    {"role": "assistant", "content": None, "reasoning_content": "look", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": '{"command": "make"}'}}],
     "usage": {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}},
    {"role": "tool", "tool_call_id": "c1", "content": "error in parse_header"},
    {"role": "assistant", "content": "parse_header it is"},
]
ITEMS: list[Json] = [
    {"role": "user", "content": "mend the parser"},
    {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"command": "make"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "error in parse_header"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "parse_header it is"}]},
]


@pytest.mark.parametrize("text", [
    json.dumps({"model": "m", "messages": CHAT}), json.dumps(CHAT, indent=1), "\n".join(map(json.dumps, CHAT)),
    json.dumps({"model": "m", "input": ITEMS}), json.dumps(ITEMS)])
def test_a_list_is_one_session(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.json"), told.append)
    assert (found.source, found.task, told) == ("OpenAI", "mend the parser", [])
    assert [(t.tool, t.arguments, t.output, t.next_action) for t in found.turns] == [
        ("shell", {"command": "make"}, "error in parse_header", "parse_header it is")]


def test_cached_tokens_are_part_of_the_input_and_taken_off(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": CHAT}) + "\n" + json.dumps({"messages": CHAT}) + "\n")
    found = list(read_file(str(tmp_path / "a.jsonl"), print))
    assert [one.usage for one in found] == [Usage(1, 40, 60, 0, 9)] * 2, "a list a line is a session each"
