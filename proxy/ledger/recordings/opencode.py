"""OpenCode: its database `opencode.db`, or a session as `opencode export` writes it: messages of parts.

A tool's part holds the call and what came of it. A message of the user with a part `compaction` asks for a summary, whose answer begins a
new context. A sub-agent is a session of its own, and so is a fork; what a fork copied counts once.
"""
from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.ledger.reading import Row, Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, count, filled, objects, word

SOURCE = "OpenCode"
OFTEN_EMPTY = True  # files without an output are usual
_TABLES = {"session", "message", "part"}
_ENDED = ("completed", "error")
_QUIET = ("step-start", "step-finish", "file", "snapshot", "patch", "agent", "subtask", "retry")


def database(path: str) -> Iterator[Row] | None:
    """Its sessions, one an object as `opencode export` writes it; None where the tables are another's."""
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    try:
        tables = {str(name) for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables >= _TABLES:
            return _stored(path)
    except sqlite3.Error as fault:
        raise Invalid(f"{path}: {fault}") from None
    finally:
        connection.close()
    return None


def _stored(path: str) -> Iterator[Row]:
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    try:
        for key, in connection.execute("SELECT id FROM session ORDER BY time_created, id").fetchall():
            parts: dict[str, list[Json]] = {}
            for message, data in connection.execute("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (key,)):
                parts.setdefault(message, []).append(_read(data))
            messages: list[Json] = [{"info": _read(data), "parts": parts.get(name, [])} for name, data in connection.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (key,))]
            yield f"{path} session {key}", {"info": {"id": key}, "messages": messages}
    except sqlite3.Error as fault:
        raise Invalid(f"{path}: {fault}") from None
    finally:
        connection.close()


def _read(data: str) -> Json:
    try:
        found: Json = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return None
    return found


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a session."""
    messages = row.get("messages")
    if not isinstance(row.get("info"), dict) or not isinstance(messages, list):
        return False
    return not messages or any("parts" in message and "info" in message for message in objects(messages))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One an object; what follows a compaction is a context of its own."""
    for where, row in rows:
        if not fits(row):
            rows.foreign(where, row)
            continue
        info = row["info"]
        name = word(info, "id") if isinstance(info, dict) else where
        transcript, number = Transcript(name, SOURCE), 1
        for message in objects(row["messages"], partial(rows.odd, where)):
            held, parts = message.get("info"), objects(message.get("parts"), partial(rows.odd, where))
            if not isinstance(held, dict):
                rows.odd(where, "a message without `info` is not read")
            about = held if isinstance(held, dict) else {}
            if about.get("role") != "assistant" or _first(about, parts, rows):
                _message(transcript, about, parts, rows, where)
            if about.get("role") == "assistant" and (about.get("summary") is True or about.get("mode") == "compaction"):
                yield from filled([transcript])
                number += 1
                model, transcript = transcript.model, Transcript(f"{name}#{number}", SOURCE)
                transcript.model = model
                transcript.told("\n".join(filter(None, (word(part, "text") for part in parts))))
        yield from filled([transcript])


def _first(about: dict[str, Json], parts: list[dict[str, Json]], rows: Rows) -> bool:
    """Whether no session so far held this answer: a fork has all that came before it once more, under other ids, with the times it had."""
    if not isinstance(about.get("time"), dict):
        return True
    held = [[word(part, name) for name in ("type", "callID", "text")] for part in parts]
    return rows.first(json.dumps([about["time"], about.get("tokens"), held]))


def _message(transcript: Transcript, about: dict[str, Json], parts: list[dict[str, Json]], rows: Rows, where: str) -> None:
    """One message; each of its steps is a request of its own."""
    answer, step = about.get("role") == "assistant", 0
    transcript.model = transcript.model or (word(about, "modelID") if answer else "")
    billed = any(part.get("type") == "step-finish" and isinstance(part.get("tokens"), dict) for part in parts)
    for part in parts:
        kind, key = word(part, "type"), f"{word(about, 'id') or id(about)} {step}"
        if kind == "text":
            if answer:
                transcript.said(word(part, "text"), message=key)
            elif part.get("synthetic") is not True:
                transcript.told(word(part, "text"))
        elif kind == "reasoning":
            transcript.thought(word(part, "text"), message=key)
        elif kind == "tool":
            _tool(transcript, part, key, rows, where)
        elif kind == "step-finish" and billed:
            _billed(transcript, part.get("tokens"), key)
            step += 1
        elif kind not in (*_QUIET, "compaction"):
            rows.odd(where, f"a part of the type {kind or 'none'!r} is not known here, and not read")
    if answer and not billed:
        _billed(transcript, about.get("tokens"), word(about, "id"))


def _tool(transcript: Transcript, part: dict[str, Json], message: str, rows: Rows, where: str) -> None:
    state, key = part.get("state"), word(part, "callID")
    if not isinstance(state, dict):
        rows.odd(where, "a tool's part without a state is not read")
        return
    transcript.called(key, word(part, "tool"), state.get("input"), message=message)
    if state.get("status") in _ENDED:
        failed = state.get("status") == "error"
        transcript.result(key, word(state, "error" if failed else "output"), failed)


def _billed(transcript: Transcript, tokens: Json, message: str) -> None:
    """Input is what came from no cache; reasoning is counted beside the output."""
    if any(count(tokens, *name) for name in (("input",), ("output",), ("cache", "read"), ("cache", "write"))):
        transcript.billed(message, input=count(tokens, "input"), read=count(tokens, "cache", "read"),
                          written=count(tokens, "cache", "write"), output=count(tokens, "output") + count(tokens, "reasoning"))
