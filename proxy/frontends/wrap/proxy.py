"""What stands between a client and its servers: all passes, but for the results of tools and what has to be declared for that.

A request goes on under the id that the client gave it, with the bytes that it came in, so cancellation, progress and
subscriptions need no translation.
"""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError, Miss
from byref.proxy.frontends.wrap import declared, own, spelling
from byref.proxy.frontends.wrap.eras import INFO_KEY
from byref.proxy.frontends.wrap.messages import INVALID_PARAMS, METHOD_NOT_FOUND, Body, Message, RpcError
from byref.proxy.frontends.wrap.results import Asked, Rewritten, rewrite
from byref.proxy.frontends.wrap.routes import Routes
from byref.proxy.session import Session
from byref.proxy.text import SMALL

T = TypeVar("T")
CALL_ID = "claudecode/toolUseId"  # in `_meta` of a call: what Claude Code's transcript calls it
WAITING = 64  # results that are answered and not stored yet
NOT_FOUND = -32002  # a resource, in MCP since 2024-11-05


@dataclass(frozen=True, slots=True)
class Options:
    """How results and declarations are changed. steering: whether calls can say what they look for; structured: see `rewrite`."""

    steering: bool = True
    structured: str = "drop"


@dataclass(frozen=True, slots=True)
class _Listed:
    """The tools that were last listed. names: ours, as they are shown; steered: upstream's tools that got the property."""

    names: Mapping[str, str]
    steered: frozenset[str]
    schemas: Mapping[str, Json]


class Told:
    """What one client was told of tools, through however many proxies its requests go."""

    def __init__(self) -> None:
        self.listed: _Listed | None = None
        self.page: list[Mapping[str, Json]] = []  # tools on the pages of the listing under way
        self.client = ""  # its name, as it said it in its handshake
        self.listing = asyncio.Lock()
        self.reduced: set[str] = set()  # calls whose first answer was a view: what is said of them again is that view
        self._storing: set[asyncio.Future[object]] = set()

    async def keep(self, work: asyncio.Future[object]) -> None:
        """What is stored after it was answered; returns once there is room for more."""
        self._storing.add(work)
        work.add_done_callback(self._storing.discard)
        if len(self._storing) > WAITING:
            await asyncio.wait(self._storing, return_when=asyncio.FIRST_COMPLETED)

    async def kept(self) -> None:
        """Returns once all that was answered is stored."""
        while self._storing:
            await asyncio.wait(self._storing)


class Proxy:
    """Answers one client. `session` gives the byref session once it is open; pool runs what blocks."""

    def __init__(self, routes: Routes, session: Callable[[], Awaitable[Session]], pool: Executor, options: Options,
                 told: Told | None = None) -> None:
        self._routes, self._session, self._pool, self._options = routes, session, pool, options
        self._told = told or Told()
        routes.changed = self._changed

    # the client -----------------------------------------------------------------------------------------

    async def request(self, message: Message) -> Body:
        """See `Handler.request`."""
        match message.method:
            case "ping":
                return Body.of({})
            case "initialize" | "server/discover":
                self._told.client = _client(message) or self._told.client
                return await self._greeted(message)
            case "tools/list":
                return await self._tools(message)
            case "tools/call":
                return await self._call(message)
            case "resources/list" | "resources/templates/list":
                return await self._resources(message)
            case "resources/read" if str(message.params.get("uri", "")).startswith(own.SCHEME):
                return await self._read(message)
        return await self._routes.request(message)

    async def notification(self, message: Message) -> None:
        """See `Handler.notification`."""
        await self._routes.notify(message)

    def cancelled(self, message: Message) -> None:
        """See `Handler.cancelled`."""
        self._routes.cancelled(message)

    async def _blocking(self, work: Callable[..., T], *given: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    async def _greeted(self, message: Message) -> Body:
        answer = await self._routes.greet(message)
        found = answer.object
        if not found:
            return answer
        theirs = found.get("instructions")
        able = found.get("capabilities")
        # Our tools and our template need a place where a client looks for them.
        return Body.of({
            **found, "capabilities": {**(able if isinstance(able, dict) else {}), **_place(able, "tools"), **_place(able, "resources")},
            "instructions": declared.instructions(theirs if isinstance(theirs, str) else None, await self._names(message))})

    async def _names(self, message: Message) -> Mapping[str, str] | None:
        """Under which names our tools go. Before a handshake is over no server lists its tools: then most likely under their own."""
        if not message.modern:
            return None
        return (await self._known(message)).names

    async def _tools(self, message: Message) -> Body:
        cursor = message.params.get("cursor")
        async with self._told.listing:
            answer = await self._optional(message, {"tools": []})
            found = answer.object
            tools = found.get("tools")
            if not isinstance(tools, list):
                return answer
            page: list[Mapping[str, Json]] = [tool for tool in tools if isinstance(tool, dict)]
            self._told.page = [*(self._told.page if cursor is not None else ()), *page]
            last = found.get("nextCursor") is None
            names = declared.own_names(self._told.page, own.TOOLS)
            shown = declared.tools(page, steering=self._options.steering, own=(), structured=self._options.structured)
            if last:
                self._told.listed = self._listing_of(self._told.page, names)
                ours = {real: name for name, real in names.items()}
                shown = [*shown, *({**tool, "name": ours[str(tool["name"])]} for tool in own.TOOLS)]
        return Body.of({**found, "tools": list(shown)})

    def _listing_of(self, tools: Sequence[Mapping[str, Json]], names: Mapping[str, str]) -> _Listed:
        steered = frozenset(str(tool.get("name")) for tool in tools if self._options.steering and declared.steerable(tool))
        return _Listed(names, steered, {str(tool.get("name")): tool.get("outputSchema") for tool in tools})

    async def _known(self, message: Message) -> _Listed:
        """What tools there are: a call can come from a client that has not asked. Where the server does not say, nothing is known."""
        if self._told.listed is None:
            cursor: Json = None
            meta = message.params.get("_meta")
            base: dict[str, Json] = {}
            if message.modern and isinstance(meta, dict):  # its envelope, without what names this one request
                base["_meta"] = {key: value for key, value in meta.items() if key.startswith("io.modelcontextprotocol/")}
            while True:
                params = base if cursor is None else {**base, "cursor": cursor}
                ask = Message(self._routes.own_id(), "tools/list", Body.of(params) if params else None)
                try:
                    cursor = (await self._tools(ask)).object.get("nextCursor")
                except RpcError:
                    break
                if cursor is None:
                    break
        return self._told.listed or _Listed(declared.own_names((), own.TOOLS), frozenset(), {})

    async def _optional(self, message: Message, without: Mapping[str, Json]) -> Body:
        """An answer, or an empty one from a server that has nothing of the kind."""
        try:
            return await self._routes.request(message)
        except RpcError as fault:
            if fault.code != METHOD_NOT_FOUND:
                raise
            more: dict[str, Json] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if message.modern else {}
            return Body.of({**without, **more})

    async def _call(self, message: Message) -> Body:
        params = message.params
        name, arguments = str(params.get("name", "")), params.get("arguments")
        known = await self._known(message)
        given: Mapping[str, Json] = arguments if isinstance(arguments, dict) else {}
        if name in known.names:
            await self._told.kept()
            found = await self._blocking(own.answer, await self._session(), known.names[name], given)
            return Body.of({**found, "resultType": "complete"} if message.modern else found)
        intent, raw = "", False
        if name in known.steered:
            steered, intent, raw = declared.steer(given)
            if steered is not given:
                given = steered
                message = Message(message.id, message.method, _without_steering(message.body, {**params, "arguments": dict(given)}))
        answer = await self._routes.request(message)
        result = answer.object
        if not result:
            return answer
        call_id = message.meta.get(CALL_ID)
        schema = known.schemas.get(name)
        asked = Asked(self._routes.tool(name), given, call_id if isinstance(call_id, str) else None, intent, raw,
                      schema if isinstance(schema, dict) else None, _client(message) or self._told.client)
        # What passes shows no ref that somebody could ask for, so it need not wait for the disk.
        if len(answer.data) <= SMALL and asked.call_id not in self._told.reduced:
            await self._told.keep(asyncio.ensure_future(self._store(asked, answer)))
            return answer
        rewritten = await self._store(asked, answer)
        if rewritten.result is result:
            return answer
        if asked.call_id is not None:
            self._told.reduced.add(asked.call_id)
        return Body.of(rewritten.result) if rewritten.data is None else Body(rewritten.data, dict(rewritten.result), True)

    async def _store(self, asked: Asked, answer: Body) -> Rewritten:
        return await self._blocking(_rewritten, await self._session(), asked, answer, self._options.structured)

    async def close(self) -> None:
        """Returns once all that was answered is stored."""
        await self._told.kept()

    async def _resources(self, message: Message) -> Body:
        key = "resources" if message.method == "resources/list" else "resourceTemplates"
        answer = await self._optional(message, {key: []})
        found = answer.object
        listed = found.get(key)
        if key == "resources" or not isinstance(listed, list) or found.get("nextCursor") is not None:
            return answer
        return Body.of({**found, key: [*listed, dict(own.TEMPLATE)]})

    async def _read(self, message: Message) -> Body:
        await self._told.kept()
        try:
            found = await self._blocking(own.read, await self._session(), str(message.params["uri"]))
        except Miss as miss:
            raise RpcError.made(INVALID_PARAMS if message.modern else NOT_FOUND, str(miss), {"uri": message.params["uri"]}) from None
        except ByrefError as fault:
            raise RpcError.made(NOT_FOUND, str(fault)) from None
        return Body.of({**found, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if message.modern else found)

    async def _changed(self) -> None:
        """The tools of a server are others now."""
        self._told.listed = None


def _rewritten(session: Session, asked: Asked, answer: Body, structured: str) -> Rewritten:
    return rewrite(session, asked, answer.object, structured=structured, data=answer.data)


def _without_steering(body: Body | None, params: Mapping[str, Json]) -> Body:
    """The parameters of a call without the property that is ours, all else as the client spelt it."""
    try:
        data = spelling.changed(b"" if body is None else body.data, {"arguments": {declared.STEERING: None}})
    except ValueError:
        return Body.of(params)
    return Body(data, dict(params), True)


def _client(message: Message) -> str:
    """The name that a client says of itself, in a handshake or in the envelope of a request; empty without one."""
    info = message.meta.get(INFO_KEY) if message.modern else message.params.get("clientInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


def _place(able: Json, name: str) -> dict[str, Json]:
    return {} if isinstance(able, dict) and name in able else {name: {}}


