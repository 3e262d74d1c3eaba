"""Message lists of OpenAI: Chat Completions (`tool_calls`, role `tool`), or items of the Responses API, as one list or a line each.

Requests as they were sent, one a line, each with all before it, are one conversation. A list may hold whole answers of the Responses API.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.message_lists import Lists, Loose, Messages
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.recordings import anthropic, codex
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, arguments, blocks, count, filled, objects, text_of, word

SOURCE = "OpenAI"
_LISTS = ("messages", "input", "traj")


def _name(row: dict[str, Json]) -> str:
    return next((name for name in _LISTS if objects(row.get(name))), "")


def _messages(row: dict[str, Json]) -> Messages:
    return objects(row.get(_name(row))) or ([row] if _of_one(row) else [])


def _of_one(message: dict[str, Json]) -> bool:
    return "role" in message or word(message, "type") in codex.ITEMS or _response(message)


def _response(row: dict[str, Json]) -> bool:
    return row.get("object") == "response" and isinstance(row.get("output"), list)


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a list of messages, or a message, that is none of the Messages API."""
    if "sessionId" in row or anthropic.fits(row):
        return False
    return any(map(_of_one, _messages(row)))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a list; messages that stand a line are one session."""
    loose = Loose()
    lists = Lists(lambda where, row, messages: one(word(row, "id") or where, row, messages,
                                                     lambda number, fault: rows.odd(f"{where} message {number + 1}", fault)))
    for where, row in rows:
        if anthropic.fits(row):
            rows.foreign(where, row)
        elif name := _name(row):
            yield from lists.add(where, row, objects(row[name], partial(rows.odd, where)))
        elif _of_one(row):
            loose.add(where, row)
        elif any(name in row for name in _LISTS):
            rows.odd(where, "no messages in it")
        else:
            rows.foreign(where, row)
    yield from lists.rest()
    if loose.messages:
        yield from filled([one(rows.path, {}, loose.messages, lambda number, fault: rows.odd(loose.places[number], fault))])


def one(key: str, row: dict[str, Json], messages: Messages, tell: Callable[[int, str], None]) -> Transcript:
    """The transcript of one list. tell: takes what is not read of it, by the number of the message."""
    transcript = Transcript(key, SOURCE)
    transcript.model, transcript.system = word(row, "model"), len(word(row, "instructions"))
    for number, each in enumerate(messages):
        message(transcript, each, partial(tell, number))
        billed(transcript, each, str(number))
    return transcript


def message(transcript: Transcript, held: dict[str, Json], tell: Callable[[str], None]) -> None:
    """One message, or one item of the Responses API, or a whole answer of it."""
    role = held.get("role")
    if _response(held):
        for item in objects(held.get("output")):
            codex.item(transcript, item, tell)
    elif role == "assistant" and held.get("type") != "message":
        _answer(transcript, held, tell)
    elif role in ("tool", "function"):
        transcript.result(word(held, "tool_call_id", "name"), text_of(blocks(held.get("content"), tell)))
    else:
        codex.item(transcript, held, tell)


def _answer(transcript: Transcript, message: dict[str, Json], tell: Callable[[str], None]) -> None:
    transcript.thought(word(message, "reasoning_content", "reasoning"))
    transcript.said(text_of(blocks(message.get("content"), tell)) or word(message, "refusal"))
    calls = message.get("tool_calls")
    if not isinstance(calls, (list, type(None))):
        tell("`tool_calls` is to be an array")
    for call in objects(calls):
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, dict):
            transcript.called(word(call, "id"), word(function, "name"), arguments(function.get("arguments")))
        elif isinstance(custom, dict):
            transcript.called(word(call, "id"), word(custom, "name"), custom.get("input"))
        elif name := word(call, "function", "name"):  # as many programs keep it: Inspect, tau-bench, AgentDojo
            transcript.called(word(call, "id"), name, arguments(call.get("arguments", call.get("args"))))
        else:
            tell("a call with neither `function` nor `custom` is not read")
    function = message.get("function_call")
    if isinstance(function, dict):
        transcript.called(word(function, "name"), word(function, "name"), arguments(function.get("arguments")))


def billed(transcript: Transcript, answer: dict[str, Json], number: str) -> None:
    """Usage of an answer as Chat Completions or the Responses API say it. Cached tokens are part of the input."""
    usage = answer.get("usage")
    if isinstance(usage, dict):
        asked, said, details = ("prompt_tokens", "completion_tokens", "prompt_tokens_details") if "prompt_tokens" in usage \
            else ("input_tokens", "output_tokens", "input_tokens_details")
        read, written = count(usage, details, "cached_tokens"), count(usage, details, "cache_write_tokens")
        transcript.model = transcript.model or word(answer, "model")
        transcript.billed(number, input=max(0, count(usage, asked) - read - written), read=read, written=written,
                          output=count(usage, said))
