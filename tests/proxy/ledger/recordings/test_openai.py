"""Message lists of OpenAI: Chat Completions and items of the Responses API."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Trajectory, Usage

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
    other = [*CHAT[:1], {"role": "user", "content": "mend the other parser"}, *CHAT[2:]]
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": CHAT}) + "\n" + json.dumps({"messages": other}) + "\n")
    found = list(read_file(str(tmp_path / "a.jsonl"), print))
    assert [one.usage for one in found] == [Usage(1, 40, 60, 0, 9)] * 2, "a list a line is a session each"


def read(path: Path, *rows: Json) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


# As `model_dump` of openai 3.57 writes an answer.
DUMPED: Json = {"content": "I look.", "refusal": None, "role": "assistant", "annotations": None, "audio": None, "function_call": None,
                "tool_calls": [{"id": key, "function": {"arguments": json.dumps({"a": key}), "name": "add"}, "type": "function"}
                               for key in ("c1", "c2")]}


def test_calls_made_at_once_have_their_results_by_their_ids(tmp_path: Path) -> None:
    results: list[Json] = [{"role": "tool", "tool_call_id": key, "content": [{"type": "text", "text": f"out {key}"}]}
                           for key in ("c2", "c1")]
    (found,), told = read(tmp_path / "a.json", [CHAT[1], DUMPED, *results])
    assert told == [] and [(t.arguments, t.output) for t in found.turns] == [({"a": "c2"}, "out c2"), ({"a": "c1"}, "out c1")]


def test_a_call_of_a_custom_tool_is_read(tmp_path: Path) -> None:
    call: Json = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "custom", "custom": {
        "name": "patch", "input": "*** Begin"}}]}
    (found,), told = read(tmp_path / "a.json", [call, {"role": "tool", "tool_call_id": "c1", "content": "done"}])
    assert told == [] and [(t.tool, t.arguments, t.output) for t in found.turns] == [("patch", "*** Begin", "done")]


def test_servers_that_number_each_answers_calls_anew_lose_none(tmp_path: Path) -> None:
    def call(command: str) -> Json:
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "call_0", "type": "function", "function": {
            "name": command, "arguments": "{}"}}]}
    answer: Json = {"role": "tool", "tool_call_id": "call_0", "content": "out"}
    (found,), _ = read(tmp_path / "a.json", [call("one"), answer, call("two"), answer])
    assert [turn.tool for turn in found.turns] == ["one", "two"]


def test_requests_that_each_hold_all_before_them_are_one_session(tmp_path: Path) -> None:
    def request(messages: list[Json]) -> Json:
        return {"model": "m", "messages": messages, "tools": []}
    marked: list[Json] = [{**message, "cache_control": {"type": "ephemeral"}} if isinstance(message, dict) else message for message in CHAT]
    other: list[Json] = [{"role": "user", "content": "of another agent"}, *CHAT[2:4]]
    found, told = read(tmp_path / "a.jsonl", request(CHAT[:2]), request(other[:1]), request(marked[:4]), request(other), request(CHAT))
    assert told == [] and [(one.task, len(one.turns)) for one in found] == [("of another agent", 1), ("mend the parser", 1)]


def test_answers_of_the_responses_api_among_the_items_are_read_with_their_usage(tmp_path: Path) -> None:
    answer: Json = {"id": "resp_1", "object": "response", "model": "gpt-6", "output": [ITEMS[1]], "usage": {
        "input_tokens": 110, "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": None}, "output_tokens": 5}}
    (found,), told = read(tmp_path / "a.json", [ITEMS[0], answer, ITEMS[2]])
    assert told == [] and found.usage == Usage(1, 10, 100, 0, 5) and found.model == "gpt-6" and len(found.turns) == 1


def test_what_is_not_known_in_a_list_is_told_where_it_stands(tmp_path: Path) -> None:
    odd: list[Json] = [{"role": "critic", "content": "x"}, {"type": "new_thing"}, {"role": "assistant", "tool_calls": [{"id": "c9"}]},
                       {"role": "assistant", "content": 5}, "text"]
    (found,), told = read(tmp_path / "a.jsonl", {"messages": [*CHAT, *odd]}, {"nothing": 1})
    assert len(found.turns) == 1
    assert told == [
        ":1: what stands among the messages and is none is not read", ":2: an object that is no part of the file's format",
        ":1 message 6: a message of the role 'critic' is not known here, and not read",
        ":1 message 7: an item of the type 'new_thing' is not known here, and not read",
        ":1 message 8: a call with neither `function` nor `custom` is not read",
        ":1 message 9: content is to be a text or an array, not a number"]
