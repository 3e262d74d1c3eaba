"""LangChain: messages as `messages_to_dict`, `model_dump` or `dumpd` write them, a list or one a line, or the state that holds them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.message_lists import Lists, Loose, Messages
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, blocks, count, filled, objects, text_of, word

SOURCE = "LangChain"
_KINDS = {"human": "human", "ai": "ai", "system": "system", "tool": "tool", "function": "tool", "developer": "system", "chat": "human",
          "HumanMessage": "human", "AIMessage": "ai", "SystemMessage": "system", "ToolMessage": "tool", "FunctionMessage": "tool"}


def _plain(row: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """A message's kind and fields, however it was written; "" for what is none."""
    held, path = row.get("kwargs"), row.get("id")
    if isinstance(held, dict) and "lc" in row and isinstance(path, list):
        return _KINDS.get(str(path[-1:] and path[-1]).removesuffix("Chunk"), ""), held
    kind = _KINDS.get(word(row, "type").removesuffix("MessageChunk").lower(), "")
    data = row.get("data")
    if isinstance(data, dict) and "content" in data:
        return kind, data
    return (kind, row) if "content" in row and "role" not in row and "sessionId" not in row else ("", row)


def _messages(row: dict[str, Json], tell: Callable[[str], None] | None = None) -> Messages:
    values = row.get("values")
    held = values.get("messages") if isinstance(values, dict) and "messages" not in row else row.get("messages")
    return objects(held, tell)


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a message of LangChain, or holds some."""
    return any(_plain(one)[0] for one in [row, *_messages(row)])


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a list; messages that stand a line, or in a list of their own, are one session."""
    loose = Loose()
    lists = Lists(lambda where, row, messages: _one(where, messages,
                                                    lambda number, fault: rows.odd(f"{where} message {number + 1}", fault)))
    for where, row in rows:
        if _plain(row)[0]:
            loose.add(where, row)
        elif fits(row):
            yield from lists.add(where, row, _messages(row, partial(rows.odd, where)))
        else:
            rows.foreign(where, row)
    yield from lists.rest()
    if loose.messages:
        yield from filled([_one(rows.path, loose.messages, lambda number, fault: rows.odd(loose.places[number], fault))])


def _one(key: str, messages: Messages, tell: Callable[[int, str], None]) -> Transcript:
    transcript = Transcript(key, SOURCE)
    for number, message in enumerate(messages):
        kind, held = _plain(message)
        found = blocks(held.get("content"), partial(tell, number))
        text = text_of([one for one in found if "text" in one])
        if kind == "ai":
            transcript.thought("\n".join(word(one, "thinking", "reasoning") for one in found))
            transcript.said(text)
            for call in [*objects(held.get("tool_calls")), *objects(held.get("invalid_tool_calls"))]:
                transcript.called(word(call, "id"), word(call, "name"), call.get("args"))
            _billed(transcript, held, str(number))
        elif kind == "tool":
            transcript.result(word(held, "tool_call_id", "name"), text, held.get("status") == "error")
        elif kind == "human":
            transcript.told(text)
        elif kind == "system":
            transcript.system += len(text)
        else:
            tell(number, "a message that is not known here, and not read")
    return transcript


def _billed(transcript: Transcript, held: dict[str, Json], number: str) -> None:
    """Input counts what came from a cache and went into it, too."""
    usage, about = held.get("usage_metadata"), held.get("response_metadata")
    if isinstance(about, dict):
        transcript.model = transcript.model or word(about, "model_name", "model")
    if isinstance(usage, dict):
        read, written = count(usage, "input_token_details", "cache_read"), count(usage, "input_token_details", "cache_creation")
        transcript.billed(number, input=max(0, count(usage, "input_tokens") - read - written), read=read, written=written,
                          output=count(usage, "output_tokens"))
