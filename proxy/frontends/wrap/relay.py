"""An HTTP proxy in front of one MCP server over streamable HTTP that knows what it carries.

Method, path, query, headers, status and body of each request and answer pass as they are, but for

- the results of tools, the lists of tools and templates, and greetings: see `Proxy`; our own tools are answered here,
- what belongs to one connection alone (RFC 9110 7.6.1), Host, Origin and Location, which name the other side's place,
- event streams, which go out decoded (identity), event by event as they come, each in its own bytes unless it is changed.

A body in which nothing changes goes out in the bytes and the encoding it came in. A client that goes away takes its request
to the server with it; where the events had ids it may come back for the rest, and gets its result as a view then.
"""
from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Executor

import aiohttp
from aiohttp import web
from yarl import URL

from byref.proxy.frontends import bodies
from byref.proxy.frontends.wrap import codings, hops
from byref.proxy.frontends.wrap.door import TOKEN_HEADER, Door
from byref.proxy.frontends.wrap.events import Event, Splitter
from byref.proxy.frontends.wrap.hops import EVENTS, HEADER, JSON, Headers, ended, ends, line, plain, reply, through, words
from byref.proxy.frontends.wrap.lines import LONGEST
from byref.proxy.frontends.wrap.messages import GONE, Body, Id, Message, RpcError, parse
from byref.proxy.frontends.wrap.proxy import Options, Proxy, Told
from byref.proxy.frontends.wrap.question import CHANGED, Question
from byref.proxy.session import Session

CONNECT = 30.0  # seconds; how long an answer takes is the client's own affair
ASIDE = 30.0  # seconds for what we ask the server ourselves
IDLE = 4.0  # seconds that a connection is kept: servers close theirs after 5 (uvicorn, Node), and a request must not meet that
CLIENTS = 1000  # whose lists of tools are known; who was not heard of for longest is asked about anew
REMEMBERED = 256  # requests of one client whose answers may still come on another stream
SESSION = "Mcp-Session-Id"
_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")  # what aiohttp would say where the client says nothing


class _Client:
    """One client, by its session; those without sessions by what they authorise themselves with. asked: see `REMEMBERED`."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self.told = Told()
        self.asked: OrderedDict[str, Message] = OrderedDict()
        self._make = session
        self._made: Session | None = None

    async def session(self) -> Session:
        """The byref session, a context of its own."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def remember(self, message: Message) -> None:
        self.asked[str(message.id)] = message
        if len(self.asked) > REMEMBERED:
            self.asked.popitem(last=False)


class _Call:
    """One HTTP request: what came of it, and what of it has to be changed on its way back. local: answers of our own."""

    def __init__(self, request: web.Request, client: _Client) -> None:
        self.request, self.client = request, client
        self.data: bytes | None = None
        self.number: Id | None = None
        self.questions: dict[str, Question] = {}
        self.local: list[Message] = []
        self.first = False  # whether it is an `initialize`, whose answer names the session


class Relay:
    """The proxy to url. headers: for the server, instead of a client's own. session: makes a byref session; pool runs what blocks."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str], door: Door, session: Callable[[], Session], pool: Executor,
                 options: Options, complain: Callable[[str], None]) -> None:
        self.name, self.door = name, door
        self._url = URL(url, encoded=True)
        self._origin = str(self._url.origin())
        self.path = self._url.raw_path
        self._headers, self._session, self._pool, self._options, self._complain = headers, session, pool, options, complain
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._http: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Before the first request."""
        self._http = aiohttp.ClientSession(
            auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), skip_auto_headers=_ADDED,
            max_line_size=HEADER, max_field_size=HEADER, timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE))

    async def close(self) -> None:
        """After the last one."""
        for client in self._clients.values():
            await client.told.kept()
        if self._http is not None:
            await self._http.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request of a client."""
        if (refused := self.door.refusal(request.headers)) is not None:
            return hops.fault(refused[0], None, refused[1])
        if not request.raw_path.startswith("/"):
            return hops.fault(400, None, "ask for a path")
        if request.rel_url.raw_path != self.path:
            return await self._forward(_Call(request, self._client(request)), aware=False)
        call = _Call(request, self._client(request))
        if request.method == "POST":
            call.data = await bodies.whole(request, LONGEST)
            try:
                return await self._asked(call)
            finally:
                for question in call.questions.values():
                    question.close()
        response = await self._forward(call, aware=True)
        if request.method == "DELETE" and response.status < 300:
            self._clients.pop(_key(request.headers), None)
        return response

    # what goes to the server ------------------------------------------------------------------------------

    async def _asked(self, call: _Call) -> web.StreamResponse:
        assert call.data is not None
        try:
            messages = parse(call.data)
        except ValueError:  # the server says what it thinks of it
            messages = []
        going: list[Message] = []
        for message in messages:
            if message.id is None or message.method not in CHANGED:
                going.append(message)
                continue
            if message.method == "initialize":
                call.client, call.first = _Client(self._session), True
            question = Question(message, lambda ask: self._aside(call, ask), self._complain)
            out, answer = await question.prepare(self._proxy(call.client, question))
            if answer is not None:
                call.local.append(answer)
            elif out is not None:
                going.append(out)
                call.questions[str(message.id)] = question
        call.number = next((message.id for message in messages if message.id is not None), None)
        batch = call.data.lstrip()[:1] == b"["
        if messages and not going:
            return reply(call.local, batch)
        if going != messages:
            lines = [b"".join(map(bytes, message.pieces())).rstrip() for message in going]
            call.data = b"[" + b",".join(lines) + b"]" if batch else lines[0]
        return await self._forward(call, aware=True)

    def _proxy(self, client: _Client, question: Question) -> Proxy:
        return Proxy(question, client.session, self._pool, self._options, client.told)

    async def _forward(self, call: _Call, aware: bool) -> web.StreamResponse:
        """Sends a request on, and its answer back. aware: whether it is of MCP and may be changed."""
        request = call.request
        target = URL(f"{self._origin}{request.raw_path}", encoded=True)
        if aware and not target.raw_query_string and self._url.raw_query_string:
            target = self._url
        body = call.data if call.data is not None else request.content if request.body_exists else None
        assert self._http is not None
        try:
            answer = await self._http.request(request.method, target, headers=self._going(request, aware, call.data), data=body,
                                              allow_redirects=False)
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            return hops.fault(502, call.number, f"{self.name} could not be reached: {words(fault)}")
        try:
            return await self._back(call, answer, aware)
        finally:
            answer.close()

    def _going(self, request: web.Request, aware: bool, data: bytes | None) -> Headers:
        headers = ends(request.headers)
        for name in (*(("Authorization",) if self.door.ours(request.headers) else ()), TOKEN_HEADER, "Host", "Origin"):
            headers.popall(name, None)
        if "Origin" in request.headers:
            headers["Origin"] = self._origin
        if aware:
            headers["Accept-Encoding"] = codings.accepted(", ".join(headers.popall("Accept-Encoding", [])))
        if data is not None:
            headers["Content-Length"] = str(len(data))
        headers.update(self._headers)
        return headers

    async def _aside(self, call: _Call, message: Message) -> Body:
        """The server's answer to a request of our own, asked with the headers of a client's. Raises `RpcError`."""
        data = b"".join(map(bytes, message.pieces()))
        headers = self._going(call.request, True, data)
        for name in [name for name in headers if name.lower().startswith(("mcp-param-", "mcp-name", "last-event-id"))]:
            headers.popall(name, None)
        headers["Accept-Encoding"], headers["Accept"] = "identity", f"{JSON}, {EVENTS}"
        if "Mcp-Method" in headers:
            headers["Mcp-Method"] = message.method
        assert self._http is not None
        try:
            async with asyncio.timeout(ASIDE):
                async with self._http.post(self._url, headers=headers, data=data, allow_redirects=False) as answer:
                    async for one in hops.messages(answer):
                        if str(one.id) == str(message.id) and not one.method:
                            if one.failed:
                                raise RpcError(one.body or Body.of({}))
                            return one.body or Body.of({})
        except (aiohttp.ClientError, OSError, ValueError) as fault:
            raise RpcError.made(GONE, f"{self.name} could not be asked: {words(fault)}") from None
        raise RpcError.made(GONE, f"{self.name} did not answer {message.method}")

    # what comes back --------------------------------------------------------------------------------------

    async def _back(self, call: _Call, answer: aiohttp.ClientResponse, aware: bool) -> web.StreamResponse:
        if call.first and answer.status < 300:
            self._keep(answer.headers.get(SESSION) or _key(call.request.headers), call.client)
        headers = ends(answer.headers)
        if (there := headers.get("Location", "")).startswith(f"{self._origin}/"):
            headers["Location"] = there.removeprefix(self._origin)
        undo = codings.decoder(answer.headers.get("Content-Encoding", "")) if aware and call.request.method in ("GET", "POST") else None
        if undo is not None and answer.content_type == EVENTS:
            return await self._events(call, answer, headers, undo)
        if undo is not None and call.questions and answer.content_type == JSON:
            return await self._whole(call, answer, headers, undo)
        if call.local and answer.status < 300:
            return reply(call.local, True)
        return await through(call.request, answer, headers)

    async def _whole(self, call: _Call, answer: aiohttp.ClientResponse, headers: Headers, undo: codings.Decoder) -> web.StreamResponse:
        """An answer as JSON, which is one message or a batch of them."""
        data = bytearray()
        async for piece in answer.content.iter_any():
            data += piece
            if len(data) > LONGEST:
                return await through(call.request, answer, headers, bytes(data))
        try:
            decoded = undo.decode(bytes(data))
            messages = parse(decoded)
        except ValueError:
            messages = []
        settled = [await self._settled(call, message) for message in messages]
        if not any(settled) and not call.local:
            return web.Response(status=answer.status, reason=answer.reason, headers=headers, body=bytes(data))
        shown = [new or old for new, old in zip(settled, messages, strict=True)]
        status = 200 if answer.status >= 400 and any(new and not new.failed for new in settled) else answer.status
        return reply([*shown, *call.local], decoded.lstrip()[:1] == b"[", status, plain(headers))

    async def _events(self, call: _Call, answer: aiohttp.ClientResponse, headers: Headers, undo: codings.Decoder) -> web.StreamResponse:
        """An answer as a stream of events, or a stream that a GET opens."""
        response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=plain(headers))
        await response.prepare(call.request)
        out = bytearray()
        for message in call.local:
            out += b"event: message\ndata: " + line(message) + b"\n\n"
        split, broken = Splitter(), ""
        try:
            async for piece in answer.content.iter_any():
                decoded = undo.decode(piece)
                if split.lost:
                    out += decoded
                for event in () if split.lost else split.feed(decoded):
                    changed = b""
                    if event.message and self._concerns(call, event):
                        if out:
                            await response.write(bytes(out))
                            out.clear()
                        changed = await self._changed(call, event)
                    out += changed or event.raw
                if len(split.left) > LONGEST:  # no message is so long: the rest goes as it comes
                    split.lost = True
                    out += split.left
                if out:
                    await response.write(bytes(out))
                    out.clear()
        except aiohttp.ClientConnectionResetError:  # the client's end, not the server's
            return response
        except (aiohttp.ClientError, ValueError) as fault:
            broken = words(fault)
        finally:
            if split.ids and SESSION in call.request.headers:
                for question in call.questions.values():
                    call.client.remember(question.message)
        if not broken:
            out += b"" if split.lost else split.left
        elif call.questions and not split.ids:
            gone = RpcError.made(GONE, f"{self.name} broke off before it answered: {broken}. How far it had come is not known.")
            for question in call.questions.values():
                out += b"event: message\ndata: " + line(Message(question.message.id, "", gone.body, True)) + b"\n\n"
        elif call.request.transport is not None:  # broken off for the client as well, which may take it up again
            call.request.transport.close()
        return await ended(response, bytes(out))

    def _concerns(self, call: _Call, event: Event) -> bool:
        """Whether an event has to be looked into."""
        return bool(call.questions or call.client.asked) or b"list_changed" in event.raw

    async def _changed(self, call: _Call, event: Event) -> bytes:
        """An event with what a client is to get in it; empty where it stays."""
        data = event.data
        try:
            messages = parse(data)
        except ValueError:
            return b""
        settled = [await self._settled(call, message) for message in messages]
        if not any(settled):
            return b""
        lines = [line(new or old) for new, old in zip(settled, messages, strict=True)]
        return event.saying(b"[" + b",".join(lines) + b"]" if data.lstrip()[:1] == b"[" else lines[0])

    async def _settled(self, call: _Call, message: Message) -> Message | None:
        """The answer that the client gets for one of the server's; None where it stays as it is."""
        if message.method:
            if message.method == "notifications/tools/list_changed":
                call.client.told.listed = None
            return None
        question = call.questions.pop(str(message.id), None)
        if question is not None:
            settled = await question.settle(message)
            if SESSION in call.request.headers:
                call.client.remember(question.message)
            return settled
        asked = call.client.asked.get(str(message.id)) if call.request.method == "GET" else None
        if asked is None:
            return None
        question = Question(asked, lambda ask: self._aside(call, ask), self._complain)
        try:
            await question.prepare(self._proxy(call.client, question))
            return await question.settle(message)
        finally:
            question.close()

    # the clients ------------------------------------------------------------------------------------------

    def _client(self, request: web.Request) -> _Client:
        key = _key(request.headers)
        if key not in self._clients:
            self._keep(key, _Client(self._session))
        self._clients.move_to_end(key)
        return self._clients[key]

    def _keep(self, key: str, client: _Client) -> None:
        self._clients[key] = client
        if len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)


def _key(headers: Mapping[str, str]) -> str:
    return headers.get(SESSION) or f"\0{hashlib.blake2b(headers.get('Authorization', '').encode('utf-8', 'replace')).hexdigest()}"
