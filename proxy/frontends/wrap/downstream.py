"""Streamable HTTP for clients, before servers of any kind: sessions for those that shake hands, single requests for others.

A session has connections of its own to the servers, as a client over stdio has; it ends with DELETE, or once it was left alone
for `IDLE`. Requests since 2026-07-28 know no session: they share connections, and the end of an answer is the end of the
request. What their headers must say is checked with the SDK's own rules. Answers that come at once are JSON, others a stream.
Streams cannot be taken up again: what breaks off is asked anew.
"""
from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

from aiohttp import web

from byref.proxy.contracts import Json
from byref.proxy.frontends import bodies
from byref.proxy.frontends.wrap import hops
from byref.proxy.frontends.wrap.channel import Channel, Stream
from byref.proxy.frontends.wrap.door import Door
from byref.proxy.frontends.wrap.endpoint import Endpoint
from byref.proxy.frontends.wrap.hops import EVENTS, JSON, line, reply
from byref.proxy.frontends.wrap.lines import LONGEST
from byref.proxy.frontends.wrap.messages import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Body, Id, Message, RpcError, parse
from byref.proxy.frontends.wrap.proxy import Options, Proxy
from byref.proxy.frontends.wrap.routes import Single
from byref.proxy.frontends.wrap.several import Several
from byref.proxy.session import Session

SESSION, VERSION = "Mcp-Session-Id", "Mcp-Protocol-Version"
MOST = 100  # sessions at once: each has processes of its own
IDLE = 1800.0  # seconds without an open answer after which a session ends
PING = 15.0  # seconds of silence after which a stream says that it is there; none is opened before
LOOK = 1.0  # seconds between two looks at whether the client is there
PAGES = 100  # of a list of tools that is read for the headers of a call
_STREAM = {"Content-Type": EVENTS, "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class Conversation:
    """One client, or all those without sessions, and its servers. used: when it was last asked something, by the loop's clock."""

    def __init__(self, routes: Single | Several, session: Session, pool: Executor, options: Options, mapped: bool,
                 complain: Callable[[str], None]) -> None:
        async def opened() -> Session:
            return session
        self.channel = Channel(mapped)
        self.schemas: dict[str, Json] = {}  # what tools take, of those that were listed
        self.used = asyncio.get_running_loop().time()
        self._proxy = Proxy(routes, opened, pool, options)
        routes.client = Endpoint(self.channel, self._proxy, complain)
        proxy_changed = routes.changed

        async def changed() -> None:
            self.schemas.clear()
            await proxy_changed()
        routes.changed = changed
        self._tasks = [asyncio.ensure_future(routes.run()), asyncio.ensure_future(routes.client.run())]

    async def schema(self, name: str, meta: Mapping[str, Json]) -> Json:
        """What a tool takes; None where that is not known."""
        if name not in self.schemas:
            held = {key: value for key, value in meta.items() if key.startswith("io.modelcontextprotocol/")}
            cursor: Json = None
            for _ in range(PAGES):
                params: dict[str, Json] = {"_meta": held} if cursor is None else {"_meta": held, "cursor": cursor}
                stream = await self.channel.ask(Message("schema", "tools/list", Body.of(params)))
                if stream is None:
                    break
                try:
                    answer = await stream.next(PING)
                finally:
                    await self.channel.leave(stream)
                found = {} if answer is None or answer.failed or answer.body is None else answer.body.object
                self.listed(found)
                cursor = found.get("nextCursor")
                if cursor is None:
                    break
        return self.schemas.get(name)

    def listed(self, found: Mapping[str, Json]) -> None:
        """A list of tools went by."""
        tools = found.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict):
                self.schemas[str(tool.get("name"))] = tool.get("inputSchema")

    async def close(self) -> None:
        await self.channel.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._proxy.close()


class Downstream:
    """The site at `path`. make: new ways to the servers; session: a new byref session. door: None where others have asked already."""

    def __init__(self, path: str, make: Callable[[], Single | Several], door: Door | None, session: Callable[[], Session], pool: Executor,
                 options: Options, complain: Callable[[str], None]) -> None:
        self.path, self._make, self._door, self._session = path, make, door, session
        self._pool, self._options, self._complain = pool, options, complain
        self._sessions: dict[str, Conversation] = {}
        self._shared: Conversation | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """See `Site.open`."""
        self._sweeping = asyncio.ensure_future(self._sweep())

    async def close(self) -> None:
        """See `Site.close`: the servers end."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        left = [*self._sessions.values(), *([self._shared] if self._shared else [])]
        self._sessions, self._shared = {}, None
        await asyncio.gather(*(conversation.close() for conversation in left))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(IDLE / 10)
            now = asyncio.get_running_loop().time()
            for key, conversation in list(self._sessions.items()):
                if not conversation.channel.open and now - conversation.used > IDLE:
                    del self._sessions[key]
                    await conversation.close()
            if self._shared is not None and not self._shared.channel.open and now - self._shared.used > IDLE:
                shared, self._shared = self._shared, None
                await shared.close()

    def _converse(self, mapped: bool) -> Conversation:
        return Conversation(self._make(), self._session(), self._pool, self._options, mapped, self._complain)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """See `Site.handle`."""
        if self._door is not None and (refused := self._door.refusal(request.headers)) is not None:
            return hops.fault(refused[0], None, refused[1])
        if request.path != self.path:
            return hops.fault(404, None, f"clients of MCP ask for {self.path}")
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
        version = request.headers.get(VERSION)
        modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
        try:
            match request.method:
                case "POST":
                    return await self._post(request, modern)
                case "GET" if not modern:
                    return await self._get(request)
                case "DELETE" if not modern:
                    return await self._delete(request)
        except ConnectionResetError:  # nobody is there to read it
            return web.Response(status=499)
        return web.Response(status=405, headers={"Allow": "POST" if modern else "POST, GET, DELETE"})

    # requests ---------------------------------------------------------------------------------------------

    async def _post(self, request: web.Request, modern: bool) -> web.StreamResponse:
        if not _accepts(request, JSON) or not _accepts(request, EVENTS):
            return _error(406, None, INVALID_REQUEST, f"accept {JSON} and {EVENTS}")
        if request.content_type != JSON:
            return _error(415, None, INVALID_REQUEST, f"send {JSON}")
        data = await bodies.whole(request, LONGEST)
        try:
            (message,) = parse(data) if data.lstrip()[:1] == b"{" else (None,)
        except ValueError as fault:
            return _error(400, None, INVALID_REQUEST if _is_json(data) else PARSE_ERROR, f"no message: {fault}")
        if message is None:
            return _error(400, None, *((INVALID_REQUEST, "one message a request") if _is_json(data) else (PARSE_ERROR, "this is no JSON")))
        if modern or (message.modern and message.id is not None):
            return await self._single(request, message, data)
        if message.method == "initialize" and message.id is not None:
            return await self._begin(request, message)
        conversation = self._sessions.get(request.headers.get(SESSION, ""))
        if conversation is None:
            return _no_session(request, message.id)
        if not message.method or message.id is None:
            await conversation.channel.put(message)
            return web.Response(status=202)
        response, _ = await self._answered(request, conversation, message, {SESSION: request.headers[SESSION]})
        return response

    async def _begin(self, request: web.Request, message: Message) -> web.StreamResponse:
        """A client shakes hands: its session begins, unless the servers refuse."""
        if len(self._sessions) >= MOST:
            return _error(503, message.id, INVALID_REQUEST, f"{MOST} sessions are open; end one, or try later")
        key = secrets.token_hex(16)
        self._sessions[key] = conversation = self._converse(False)
        try:
            response, failed = await self._answered(request, conversation, message, {SESSION: key})
        except BaseException:
            failed = 0
            raise
        finally:
            if failed is not None:
                del self._sessions[key]
                await conversation.close()
        if failed is not None:
            response.headers.pop(SESSION, None)
        return response

    async def _single(self, request: web.Request, message: Message, data: bytes) -> web.StreamResponse:
        """A request without a session."""
        from mcp.shared.inbound import (
            ERROR_CODE_HTTP_STATUS,
            InboundLadderRejection,
            classify_inbound_request,
            find_duplicated_routing_header,
            unsupported_protocol_version_rejection,
            validate_mcp_param_headers,
        )
        from mcp_types.jsonrpc import HEADER_MISMATCH

        def rejected(found: InboundLadderRejection) -> web.Response:
            return _error(ERROR_CODE_HTTP_STATUS.get(found.code, 400), message.id, found.code, found.message, found.data)
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not message.method:
            return _error(400, None, INVALID_REQUEST, "send requests and notifications")
        if message.id is None:
            unknown = unsupported_protocol_version_rejection(headers.get(VERSION.lower(), ""))
            return web.Response(status=202) if unknown is None else rejected(unknown)
        if (twice := find_duplicated_routing_header(request.headers.items())) is not None:
            return _error(400, message.id, HEADER_MISMATCH, f"{twice} header appears more than once")
        verdict = classify_inbound_request({"method": message.method, "params": message.params}, headers=headers)
        if isinstance(verdict, InboundLadderRejection):
            return rejected(verdict)
        if message.method in ("initialize", "ping"):  # of the era before
            return _error(404, message.id, METHOD_NOT_FOUND, f"there is no method {message.method} in this version")
        if self._shared is None:
            self._shared = self._converse(True)
        arguments = message.params.get("arguments")
        if message.method == "tools/call" and (arguments or any(name.startswith("mcp-param-") for name in headers)):
            given = arguments if isinstance(arguments, dict) else {}
            schema = await self._shared.schema(str(message.params.get("name", "")), message.meta)
            if schema is not None and (wrong := validate_mcp_param_headers(schema, given, request.headers)) is not None:
                return rejected(wrong)
        response, failed = await self._answered(request, self._shared, message, {})
        if failed is not None and not response.prepared:
            response.set_status(ERROR_CODE_HTTP_STATUS.get(failed, 200))
        return response

    async def _answered(self, request: web.Request, conversation: Conversation, message: Message,
                        headers: Mapping[str, str]) -> tuple[web.StreamResponse, int | None]:
        """The answer to a request, and whatever the servers say meanwhile; with it the code of an error that comes alone."""
        conversation.used = asyncio.get_running_loop().time()
        stream = await conversation.channel.ask(message)
        if stream is None:
            return _error(400, message.id, INVALID_REQUEST, f"the id {str(message.id)[:64]} is in use"), None
        try:
            first = await _next(request, stream)
            if first is not None and not first.method:
                if message.method == "tools/list" and first.body is not None:
                    conversation.listed(first.body.object)
                response = reply([first], False)
                response.headers.update(headers)
                code = first.body.object.get("code") if first.failed and first.body is not None else None
                return response, code if isinstance(code, int) else 0 if first.failed else None
            return await _stream(request, stream, first, headers), None
        finally:
            conversation.used = asyncio.get_running_loop().time()
            await conversation.channel.leave(stream)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        if not _accepts(request, EVENTS):
            return _error(406, None, INVALID_REQUEST, f"accept {EVENTS}")
        conversation = self._sessions.get(request.headers.get(SESSION, ""))
        if conversation is None:
            return _no_session(request, None)
        stream = await conversation.channel.stand()
        if stream is None:
            return _error(409, None, INVALID_REQUEST, "this session has its stream already")
        try:
            return await _stream(request, stream, None, {SESSION: request.headers[SESSION]})
        finally:
            conversation.used = asyncio.get_running_loop().time()
            await conversation.channel.leave(stream)

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        conversation = self._sessions.pop(request.headers.get(SESSION, ""), None)
        if conversation is None:
            return _no_session(request, None)
        await conversation.close()
        return web.Response(status=200)


async def _next(request: web.Request, stream: Stream) -> Message | None:
    """The next message; None after `PING` seconds without one. Raises ConnectionResetError once the client is gone."""
    for _ in range(max(1, int(PING / LOOK))):
        message = await stream.next(LOOK)
        if message is not None:
            return message
        if request.transport is None or request.transport.is_closing():
            raise ConnectionResetError
    return None


async def _stream(request: web.Request, stream: Stream, first: Message | None, headers: Mapping[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(headers={**_STREAM, **headers})
    try:
        await response.prepare(request)
        message = first
        while True:
            await response.write(b": ping\n\n" if message is None else b"event: message\ndata: " + line(message) + b"\n\n")
            if message is not None and not message.method:
                break
            message = await _next(request, stream)
        await response.write_eof()
    except ConnectionResetError:
        pass
    return response


def _accepts(request: web.Request, kind: str) -> bool:
    accepted = [one.partition(";")[0].strip() for one in ", ".join(request.headers.getall("Accept", [])).split(",")]
    return any(one in (kind, "*/*", f"{kind.partition('/')[0]}/*") for one in accepted)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _error(status: int, number: Id | None, code: int, text: str, data: Json = None) -> web.Response:
    return reply([Message(number, "", RpcError.made(code, text, data).body, True)], False, status)


def _no_session(request: web.Request, number: Id | None) -> web.Response:
    if SESSION in request.headers:
        return _error(404, number, INVALID_REQUEST, "Session not found")
    return _error(400, number, INVALID_REQUEST, "Missing session ID: begin with initialize")
