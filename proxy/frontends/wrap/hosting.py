"""`byref wrap --http`: the listener for clients that come over HTTP, and what stands behind it."""
from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from aiohttp import web

from byref.proxy import config
from byref.proxy.frontends.bodies import server_log
from byref.proxy.frontends.wrap.door import Door, place
from byref.proxy.frontends.wrap.downstream import Downstream
from byref.proxy.frontends.wrap.hops import HEADER
from byref.proxy.frontends.wrap.proxy import Options
from byref.proxy.frontends.wrap.relay import Relay
from byref.proxy.frontends.wrap.routes import Single
from byref.proxy.frontends.wrap.servers import Local, Remote, from_file
from byref.proxy.frontends.wrap.several import Several
from byref.proxy.gateway import Gateway
from byref.proxy.session import Session

PATH = "/mcp"
THREADS = 4  # results that are stored and viewed at once
DRAIN = 5.0  # seconds for answers that are under way when we end


class Site(Protocol):
    """What answers HTTP. path: where clients find it."""

    path: str

    async def open(self) -> None:
        """Before the first request."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request."""

    async def close(self) -> None:
        """After the last one."""


async def serve(found: Sequence[Local | Remote], where: str, token: str, options: Options, make: Callable[[], Session],
                pool: ThreadPoolExecutor, client_name: str, complain: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Listens until a signal ends it. where: `PORT` or `HOST:PORT`. make: opens the store. Raises `ConfigError` and OSError."""
    host, port = place(where)
    door = Door(host, token)
    first = await asyncio.get_running_loop().run_in_executor(pool, make)

    def session() -> Session:
        return first.gateway.session(first.name, scope=first.scope, proven=False)

    try:
        site = _site(found, door, session, pool, options, client_name, complain)
        await site.open()
        try:
            await _listen(site, door, port, say)
        finally:
            await site.close()
    finally:
        first.gateway.close()


def _site(found: Sequence[Local | Remote], door: Door, session: Callable[[], Session], pool: ThreadPoolExecutor, options: Options,
          client_name: str, complain: Callable[[str], None]) -> Site:
    only = found[0]
    if len(found) == 1 and isinstance(only, Remote):
        return Relay(only.name, only.url, only.headers, door, session, pool, options, complain)
    return downstream(found, door, session, pool, options, client_name, complain)


def downstream(found: Sequence[Local | Remote], door: Door | None, session: Callable[[], Session], pool: ThreadPoolExecutor,
               options: Options, client_name: str, complain: Callable[[str], None]) -> Downstream:
    """Streamable HTTP before servers of any kind."""
    def make() -> Single | Several:
        return Single(found, complain) if len(found) == 1 else Several(found, complain, client_name)
    return Downstream(PATH, make, door, session, pool, options, complain)


def site_of(path: str, gateway: Gateway, complain: Callable[[str], None]) -> Downstream:
    """The servers that a file names, over a gateway that is open; who asks was let in already. Raises `ConfigError` and OSError.

    Their outputs belong to the project of the file's folder, where nothing fixes another scope.
    """
    folder = os.path.dirname(path)  # where the servers run: the daemon itself is nowhere in particular
    found = [replace(one, folder=os.path.join(folder, one.folder or "")) if isinstance(one, Local) else one
             for one in from_file(path, config.inherited())]
    scope = gateway.settings.scope or config.scope_here(folder)
    pool = ThreadPoolExecutor(THREADS, "byref mcp")
    return downstream(found, None, lambda: gateway.session("mcp", scope=scope, proven=False), pool, Options(), "byref", complain)


async def _listen(site: Site, door: Door, port: int, say: Callable[[str], None]) -> None:
    app = web.Application(client_max_size=0)
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=DRAIN,
                           logger=server_log(), max_line_size=HEADER, max_field_size=HEADER)
    await runner.setup()
    try:
        await web.TCPSite(runner, door.host, port).start()
        door.port = runner.addresses[0][1]
        say(f"byref wrap: http://{f'[{door.host}]' if ':' in door.host else door.host}:{door.port}{site.path}\n")
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        await ended.wait()
    finally:
        await runner.cleanup()
