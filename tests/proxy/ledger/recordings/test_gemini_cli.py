"""Sessions of Gemini CLI: lines of one against a scripted model, and the document that versions before wrote."""
from __future__ import annotations

import json
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import read_file
from byref.proxy.ledger.trajectories import Trajectory, Usage

HEAD: dict[str, Json] = {"sessionId": "s1", "projectHash": "25d64e10", "startTime": "t", "lastUpdated": "t", "kind": "main"}
TOKENS: Json = {"input": 1000, "output": 30, "cached": 300, "thoughts": 5, "tool": 0, "total": 1035}


def answer(key: str, name: str, **given: Json) -> Json:
    return {"functionResponse": {"id": key, "name": name, "response": given}}


def call(key: str, name: str, status: str = "success", **given: Json) -> Json:
    return {"id": key, "name": name, "args": {"command": key}, "status": status, "result": [answer(key, name, **given)],
            "resultDisplay": "for the user", "renderOutputAsMarkdown": False}


def message(key: str, text: str, *calls: Json, kind: str = "gemini", **more: Json) -> dict[str, Json]:
    found: dict[str, Json] = {"id": key, "timestamp": "t", "type": kind, "content": text if kind == "gemini" else [{"text": text}], **more}
    return {**found, "thoughts": [], "tokens": TOKENS, "model": "gemini-2.5-pro", **({"toolCalls": list(calls)} if calls else {})} \
        if kind == "gemini" else found


FIRST = message("m1", "I look.", call("c1", "run_shell_command", output="1\n2"), call("c2", "read_file", "error", error="File not found"))
ROWS: list[Json] = [
    HEAD, {"$set": {"messages": [message("m0", "<session_context>\nLinux</session_context>", kind="user")]}},
    message("u1", "mend the parser", kind="user"), {"$set": {"lastUpdated": "t"}}, message("m1", "I look."), FIRST,
    {"id": "u2", "timestamp": "t", "type": "user", "content": [answer("c1", "run_shell_command", output="1\n2")]},
    message("i1", "Update available", kind="info"), {**message("m2", "parse_header it is"), "thoughts": [
        {"subject": "Header", "description": "it is there"}]}]


def read(path: Path, text: str) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    path.write_text(text)
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


def lines(rows: list[Json]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_session_is_read_as_the_model_saw_it(tmp_path: Path) -> None:
    document = {**HEAD, "messages": [row for row in ROWS if isinstance(row, dict) and "id" in row and row is not ROWS[4]]}
    for text in (lines(ROWS), json.dumps(document, indent=2)):
        (found,), told = read(tmp_path / "session", text)
        assert told == [] and (found.id, found.source, found.task, found.model) == ("s1", "Gemini CLI", "mend the parser", "gemini-2.5-pro")
        assert [(t.tool, t.arguments, t.output, t.is_error) for t in found.turns] == [
            ("run_shell_command", {"command": "c1"}, "1\n2", False), ("read_file", {"command": "c2"}, "File not found", True)]
        assert found.requests() == [1, 1] and found.turns[1].next_action == "parse_header it is"
        assert found.turns[1].next_thought == "Header\nit is there" and found.usage == Usage(2, 1400, 600, 0, 70)


def test_what_follows_a_rewind_is_another_context(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", lines([*ROWS, {"$rewindTo": "m2"}, message("m3", "Else.", call("c3", "glob", output="x"))]))
    assert told == [] and [(one.id, [turn.output for turn in one.turns]) for one in found] == [
        ("s1", ["1\n2", "File not found"]), ("s1#2", ["x"])]


def test_answers_of_other_forms_are_read_and_unknown_messages_told(tmp_path: Path) -> None:
    mixed: dict[str, Json] = {**message("m4", "On."), "toolCalls": [
        {"id": "c4", "name": "a", "args": {}, "result": [answer("c4", "a", matches=[1]), {"text": "and a picture"}]},
        {"id": "c5", "name": "b", "args": {}, "result": "plain"}, {"id": "c6", "name": "c", "args": {}, "result": None}]}
    (found,), told = read(tmp_path / "a.jsonl", lines([HEAD, mixed, {"id": "x", "type": "hologram"}, {"a": 1}]))
    assert [turn.output for turn in found.turns] == ['{"matches": [1]}\nand a picture', "plain"]
    assert told == [":4: an object that is no part of the file's format",
                    ":3: a message of the type 'hologram' is not known here, and not read"]


def test_what_it_prints_is_told_with_what_to_give_instead(tmp_path: Path) -> None:
    found, told = read(tmp_path / "a.jsonl", lines([
        {"type": "init", "timestamp": "t", "session_id": "s1", "model": "gemini-2.5-pro"},
        {"type": "message", "timestamp": "t", "role": "user", "content": "mend the parser"},
        {"type": "tool_result", "timestamp": "t", "tool_id": "c1", "status": "error", "output": "File not found."}]))
    assert found == [] and len(told) == 1 and told[0].endswith("give the session in ~/.gemini/tmp/*/chats")
