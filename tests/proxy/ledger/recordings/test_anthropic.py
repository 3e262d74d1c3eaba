"""Message lists of the Messages API, as a request's body, as the list alone, or a message a line."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.recordings import anthropic

USE: Json = {"type": "tool_use", "id": "t1", "name": "read", "input": {"p": 1}}
RESULT: Json = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [{"type": "text", "text": "none"}]}
MESSAGES: list[Json] = [
    {"role": "user", "content": "mend the parser"},
    {"role": "assistant", "content": [{"type": "text", "text": "I look"}, USE]},
    {"role": "user", "content": [RESULT]},
    {"role": "assistant", "content": "nothing there"},
]


@pytest.mark.parametrize("text", [
    json.dumps({"model": "claude-x", "system": "be brief", "messages": MESSAGES}), json.dumps(MESSAGES), json.dumps(MESSAGES, indent=1),
    "\n".join(map(json.dumps, MESSAGES))])
def test_a_list_is_one_session(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.json"), told.append)
    assert (found.task, found.first_action, told) == ("mend the parser", 'I look\nread {"p": 1}', [])
    assert [(t.tool, t.output, t.is_error, t.next_action) for t in found.turns] == [("read", "none", True, "nothing there")]


def test_a_list_without_its_blocks_is_not_taken_for_one() -> None:
    assert not anthropic.fits({"messages": [{"role": "user", "content": "hi"}]})
