"""Sessions of OpenCode, from its database and from an export, in the form of 1.18.33."""
from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import files, read_file
from byref.proxy.ledger.trajectories import Trajectory, Usage


def step(text: str, *tools: Json, input: int = 1000) -> list[Json]:
    tokens = {"total": input + 350, "input": input, "output": 30, "reasoning": 2, "cache": {"write": 20, "read": 300}}
    return [{"type": "step-start"}, {"type": "text", "text": text}, *tools, {"reason": "stop", "type": "step-finish", "tokens": tokens}]


def tool(key: str, status: str, **state: Json) -> Json:
    return {"type": "tool", "tool": "bash", "callID": key, "state": {"status": status, "input": {"command": key}, **state}}


def asked(text: str, **more: Json) -> Json:
    return {"info": {"role": "user", "agent": "build"}, "parts": [{"type": "text", "text": text, **more}]}


def answered(key: str, parts: list[Json], **more: Json) -> Json:
    return {"info": {"id": key, "role": "assistant", "modelID": "claude-sonnet-4-5", **more}, "parts": parts}


MESSAGES: list[Json] = [
    asked("mend the parser"),
    answered("m1", [*step("Now two.", tool("c1", "completed", output="out\n", metadata={"exit": 0}), tool("c2", "error", error="none")),
                    *step("And one.", tool("c3", "running"))]),
    {"info": {"role": "user"}, "parts": [{"type": "compaction", "auto": True}]},
    answered("m2", step("Half is done."), mode="compaction", summary=True),
    asked("go on", synthetic=True),
    answered("m3", step("Now.", tool("c4", "completed", output="fresh"))),
    answered("m4", [{"type": "text", "text": "All is done."}, {"type": "hologram"}], tokens={
        "input": 7, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}})]


def read(path: Path) -> tuple[list[Trajectory], list[str]]:
    told: list[str] = []
    return list(read_file(str(path), told.append)), [fault.replace(str(path), "") for fault in told]


def check(found: list[Trajectory]) -> None:
    before, after = found[:2]
    assert (before.source, before.model, before.task) == ("OpenCode", "claude-sonnet-4-5", "mend the parser")
    assert [(t.tool, t.arguments, t.output, t.is_error) for t in before.turns] == [
        ("bash", {"command": "c1"}, "out\n", False), ("bash", {"command": "c2"}, "none", True)], "what runs yet has no output"
    assert before.requests() == [1, 1] and before.turns[0].next_action.startswith("And one.")
    assert before.usage == Usage(3, 3000, 900, 60, 96)
    assert (after.id, after.task, [turn.output for turn in after.turns]) == ("ses_1#2", "Half is done.", ["fresh"])
    assert after.usage == Usage(2, 1007, 300, 20, 33)


def test_an_export_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"info": {"id": "ses_1"}, "messages": MESSAGES}, indent=2))
    found, told = read(tmp_path / "a.json")
    check(found)
    assert told == [": a part of the type 'hologram' is not known here, and not read"]


def test_the_database_is_read_session_by_session_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE session (id text PRIMARY KEY, parent_id text, time_created integer)")
        made.execute("CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text)")
        made.execute("CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text)")
        other = [asked("look"), answered("s", step("", tool("c9", "completed", output="x")))]
        for session, messages in (("ses_1", MESSAGES), ("ses_2", other)):
            made.execute("INSERT INTO session VALUES (?, NULL, 1)", (session,))
            for i, message in enumerate(messages):
                assert isinstance(message, dict) and isinstance(message["parts"], list)
                made.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"{session}{i}", session, i, json.dumps(message["info"])))
                made.executemany("INSERT INTO part VALUES (?, ?, ?, ?)", [
                    (f"{session}{i}{k:03}", f"{session}{i}", session, json.dumps(part)) for k, part in enumerate(message["parts"])])
        made.execute("INSERT INTO part VALUES ('z', 'ses_10', 'ses_1', '{half')")
    made.close()
    before = path.read_bytes()
    assert files([str(tmp_path)]) == [str(path)]
    found, told = read(path)
    check(found)
    assert [one.id for one in found] == ["ses_1", "ses_1#2", "ses_2"] and path.read_bytes() == before
    assert told == [" session ses_1: what stands among the messages and is none is not read",
                    " session ses_1: a part of the type 'hologram' is not known here, and not read"]


def test_what_a_fork_copied_counts_once(tmp_path: Path) -> None:
    def at(second: int, key: str, call: str) -> Json:
        return answered(key, step("Now.", tool(call, "completed", output=call)), time={"created": second, "completed": second + 1})
    new = at(3, "m9", "new")
    rows: list[Json] = [{"info": {"id": "ses_1"}, "messages": [asked("mend"), at(1, "m1", "one"), at(2, "m2", "two")]},
                        {"info": {"id": "ses_2"}, "messages": [asked("mend"), at(1, "m7", "one"), at(2, "m8", "two"), new]}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found, told = read(tmp_path / "a.jsonl")
    assert [(one.id, one.task, [turn.output for turn in one.turns]) for one in found] == [
        ("ses_1", "mend", ["one", "two"]), ("ses_2", "mend", ["new"])] and told == []
    assert [one.usage.requests for one in found if one.usage] == [2, 1]


def test_a_database_of_another_program_and_half_of_one_are_told(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as made:
        made.execute("CREATE TABLE a (b)")
    made.close()
    assert read(tmp_path / "other.db") == ([], [": a database of no format that is known here"])
    (tmp_path / "half.db").write_bytes((tmp_path / "other.db").read_bytes()[:700])
    found, (fault,) = read(tmp_path / "half.db")
    assert found == [] and "malformed" in fault
