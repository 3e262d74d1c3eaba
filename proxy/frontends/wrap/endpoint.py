"""One side of a JSON-RPC conversation over a wire: requests and their answers, in both directions, and cancellation."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from byref.proxy.frontends.wrap.lines import Gone, Unsent
from byref.proxy.frontends.wrap.messages import INTERNAL_ERROR, Body, Id, Message, RpcError, parse

CANCELLED = "notifications/cancelled"
MOST = 10_000  # requests of the other side that are answered at once; who sends more gets errors
BUSY = -32000


class Wire(Protocol):
    """What carries messages: a pipe, a process, an HTTP session."""

    async def send(self, message: Message) -> None:
        """Sends a message; returns once there is room for another. Raises `Gone`."""

    async def receive(self) -> bytes | Message | None:
        """The next message, parsed or as JSON; None when no more can come."""

    async def why(self) -> str:
        """Why no more can come."""

    async def close(self) -> None:
        """Ends the connection in good order."""


class Handler(Protocol):
    """What answers the other side."""

    async def request(self, message: Message) -> Body:
        """The result of a request. Raises `RpcError`; cancelled, where the other side takes it back."""

    async def notification(self, message: Message) -> None:
        """Takes a notification. While it is awaited no later message is read, so that who floods has to wait."""

    def cancelled(self, message: Message) -> None:
        """A notification that takes back a request which is being answered; it is cancelled after this returns."""


class Endpoint:
    """Reads a wire until it ends, and answers."""

    def __init__(self, wire: Wire, handler: Handler, complain: Callable[[str], None], linger: float = 0.0) -> None:
        """linger: seconds for answers under way, once the other side says no more."""
        self.wire = wire
        self._linger = linger
        self.gone = ""  # why the other side is gone; empty while it is there
        self._handler, self._complain = handler, complain
        self._asked: dict[str, asyncio.Future[Body]] = {}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def request(self, number: Id, method: str, params: Body | None) -> Body:
        """Asks the other side, under an id that no other request of ours bears now. Raises `RpcError`, `Unsent` or `Gone`."""
        key = str(number)
        if self.gone:
            raise Unsent(self.gone)
        if key in self._asked:
            raise RpcError.made(INTERNAL_ERROR, f"the id {key[:64]} is in use")
        answer: asyncio.Future[Body] = asyncio.get_running_loop().create_future()
        self._asked[key] = answer
        try:
            await self.wire.send(Message(number, method, params))
            return await answer
        finally:
            del self._asked[key]

    def asks(self, number: str) -> bool:
        """Whether a request of ours with this id waits for its answer."""
        return number in self._asked

    async def notify(self, message: Message) -> None:
        """Sends a notification. Raises `Gone`."""
        await self.wire.send(message)

    async def run(self) -> str:
        """Reads until the wire ends; returns why it did. What was asked and not answered raises `Gone`."""
        try:
            while (line := await self.wire.receive()) is not None:
                try:
                    messages = [line] if isinstance(line, Message) else parse(line)
                except ValueError as fault:
                    self._complain(f"a line that is no message was left out: {fault}")
                    continue
                for message in messages:
                    await self._take(message)
            if self._linger and self._tasks:
                await asyncio.wait(self._tasks, timeout=self._linger)
            return await self.wire.why()
        finally:
            self.gone = await self.wire.why() or "closed the connection"
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(Gone(self.gone))
            for task in list(self._tasks):
                task.cancel()

    async def _take(self, message: Message) -> None:
        if not message.method:
            self._answered(message)
        elif message.id is not None:
            if len(self._answering) >= MOST:
                await self._reply(message.id, None, RpcError.made(BUSY, f"{MOST} requests are being answered; this one is one too many"))
            else:
                self._spawn(self._answer(message), str(message.id))
        elif message.method == CANCELLED:
            await self._cancel(message)
        else:
            await self._handler.notification(message)

    def _answered(self, message: Message) -> None:
        answer = self._asked.get(str(message.id))
        if answer is None or answer.done():
            return  # late, since taken back; or never asked
        body = message.body or Body.of({})
        if message.failed:
            answer.set_exception(RpcError(body))
        else:
            answer.set_result(body)

    async def _cancel(self, message: Message) -> None:
        task = self._answering.get(str(message.params.get("requestId")))
        if task is None:
            await self._handler.notification(message)
        else:
            self._handler.cancelled(message)
            task.cancel()

    def _spawn(self, work: Awaitable[None], key: str) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        self._answering[key] = task

        def over(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            if self._answering.get(key) is done:
                del self._answering[key]
            if not done.cancelled() and (fault := done.exception()) is not None:
                self._complain(f"an answer could not be sent: {type(fault).__name__}")
        task.add_done_callback(over)

    async def _answer(self, message: Message) -> None:
        assert message.id is not None
        result, error = None, None
        try:
            result = await self._handler.request(message)
        except RpcError as fault:
            error = fault
        except Gone as fault:
            error = RpcError.made(INTERNAL_ERROR, str(fault))
        except Exception as fault:  # whatever it is: a request gets its answer
            self._complain(f"{message.method[:64]}: {type(fault).__name__}: {fault}")
            error = RpcError.made(INTERNAL_ERROR, f"byref: {type(fault).__name__}")
        await self._reply(message.id, result, error)

    async def _reply(self, number: Id, result: Body | None, error: RpcError | None) -> None:
        try:
            await self.wire.send(Message(number, "", error.body if error is not None else result or Body.of({}), error is not None))
        except Gone:
            pass  # nobody is there to read it


