"""The upstreams of a daemon: their routes, their connections, their gates, and who may ask for them."""
from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import aiohttp
from aiohttp import web

from byref.proxy import discover
from byref.proxy.contracts import Clock
from byref.proxy.errors import ConfigError, Unavailable
from byref.proxy.frontends.http import Service
from byref.proxy.frontends.reverse import replies
from byref.proxy.frontends.reverse.addresses import Guarded
from byref.proxy.frontends.reverse.asked import RAW
from byref.proxy.frontends.reverse.calls import Calls
from byref.proxy.frontends.reverse.exchange import Exchange
from byref.proxy.frontends.reverse.fresh import Fresh
from byref.proxy.frontends.reverse.paths import Outside
from byref.proxy.frontends.reverse.spool import Spool
from byref.proxy.frontends.reverse.upstreams import Upstream
from byref.proxy.frontends.tools.engine import adapter
from byref.proxy.frontends.wrap.door import TOKEN_HEADER, bearer
from byref.proxy.frontends.wrap.hops import HEADER
from byref.proxy.gates import Gate, Limits
from byref.proxy.operations import Adapter
from byref.proxy.session import Session

IDLE = 4.0  # seconds that a connection is kept: servers close theirs after 5 (uvicorn, Node), and a request must not meet that
_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")  # what aiohttp would say where the caller says nothing
T = TypeVar("T")


class Site:
    """The upstreams behind a service. scope: where their answers belong, unless the service's own is fixed.

    token: what every caller has to bring; without it only those of an upstream for which we hold headers, and they the daemon's.
    """

    def __init__(self, upstreams: Sequence[Upstream], service: Service, scope: str, token: str = "", clock: Clock = time.time) -> None:
        self.upstreams, self.service, self._token = tuple(upstreams), service, token
        self._scope = service.settings.scope or scope
        self.adapters = {one.name: found for one in upstreams if (found := _adapter(one.name)) is not None}
        self.gates = {one.name: Gate(one.name, self._limits(one)) for one in upstreams}
        self.http: dict[str, aiohttp.ClientSession] = {}
        self.calls, self.fresh = Calls(), Fresh(clock)
        self._tasks: set[asyncio.Task[None]] = set()

    def _limits(self, upstream: Upstream) -> Limits:
        """Those of an upstream, with the rate of its API where that is lower than what holds for all."""
        rate = self.adapters[upstream.name][0].rate if upstream.name in self.adapters else 0
        return replace(upstream.limits, rate=rate) if 0 < rate < upstream.limits.rate == Limits().rate else upstream.limits

    async def open(self) -> None:
        """Before the first request."""
        for one in self.upstreams:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=one.limits.timeout, sock_read=one.limits.timeout)
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE, resolver=Guarded(one.name, one.private))
            self.http[one.name] = aiohttp.ClientSession(
                auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), skip_auto_headers=_ADDED, max_line_size=HEADER,
                max_field_size=HEADER, timeout=timeout, connector=connector)

    def attach(self, app: web.Application) -> None:
        """Adds the routes, and what the status says of calls."""
        self._route(app)
        self.service.call = self.calls.about

    def _route(self, app: web.Application) -> None:
        for one in self.upstreams:
            for path in (f"/{one.name}", f"/{one.name}/{{rest:.*}}"):
                resource = app.router.add_resource(path)
                resource.add_route("*", partial(self.handle, one))
                self.service.free.add(resource)
        app.on_response_prepare.append(replies.unsaid)

    async def handle(self, upstream: Upstream, request: web.Request) -> web.StreamResponse:
        """Answers one request."""
        try:
            return await self._exchange(upstream, request, self._admit(upstream, request)).answer()
        except Outside as fault:
            return replies.error(fault.status, "refused", str(fault))
        except ConfigError as fault:
            return replies.error(400, "refused", str(fault))
        except Unavailable as fault:
            return replies.held_back(fault)

    def _exchange(self, upstream: Upstream, request: web.Request, own: bool) -> Exchange:
        return Exchange(self, upstream, request, own)

    async def close(self) -> None:
        """After the last request: what is still to be stored is stored first."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        for http in self.http.values():
            await http.close()

    def _admit(self, upstream: Upstream, request: web.Request) -> bool:
        """Whether the Authorization of a request is ours. Raises `Outside` where a token has to be brought, and is not."""
        given = bearer(request.headers)
        own = any(_same(given, token) for token in (self._token, self.service.token))
        if (self._token or upstream.headers) and not self.service.same_user(request):
            wanted = self._token or self.service.token
            if not _same(given, wanted) and not _same(request.headers.get(TOKEN_HEADER, ""), wanted):
                raise Outside(401, f"bring the token: {TOKEN_HEADER}, or Authorization: Bearer")
        return own

    # what an exchange needs

    def session(self, name: str, view: str) -> Session:
        """A session of a name, whose views are of this profile."""
        gateway = self.service.own
        if view and view != RAW and view != gateway.settings.profile:
            gateway = self.service.gateway(json.dumps({"BYREF_PROFILE": view}), False)
        return gateway.session(name, scope=self._scope, proven=False)

    def spool(self, keep: bool = False) -> Spool:
        """For one body."""
        return Spool(self.service.settings.folder, self.run, keep)

    async def run(self, work: Callable[[], T], large: bool = False) -> T:
        """Work that blocks, in a thread."""
        return await self.service.run(work, large)

    def later(self, work: Coroutine[None, None, None]) -> None:
        """Work that no caller waits for; the end of the daemon does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self.service.own.faults.add("reverse", fault)


def _adapter(name: str) -> tuple[Adapter, frozenset[str]] | None:
    """The adapter of an API that we know by this name, and what in a query signs its requests."""
    if name not in discover.names("tools"):
        return None
    found = adapter(name)
    if not found.base:
        return None
    signed = found.signed(dict.fromkeys(found.environment, "x"))[1] if found.signed is not None else {}
    return found, frozenset(signed)


def _same(given: str, token: str) -> bool:
    return bool(token) and hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
