"""One request of an HTTP client, on its way to a server and back: what goes there, and what comes of the answer.

Between the two lies whatever the HTTP exchange brings: other events, or a stream that breaks off and is taken up again by
another request. There the same message is prepared once more, sent nowhere, and settled with the answer that came.
"""
from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from byref.proxy.frontends.wrap.messages import Body, Message, RpcError
from byref.proxy.frontends.wrap.proxy import Proxy

CHANGED = frozenset({
    "initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read"})
_numbers = itertools.count(1)

Side = Callable[[Message], Awaitable[Body]]


class Question:
    """A request and its way (`Routes`) to the server. side: asks the server something of our own, with this request's headers."""

    def __init__(self, message: Message, side: Side, complain: Callable[[str], None]) -> None:
        self.message = message
        self.changed: Callable[[], Awaitable[None]] = _nothing
        loop = asyncio.get_running_loop()
        self._side, self._complain = side, complain
        self._sent: asyncio.Future[Message] = loop.create_future()
        self._answer: asyncio.Future[Body] = loop.create_future()
        self._task: asyncio.Task[Body] | None = None

    # the way to the server ------------------------------------------------------------------------------

    async def greet(self, message: Message) -> Body:
        """See `Routes.greet`."""
        return await self.request(message)

    async def request(self, message: Message) -> Body:
        """See `Routes.request`."""
        if message.id == self.message.id and not self._sent.done():
            self._sent.set_result(message)
            return await self._answer
        return await self._side(message)

    async def notify(self, message: Message) -> None:
        """See `Routes.notify`."""

    def cancelled(self, message: Message) -> None:
        """See `Routes.cancelled`."""

    def tool(self, name: str) -> str:
        """See `Routes.tool`."""
        return name

    def own_id(self) -> str:
        """See `Routes.own_id`."""
        return f"byref-{next(_numbers)}"

    # the client -----------------------------------------------------------------------------------------

    async def prepare(self, proxy: Proxy) -> tuple[Message | None, Message | None]:
        """(what goes to the server, the answer): one of them is None. What goes is the same message where nothing of it changes.

        Where we fail, the request goes as it came.
        """
        self._task = asyncio.ensure_future(proxy.request(self.message))
        await asyncio.wait((self._task, self._sent), return_when=asyncio.FIRST_COMPLETED)
        if self._sent.done():
            return self._sent.result(), None
        try:
            return None, Message(self.message.id, "", await self._task)
        except RpcError as fault:
            return None, Message(self.message.id, "", fault.body, True)
        except Exception as fault:
            self._complain(f"{self.message.method[:64]}: {type(fault).__name__}: {fault}")
        return self.message, None

    async def settle(self, answer: Message) -> Message | None:
        """The answer that the client gets for the server's; None where that one stays as it came."""
        if self._task is None or (self._task.done() and not self._answer.done()):
            return None
        self._come(answer)
        try:
            found = await self._task
        except RpcError as fault:
            return None if fault.body is answer.body else Message(answer.id, "", fault.body, True)
        except Exception as fault:  # whatever it is: the server's answer goes through
            self._complain(f"{self.message.method[:64]}: {type(fault).__name__}: {fault}")
            return None
        return None if found is answer.body else Message(answer.id, "", found)

    def _come(self, answer: Message) -> None:
        if not self._answer.done():
            body = answer.body or Body.of({})
            answer.body = body
            if answer.failed:
                self._answer.set_exception(RpcError(body))
                self._answer.exception()  # it counts as looked at where nobody waits for it
            else:
                self._answer.set_result(body)

    def close(self) -> None:
        """No answer is waited for any more."""
        if self._task is not None:
            self._task.cancel()


async def _nothing() -> None:
    pass
