"""The HTTP answers that are open to a client, as one wire of an `Endpoint`: which of them carries which message.

An answer to a request goes where the request came from, and so does what names it: its progress, by the token, and the
changes that it listens for. What names nothing goes to the request that was opened last, since a server asks and logs while
it works; changes of lists, and all where no request is open, go to the client's standing stream, or wait for it.

Clients without sessions share one wire, so their ids and tokens, which may be alike, are replaced on it (`mapped`).
"""
from __future__ import annotations

import asyncio
import itertools
from collections import deque

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.endpoint import CANCELLED
from byref.proxy.frontends.wrap.eras import LISTEN, SUBSCRIPTION_KEY
from byref.proxy.frontends.wrap.messages import Body, Id, Message

HELD = 1000  # messages that wait for a client to read them; then who sends has to wait
BACKLOG = 200  # messages that wait for a standing stream; of more the oldest are dropped
PROGRESS = "notifications/progress"
_STANDING = ("notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
             "notifications/resources/updated")


class Stream:
    """One open answer. number, token: as the client gave them; key: the request's id on the wire."""

    def __init__(self, number: Id, key: Id, token: Json, listens: bool) -> None:
        self.number, self.key, self.token, self.listens = number, key, token, listens
        self.done = False  # whether the answer itself has been put in
        self._queue: asyncio.Queue[Message] = asyncio.Queue(HELD)
        self._closed = False

    async def put(self, message: Message) -> None:
        if not self._closed:
            self.done = self.done or not message.method
            await self._queue.put(message)

    async def next(self, seconds: float) -> Message | None:
        """The next message; None where none comes in time."""
        if not self._queue.empty():
            return self._queue.get_nowait()
        try:
            return await asyncio.wait_for(self._queue.get(), seconds)
        except TimeoutError:
            return None

    def close(self) -> None:
        """Nobody reads any more; who waits to put something in does so no longer."""
        self._closed = True
        while not self._queue.empty():
            self._queue.get_nowait()


class Channel:
    """The wire. mapped: whether ids and tokens are replaced."""

    def __init__(self, mapped: bool) -> None:
        self._mapped = mapped
        self._incoming: asyncio.Queue[Message | None] = asyncio.Queue(HELD)
        self._streams: dict[str, Stream] = {}
        self._standing: Stream | None = None
        self._backlog: deque[Message] = deque(maxlen=BACKLOG)
        self._numbers = itertools.count(1)
        self._ended = False

    # the HTTP side ----------------------------------------------------------------------------------------

    @property
    def open(self) -> bool:
        """Whether an answer is open."""
        return bool(self._streams) or self._standing is not None

    async def ask(self, message: Message) -> Stream | None:
        """Takes in a request, for whose answer the stream is; None where one of this id is being answered."""
        number = message.id if message.id is not None else 0
        key: Id = f"{next(self._numbers)}:{number}" if self._mapped else number
        token = message.meta.get("progressToken")
        if str(key) in self._streams:
            return None
        self._streams[str(key)] = stream = Stream(number, key, token, message.method == LISTEN)
        body = message.body
        if self._mapped and token is not None:
            body = Body.of({**message.params, "_meta": {**message.meta, "progressToken": key}})
        await self.put(message if key == message.id else Message(key, message.method, body))
        return stream

    async def put(self, message: Message) -> None:
        """Takes in a notification, or an answer of the client's."""
        await self._incoming.put(message)

    async def leave(self, stream: Stream) -> None:
        """The client reads this answer no more. Where ids are mapped, that takes back a request without an answer."""
        stream.close()
        if stream is self._standing:
            self._standing = None
        elif self._streams.get(str(stream.key)) is stream:
            del self._streams[str(stream.key)]
            if self._mapped and not stream.done and not self._ended:
                await self.put(Message(None, CANCELLED, Body.of({"requestId": stream.key})))

    async def stand(self) -> Stream | None:
        """Opens the standing stream; None where it is open already."""
        if self._standing is not None:
            return None
        self._standing = stream = Stream(0, 0, None, True)
        while self._backlog:
            await stream.put(self._backlog.popleft())
        return stream

    # the wire ---------------------------------------------------------------------------------------------

    async def send(self, message: Message) -> None:
        """See `Wire.send`. What nobody waits for any more is dropped."""
        stream, shown = self._place(message)
        if stream is not None:
            await stream.put(shown)
        elif message.method and not self._mapped:
            self._backlog.append(message)

    def _place(self, message: Message) -> tuple[Stream | None, Message]:
        """Where a message goes, and as what."""
        if not message.method:
            found = self._streams.get(str(message.id))
            return found, message if found is None or not self._mapped else Message(found.number, "", message.body, message.failed)
        if message.method == PROGRESS:
            token = message.params.get("progressToken")
            for stream in self._streams.values():
                if self._mapped and token == stream.key:
                    return stream, Message(message.id, message.method, Body.of({**message.params, "progressToken": stream.token}))
                if not self._mapped and token == stream.token:
                    return stream, message
            return None if self._mapped else self._standing, message
        subscription = message.meta.get(SUBSCRIPTION_KEY)
        if subscription is not None:
            found = self._streams.get(str(subscription))
            if found is None or not self._mapped:
                return found, message
            meta = {**message.meta, SUBSCRIPTION_KEY: found.number}
            return found, Message(message.id, message.method, Body.of({**message.params, "_meta": meta}))
        if message.method in _STANDING and self._standing is not None:
            return self._standing, message
        last = next((stream for stream in reversed(self._streams.values()) if not stream.listens and not stream.done), None)
        return last or self._standing, message

    async def receive(self) -> Message | None:
        """See `Wire.receive`."""
        return None if self._ended else await self._incoming.get()

    async def why(self) -> str:
        """See `Wire.why`."""
        return "the session is closed" if self._ended else ""

    async def close(self) -> None:
        """See `Wire.close`."""
        self._ended = True
        for stream in [*self._streams.values(), *([self._standing] if self._standing else [])]:
            stream.close()
        while self._incoming.full():
            self._incoming.get_nowait()
        self._incoming.put_nowait(None)
