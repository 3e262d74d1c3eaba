"""What changed, told to open pages of the dashboard: one stream of Server-Sent Events a page, and one look at the store for all of them.

An event `state` comes at once, and after each change: outputs held, calls and events so far, and the daemon's version. The page asks for
what it shows; nothing of an output stands in the stream. An event `end` says that the daemon ends. The store is asked for its revision,
some twenty microseconds, once a second while a page is open, and never else.
"""
from __future__ import annotations

import asyncio
import json

from aiohttp import web

from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError
from byref.proxy.frontends import hook
from byref.proxy.frontends.http import Refused, Service

TICK = 1.0  # seconds between two looks at the store's revision
SPACING = 2.0  # seconds between two events, so that a page whose agents are busy asks no more often than it would by itself
PING = 15.0  # seconds after which a stream without an event says that it lives
STREAMS = 64
HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Live:
    """The streams of one daemon."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._revision = (-1, -1, -1)
        self._changed = asyncio.Condition()
        self._open = 0
        self._watch: asyncio.Task[None] | None = None
        self._ended = ""

    @property
    def watching(self) -> bool:
        """Whether anything is done for pages."""
        return self._watch is not None and not self._watch.done()

    async def stream(self, request: web.Request, headers: dict[str, str]) -> web.StreamResponse:
        """Streams until the page goes or the daemon ends. Raises `Refused` where too many do."""
        if self._open >= STREAMS:
            raise Refused(503, "too many pages are open")
        response = web.StreamResponse(headers=headers | HEADERS)
        self._open += 1
        try:
            await response.prepare(request)
            if not self.watching:
                await self._look()
                self._watch = asyncio.create_task(self._watching())
            told = (-2, -2, -2)
            while not self._ended:
                if told != self._revision:
                    told = self._revision
                    await response.write(_event("state", self._state()))
                else:
                    await response.write(b":\n\n")
                if not await self._news(request, told):
                    break
            if self._ended:
                await response.write(_event("end", {"reason": self._ended}))
        except ConnectionError:
            pass  # the page went
        finally:
            self._open -= 1
        return response

    async def close(self, reason: str = "the daemon ends") -> None:
        """Ends all streams."""
        self._ended = reason
        async with self._changed:
            self._changed.notify_all()
        if self._watch is not None:
            self._watch.cancel()

    async def _news(self, request: web.Request, told: tuple[int, int, int]) -> bool:
        """Waits for a change, or for as long as a page may hear nothing. Whether the page is still there."""
        until = asyncio.get_running_loop().time() + PING
        async with self._changed:
            while not self._ended and told == self._revision and asyncio.get_running_loop().time() < until:
                await self._changed.wait()
                if request.transport is None or request.transport.is_closing():
                    return False
        return True

    async def _watching(self) -> None:
        while self._open:
            changed = await self._look()
            async with self._changed:  # without news, too: a page may have gone, or be due for a sign of life
                self._changed.notify_all()
            await asyncio.sleep(SPACING if changed else TICK)

    async def _look(self) -> bool:
        try:
            found = await self._service.run(self._service.own.store.revision)
        except ByrefError:
            return False  # the next look may find it well
        changed, self._revision = found != self._revision, found
        return changed

    def _state(self) -> dict[str, Json]:
        held, calls, events = self._revision
        return {"outputs": held, "calls": calls, "events": events, "version": hook.VERSION}


def _event(name: str, data: dict[str, Json]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
