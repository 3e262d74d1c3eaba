"""Message lists of OpenAI: Chat Completions (`tool_calls`, role `tool`), or items of the Responses API, as one list or a line each."""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.recordings import anthropic, codex
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, count, filled, objects, text_of, word

SOURCE = "OpenAI"
_LISTS = ("messages", "input", "traj")


def _messages(row: dict[str, Json]) -> list[dict[str, Json]]:
    return next((found for found in (objects(row.get(name)) for name in _LISTS) if found), [row] if "role" in row else [])


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a list of messages, or a message, that is none of the Messages API."""
    if "sessionId" in row or anthropic.fits(row):
        return False
    return any("role" in message or word(message, "type").startswith("function_call") for message in _messages(row))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a list; messages that stand a line are one session."""
    loose: list[dict[str, Json]] = []
    for where, row in rows:
        if anthropic.fits(row):
            rows.tell(f"{where}: a list of the Messages API among those of another: give it in a file of its own")
        elif "role" in row:
            loose.append(row)
        else:
            yield from filled([_one(word(row, "id") or where, row)])
    if loose:
        yield from filled([_one(rows.path, {"messages": list(loose)})])


def _one(key: str, row: dict[str, Json]) -> Transcript:
    transcript = Transcript(key, SOURCE)
    transcript.model, transcript.system = word(row, "model"), len(word(row, "instructions"))
    for number, message in enumerate(_messages(row)):
        role = message.get("role")
        if role == "assistant":
            _answer(transcript, message, str(number))
        elif role in ("tool", "function"):
            transcript.result(word(message, "tool_call_id", "name"), text_of(message.get("content")))
        else:
            codex.item(transcript, message)
    return transcript


def _answer(transcript: Transcript, message: dict[str, Json], number: str) -> None:
    transcript.thought(word(message, "reasoning_content", "reasoning"))
    transcript.said(text_of(message.get("content")))
    for call in objects(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            transcript.called(word(call, "id"), word(function, "name"), arguments(function.get("arguments")))
    function = message.get("function_call")
    if isinstance(function, dict):
        transcript.called(word(function, "name"), word(function, "name"), arguments(function.get("arguments")))
    usage = message.get("usage")
    if isinstance(usage, dict):
        cached = count(usage, "prompt_tokens_details", "cached_tokens")
        transcript.billed(number, input=max(0, count(usage, "prompt_tokens") - cached), read=cached, written=0,
                          output=count(usage, "completion_tokens"))
