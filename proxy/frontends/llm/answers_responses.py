"""Calls of ours in answers of OpenAI Responses: items `function_call` that the client never sees.

https://platform.openai.com/docs/api-reference/responses-streaming. Only where the client sends its conversation whole each time and has
nothing stored by the provider (`"store": false`, as Codex): else the provider's own record holds calls that the client cannot answer.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.answers import OFFERED, Answered, Asked, Hidden, anchor, ours, written
from byref.proxy.frontends.llm.answers_chat import added
from byref.proxy.frontends.llm.chat import arguments
from byref.proxy.frontends.llm.reading import Edit, Node
from byref.proxy.frontends.llm.responses import of_the_model
from byref.proxy.frontends.wrap.events import Event

Object = dict[str, Json]
# Items whose results a client brings.
_CLIENTS = frozenset(("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call",
                      "mcp_approval_request"))
_LAST = ("response.completed", "response.incomplete", "response.failed")


def offer() -> str:
    """Our tools, as they stand in a request."""
    return ",".join(written({"type": "function", "name": name, "description": said, "parameters": schema, "strict": False})
                    for name, said, schema in OFFERED)


class ResponsesTalk:
    """See `answers.Talk`."""

    def __init__(self) -> None:
        self.hidden: list[Hidden] = []
        self._visible: list[Object] = []
        self._usage: Object = {}
        self._number = 0  # of the next event
        self._id: Json = None  # clients hold an answer to the one under which it began
        self._begin()

    def _begin(self) -> None:
        self._items: dict[int, Object] = {}
        self._places: dict[int, int] = {}
        self._whole: Object = {}

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
        kind, index, before = said.get("type"), said.get("output_index"), written(said)
        if kind in ("response.created", "response.queued", "response.in_progress"):
            if self.hidden:
                return b""
            created = said.get("response")
            self._id = created.get("id") if isinstance(created, dict) else None
        elif isinstance(index, int):
            item = said.get("item")
            if isinstance(item, dict):
                self._item(index, item)
            if index not in self._places:
                return b""
            said["output_index"] = self._places[index]
        elif kind in _LAST and isinstance(whole := said.get("response"), dict):
            self._whole = whole
            if self.goes_on():
                return b""
            said["response"] = self.message()
        if isinstance(said.get("sequence_number"), int):
            said["sequence_number"] = self._number
            self._number += 1
        return raw if written(said) == before else event.saying(written(said).encode())

    def _item(self, index: int, item: Object) -> None:
        known = index in self._items
        self._items[index] = item
        if item.get("type") == "function_call" and ours(str(item.get("name"))):
            return
        if known:
            self._visible[self._places[index]] = item
        else:
            self._places[index] = len(self._visible)
            self._visible.append(item)

    # an answer as a whole

    def whole(self, message: Mapping[str, Json]) -> None:
        """Takes in an answer that is no stream."""
        self._whole = dict(message)
        self._id = self._id or message.get("id")
        output = message.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._item(index, item)

    def message(self) -> Json:
        """The answer as one message."""
        usage = self._spent()
        found: Object = {**self._whole, "id": self._id or self._whole.get("id"), "output": list(self._visible)}
        return {**found, "usage": added(self._usage, usage)} if usage or self._usage else found

    def _spent(self) -> Object:
        usage = self._whole.get("usage")
        return dict(usage) if isinstance(usage, dict) else {}

    # rounds

    def ended(self) -> list[Asked]:
        """The calls of ours in this round."""
        if self._whole.get("status", "completed") != "completed" or not self._whole:
            return []
        return [Asked(str(item.get("call_id")), str(item.get("name")), arguments(item.get("arguments") or "{}"))
                for index, item in sorted(self._items.items()) if index not in self._places]

    def goes_on(self) -> bool:
        """Whether all calls of this round are ours."""
        return bool(self.ended()) and not any(self._items[index].get("type") in _CLIENTS for index in self._places)

    def follow(self, answers: Sequence[Answered]) -> str:
        """The items that follow those of the last request."""
        calls: list[Json] = [item for index, item in sorted(self._items.items()) if index not in self._places]
        results: list[Json] = [{"type": "function_call_output", "call_id": one.asked.call_id, "output": one.text} for one in answers]
        going = self.goes_on()
        self.hidden.append(Hidden(len(self._visible), written(calls)[1:-1], written(results)[1:-1], not going))
        said: list[Json] = [*(item for _, item in sorted(self._items.items())), *results]
        if going:
            self._usage = added(self._usage, self._spent())
            self._begin()
        return "," + written(said)[1:-1]

    def anchor(self) -> str:
        """What tells this answer in a later request."""
        return anchor([_piece(item) for item in self._visible])


def _piece(item: Mapping[str, Json]) -> tuple[str, str]:
    content = item.get("content")
    texts = [str(part.get("text")) for part in content if isinstance(part, dict)] if isinstance(content, list) else [str(content or "")]
    kind = str(item.get("type") or "message")
    return kind, str(item.get("call_id") or ("\n".join(texts) if kind == "message" else ""))


def restored(text: str, request: Node, hidden: Mapping[str, Sequence[Hidden]]) -> list[Edit]:
    """The edits that put back what was hidden of earlier answers: each answer is a run of items with none of the client's within."""
    edits: list[Edit] = []
    run: list[Node] = []
    for item in [*request.get("input").elements, Node()] if hidden else ():
        if of_the_model(item):
            run.append(item)
            continue
        pieces = [_piece(json.loads(text[one.start:one.end])) for one in run]
        for one in hidden.get(anchor(pieces), ()) if run else ():
            put = one.calls if one.together else f"{one.calls},{one.results}"
            if one.after < len(run) and not one.together:
                edits.append(Edit(run[one.after].start, run[one.after].start, f"{put},"))
            else:
                edits.append(Edit(run[-1].end, run[-1].end, f",{put}"))
            if one.together:
                edits.append(Edit(run[-1].end, run[-1].end, f",{one.results}"))
        run = []
    return edits


talk = ResponsesTalk
