"""GitHub Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`, an event a line, or what it prints as JSON lines.

What the model saw of a result is its `content`; `detailedContent` is for people. Usage is not in it, but for the tokens of each answer.
"""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, filled, objects, text_of, word

SOURCE = "Copilot CLI"
OFTEN_EMPTY = True  # sessions that were left at once
_EVENTS = ("session.", "user.", "assistant.", "tool.", "subagent.", "hook.", "system.", "skill.", "abort", "result", "pending_messages.")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is an event of one."""
    kind = row.get("type")
    return isinstance(kind, str) and kind.startswith(_EVENTS[:4]) and isinstance(row.get("data"), dict) and "id" in row


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a file; what follows a compaction is a context of its own."""
    transcript, number, name = Transcript(rows.path, SOURCE), 1, rows.path
    for where, row in rows:
        kind, held = word(row, "type"), row.get("data")
        data = held if isinstance(held, dict) else {}
        if not kind.startswith(_EVENTS):
            rows.foreign(where, row)
        elif kind == "session.start":
            transcript.id = name = word(data, "sessionId") or name
        elif kind == "session.compaction_complete":
            yield from filled([transcript])
            number, model = number + 1, transcript.model
            transcript = Transcript(f"{name}#{number}", SOURCE)
            transcript.model = model
        elif kind in ("session.tools_updated", "session.model_change"):
            transcript.model = transcript.model or word(data, "model", "newModel")
        elif kind == "user.message":
            transcript.told(text_of(data.get("content")))
        elif kind == "assistant.message":
            _answer(transcript, data)
        elif kind == "tool.execution_complete":
            _result(transcript, data)
    yield from filled([transcript])


def _answer(transcript: Transcript, data: dict[str, Json]) -> None:
    key = word(data, "messageId")
    transcript.model = transcript.model or word(data, "model")
    transcript.thought(word(data, "reasoningText"), message=key)
    transcript.said(text_of(data.get("content")), message=key)
    for call in objects(data.get("toolRequests")):
        transcript.called(word(call, "toolCallId"), word(call, "name"), arguments(call.get("arguments")), message=key)


def _result(transcript: Transcript, data: dict[str, Json]) -> None:
    result, error = data.get("result"), data.get("error")
    text = text_of(result.get("content")) if isinstance(result, dict) else text_of(result)
    failed = word(error, "message") if isinstance(error, dict) else text_of(error)
    transcript.result(word(data, "toolCallId"), text or failed, data.get("success") is False)
