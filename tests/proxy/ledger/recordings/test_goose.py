"""Sessions of Goose: lines, an export, and what it prints as a stream."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file


def use(key: str, name: str, **given: Json) -> Json:
    return {"type": "toolRequest", "id": key, "toolCall": {"status": "success", "value": {"name": name, "arguments": given}}}


def result(key: str, value: Json) -> Json:
    return {"type": "toolResponse", "id": key, "toolResult": {"status": "success", "value": value}}


MESSAGES: list[dict[str, Json]] = [
    {"id": "m1", "role": "user", "created": 1, "content": [{"type": "text", "text": "mend the parser"}]},
    {"id": "m2", "role": "assistant", "created": 2, "content": [
        {"type": "thinking", "thinking": "where is it", "signature": ""}, {"type": "text", "text": "I look."},
        use("c1", "developer__shell", command="make"), use("c2", "developer__text_editor", path="a.py")]},
    {"id": "m3", "role": "user", "created": 3, "content": [
        result("c1", [{"type": "text", "text": "error in parse_header"}, {"type": "image", "data": ""}]),
        result("c2", {"content": [{"type": "text", "text": "no such file"}], "isError": True})]},
    {"id": "m4", "role": "user", "created": 3, "content": [
        {"type": "toolResponse", "id": "c3", "toolResult": {"status": "error", "error": "declined"}}]},
    {"id": "m5", "role": "assistant", "created": 4, "content": [{"type": "text", "text": "parse_header it is"}]}]


def lines(rows: list[Json]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("text", [
    lines([{"working_dir": "/x", "description": "d", "message_count": 5}, *MESSAGES]),
    json.dumps({"id": "20260101_1", "working_dir": "/x", "conversation": MESSAGES}, indent=1),
    lines([*({"type": "message", "message": one} for one in MESSAGES), {"type": "complete", "total_tokens": 10}])],
    ids=["lines", "an export", "a stream"])
def test_calls_have_their_results(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    told: list[str] = []
    (found,) = read_file(str(tmp_path / "a.jsonl"), told.append)
    assert told == [] and (found.source, found.task) == ("Goose", "mend the parser")
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in found.turns] == [
        ("developer__shell", {"command": "make"}, "error in parse_header", False),
        ("developer__text_editor", {"path": "a.py"}, "no such file", True), ("unknown", {}, "declined", True)]
    assert found.requests()[:2] == [1, 1] and found.turns[1].next_action == "parse_header it is" and "I look." in found.first_action


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines([*MESSAGES, {"role": "user", "content": [{"type": "hologram"}]}, {"a": 1}]))
    told: list[str] = []
    assert len(list(read_file(str(tmp_path / "a.jsonl"), told.append))) == 1
    assert [fault.replace(str(tmp_path / "a.jsonl"), "") for fault in told] == [
        ":6: a block of the type 'hologram' is not known here, and not read", ":7: an object that is no part of the file's format"]
