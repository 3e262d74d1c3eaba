"""The daemon's routes before a server that each test makes up, with real clients before them."""
from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from byref.proxy import config
from byref.proxy.frontends.http import Service, application
from byref.proxy.frontends.reverse.site import Site
from byref.proxy.frontends.reverse.upstreams import Upstream, upstream
from byref.proxy.gates import Limits
from byref.proxy.session import Session
from relaying import Handler, hosted

LIMIT = 60.0  # seconds against hanging
SCOPE, TOKEN = "1000:/home/me/project", "t" * 40
QUIET = ("User-Agent", "Accept-Encoding", "Content-Type")


@dataclass
class Front:
    """A client before byref before an upstream. direct: the upstream's own URL; url: the same through byref."""

    url: str
    direct: str
    http: aiohttp.ClientSession
    site: Site
    service: Service

    @property
    def session(self) -> Session:
        return self.service.own.session("test", scope=SCOPE, proven=False)

    async def ask(self, path: str = "/", method: str = "GET", direct: bool = False, **more: Any) -> Reply:
        async with self.http.request(method, (self.direct if direct else self.url) + path, allow_redirects=False, **more) as answer:
            return Reply(answer.status, answer.headers, await answer.read())

    def stored(self, ref: str) -> bytes:
        return b"".join(self.session.blocks(ref))

    @property
    def outputs(self) -> int:
        return len(self.service.own.store.recent(SCOPE, limit=1000))

    async def about(self, call: str) -> dict[str, Any]:
        """What became of a call, once it has ended."""
        until = time.monotonic() + LIMIT
        while True:
            base = self.url.rpartition("/")[0]
            async with self.http.get(f"{base}/v1/status", params={"call": call}, headers={"Authorization": f"Bearer {TOKEN}"}) as answer:
                found: dict[str, Any] = await answer.json()
            if found.get("state") in ("stored", "lost") or answer.status != 200:
                return found
            assert time.monotonic() < until, found
            await asyncio.sleep(0.01)


@dataclass
class Reply:
    status: int
    headers: Any
    body: bytes

    @property
    def ref(self) -> str:
        return str(self.headers["Byref-Ref"])


class Behind:
    """Makes fronts in a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.asynccontextmanager
    async def at(self, url: str, name: str = "api", token: str = "", home: str = "daemon", limits: Limits | None = None,
                 clock: Callable[[], float] = time.time, **more: Any) -> AsyncIterator[Front]:
        """Before the upstream at a URL. more: of the `Upstream`."""
        folder = self._folder / home
        folder.mkdir(mode=0o700, exist_ok=True)
        service = Service(config.load(environ={"BYREF_HOME": str(folder)}), TOKEN, lambda gateway, harness, event: b"", lambda reason: None)
        one = upstream(name, url)
        fast = limits or Limits(rate=1e6, attempts=1)
        found = Upstream(name, one.url, limits=fast, private=one.private, **more)
        site = Site([found], service, SCOPE, token, clock)
        site.gates[name].jitter = lambda: 0.0
        app = application(service)
        await site.open()
        site.attach(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            service.port = runner.addresses[0][1]
            async with aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=QUIET) as http:
                yield Front(f"http://127.0.0.1:{service.port}/{name}", url, http, site, service)
        finally:
            await runner.cleanup()
            await site.close()
            await asyncio.to_thread(service.close)

    def talking(self, handler: Handler, test: Callable[[Front], Any], path: str = "", **more: Any) -> None:
        """Runs a test's coroutine over a front before an aiohttp server with one handler."""
        async def run() -> None:
            async with hosted(handler) as origin, self.at(origin + path, **more) as front:
                await asyncio.wait_for(test(front), LIMIT)
        asyncio.run(run())

    def speaking(self, *answers: bytes, test: Callable[[Front], Any], **more: Any) -> None:
        """The same before a server that says these bytes, one after each request, and hangs up."""
        left = list(answers)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(left.pop(0) if len(left) > 1 else left[0])
                await writer.drain()
            writer.close()

        async def run() -> None:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            async with server, self.at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", **more) as front:
                await asyncio.wait_for(test(front), LIMIT)
        asyncio.run(run())


@pytest.fixture
def behind(tmp_path: Path) -> Behind:
    return Behind(tmp_path)
