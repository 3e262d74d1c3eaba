"""What changed comes to open pages by itself, and nothing is done while there are none."""
from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from byref.proxy import config
from byref.proxy.errors import StoreBusy
from byref.proxy.frontends import dashboard_live as module
from byref.proxy.frontends.dashboard_live import Live
from byref.proxy.frontends.http import Service

SCOPE = "1000:/home/me/project"
LIMIT = 60.0


class Page:
    """A stream as a page reads it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def line(self) -> str:
        async with asyncio.timeout(LIMIT):
            return str((await self.answer.content.readline()).decode())

    async def event(self) -> tuple[str, dict[str, Any]]:
        while not (line := await self.line()).startswith("event: "):
            assert line, "the stream ended"
        return line[7:].strip(), json.loads((await self.line()).removeprefix("data: "))


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[tuple[Live, Service, Callable[[], Awaitable[Page]]]]:
    service = Service(config.load(environ={"BYREF_HOME": str(home)}), "t" * 40, lambda *given: b"", lambda reason: None)
    live = Live(service)
    app = web.Application()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await live.stream(request, {"X-Of-The-Page": "1"})
    app.router.add_get("/live", handle)
    pages: list[Page] = []
    try:
        async with TestServer(app) as server, ClientSession() as client:
            async def page() -> Page:
                pages.append(Page(await client.get(server.make_url("/live"))))
                return pages[-1]
            yield live, service, page
            for one in pages:
                one.answer.close()
            await live.close()
    finally:
        service.close()


def running(scenario: Callable[..., Awaitable[None]], home: Path) -> None:
    async def run() -> None:
        async with served(home) as given:
            await scenario(*given)
    asyncio.run(run())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TICK", 0.01)
    monkeypatch.setattr(module, "SPACING", 0.02)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not holds():
            await asyncio.sleep(0.01)


def test_a_page_hears_at_once_how_things_stand_and_then_of_each_change_by_whomever(tmp_path: Path) -> None:
    async def scenario(live: Live, service: Service, page: Callable[[], Awaitable[Page]]) -> None:
        one, other = await page(), await page()
        assert one.answer.headers["Content-Type"].startswith("text/event-stream") and one.answer.headers["X-Of-The-Page"] == "1"
        name, state = await one.event()
        assert name == "state" and (state["outputs"], state["calls"], state["events"]) == (0, 0, 0) and state["version"]
        await other.event()

        def elsewhere() -> str:
            import byref
            with byref.open(f"file:{service.settings.home}") as gateway:
                return gateway.session("s", scope=SCOPE).capture(tool="shell", output="x\n").ref
        ref = await asyncio.to_thread(elsewhere)
        for stream in (one, other):
            assert (await stream.event())[1]["outputs"] == 1
        await asyncio.to_thread(service.own.session("s", scope=SCOPE).purge, ref)
        assert (await one.event())[1]["outputs"] == 0
    running(scenario, tmp_path / "home")


def test_nothing_is_done_while_nobody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(live: Live, service: Service, page: Callable[[], Awaitable[Page]]) -> None:
        asked = 0
        whole = service.own.store.revision

        def counted() -> tuple[int, int, int]:
            nonlocal asked
            asked += 1
            return whole()
        monkeypatch.setattr(service.own.store, "revision", counted)
        assert not live.watching
        one = await page()
        await one.event()
        assert live.watching
        one.answer.close()
        await until(lambda: not live.watching)
        before = asked
        await asyncio.sleep(0.1)
        assert asked == before > 0
        again = await page()
        assert (await again.event())[0] == "state" and live.watching, "and again for the next page"
    running(scenario, tmp_path / "home")


def test_a_stream_without_news_shows_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING", 0.05)

    async def scenario(live: Live, service: Service, page: Callable[[], Awaitable[Page]]) -> None:
        one = await page()
        await one.event()
        while await one.line() != ":\n":
            pass
    running(scenario, tmp_path / "home")


def test_the_end_of_the_daemon_is_told_and_ends_the_streams(tmp_path: Path) -> None:
    async def scenario(live: Live, service: Service, page: Callable[[], Awaitable[Page]]) -> None:
        one = await page()
        await one.event()
        await live.close()
        assert (await one.event())[0] == "end"
        while await one.line():
            pass
    running(scenario, tmp_path / "home")


def test_a_store_that_cannot_be_asked_just_now_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(live: Live, service: Service, page: Callable[[], Awaitable[Page]]) -> None:
        one = await page()
        await one.event()
        whole, left = service.own.store.revision, [3]

        def busy() -> tuple[int, int, int]:
            left[0] -= 1
            if left[0] >= 0:
                raise StoreBusy("held")
            return whole()
        monkeypatch.setattr(service.own.store, "revision", busy)
        await asyncio.to_thread(service.own.session("s", scope=SCOPE).capture, tool="shell", output="x\n")
        assert (await one.event())[1]["outputs"] == 1 and left[0] < 0
    running(scenario, tmp_path / "home")


def test_more_pages_than_there_can_be_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STREAMS", 1)

    async def scenario(live: Live, service: Service, page: Callable[[], Awaitable[Page]]) -> None:
        one = await page()
        await one.event()
        assert (await page()).answer.status == 500  # the guard of the daemon makes 503 of it
        one.answer.close()
        await until(lambda: not live.watching)
        assert (await (await page()).event())[0] == "state"
    running(scenario, tmp_path / "home")
