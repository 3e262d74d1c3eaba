"""Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`, a message a line, or in older versions one document, `.json`.

A message's line comes again as it grows; the last one counts. What follows a rewind is a context of its own.
"""
from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, blocks, count, filled, objects, text_of, word

SOURCE = "Gemini CLI"
_FAILED = ("error", "cancelled")
_QUIET = ("info", "error", "warning")  # what the program told the user
_OWN = "<session_context>"  # what the program wrote
_CHANGES = ("$set", "$rewindTo")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is the head of one, or one of its messages."""
    if "sessionId" in row and "projectHash" in row:
        return True
    return _printed(row) or any(name in row for name in _CHANGES) or (row.get("type") == "gemini" and "id" in row)


def _printed(row: dict[str, Json]) -> bool:
    """Whether it is a line of what `--output-format stream-json` prints."""
    return "timestamp" in row and (("tool_id" in row and row.get("type") in ("tool_use", "tool_result"))
                                   or (row.get("type") == "init" and "session_id" in row and "model" in row))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a file, and one for what follows each rewind."""
    name, number = rows.path, 1
    held: dict[str, tuple[str, dict[str, Json]]] = {}
    for where, row in rows:
        if "$rewindTo" in row:
            yield from filled([_one(name, number, held, rows)])
            held, number = {}, number + 1
        elif _printed(row):
            rows.tell(f"{where}: what it prints has results as people see them, and is not read: give the session in ~/.gemini/tmp/*/chats")
            return
        elif "type" in row and "id" in row:
            held[word(row, "id")] = where, row  # a key stays where it first stood
        elif fits(row):
            if "projectHash" in row and word(row, "sessionId") != name:
                yield from filled([_one(name, number, held, rows)])
                name, number, held = word(row, "sessionId") or where, 1, {}
            change = row.get("$set")
            for i, message in enumerate(objects((change if isinstance(change, dict) else row).get("messages"))):
                held[word(message, "id")] = f"{where} message {i + 1}", message
        else:
            rows.foreign(where, row)
    yield from filled([_one(name, number, held, rows)])


def _one(name: str, number: int, held: dict[str, tuple[str, dict[str, Json]]], rows: Rows) -> Transcript:
    transcript = Transcript(f"{name}#{number}" if number > 1 else name, SOURCE)
    for key, (where, message) in held.items():
        kind, text = word(message, "type"), text_of([*blocks(message.get("content"), partial(rows.odd, where))])
        if kind == "user":
            transcript.told("" if text.startswith(_OWN) else text)
        elif kind == "gemini":
            _answer(transcript, message, text, key)
        elif kind not in _QUIET:
            rows.odd(where, f"a message of the type {kind or 'none'!r} is not known here, and not read")
    return transcript


def _answer(transcript: Transcript, message: dict[str, Json], text: str, key: str) -> None:
    transcript.model = transcript.model or word(message, "model")
    for thought in objects(message.get("thoughts")):
        transcript.thought("\n".join(filter(None, (word(thought, "subject"), word(thought, "description")))), message=key)
    transcript.said(text, message=key)
    calls = objects(message.get("toolCalls"))
    for call in calls:
        transcript.called(word(call, "id"), word(call, "name"), call.get("args"), message=key)
    for call in calls:
        if call.get("result") is not None:
            transcript.result(word(call, "id"), _seen(call["result"]), call.get("status") in _FAILED)
    tokens = message.get("tokens")
    if isinstance(tokens, dict):
        read = count(tokens, "cached")
        transcript.billed(key, input=max(0, count(tokens, "input") - read), read=read, written=0,
                          output=count(tokens, "output") + count(tokens, "thoughts"))


def _seen(result: Json) -> str:
    """What the model was sent: text as it is, all else as JSON."""
    texts = [result] if isinstance(result, str) else []
    for part in objects(result):
        answer = part.get("functionResponse")
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            texts.append(word(response, "output", "error") or json.dumps(response, ensure_ascii=False))
        else:
            texts.append(word(part, "text"))
    return "\n".join(filter(None, texts))
