"""One server behind us: connected, watched, started again after it ended, and asked.

An attempt to start it follows its end at once, and the next ones after pauses that double. Meanwhile who asks it waits for
the attempt that runs, and gets its fault; who was waiting for an answer when it ended gets an error, since nobody can say
how far it had come.
"""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.endpoint import Endpoint, Handler, Wire
from byref.proxy.frontends.wrap.lines import Gone, Unsent
from byref.proxy.frontends.wrap.messages import GONE, Body, Id, Message, RpcError

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0  # seconds before an attempt that follows a failed one
STEADY = 10.0  # seconds of life after which an end is no failed start
PATIENCE = 10.0  # seconds that a request waits for a server that is being started
HELLO = 30.0  # seconds for a server that was started again to take up the conversation


class Server(Protocol):
    """How to reach a server."""

    @property
    def name(self) -> str:
        """What it is called in messages, and before its tools where there are several."""

    async def connect(self) -> Wire:
        """A new connection. Raises OSError, ValueError or `Gone`."""


class Owner(Protocol):
    """Who uses an upstream: it answers the server, and is told of its ends and returns."""

    def handler(self, upstream: Upstream) -> Handler:
        """What answers the server's own requests and notifications; asked for once a connection."""

    async def welcome(self, upstream: Upstream, live: Endpoint) -> None:
        """Takes up the conversation on a new connection, which counts only then. Raises `RpcError` or `Gone`."""

    async def lost(self, upstream: Upstream, why: str) -> None:
        """The server is gone; it is being started again."""

    async def returned(self, upstream: Upstream, why: str) -> None:
        """It is there again, after the end that why tells of."""


class Upstream:
    """A server, through all its lives. `run` keeps it alive until it is cancelled."""

    def __init__(self, server: Server, owner: Owner, complain: Callable[[str], None]) -> None:
        self.name = server.name
        self.why = "not started yet"  # why it cannot be asked now
        self.said: dict[str, Message] = {}  # what it was told that its next life has to know: one a key
        self._server, self._owner = server, owner
        self._say = complain
        self._live: Endpoint | None = None
        self._change = asyncio.Event()  # set, and replaced, whenever an attempt to start it has ended
        self._poke = asyncio.Event()
        self._renewing = False
        self._telling: asyncio.Future[None] | None = None
        self._count = 0

    def _complain(self, text: str) -> None:
        self._say(f"{self.name}: {text}")

    @property
    def up(self) -> bool:
        """Whether it can be asked now."""
        return self._live is not None and not self._live.gone

    async def run(self) -> None:
        """Connects and, after each end, connects again. Never returns; ends its server when it is cancelled."""
        pause, failed = FIRST_PAUSE, ""
        while True:
            started = asyncio.get_running_loop().time()
            self._poke.clear()
            lived, ended = await self._life(failed)
            if self._renewing:
                self._renewing, failed = False, ""
                continue
            if ended != failed:
                self._complain(f"{ended}; it is being started again")
            failed = self.why = ended
            if not lived:  # who waits for one that has lived waits for its next life
                self._announce()
            if asyncio.get_running_loop().time() - started > STEADY:
                pause = FIRST_PAUSE
            try:
                async with asyncio.timeout(pause):
                    await self._poke.wait()
            except TimeoutError:
                pass
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _life(self, before: str) -> tuple[bool, str]:
        """One connection from its start to its end: whether it could be asked, and why it ended. before: why the last one did."""
        try:
            wire = await self._server.connect()
        except (OSError, ValueError, Gone) as fault:
            return False, f"could not be started: {_words(fault)}"
        live = Endpoint(wire, self._owner.handler(self), self._complain)
        reading = asyncio.ensure_future(live.run())
        try:
            try:
                async with asyncio.timeout(HELLO):
                    await self._owner.welcome(self, live)
            except (RpcError, Gone, TimeoutError) as fault:
                return False, f"did not take up the conversation: {_words(fault)}"
            self._live = live
            self._announce()
            if before:
                self._complain(f"is there again after it {before}")
                self._tell(self._owner.returned(self, before))
            why = await reading
        finally:
            self._live = None
            reading.cancel()
            await wire.close()
        if not self._renewing:
            self._tell(self._owner.lost(self, why))
        return True, why

    def _tell(self, words: Awaitable[None]) -> None:
        self._telling = asyncio.ensure_future(words)  # held, or the loop would forget it

    def _announce(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    def own_id(self) -> str:
        """An id for a request of our own, that no client uses."""
        self._count += 1
        return f"byref-{self._count}"

    async def renew(self) -> None:
        """Ends the connection, and waits for the next one, of which nobody is told. Raises `RpcError` where none comes."""
        live = self._live
        if live is not None:
            self._renewing, self._live = True, None
            await live.wire.close()
        await self.endpoint()

    async def endpoint(self) -> Endpoint:
        """Its live connection. Raises `RpcError` where there is none and none comes."""
        if self._live is not None and not self._live.gone:
            return self._live
        self._poke.set()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._change.wait()
        except TimeoutError:
            pass
        if self._live is None:
            raise RpcError.made(GONE, f"{self.name} {self.why}")
        return self._live

    async def request(self, number: Id, method: str, params: Body | None) -> Body:
        """Its answer to a request. Raises `RpcError`, also where it is not there or ends before it has answered."""
        live = await self.endpoint()
        try:
            try:
                return await live.request(number, method, params)
            except Unsent as fault:  # it was gone already: its next life can be asked
                live.gone = live.gone or str(fault)
                return await (await self.endpoint()).request(number, method, params)
        except Gone as fault:
            raise RpcError.made(GONE, f"{self.name} {fault}, before it answered: how far it had come is not known. "
                                      "It is being started again, and has lost what it held in memory.") from None

    async def ask(self, method: str, params: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """Its answer to a request of our own. Raises `RpcError`."""
        return (await self.request(self.own_id(), method, None if params is None else Body.of(params))).object

    async def notify(self, message: Message) -> None:
        """Passes a notification on; who is not there does not get it."""
        if self._live is not None:
            try:
                await self._live.notify(message)
            except Gone:
                pass

    def asked(self, number: Json) -> bool:
        """Whether it is answering a request with this id."""
        return self._live is not None and self._live.asks(str(number))


def _words(fault: BaseException) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename}: {fault.strerror}" if fault.filename else fault.strerror
    return str(fault) or type(fault).__name__


