"""One stream of changes over several servers, in the era that has `subscriptions/listen`: acknowledged once, for all of them."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.eras import ACKNOWLEDGED, SUBSCRIPTION_KEY
from byref.proxy.frontends.wrap.messages import Body, Id, Message


@dataclass(slots=True)
class _Stream:
    number: Id
    waits: set[str]
    honored: dict[str, Json] = field(default_factory=dict)


class Listening:
    """The streams that not all servers have acknowledged yet."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def open(self, number: Id, servers: Iterable[str]) -> None:
        """A client listens, by the request of this id, to these servers."""
        self._streams[str(number)] = _Stream(number, set(servers))

    def acknowledged(self, number: Json, server: str, honored: Json) -> Message | None:
        """A server has acknowledged, or, with nothing honored, refused; the client's own acknowledgement after the last of them."""
        stream = self._streams.get(str(number))
        if stream is None or server not in stream.waits:
            return None
        stream.waits.discard(server)
        for key, value in (honored if isinstance(honored, Mapping) else {}).items():
            known = stream.honored.get(key)
            stream.honored[key] = [*known, *value] if isinstance(known, list) and isinstance(value, list) else value
        if stream.waits:
            return None
        del self._streams[str(number)]
        return Message(None, ACKNOWLEDGED, Body.of({"notifications": stream.honored, "_meta": {SUBSCRIPTION_KEY: stream.number}}))

    def close(self, number: Id) -> None:
        """The client listens no more."""
        self._streams.pop(str(number), None)
