"""Message lists of the Messages API: `{"messages": [...]}` or the list itself, with `tool_use` and `tool_result` blocks."""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, count, filled, objects, text_of, word

SOURCE = "Messages API"
_BLOCKS = ("tool_use", "tool_result")


def fits(row: dict[str, Json]) -> bool:
    """Whether it is a list with such blocks, or a message with one."""
    if "sessionId" in row:
        return False
    messages = objects(row.get("messages")) or ([row] if "role" in row else [])
    return any(block.get("type") in _BLOCKS for message in messages for block in objects(message.get("content")))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a list; messages that stand a line are one session."""
    loose: list[dict[str, Json]] = []
    for where, row in rows:
        if "messages" in row:
            yield from filled([_one(word(row, "id") or where, row)])
        elif "role" in row:
            loose.append(row)
    if loose:
        yield from filled([_one(rows.path, {"messages": list(loose)})])


def _one(key: str, row: dict[str, Json]) -> Transcript:
    transcript = Transcript(key, SOURCE)
    transcript.model, transcript.system = word(row, "model"), len(text_of(row.get("system")))
    for number, message in enumerate(objects(row.get("messages"))):
        content, name = message.get("content"), word(message, "id") or str(number)
        answer = message.get("role") == "assistant"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        for block in blocks:
            kind = block.get("type")
            if kind == "tool_use":
                transcript.called(word(block, "id"), word(block, "name"), block.get("input"), message=name)
            elif kind == "tool_result":
                transcript.result(word(block, "tool_use_id"), text_of(block.get("content")), block.get("is_error") is True)
            elif kind == "thinking":
                transcript.thought(word(block, "thinking"), message=name)
            elif answer:
                transcript.said(text_of(block), message=name)
            else:
                transcript.told(text_of(block))
        usage = message.get("usage")
        if isinstance(usage, dict):
            transcript.billed(name, input=count(usage, "input_tokens"), read=count(usage, "cache_read_input_tokens"),
                              written=count(usage, "cache_creation_input_tokens"), output=count(usage, "output_tokens"))
    return transcript
