"""Message lists of the Messages API, as a request's body, as the list alone, or a message a line."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.recordings import anthropic
from byref.proxy.ledger.trajectories import Trajectory, Usage

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


def read(path: Path, *rows: Json) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


def test_whole_answers_and_results_of_blocks_are_read(tmp_path: Path) -> None:
    """The answer as `model_dump` of anthropic 2.14 writes it."""
    answer: Json = {
        "id": "msg_1", "container": None, "content": [
            {"citations": None, "text": "I look.", "type": "text"},
            {"id": "c1", "caller": None, "input": {"a": 1}, "name": "add", "type": "tool_use", "toolset_name": None},
            {"id": "c2", "caller": None, "input": {"a": 3}, "name": "add", "type": "tool_use", "toolset_name": None}],
        "model": "claude-sonnet-5", "role": "assistant", "stop_reason": "tool_use", "type": "message", "usage": {
            "cache_creation": None, "cache_creation_input_tokens": None, "cache_read_input_tokens": 100, "input_tokens": 10,
            "output_tokens": 5}}
    results: Json = {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c2", "is_error": True, "content": "no"},
        {"type": "tool_result", "tool_use_id": "c1", "cache_control": {"type": "ephemeral"}, "content": [
            {"type": "text", "text": "one"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}},
            {"type": "text", "text": "two"}]}, {"type": "text", "text": "and then"}]}
    (found,), told = read(tmp_path / "a.json", [{"role": "user", "content": "go"}, answer, results])
    assert told == [] and found.model == "claude-sonnet-5" and found.usage == Usage(1, 10, 100, 0, 5)
    assert [(t.arguments, t.output, t.is_error) for t in found.turns] == [({"a": 3}, "no", True), ({"a": 1}, "one\ntwo", False)]


def test_requests_that_each_hold_all_before_them_are_one_session_though_the_cache_mark_wanders(tmp_path: Path) -> None:
    first: Json = {"role": "user", "content": [{"type": "text", "text": "mend the parser", "cache_control": {"type": "ephemeral"}}]}
    (found,), told = read(tmp_path / "a.jsonl", {"messages": [first]}, {"messages": MESSAGES[:3]}, {"messages": MESSAGES})
    assert told == [] and len(found.turns) == 1


def test_what_is_not_known_in_a_list_is_told_where_it_stands(tmp_path: Path) -> None:
    odd: list[Json] = [{"role": "user", "content": [{"type": "hologram"}, 7]}, {"role": "critic", "content": "x"}]
    (found,), told = read(tmp_path / "a.jsonl", {"messages": [*MESSAGES, *odd]}, {"messages": 5},
                          {"type": "session_meta", "payload": {"id": "x"}})
    assert len(found.turns) == 1
    assert told == [
        ":2: `messages` is to be an array", ":3: a line of codex in a file of another format is not read: give it a file of its own",
        ":1 message 5: content holds a number among its blocks",
        ":1 message 5: a block of the type 'hologram' is not known here, and not read",
        ":1 message 6: a message of the role 'critic' is not known here, and not read"]
