"""Messages as `all_messages_json` of Pydantic AI 2.68 writes them."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Usage

MESSAGES: list[Json] = [
    {"parts": [{"content": "go", "timestamp": "2026-01-01T00:00:00Z", "part_kind": "user-prompt"}], "instructions": "be brief",
     "kind": "request"},
    {"parts": [{"content": "I look.", "part_kind": "text"}, {"content": "first the sum", "part_kind": "thinking"},
               {"tool_name": "add", "args": '{"a": 1}', "tool_call_id": "c1", "part_kind": "tool-call"},
               {"tool_name": "add", "args": {"a": "x"}, "tool_call_id": "c2", "part_kind": "tool-call"}],
     "usage": {"input_tokens": 110, "cache_read_tokens": 100, "cache_write_tokens": 0, "output_tokens": 5}, "model_name": "gpt-6",
     "kind": "response"},
    {"parts": [{"tool_name": "add", "content": {"sum": [1, 2]}, "tool_call_id": "c1", "part_kind": "tool-return", "outcome": "success"},
               {"tool_name": "add", "content": "a is no number", "tool_call_id": "c2", "part_kind": "retry-prompt"}], "kind": "request"},
    {"parts": [{"content": "done", "part_kind": "text"}, {"part_kind": "hologram"}], "kind": "response"}]


def test_messages_are_one_session_and_what_is_not_known_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([*MESSAGES, {"kind": "request", "parts": 5}]))
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.json"), told.append)
    assert (found.source, found.task, found.system, found.model) == ("Pydantic AI", "go", 8, "gpt-6")
    assert [(t.tool, t.arguments, t.output, t.is_error, t.next_action) for t in found.turns] == [
        ("add", {"a": 1}, '{"sum":[1,2]}', False, "done"), ("add", {"a": "x"}, "a is no number", True, "done")]
    assert found.usage == Usage(1, 10, 100, 0, 5)
    assert [fault.partition("a.json")[2] for fault in told] == [
        ":1[3]: a part of the kind 'hologram' is not known here, and not read", ":1[4]: an object that is no part of the file's format"]
