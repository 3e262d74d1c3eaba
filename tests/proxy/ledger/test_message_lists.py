"""Lists of messages: a request that goes on with another is the same conversation, and memory does not grow with the file."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.message_lists import OPEN, Lists, Messages
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.transcript import Transcript


def made(where: str, row: dict[str, Json], messages: Messages) -> Transcript:
    transcript = Transcript(where, "s")
    for message in messages:
        transcript.result("", str(message["content"]))
    return transcript


def said(*words: str) -> Messages:
    return [{"role": "user", "content": text} for text in words]


def test_the_longest_of_lists_that_go_on_is_kept() -> None:
    lists = Lists(made)
    for number, words in enumerate((("a",), ("b",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c"), ("a", "x"))):
        assert list(lists.add(str(number), {}, said(*words))) == []
    assert [(one.id, [turn.output for turn in one.turns]) for one in lists.rest()] == [
        ("1", ["b"]), ("4", ["a", "b", "c"]), ("5", ["a", "x"])], "a branch is a list of its own; one sent again is not"
    assert list(lists.rest()) == []


def test_the_list_that_did_not_grow_for_longest_is_closed() -> None:
    lists = Lists(made)
    found = [one.id for number in range(OPEN + 3) for one in lists.add(str(number), {}, said(f"of {number}"))]
    assert found == ["0", "1", "2"]
    assert len(list(lists.rest())) == OPEN


def test_a_mark_of_a_cache_makes_no_other_list() -> None:
    lists = Lists(made)
    mark: Json = {"type": "ephemeral"}
    block: Json = {"type": "text", "text": "a", "cache_control": mark}
    marked: Messages = [*said("a", "b"), {"role": "user", "content": "c", "cache_control": mark}]
    for messages in ([{"role": "user", "content": [block]}], said("a", "b"), marked):
        assert list(lists.add("", {}, messages)) == []  # type: ignore[arg-type]
    assert len(list(lists.rest())) == 1


CHAT: list[Json] = [{"role": "user", "content": "look"}, {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "sh"}}]},
                    {"role": "tool", "tool_call_id": "c", "content": "out"}]
BLOCKS: list[Json] = [{"role": "user", "content": "look"},
                      {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "sh"}]},
                      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "out"}]}]
DUMPED: list[Json] = [{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": held} for name, held in (
    ("HumanMessage", {"content": "look"}), ("AIMessage", {"content": "", "tool_calls": [{"name": "sh", "args": {}, "id": "c"}]}),
    ("ToolMessage", {"content": "out", "tool_call_id": "c"}))]


@pytest.mark.parametrize(("row", "source"), [
    ({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "gpt-5", "messages": CHAT}}, "OpenAI"),
    ({"custom_id": "a", "body": {"model": "gpt-5", "input": CHAT}}, "OpenAI"),
    ({"id": "o", "traceId": "t", "type": "GENERATION", "input": {"messages": CHAT}, "output": {}}, "OpenAI"),
    ({"id": "o", "traceId": "t", "type": "GENERATION", "input": CHAT, "output": {}}, "OpenAI"),
    ({"call_type": "acompletion", "messages": CHAT, "response": {"choices": []}, "model": "gpt-5"}, "OpenAI"),
    ({"request": {"model": "claude-sonnet-4-5", "messages": BLOCKS}, "response": {}}, "Messages API"),
    ({"id": "r", "run_type": "llm", "inputs": {"messages": [DUMPED]}, "outputs": {}}, "LangChain")])
def test_a_request_that_is_logged_with_more_is_found(tmp_path: Path, row: Json, source: str) -> None:
    told: list[str] = []
    for text in (json.dumps(row) + "\n", json.dumps([row], indent=1)):
        (tmp_path / "a.jsonl").write_text(text)
        (found,) = read_file(str(tmp_path / "a.jsonl"), told.append)
        assert (found.source, found.task, [turn.output for turn in found.turns], told) == (source, "look", ["out"], [])
