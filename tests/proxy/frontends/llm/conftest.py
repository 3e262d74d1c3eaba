"""A client, byref's LLM routes, and a provider that each test makes up, in one event loop."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from byref.proxy import config
from byref.proxy.frontends.http import Service, application
from byref.proxy.frontends.llm.providers import chosen
from byref.proxy.frontends.llm.site import LlmSite
from relaying import hosted

LIMIT = 60.0  # seconds against hanging
SCOPE, TOKEN = "1000:/home/me/project", "t" * 40


@dataclass
class Provider:
    """What came, and what is answered: bytes, or pieces of a stream, in turn; the last one for ever."""

    answers: list[Any] = field(default_factory=lambda: [b"{}"])
    kind: str = "application/json"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, Any, bytes]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.raw_path, request.headers.copy(), await request.read()))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, bytes):
            return web.Response(body=answer, status=self.status, content_type=self.kind, headers=self.headers)
        response = web.StreamResponse(headers={"Content-Type": self.kind, **self.headers})
        await response.prepare(request)
        for piece in answer:
            await response.write(piece)
            await asyncio.sleep(0.01)
        if "Content-Length" in self.headers and request.transport is not None:
            request.transport.close()
        return response

    @property
    def last(self) -> bytes:
        return self.requests[-1][3]


@dataclass
class Client:
    """url: of byref's routes for the provider."""

    url: str
    http: aiohttp.ClientSession
    site: LlmSite
    service: Service
    provider: Provider

    async def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any, bytes]:
        named = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.request("GET" if body is None else "POST", self.url + path, data=body, headers=named) as answer:
            return answer.status, answer.headers, await answer.read()

    async def spent(self, count: int = 1) -> list[dict[str, int]]:
        """The numbers of usage in the ledger, once there are so many."""
        while True:
            found = [dict(event.numbers) for event in self.service.own.store.events() if event.kind == "usage"]
            if len(found) >= count:
                return found
            await asyncio.sleep(0.01)


Talk = Callable[..., None]


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """Runs a test's coroutine with a client before byref before a provider."""
    def run(test: Callable[[Client], Any], provider: Provider | None = None, token: str = "", **more: Any) -> None:
        found = provider or Provider()

        async def go() -> None:
            (tmp_path / "home").mkdir(mode=0o700, exist_ok=True)
            settings = config.load(environ={"BYREF_HOME": str(tmp_path / "home")})
            async with hosted(found.handle) as origin:
                service = Service(settings, TOKEN, lambda gateway, harness, event: b"", lambda reason: None)
                site = LlmSite(chosen([f"any={origin}"]), service, SCOPE, token, **more)
                app = application(service)
                await site.open()
                site.attach(app)
                runner = web.AppRunner(app, access_log=None, auto_decompress=False)
                await runner.setup()
                try:
                    await web.TCPSite(runner, "127.0.0.1", 0).start()
                    service.port = runner.addresses[0][1]
                    async with aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=("User-Agent", "Accept-Encoding")) as http:
                        await asyncio.wait_for(test(Client(f"http://127.0.0.1:{service.port}/llm/any", http, site, service, found)), LIMIT)
                finally:
                    await runner.cleanup()
                    await site.close()
                    await asyncio.to_thread(service.close)
        asyncio.run(go())
    return run
