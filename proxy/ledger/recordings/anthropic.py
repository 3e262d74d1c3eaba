"""Message lists of the Messages API: `{"messages": [...]}` or the list itself, with `tool_use` and `tool_result` blocks.

Requests as they were sent, one a line, each with all before it, are one conversation. A list may hold whole answers of the API.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.message_lists import Lists, Loose, Messages
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, blocks, count, filled, objects, text_of, word

SOURCE = "Messages API"
_BLOCKS = ("tool_use", "tool_result")
# Blocks without an output that a client could show otherwise: the provider runs the tool, or they are no text.
_QUIET = ("text", "image", "document", "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload",
          "search_result", "compaction", "fallback")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a list with such blocks, or a message with one."""
    if "sessionId" in row:
        return False
    return any(block.get("type") in _BLOCKS for message in _messages(row) for block in objects(message.get("content")))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a list; messages that stand a line are one session."""
    loose = Loose()
    lists = Lists(lambda where, row, messages: _one(word(row, "id") or where, row, messages,
                                                     lambda number, fault: rows.odd(f"{where} message {number + 1}", fault)))
    for where, row in rows:
        if "messages" in row and not isinstance(row["messages"], list):
            rows.tell(f"{where}: `messages` is to be an array")
        elif "messages" in row:
            if len(_messages(row)) < len(objects(row["messages"], partial(rows.odd, where))):
                rows.odd(where, "a message without a role is not read")
            yield from lists.add(where, row, _messages(row))
        elif "role" in row:
            loose.add(where, row)
        else:
            rows.foreign(where, row)
    yield from lists.rest()
    if loose.messages:
        yield from filled([_one(rows.path, {}, loose.messages, lambda number, fault: rows.odd(loose.places[number], fault))])


def _messages(row: dict[str, Json]) -> Messages:
    return [one for one in objects(row.get("messages")) if "role" in one] if "messages" in row else [row] if "role" in row else []


def _one(key: str, row: dict[str, Json], messages: Messages, tell: Callable[[int, str], None]) -> Transcript:
    transcript = Transcript(key, SOURCE)
    transcript.model, transcript.system = word(row, "model"), len(text_of(row.get("system")))
    for number, message in enumerate(messages):
        name, role = word(message, "id") or str(number), message.get("role")
        if role not in ("user", "assistant", "system"):
            tell(number, f"a message of the role {role!r} is not known here, and not read")
            continue
        for block in blocks(message.get("content"), partial(tell, number)):
            _block(transcript, block, name, str(role), partial(tell, number))
        transcript.model = transcript.model or word(message, "model")
        usage = message.get("usage")
        if isinstance(usage, dict):
            transcript.billed(name, input=count(usage, "input_tokens"), read=count(usage, "cache_read_input_tokens"),
                              written=count(usage, "cache_creation_input_tokens"), output=count(usage, "output_tokens"))
    return transcript


def _block(transcript: Transcript, block: dict[str, Json], name: str, role: str, tell: Callable[[str], None]) -> None:
    kind = word(block, "type")
    if kind == "tool_use":
        transcript.called(word(block, "id"), word(block, "name"), block.get("input"), message=name)
    elif kind == "tool_result":
        transcript.result(word(block, "tool_use_id"), text_of(blocks(block.get("content"), tell)), block.get("is_error") is True)
    elif kind == "thinking":
        transcript.thought(word(block, "thinking"), message=name)
    elif kind not in _QUIET and not kind.endswith("_tool_result"):
        tell(f"a block of the type {kind or 'none'!r} is not known here, and not read")
    elif role == "assistant":
        transcript.said(word(block, "text"), message=name)
    elif role == "user":
        transcript.told(word(block, "text"))
    else:
        transcript.system += len(word(block, "text"))
