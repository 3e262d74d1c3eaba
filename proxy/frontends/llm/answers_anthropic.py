"""Calls of ours in answers of Anthropic Messages: blocks `tool_use` that the client never sees.

https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.answers import OFFERED, Answered, Asked, Hidden, anchor, ours, written
from byref.proxy.frontends.llm.reading import Edit, Node
from byref.proxy.frontends.wrap.events import Event

_APPENDED = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}  # of a delta: what it adds to
_SUMMED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def offer() -> str:
    """Our tools, as they stand in a request."""
    return ",".join(written({"name": name, "description": said, "input_schema": schema}) for name, said, schema in OFFERED)


class AnthropicTalk:
    """See `answers.Talk`."""

    def __init__(self) -> None:
        self.hidden: list[Hidden] = []
        self._visible: list[dict[str, Json]] = []
        self._first: Mapping[str, Json] = {}
        self._usage: dict[str, int] = {}
        self._begin()

    def _begin(self) -> None:
        self._blocks: dict[int, dict[str, Json]] = {}
        self._places: dict[int, int] = {}
        self._partial: dict[int, str] = {}
        self._spent: dict[str, int] = {}
        self._stop: Json = None
        self._last: Mapping[str, Json] = {}
        self._until: list[int] = []  # of each block of ours, how many visible ones came before it

    # a stream

    def event(self, event: Event) -> bytes:
        """What the client gets of an event."""
        raw, text = bytes(event.raw), event.data
        try:
            said = json.loads(text) if text.startswith(b"{") else None
        except ValueError:
            said = None
        if not isinstance(said, dict):
            return raw
        kind, index = said.get("type"), said.get("index")
        if kind == "message_start":
            return self._started(raw, said)
        if kind == "content_block_start" and isinstance(index, int) and isinstance(said.get("content_block"), dict):
            self._block(index, said["content_block"])
            return self._moved(event, raw, said, index)
        if kind in ("content_block_delta", "content_block_stop") and isinstance(index, int):
            delta = said.get("delta")
            if isinstance(delta, dict):
                self._add(index, delta)
            return self._moved(event, raw, said, index)
        if kind == "message_delta":
            return self._stopped(event, raw, said)
        return b"" if kind == "message_stop" and self.goes_on() else raw

    def _started(self, raw: bytes, said: Mapping[str, Json]) -> bytes:
        message = said.get("message")
        self._count(message.get("usage") if isinstance(message, dict) else None)
        first = not self._first
        self._first = self._first or said
        return raw if first else b""

    def _moved(self, event: Event, raw: bytes, said: dict[str, Json], index: int) -> bytes:
        place = self._places.get(index)
        if place is None:
            return b""
        return raw if place == index else event.saying(written({**said, "index": place}).encode())

    def _stopped(self, event: Event, raw: bytes, said: dict[str, Json]) -> bytes:
        delta = said.get("delta")
        self._stop = delta.get("stop_reason") if isinstance(delta, dict) else None
        self._count(said.get("usage"))
        if self.goes_on():
            return b""
        if not self._usage:
            return raw
        usage = said.get("usage")
        return event.saying(written({**said, "usage": {**(usage if isinstance(usage, dict) else {}), **self._total()}}).encode())

    def _block(self, index: int, block: Mapping[str, Json]) -> None:
        held = self._blocks[index] = dict(block)
        if held.get("type") == "tool_use" and ours(str(held.get("name"))):
            self._until.append(len(self._visible))
            return
        self._places[index] = len(self._visible)
        self._visible.append(held)

    def _add(self, index: int, delta: Mapping[str, Json]) -> None:
        block, kind = self._blocks.get(index), str(delta.get("type"))
        if block is None:
            return
        if kind == "input_json_delta":
            self._partial[index] = self._partial.get(index, "") + str(delta.get("partial_json") or "")
            try:
                block["input"] = json.loads(self._partial[index])
            except ValueError:  # not whole yet
                pass
        elif kind in _APPENDED:
            name = _APPENDED[kind]
            block[name] = str(block.get(name) or "") + str(delta.get(name) or "")
        elif kind == "citations_delta":
            cited = block.get("citations")
            block["citations"] = [*(cited if isinstance(cited, list) else []), delta.get("citation")]

    def _count(self, usage: Json) -> None:
        for name in _SUMMED:
            value = usage.get(name) if isinstance(usage, dict) else None
            if isinstance(value, int):
                self._spent[name] = value

    def _total(self) -> dict[str, int]:
        return {name: self._usage.get(name, 0) + self._spent.get(name, 0) for name in _SUMMED if name in self._usage or name in self._spent}

    # an answer as a whole

    def whole(self, message: Mapping[str, Json]) -> None:
        """Takes in an answer that is no stream."""
        self._first = self._first or message
        self._last = message
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                self._block(index, block)
        self._stop = message.get("stop_reason")
        self._count(message.get("usage"))

    def message(self) -> Json:
        """The answer as one message."""
        usage = self._last.get("usage")
        return {**self._last, "id": self._first.get("id"), "content": list(self._visible),
                "usage": {**(usage if isinstance(usage, dict) else {}), **self._total()}}

    # rounds

    def ended(self) -> list[Asked]:
        """The calls of ours in this round."""
        if self._stop != "tool_use":
            return []
        return [Asked(str(block.get("id")), str(block.get("name")), block.get("input"))
                for i, block in sorted(self._blocks.items()) if i not in self._places]

    def goes_on(self) -> bool:
        """Whether all calls of this round are ours."""
        return bool(self.ended()) and not any(self._blocks[i].get("type") == "tool_use" for i in self._places)

    def follow(self, answers: Sequence[Answered]) -> str:
        """The messages that follow those of the last request."""
        calls: list[Json] = [block for i, block in sorted(self._blocks.items()) if i not in self._places]
        results: list[Json] = [{"type": "tool_result", "tool_use_id": one.asked.call_id, "content": one.text, "is_error": one.failed}
                               for one in answers]
        after = self._until[-1] if not self.goes_on() else len(self._visible)
        self.hidden.append(Hidden(after, written(calls)[1:-1], written(results)[1:-1], not self.goes_on()))
        content: list[Json] = [block for _, block in sorted(self._blocks.items())]
        said = [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        if self.goes_on():
            self._usage = self._total()
            self._begin()
        return "," + written(said)[1:-1]

    def anchor(self) -> str:
        """What tells this answer in a later request."""
        return anchor([_piece(str(block.get("type")), block.get("text"), block.get("id")) for block in self._visible])


def _piece(kind: str, text: Json, name: Json) -> tuple[str, str]:
    found = text if kind == "text" else name if kind == "tool_use" else ""
    return kind, found if isinstance(found, str) else ""


def restored(text: str, request: Node, hidden: Mapping[str, Sequence[Hidden]]) -> list[Edit]:
    """The edits that put back what was hidden of earlier answers."""
    edits: list[Edit] = []
    messages = request.get("messages").elements
    for i, message in enumerate(messages if hidden else ()):
        blocks = message.get("content").elements
        if message.text("role") != "assistant" or not blocks:
            continue
        pieces = [_piece(block.text("type"), block.get("text").value, block.get("id").value) for block in blocks]
        following = messages[i + 1].get("content").elements if i + 1 < len(messages) else ()
        done = 0
        for one in hidden.get(anchor(pieces), ()):
            if one.together and following:
                at = blocks[one.after - 1].end if one.after else blocks[0].start
                edits.append(Edit(at, at, f",{one.calls}" if one.after else f"{one.calls},"))
                edits.append(Edit(following[0].start, following[0].start, f"{one.results},"))
            elif one.after < len(blocks):  # what came before the calls is a message of its own, before this one
                before = text[blocks[done].start:blocks[one.after - 1].end] + "," if one.after > done else ""
                edits.append(Edit(message.start, message.start, f'{{"role":"assistant","content":[{before}{one.calls}]}},'
                                                                f'{{"role":"user","content":[{one.results}]}},'))
                edits.append(Edit(blocks[done].start, blocks[one.after].start, ""))
                done = one.after
    return edits


talk = AnthropicTalk
