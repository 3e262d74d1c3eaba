"""The ways between one client and its servers: which server a request goes to, and how a server's own words reach the client.

`Single` is the way to one server: all goes through under the names and ids that both sides use. `several.py` has the other.
"""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Protocol

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.endpoint import CANCELLED, Endpoint
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import GONE, Body, Message, RpcError
from byref.proxy.frontends.wrap.upstream import Server, Upstream

CHANGED = ("notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed")
INITIALIZED = "notifications/initialized"
LOGGER = "byref"


class Routes(Protocol):
    """What a proxy asks of the ways to its servers. changed: told when the tools of a server are others."""

    changed: Callable[[], Awaitable[None]]

    async def greet(self, message: Message) -> Body:
        """The answer to `initialize` or `server/discover`. Raises `RpcError`, as the others do."""

    async def request(self, message: Message) -> Body:
        """The answer to any other request."""

    async def notify(self, message: Message) -> None:
        """Passes a notification of the client on."""

    def cancelled(self, message: Message) -> None:
        """Passes on that the client takes a request back."""

    def tool(self, name: str) -> str:
        """The tool that a client's name for it means: the server's own name, with the server's before it where there are several."""

    def own_id(self) -> str:
        """An id for a request of our own."""


class Base:
    """What all ways share: the servers, the client, and the words between them."""

    def __init__(self, servers: Sequence[Server], complain: Callable[[str], None]) -> None:
        self.upstreams = [Upstream(server, self, complain) for server in servers]
        self.client: Endpoint | None = None  # as soon as there is one
        self.changed: Callable[[], Awaitable[None]] = _nothing
        self.hello: Body | None = None  # the parameters of the client's `initialize`: it speaks the handshake era
        self._lives: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def handler(self, upstream: Upstream) -> Back:
        """See `Owner.handler`."""
        self._lives[upstream.name] = life = self._lives.get(upstream.name, 0) + 1
        # What an earlier life asked may still be answered: a later one asks under other ids, as do several servers.
        plain = life == 1 and len(self.upstreams) == 1
        return Back(self, upstream, "" if plain else f"{upstream.name}.{life}:")

    async def welcome(self, upstream: Upstream, live: Endpoint) -> None:
        """See `Owner.welcome`: says to a later life what the first one was told."""
        if self.hello is None:
            return
        await live.request(self.own_id(), "initialize", self.hello)
        await live.notify(Message(None, INITIALIZED, None))
        await self.remind(upstream, live)

    async def remind(self, upstream: Upstream, live: Endpoint) -> None:
        """Says to a server in its next life what it had been told to do."""
        for message in list(upstream.said.values()):
            try:
                await live.request(self.own_id(), message.method, message.body)
            except RpcError:
                pass  # what it was asked for is no longer there; the client looks at all lists again

    async def lost(self, upstream: Upstream, why: str) -> None:
        """See `Owner.lost`. Who waited for an answer is told by an error; to others it matters once it is there again."""

    async def returned(self, upstream: Upstream, why: str) -> None:
        """See `Owner.returned`: said as a message of the log, and by asking the client to look at all lists again."""
        await self.changed()
        if self.hello is not None:
            text = f"{upstream.name} {why} and was started again; what it held in memory is lost"
            await self.tell(Message(None, "notifications/message", Body.of({"level": "warning", "logger": LOGGER, "data": text})))
            for method in CHANGED:
                await self.tell(Message(None, method, None))

    async def tell(self, message: Message) -> None:
        """A notification to the client."""
        if self.client is not None:
            try:
                await self.client.notify(message)
            except Gone:
                pass

    def later(self, work: Coroutine[None, None, None]) -> None:
        """Does something after what is being done."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancelled(self, message: Message) -> None:
        """See `Handler.cancelled`."""
        for upstream in self.upstreams:
            if upstream.asked(message.params.get("requestId")):
                self.later(upstream.notify(message))

    async def notify(self, message: Message) -> None:
        """See `Routes.notify`."""
        token = message.params.get("progressToken")
        for upstream in self.upstreams:
            sign = f"{upstream.name}.{self._lives.get(upstream.name)}:"
            if message.method != "notifications/progress":
                await upstream.notify(message)
            elif isinstance(token, str) and token.startswith(sign):
                await upstream.notify(Message(None, message.method, Body.of({**message.params, "progressToken": _own(token, sign)})))
            elif len(self.upstreams) == 1:
                await upstream.notify(message)

    def remember(self, upstream: Upstream, message: Message) -> None:
        """Notes what the next life of a server has to be told, once it was told to this one."""
        uri = str(message.params.get("uri"))
        if message.method == "logging/setLevel":
            upstream.said["level"] = message
        elif message.method == "resources/subscribe":
            upstream.said[f"of {uri}"] = message
        elif message.method == "resources/unsubscribe":
            upstream.said.pop(f"of {uri}", None)

    def own_id(self) -> str:
        """See `Routes.own_id`."""
        return self.upstreams[0].own_id()

    async def run(self) -> None:
        """Keeps all servers alive until it is cancelled; then they end."""
        tasks = [asyncio.ensure_future(upstream.run()) for upstream in self.upstreams]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class Single(Base):
    """The way to one server."""

    async def greet(self, message: Message) -> Body:
        """See `Routes.greet`. The client chooses the era by what it asks; the server's answer, an error too, goes back as it is."""
        upstream = self.upstreams[0]
        answer = await upstream.request(message.id or 0, message.method, message.body)
        if message.method == "initialize":
            self.hello = message.body or Body.of({})
        return answer

    async def request(self, message: Message) -> Body:
        """See `Routes.request`."""
        upstream = self.upstreams[0]
        answer = await upstream.request(message.id or 0, message.method, message.body)
        self.remember(upstream, message)
        return answer

    def tool(self, name: str) -> str:
        """See `Routes.tool`."""
        return name


class Back:
    """One life of a server, talking to the client. sign: what goes before its ids and tokens there."""

    def __init__(self, routes: Base, upstream: Upstream, sign: str) -> None:
        self._routes, self._upstream, self._sign = routes, upstream, sign
        self._taken: set[str] = set()  # requests that it took back

    async def request(self, message: Message) -> Body:
        """See `Handler.request`."""
        client = self._routes.client
        if client is None or message.id is None:
            raise RpcError.made(GONE, "there is no client to ask yet")
        number = f"{self._sign}{message.id}" if self._sign else message.id
        try:
            return await client.request(number, message.method, self._marked(message))
        except asyncio.CancelledError:
            if str(message.id) not in self._taken:  # it ended, and does not wait any more
                gone = Message(None, CANCELLED, Body.of({"requestId": number, "reason": f"{self._upstream.name} has ended"}))
                self._routes.later(self._routes.tell(gone))
            raise

    async def notification(self, message: Message) -> None:
        """See `Handler.notification`."""
        if message.method == CHANGED[0]:
            await self._routes.changed()
        await self._routes.tell(message)

    def cancelled(self, message: Message) -> None:
        """See `Handler.cancelled`."""
        number = message.params.get("requestId")
        self._taken.add(str(number))
        body = Body.of({**message.params, "requestId": f"{self._sign}{number}"}) if self._sign else message.body
        self._routes.later(self._routes.tell(Message(None, CANCELLED, body)))

    def _marked(self, message: Message) -> Body | None:
        """The parameters, with the server before the token of its progress: tokens of several are alike."""
        token = message.meta.get("progressToken")
        if not self._sign or token is None:
            return message.body
        kind = "n" if isinstance(token, (int, float)) else "s"
        return Body.of({**message.params, "_meta": {**message.meta, "progressToken": f"{self._sign}{kind}{token}"}})


def _own(token: str, sign: str) -> Json:
    """A token as its server gave it."""
    kind, text = token[len(sign):len(sign) + 1], token[len(sign) + 1:]
    return int(text) if kind == "n" and text.lstrip("-").isdigit() else text


async def _nothing() -> None:
    pass
