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
    held: list[Message] = field(default_factory=list)


class Listening:
    """The streams that not all servers have acknowledged yet."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def open(self, number: Id, servers: Iterable[str]) -> None:
        """A client listens, by the request of this id, to these servers."""
        self._streams[str(number)] = _Stream(number, set(servers))

    def acknowledged(self, number: Json, server: str, honored: Json) -> list[Message]:
        """A server has acknowledged, or, with nothing honored, refused.

        After the last of them: the client's own acknowledgement, which has to come first, and what was held for it.
        """
        stream = self._streams.get(str(number))
        if stream is None or server not in stream.waits:
            return []
        stream.waits.discard(server)
        for key, value in (honored if isinstance(honored, Mapping) else {}).items():
            known = stream.honored.get(key)
            stream.honored[key] = [*known, *value] if isinstance(known, list) and isinstance(value, list) else value
        if stream.waits:
            return []
        del self._streams[str(number)]
        meta: dict[str, Json] = {SUBSCRIPTION_KEY: stream.number}
        return [Message(None, ACKNOWLEDGED, Body.of({"notifications": stream.honored, "_meta": meta})), *stream.held]

    def hold(self, message: Message) -> bool:
        """Whether a notification of a stream has to wait until all have acknowledged; then it is held."""
        stream = self._streams.get(str(message.meta.get(SUBSCRIPTION_KEY)))
        if stream is not None:
            stream.held.append(message)
        return stream is not None

    def close(self, number: Id) -> None:
        """The client listens no more."""
        self._streams.pop(str(number), None)
