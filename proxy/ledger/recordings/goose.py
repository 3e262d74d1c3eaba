"""Goose: a message a line, after a line about the session; or what `goose session export --format json` writes (`conversation`), or what
`--output-format stream-json` prints (`message` in each line).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, filled, objects, text_of, word

SOURCE = "Goose"
_CALLS = ("toolRequest", "toolResponse")
_QUIET = ("image", "redactedThinking", "systemNotification", "contextLengthExceeded", "summarizationRequested", "toolConfirmationRequest",
          "actionRequired", "frontendToolRequest", "conversationCompacted")


def _message(row: dict[str, Json]) -> dict[str, Json]:
    inner = row.get("message")
    return inner if isinstance(inner, dict) and row.get("type") == "message" else row


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a message with a call or a result, or holds some."""
    held = [*objects(row.get("conversation")), *objects(row.get("messages")), _message(row)]
    return any(block.get("type") in _CALLS for message in held for block in objects(message.get("content")))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a file, or one a document that holds its messages."""
    loose = Transcript(rows.path, SOURCE)
    for where, row in rows:
        message, inner = _message(row), row.get("conversation", row.get("messages"))
        if isinstance(inner, list):
            transcript = Transcript(word(row, "id") or where, SOURCE)
            for number, one in enumerate(objects(inner, partial(rows.odd, where))):
                _read(transcript, one, str(number), partial(rows.odd, f"{where} message {number + 1}"))
            yield from filled([transcript])
        elif "role" in message:
            _read(loose, message, word(message, "id") or where, partial(rows.odd, where))
        elif "working_dir" not in row and row.get("type") not in ("complete", "notification", "error", "model_change"):
            rows.foreign(where, row)
    yield from filled([loose])


def _read(transcript: Transcript, message: dict[str, Json], key: str, tell: Callable[[str], None]) -> None:
    answer = message.get("role") == "assistant"
    for block in objects(message.get("content")):
        kind, call = word(block, "type"), word(block, "id")
        if kind == "toolRequest":
            value = _value(block.get("toolCall"))
            held = value if isinstance(value, dict) else {}
            transcript.called(call, word(held, "name"), held.get("arguments"), message=key)
        elif kind == "toolResponse":
            result = block.get("toolResult")
            value = _value(result)
            failed = (isinstance(value, dict) and value.get("isError") is True) or (isinstance(result, dict) and "error" in result)
            transcript.result(call, text_of(value) or (word(result, "error") if isinstance(result, dict) else ""), failed)
        elif kind in ("thinking", "reasoning"):
            transcript.thought(word(block, "thinking", "text"), message=key)
        elif kind == "text" and answer:
            transcript.said(word(block, "text"), message=key)
        elif kind == "text":
            transcript.told(word(block, "text"))
        elif kind not in _QUIET:
            tell(f"a block of the type {kind or 'none'!r} is not known here, and not read")


def _value(held: Json) -> Json:
    return held.get("value") if isinstance(held, dict) else None
