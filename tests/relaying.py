"""An HTTP server of a few lines, made up by each test, with the proxy before it and a client before that, in one event loop."""
from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
from aiohttp import web

import byref
from byref.proxy.frontends.wrap.door import Door
from byref.proxy.frontends.wrap.hosting import Site
from byref.proxy.frontends.wrap.proxy import Options
from byref.proxy.frontends.wrap.relay import Relay

LIMIT = 60.0  # seconds against hanging
LONG = "".join(f"{n:04d} | résumé | 東京 | {'FAILED checksum' if n == 777 else 'ok'}\n" for n in range(1, 1501))
TOOLS = [{"name": "report", "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "object"}}]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def hosted(handler: Handler, cancel: bool = True) -> AsyncIterator[str]:
    """The origin of an HTTP server with one handler."""
    app = web.Application(client_max_size=0)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=cancel)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Talk:
    """A client of the proxy. said: what the proxy complained of; session: of byref, where the proxy stores."""

    def __init__(self, origin: str, http: aiohttp.ClientSession, gateway: byref.Gateway, said: list[str]) -> None:
        self.origin, self.http, self.said = origin, http, said
        self.session = gateway.session("mcp", scope="s")

    async def ask(self, message: Any, method: str = "POST", path: str = "/mcp", **headers: str) -> Answer:
        """What the proxy answers; the body as it came over the wire."""
        named = {"Accept": "application/json, text/event-stream"} | {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if message is None else message if isinstance(message, bytes) else json.dumps(message).encode()
        async with self.http.request(method, self.origin + path, data=data, headers=named, allow_redirects=False) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def call(self, name: str, number: Any = 1, **arguments: Any) -> Any:
        """The result of a tool, or the error."""
        answer = await self.ask(calling(name, number, **arguments))
        found = json.loads(answer.body) if answer.headers["Content-Type"].startswith("application/json") else events(answer.body)[-1]
        return found.get("result", found.get("error"))


class Answer:
    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextlib.asynccontextmanager
async def fronted(url: str, token: str = "", options: Options | None = None, **headers: str) -> AsyncIterator[Talk]:
    """A client of the proxy before the server at url."""
    door, said = Door("127.0.0.1", token), []
    with byref.open("memory:") as gateway, ThreadPoolExecutor(2) as pool:
        site: Site = Relay("upstream", url, headers, door, lambda: gateway.session("mcp", scope="s", proven=False), pool,
                           options or Options(), said.append)
        await site.open()
        try:
            async with hosted(site.handle) as origin, aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=(
                    "User-Agent", "Accept-Encoding", "Content-Type")) as http:
                door.port = int(origin.rpartition(":")[2])
                yield Talk(origin, http, gateway, said)
        finally:
            await site.close()


def calling(name: str, number: Any = 1, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def result(number: Any = 1, text: str = LONG, **more: Any) -> dict[str, Any]:
    """A server's answer to it."""
    return {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}], **more}}


def event(message: Any, number: int | None = None) -> bytes:
    """A message as an event."""
    name = "" if number is None else f"id: {number}\n"
    return f"{name}event: message\ndata: {json.dumps(message, ensure_ascii=False)}\n\n".encode()


def events(body: bytes) -> list[Any]:
    """The messages of a stream."""
    lines = body.decode().replace("\r\n", "\n").split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def talking(handler: Handler, test: Callable[[Talk], Awaitable[None]], path: str = "/mcp", **more: Any) -> None:
    """Runs a test's coroutine over the proxy before a server with one handler, which answers tools/list by itself."""
    async def served(request: web.Request) -> web.StreamResponse:
        if b'"tools/list"' in await request.read() and not request.app.get("lists"):
            asked = json.loads(await request.read())
            return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": TOOLS}})
        return await handler(request)

    async def run() -> None:
        async with hosted(served) as origin, fronted(origin + path, **more) as client:
            await asyncio.wait_for(test(client), LIMIT)
    asyncio.run(run())
