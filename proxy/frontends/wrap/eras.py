"""A server of the era since 2026-07-28, for a client that speaks the handshake era: both stand behind the same proxy.

That is so only where several servers are of different eras; else the client chooses, and nothing is translated. What the
handshake said once, each request carries in its envelope. What the server needs from the client comes as a result that asks
for it: the client is asked as a server of its own era would, and the request goes out again with the answers. One listening
request takes the place of subscriptions and of notices about changed lists.
"""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.endpoint import CANCELLED
from byref.proxy.frontends.wrap.messages import GONE, INTERNAL_ERROR, VERSION_KEY, Body, Id, Message, RpcError
from byref.proxy.frontends.wrap.upstream import Upstream

INFO_KEY, ABLE_KEY = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"
LEVEL_KEY, SUBSCRIPTION_KEY = "io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LISTEN = "subscriptions/listen"
ROUNDS = 20  # times that one request may ask for more
PAUSE = 1.0  # seconds before listening is tried again

Ask = Callable[[Id, str, Body | None], Awaitable[Body]]


def envelope(version: str, hello: Mapping[str, Json], level: str = "") -> dict[str, Json]:
    """What a request of this era carries in `_meta`, of a client that has said hello by `initialize`."""
    held: dict[str, Json] = {VERSION_KEY: version, INFO_KEY: hello.get("clientInfo"), ABLE_KEY: hello.get("capabilities", {})}
    if level:
        held[LEVEL_KEY] = level
    return held


class Translated:
    """A modern server as a client of the handshake era sees it. client: asks the client something."""

    def __init__(self, upstream: Upstream, version: str, hello: Mapping[str, Json], client: Ask) -> None:
        self._upstream, self._version, self._hello, self._client = upstream, version, hello, client
        self._level = ""
        self._uris: list[str] = []
        self._listening: asyncio.Task[None] | None = None

    async def request(self, message: Message) -> Body:
        """The answer to a request of the client. Raises `RpcError`."""
        uri = str(message.params.get("uri"))
        match message.method:
            case "logging/setLevel":
                self._level = str(message.params.get("level", ""))
                return Body.of({})
            case "resources/subscribe":
                self._uris = [*(known for known in self._uris if known != uri), uri]
                self.listen()
                return Body.of({})
            case "resources/unsubscribe":
                self._uris = [known for known in self._uris if known != uri]
                self.listen()
                return Body.of({})
        return await self._rounds(message)

    async def _rounds(self, message: Message) -> Body:
        params: Mapping[str, Json] = self._enveloped(message.params)
        number: Id = message.id if message.id is not None else self._upstream.own_id()
        for _ in range(ROUNDS):
            answer = await self._once(number, message.method, params, number == message.id)
            found = answer.object
            if found.get("resultType") != "input_required":
                return answer
            wanted = found.get("inputRequests")
            params = {**params, "inputResponses": await self._asked(wanted if isinstance(wanted, dict) else {})}
            if (state := found.get("requestState")) is not None:
                params = {**params, "requestState": state}
            number = self._upstream.own_id()
        raise RpcError.made(INTERNAL_ERROR, f"{self._upstream.name} asked for more {ROUNDS} times")

    async def _once(self, number: Id, method: str, params: Mapping[str, Json], plain: bool) -> Body:
        try:
            return await self._upstream.request(number, method, Body.of(params))
        except asyncio.CancelledError:
            if not plain:  # under the client's own id its word is passed on as it is
                self._spoken = asyncio.ensure_future(self._upstream.notify(Message(None, CANCELLED, Body.of({"requestId": number}))))
            raise

    async def _asked(self, wanted: Mapping[str, Json]) -> dict[str, Json]:
        answers: dict[str, Json] = {}
        for key, one in wanted.items():
            if isinstance(one, dict):
                params = one.get("params")
                body = Body.of(params) if isinstance(params, dict) else None
                answers[key] = (await self._client(f"{self._upstream.own_id()}-{key}", str(one.get("method", "")), body)).object
        return answers

    def _enveloped(self, params: Mapping[str, Json]) -> dict[str, Json]:
        meta = params.get("_meta")
        held = envelope(self._version, self._hello, self._level)
        return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), **held}}

    def listen(self) -> None:
        """Listens for changes, instead of the way it listened before. Ends with `close`."""
        self.close()
        self._listening = asyncio.ensure_future(self._listen(list(self._uris)))

    async def _listen(self, uris: list[str]) -> None:
        wanted: dict[str, Json] = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        if uris:
            wanted["resourceSubscriptions"] = uris
        while True:
            number = self._upstream.own_id()
            try:
                await self._upstream.request(number, LISTEN, Body.of(self._enveloped({"notifications": wanted})))
            except RpcError as fault:
                if fault.code != GONE:
                    return  # it has nothing to listen to
            except asyncio.CancelledError:
                self._spoken = asyncio.ensure_future(self._upstream.notify(Message(None, CANCELLED, Body.of({"requestId": number}))))
                raise
            await asyncio.sleep(PAUSE)

    def close(self) -> None:
        """Listens no more."""
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None


def told(message: Message) -> Message | None:
    """A notification of a modern server for a client of the handshake era; None for what that one does not know."""
    if message.method == ACKNOWLEDGED:
        return None
    meta = message.meta
    if SUBSCRIPTION_KEY not in meta:
        return message
    params = {key: value for key, value in message.params.items() if key != "_meta"}
    left = {key: value for key, value in meta.items() if key != SUBSCRIPTION_KEY}
    if left:
        params["_meta"] = left
    return Message(None, message.method, Body.of(params) if params else None)
