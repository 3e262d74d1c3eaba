"""Calls of ours in answers of OpenAI Chat Completions: entries of `tool_calls` that the client never sees.

https://platform.openai.com/docs/api-reference/chat-streaming
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.answers import OFFERED, Answered, Asked, Hidden, anchor, ours, written
from byref.proxy.frontends.llm.chat import arguments
from byref.proxy.frontends.llm.reading import Edit, Node, literal
from byref.proxy.frontends.wrap.events import Event

Object = dict[str, Json]


def offer() -> str:
    """Our tools, as they stand in a request."""
    return ",".join(written({"type": "function", "function": {"name": name, "description": said, "parameters": schema}})
                    for name, said, schema in OFFERED)


class ChatTalk:
    """See `answers.Talk`."""

    def __init__(self) -> None:
        self.hidden: list[Hidden] = []
        self._text = ""
        self._visible: list[Object] = []
        self._id: Json = None
        self._usage: Object = {}
        self._begin()

    def _begin(self) -> None:
        self._said = ""
        self._calls: dict[int, Object] = {}
        self._places: dict[int, int] = {}
        self._finish: Json = None
        self._spent: Object = {}
        self._last: Mapping[str, Json] = {}

    # a stream

    def event(self, event: Event) -> bytes:
        """What the client gets of an event."""
        raw, text = bytes(event.raw), event.data
        if text.strip() == b"[DONE]":
            return b"" if self.goes_on() else raw
        try:
            said = json.loads(text) if text.startswith(b"{") else None
        except ValueError:
            said = None
        if not isinstance(said, dict):
            return raw
        changed = bool(self.hidden)  # what follows a round of ours goes on under its name
        self._id = self._id or said.get("id")
        if changed:
            said["id"] = self._id
        if isinstance(usage := said.get("usage"), dict):
            self._spent = usage
            if self._usage:
                said["usage"] = added(self._usage, usage)
        choices = said.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
        if choice is None:
            return b"" if self.goes_on() else event.saying(written(said).encode()) if changed else raw
        delta = choice.get("delta")
        if isinstance(delta, dict):
            before = len(delta)
            self._take(delta, changed)
            changed = changed or len(delta) != before or self._moved
            if before and not delta and not choice.get("finish_reason"):
                return b""
        self._finish = choice.get("finish_reason") or self._finish
        if choice.get("finish_reason") and self.goes_on():
            if not delta:
                return b""
            choice["finish_reason"], changed = None, True
        return event.saying(written(said).encode()) if changed else raw

    def _take(self, delta: Object, later: bool) -> None:
        """Takes in a delta, and out of it what is ours."""
        if isinstance(delta.get("content"), str):
            self._said += str(delta["content"])
            self._text += str(delta["content"])
        if later:
            delta.pop("role", None)
            if delta.get("content") == "":
                delta.pop("content")
        self._moved = False
        pieces = delta.get("tool_calls")
        if not isinstance(pieces, list):
            return
        left: list[Json] = []
        for piece in pieces:
            if not isinstance(piece, dict) or not isinstance(index := piece.get("index"), int):
                left.append(piece)
                continue
            self._call(index, piece)
            if index in self._places:
                self._moved = self._moved or self._places[index] != index
                left.append({**piece, "index": self._places[index]})
        if left:
            self._moved = self._moved or len(left) != len(pieces)
            delta["tool_calls"] = left
        else:
            del delta["tool_calls"]
            if delta.get("content", "") in (None, ""):
                delta.pop("content", None)

    def _call(self, index: int, piece: Mapping[str, Json]) -> None:
        about = piece.get("function")
        more = about if isinstance(about, dict) else {}
        if index not in self._calls:
            held: Object = {"id": piece.get("id"), "type": piece.get("type") or "function",
                            "function": {"name": more.get("name"), "arguments": more.get("arguments") or ""}}
            self._calls[index] = held
            if not ours(str(more.get("name"))):
                self._places[index] = len(self._visible)
                self._visible.append(held)
            return
        function = self._calls[index].get("function")
        if isinstance(function, dict):
            function["arguments"] = str(function.get("arguments") or "") + str(more.get("arguments") or "")

    # an answer as a whole

    def whole(self, message: Mapping[str, Json]) -> None:
        """Takes in an answer that is no stream."""
        self._id = self._id or message.get("id")
        self._last = message
        usage, choice = message.get("usage"), _choice(message)
        self._spent = dict(usage) if isinstance(usage, dict) else {}
        said = choice.get("message")
        said = said if isinstance(said, dict) else {}
        if isinstance(said.get("content"), str):
            self._said = str(said["content"])
            self._text += self._said
        calls = said.get("tool_calls")
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                self._call(index, call)
        self._finish = choice.get("finish_reason")

    def message(self) -> Json:
        """The answer as one message."""
        choice = dict(_choice(self._last))
        said = choice.get("message")
        about: Object = {**(said if isinstance(said, dict) else {}), "content": self._text or None}
        about.pop("tool_calls", None)
        if self._visible:
            about["tool_calls"] = list(self._visible)
        choices = self._last.get("choices")
        others = list(choices[1:]) if isinstance(choices, list) else []
        return {**self._last, "id": self._id, "choices": [{**choice, "message": about}, *others], "usage": added(self._usage, self._spent)}

    # rounds

    def ended(self) -> list[Asked]:
        """The calls of ours in this round."""
        if self._finish not in ("tool_calls", "stop"):
            return []
        found = []
        for index, call in sorted(self._calls.items()):
            function = call.get("function")
            if index not in self._places and isinstance(function, dict):
                found.append(Asked(str(call.get("id")), str(function.get("name")), arguments(function.get("arguments") or "{}")))
        return found

    def goes_on(self) -> bool:
        """Whether all calls of this round are ours."""
        return bool(self.ended()) and not self._places

    def follow(self, answers: Sequence[Answered]) -> str:
        """The messages that follow those of the last request."""
        calls: list[Json] = [call for index, call in sorted(self._calls.items()) if index not in self._places]
        results: list[Json] = [{"role": "tool", "tool_call_id": one.asked.call_id, "content": one.text} for one in answers]
        going = self.goes_on()
        self.hidden.append(Hidden(len(self._text), written(calls)[1:-1], written(results)[1:-1], not going))
        said: list[Json] = [{"role": "assistant", "content": self._said or None, "tool_calls": calls}, *results]
        if going:
            self._usage = added(self._usage, self._spent)
            self._begin()
        return "," + written(said)[1:-1]

    def anchor(self) -> str:
        """What tells this answer in a later request."""
        return anchor([("text", self._text), *(("call", str(call.get("id"))) for call in self._visible)])


def _choice(message: Mapping[str, Json]) -> Mapping[str, Json]:
    choices = message.get("choices")
    found = choices[0] if isinstance(choices, list) and choices else None
    return found if isinstance(found, dict) else {}


def added(one: Mapping[str, Json], other: Mapping[str, Json]) -> Object:
    """Two objects `usage` as one, those within them as well: numbers added, what stands in one alone stays."""
    found: Object = {**one, **other}
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        if isinstance(a, dict) and isinstance(b, dict):
            found[name] = added(a, b)
        elif isinstance(a, (int, float)) and isinstance(b, (int, float)):
            found[name] = a + b
    return found


def restored(text: str, request: Node, hidden: Mapping[str, Sequence[Hidden]]) -> list[Edit]:
    """The edits that put back what was hidden of earlier answers."""
    edits: list[Edit] = []
    for message in request.get("messages").elements if hidden else ():
        if message.text("role") != "assistant":
            continue
        content, calls = message.get("content"), message.get("tool_calls")
        listed = calls.value if isinstance(calls.value, list) else []
        said = content.text() if isinstance(content.value, str) else ""
        names = [str(call.get("id")) for call in listed if isinstance(call, dict)]
        done = 0
        for one in hidden.get(anchor([("text", said), *(("call", name) for name in names)]), ()):
            if one.together:
                edits.append(Edit(calls.end - 1, calls.end - 1, f",{one.calls}"))
                edits.append(Edit(message.end, message.end, f",{one.results}"))
            elif one.after < len(said) or listed:
                edits.append(Edit(message.start, message.start, '{"role":"assistant","content":'
                                  + (literal(said[done:one.after]) if one.after > done else "null")
                                  + f',"tool_calls":[{one.calls}]}},{one.results},'))
                done = one.after
        if done:
            edits.append(Edit(content.start, content.end, literal(said[done:]) if said[done:] else "null"))
    return edits


talk = ChatTalk
