"""The life of the daemon: warm before it listens, on a socket and a loopback port, until it is idle, asked to end or not the one any more.

The socket takes its name only when it listens, by a rename: a client finds a daemon that answers, or none. On the way out the
order is: the socket's name, so that nobody new comes; the lock, so that the next daemon can start; then what is in flight.
"""
from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import stat
import sys
import time

from aiohttp import web

from byref.proxy import discover
from byref.proxy.config import Settings
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import hook
from byref.proxy.frontends.bodies import server_log
from byref.proxy.frontends.command import say
from byref.proxy.frontends.dashboard import Dashboard
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.http import Answer, Service, application
from byref.proxy.gateway import Gateway
from byref.proxy.gateway import open as open_gateway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.proxy.frontends.llm.providers import Offer
    from byref.proxy.frontends.reverse.site import Site
    from byref.proxy.frontends.reverse.upstreams import Upstream
    from byref.proxy.frontends.wrap.downstream import Downstream

DRAIN = 30.0  # seconds for what is in flight when the daemon ends
LINGER = 1.0  # seconds for the rest of a body that nobody wants
TICK = 5.0  # seconds between two looks at whether to end
SWITCH = 0.001  # seconds after which a thread that computes lets the event loop in
BUFFER = 1 << 20  # bytes read ahead of a body
BACKLOG = 512
TRIES, PAUSE = 5, 0.1  # for the port of the daemon before, which may still be ending; seconds in between
LINE = 1 << 16  # bytes of a request's first line, and of a header: queries and tokens can be long


class Daemon:
    """One daemon. lock: the descriptor that holds `daemon.lock`. port: of HTTP, 0 for any, None for none. idle: in seconds.

    mcp: a file that names servers of MCP, for clients at /mcp. upstreams: see reverse/; scope: where their answers belong;
    upstream_token: what who asks for them has to bring. llm: see llm/.
    """

    def __init__(self, settings: Settings, lock: int, port: int | None, idle: float, answer: Answer | None = None,
                 mcp: str | None = None, upstreams: Sequence[Upstream] = (), scope: str = "", upstream_token: str = "",
                 llm: Offer | None = None) -> None:
        self.settings, self.port, self.idle, self.mcp = settings, port, idle, mcp
        self.upstreams, self.scope, self.upstream_token, self.llm = upstreams, scope, upstream_token, llm
        self.path = hook.socket_path(os.fsencode(settings.home))
        self._lock = lock
        self._answer = answer or answer_hook
        self._inode = 0
        self._leaving = asyncio.Event()
        self._service: Service | None = None

    def run(self) -> int:
        """Serves until it ends; returns the exit code."""
        os.chdir("/")  # a folder that is to be removed is not held
        sys.setswitchinterval(SWITCH)
        try:
            return asyncio.run(self._serve())
        except (OSError, ConfigError) as fault:
            complain(f"the daemon cannot serve: {fault}")
            return 1
        finally:
            self._withdraw()

    async def _serve(self) -> int:
        loop = asyncio.get_running_loop()
        service = self._service = Service(self.settings, token(self.settings.home), self._answer, self.leave)
        loop.set_exception_handler(lambda loop, context: _noted(service, context))
        await service.run(warm)
        app = application(service)
        dashboard = Dashboard(service)
        dashboard.attach(app)
        mcp = None if self.mcp is None else await self._offer(app, service, self.mcp)
        sites = await self._stand_before(app, service)
        runner = web.AppRunner(app, access_log=None, logger=server_log(), handle_signals=False, shutdown_timeout=DRAIN,
                               lingering_time=LINGER, read_bufsize=BUFFER, max_line_size=LINE, max_field_size=LINE, auto_decompress=False)
        await runner.setup()
        try:
            if self.port is not None:
                service.port = await self._bind(runner, self.port)
            listener = self._listen()
            await web.SockSite(runner, listener, backlog=BACKLOG).start()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.leave, "a signal")
            if sys.stderr.isatty():
                where = f"http://127.0.0.1:{service.port}" if self.port is not None else os.fsdecode(self.path)
                complain(f"{where}; `byref dashboard` opens its page, Ctrl-C ends it")
            if mcp is not None:
                say(f"byref serve: http://127.0.0.1:{service.port}{mcp.path}\n")
            for one in (upstream for reverse in sites for upstream in reverse.upstreams):
                say(f"byref serve: http://127.0.0.1:{service.port}/{one.name} -> {one.url}\n")
            service.used = time.monotonic()
            while not self._leaving.is_set():
                try:
                    await asyncio.wait_for(self._leaving.wait(), min(TICK, max(self.idle / 4, 0.05)))
                except TimeoutError:
                    self._look(service)
        finally:
            self._withdraw()
            await dashboard.live.close()  # streams of clients that stay open would hold up the end
            if mcp is not None:
                await mcp.close()
            await runner.cleanup()
            for reverse in sites:
                await reverse.close()
            await asyncio.to_thread(service.close)
        return 0

    async def _offer(self, app: web.Application, service: Service, path: str) -> Downstream:
        from byref.proxy.frontends.wrap.hosting import site_of
        site = site_of(path, service.own, lambda text: complain(f"mcp: {text}"))
        await site.open()
        app.router.add_route("*", site.path, site.handle)
        return site

    async def _stand_before(self, app: web.Application, service: Service) -> list[Site]:
        sites: list[Site] = []
        if self.upstreams:
            from byref.proxy.frontends.reverse.site import Site
            sites.append(Site(self.upstreams, service, self.scope, self.upstream_token))
        if self.llm is not None:
            from byref.proxy.frontends.llm.site import LlmSite
            sites.append(LlmSite(self.llm.upstreams, service, self.scope, self.upstream_token, stateless=self.llm.stateless,
                                 answers=self.llm.answers))
        for site in sites:
            await site.open()
            site.attach(app)
        return sites

    async def _bind(self, runner: web.AppRunner, port: int) -> int:
        """The port that we listen on. Any that is free: that of the daemon before, so that a page of it which is open finds this one."""
        if not port:
            former = os.path.join(self.settings.home, "daemon.port")
            for _ in range(TRIES):
                try:
                    await web.TCPSite(runner, "127.0.0.1", remembered(former), backlog=BACKLOG).start()
                except OSError:  # it is another's, or still of the daemon before
                    await asyncio.sleep(PAUSE)
                    continue
                remember(former, runner.addresses[0][1])
                break
            else:
                await web.TCPSite(runner, "127.0.0.1", 0, backlog=BACKLOG).start()
                remember(former, runner.addresses[0][1])
        else:
            await web.TCPSite(runner, "127.0.0.1", port, backlog=BACKLOG).start()
        return int(runner.addresses[0][1])

    def _listen(self) -> socket.socket:
        folder, fresh = os.path.dirname(self.path), self.path + b"~"
        hook.make_folder(folder)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise ConfigError(f"{os.fsdecode(folder)} is another user's; the daemon's socket cannot lie there")
        try:
            os.unlink(fresh)
        except FileNotFoundError:
            pass
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listener.bind(fresh)
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        self._inode = os.stat(fresh).st_ino
        os.rename(fresh, self.path)  # over what a daemon that was killed left
        if self._lock >= 0:
            os.utime(self._lock, (0, 0))  # it came up: when it ends, the next one may start at once
        return listener

    def _look(self, service: Service) -> None:
        if service.in_flight == 0 and time.monotonic() - service.used > self.idle:
            self.leave("idle")
        elif not self._listed():
            self.leave("its socket is gone")

    def _listed(self) -> bool:
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def leave(self, reason: str) -> None:
        """Ends it once all that is in flight is answered. Nobody new finds it from now on, and the next one may start."""
        self._withdraw()
        self._leaving.set()

    def _withdraw(self) -> None:
        if self._inode and self._listed():
            os.unlink(self.path)
        self._inode = 0
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def answer_hook(gateway: Gateway, harness: str, event: bytes) -> bytes:
    """What a hook is to print. Loaded with the first one."""
    from byref.proxy.frontends.hooks import answer
    return answer(gateway, harness, event)


def token(home: str) -> str:
    """The token of loopback HTTP: the one that `daemon.token` holds, else a new one."""
    path = os.path.join(home, "daemon.token")
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as fault:
        raise ConfigError(f"{path} cannot be used: {fault.strerror}") from None
    with open(fd, "r+") as file:
        held = file.read().strip()
        if len(held) < 32 or os.fstat(fd).st_uid != os.getuid() or stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
            held = secrets.token_urlsafe(32)
            os.fchmod(fd, 0o600)
            file.seek(0)
            file.truncate()
            file.write(held + "\n")
    return held


def remembered(path: str) -> int:
    """The port of the daemon before; 0 for none."""
    try:
        with open(path, encoding="ascii") as file:
            port = int(file.read(16))
    except (OSError, ValueError):
        return 0
    return port if 1024 <= port < 1 << 16 else 0


def remember(path: str, port: int) -> None:
    """For the next daemon. Where it cannot be written, that one takes another port."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            file.write(f"{port}\n")
    except OSError:
        pass


def warm() -> None:
    """Loads what the first call would have to load, by making some."""
    with open_gateway("memory:") as gateway:
        for harness in discover.names("harnesses"):
            if hasattr(discover.load("harnesses", harness), "parse"):  # others have no hooks
                answer_hook(gateway, harness, b"{}")
        gateway.session("warm").capture(tool="shell", args={"command": "make"}, output="".join(f"line {n} of it\n" for n in range(2000)))


def _noted(service: Service, context: dict[str, Json]) -> None:
    fault = context.get("exception")
    service.own.faults.add("serve", fault if isinstance(fault, BaseException) else RuntimeError(str(context.get("message"))))
