"""The daemon's routes: capture, fetch, search and status in the words of the Python API, and hooks. JSON, or frames for bytes.

| route                 | takes                                                       | gives                                           |
|-----------------------|-------------------------------------------------------------|-------------------------------------------------|
| POST /v1/capture      | scope, session, context, proven, task, echo, what           | `Captured`: ref, text, head, texts, gaps, ...   |
|                       | `Session.capture` takes, and the output (see bodies.py)     | echo false: no text where the raw output passes |
| POST /v1/fetch        | scope, session, what `Session.fetch` takes                  | `Page`                                          |
| POST /v1/search       | scope, session, what `Session.search` takes (its filter on  | `Found`                                         |
|                       | a session as of_session)                                    |                                                 |
| GET, POST /v1/status  | scope, in the query or as JSON                              | `Status`                                        |
| GET /v1/status        | nothing                                                     | what the daemon itself does                     |
| GET /v1/status        | call, in the query: what a header `Byref-Call` said         | what became of that answer                      |
| POST /hooks/{harness} | a hook's event, whole                                       | what the hook prints                            |
| GET /healthz          |                                                             | ok                                              |
| GET /metrics          |                                                             | the ledger's totals, for Prometheus             |
| POST /v1/stop         | over the Unix socket alone                                  |                                                 |
| /web/...              | see dashboard.py                                            | the dashboard                                   |
| /{upstream}/...       | what `byref serve --upstream` named: see reverse/           | what the upstream answers                       |

Whoever sends `Accept: application/vnd.byref.frame` gets bytes after a head in one line instead of text in JSON. A miss is
`{"error": {"reason": …, "message": …}}` with 400 invalid, 404 unknown, 410 expired or evicted, 500 corrupt; 503 says that the
store cannot be used now. 409: the daemon was of another version or of other settings, and ends; 412: what the environment of
this call sets (header `Byref-Settings`) is not what this daemon's store was opened with.
"""
from __future__ import annotations

import asyncio
import hmac
import json
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from aiohttp import web

from byref.proxy import config
from byref.proxy.captured import Captured
from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError, ConfigError, Corrupt, Evicted, Expired, Miss, StoreError, Unknown
from byref.proxy.frontends import bodies, frame, hook
from byref.proxy.frontends.metrics import Metrics
from byref.proxy.frontends.search import as_json as as_found
from byref.proxy.frontends.status import as_json
from byref.proxy.gateway import Gateway
from byref.proxy.intake import to_bytes
from byref.proxy.reader import Page
from byref.proxy.searching import MAX_TOKENS
from byref.proxy.session import Session

Answer = Callable[[Gateway, str, bytes], bytes]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
T = TypeVar("T")

EVENT = 64 << 20  # bytes of a hook's event
THREADS = 8
STREAMS = 4  # threads that wait for bodies too large to hold, so that a slow one holds up nobody else
GATEWAYS = 32  # pairs of profile and fixed scope at once; whoever brings another works without the daemon
STATUS: dict[type[ByrefError], int] = {Unknown: 404, Expired: 410, Evicted: 410, Corrupt: 500, StoreError: 503}  # else 400


class Refused(Exception):
    """This daemon cannot serve that call; status and reason say why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Service:
    """What the routes share: gateways over one store, threads for all that blocks, and who may ask.

    settings: the daemon's own. token: for loopback HTTP. answer: the hooks. leave: called with a reason when a client
    shows that this daemon is not the right one any more.
    """

    def __init__(self, settings: config.Settings, token: str, answer: Answer, leave: Callable[[str], None]) -> None:
        self.settings, self.token, self.answer, self.leave = settings, token, answer, leave
        self.own = Gateway(settings)
        self.metrics = Metrics(self.own)
        self.port = 0
        self.started = self.used = time.monotonic()
        self.requests = self.in_flight = 0
        self.free: set[web.AbstractResource] = set()  # paths with a door of their own
        self.call: Callable[[str], Mapping[str, Json] | None] = lambda name: None
        self._gateways = {(settings.profile, settings.scope): self.own}
        self._found: dict[tuple[str, bool], Gateway] = {}
        self._threads = ThreadPoolExecutor(THREADS, "byref")
        self._streams = ThreadPoolExecutor(STREAMS, "byref-stream")
        self._file = _stamp(settings.home)

    async def run(self, work: Callable[[], T], large: bool = False) -> T:
        """Work that blocks or computes, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._streams if large else self._threads, work)

    def close(self) -> None:
        """Waits for what still runs, then closes the store."""
        self._threads.shutdown()
        self._streams.shutdown()
        for gateway in self._gateways.values():
            gateway.close()

    def stale(self, version: str | None) -> str:
        """Why this daemon must make way for another one; empty while it need not."""
        if version is not None and version != hook.VERSION:
            return f"this daemon is {hook.VERSION}, its client {version}"
        return "" if _stamp(self.settings.home) == self._file else "config.toml has changed"

    def gateway(self, header: str, strict: bool) -> Gateway:
        """The gateway for what a call's environment sets. strict: it must be the store as the call itself would open it."""
        found = self._found.get((header, strict))
        if found is None:
            found = self._find(header, strict)
            if len(self._found) >= 4 * GATEWAYS:
                self._found.clear()
            self._found[header, strict] = found
        return found

    def _find(self, header: str, strict: bool) -> Gateway:
        own = self.settings
        try:
            given = frame.read_head(header.encode()) if header else {}
            names = [name.decode() for name in hook.SETTINGS]
            environ = {"BYREF_HOME": own.home, "HOME": own.user} | {name: str(given[name]) for name in names if name in given}
            settings = config.load(environ=environ) if strict and header else config.load(
                url=own.url, max_bytes=own.max_bytes, max_age=own.max_age, environ=environ)
        except (ValueError, ConfigError) as fault:
            raise Refused(412, str(fault)) from None
        if (settings.url, settings.max_bytes, settings.max_age) != (own.url, own.max_bytes, own.max_age):
            raise Refused(412, "the daemon's store has another quota")
        key = settings.profile, settings.scope
        if key not in self._gateways:
            if len(self._gateways) >= GATEWAYS:
                raise Refused(412, "the daemon serves too many scopes of their own")
            self._gateways[key] = Gateway(settings)
        return self._gateways[key]

    def session(self, request: web.Request, fields: bodies.Fields) -> Session:
        """The session that a call names; nothing collapses as already shown unless it says that its context is proven."""
        gateway = self.gateway(request.headers.get("Byref-Settings", ""), True)
        scope = fields.text("scope")
        return gateway.session(
            fields.text("session", "http"), scope=gateway.settings.scope or scope or _no_scope(), task=fields.text("task"),
            context=fields.optional("context"), proven=fields.flag("proven"))

    def same_user(self, request: web.Request) -> bool:
        """Whether a request came over the socket, which is for the same user alone. Raises `Refused` for another one."""
        sock = request.transport.get_extra_info("socket") if request.transport is not None else None
        if sock is None:
            raise Refused(403, "this connection is gone")
        if sock.family != socket.AF_UNIX:
            return False
        if hasattr(socket, "SO_PEERCRED"):
            uid = int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
            if uid != os.getuid():
                raise Refused(403, "the daemon is another user's")
        return True

    def admit(self, request: web.Request, free: bool) -> None:
        """The same user over the socket; over loopback, asked for by its own name, whoever has the token. free: or has none."""
        if self.same_user(request):
            return
        names = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if request.headers.get("Host", "") not in names:
            raise Refused(403, "ask for 127.0.0.1 and its port")
        origin = request.headers.get("Origin")
        if origin is not None and origin not in {f"http://{name}" for name in names}:
            raise Refused(403, "other pages may not ask")
        given = request.headers.get("Authorization", "")
        free = free or request.path == "/healthz"
        if not free and not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self.token}".encode()):
            raise Refused(401, "Authorization: Bearer and the token in daemon.token, please")

    def about(self) -> dict[str, Json]:
        """What the daemon itself does."""
        now = time.monotonic()
        return {"version": hook.VERSION, "pid": os.getpid(), "home": self.settings.home, "store": self.settings.url,
                "http": f"http://127.0.0.1:{self.port}" if self.port else None, "running": int(now - self.started),
                "idle": 0 if self.in_flight > 1 else int(now - self.used), "requests": self.requests, "in_flight": self.in_flight}


def _stamp(home: str) -> tuple[int, int]:
    try:
        found = os.stat(os.path.join(home, "config.toml"))
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _no_scope() -> str:
    raise ConfigError("say which scope: uid and folder of the project, such as 1000:/home/me/project, or any name of your own")


def application(service: Service) -> web.Application:
    """The routes over a service."""
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        service.requests += 1
        service.in_flight += 1
        try:
            free = request.match_info.route.resource in service.free
            service.admit(request, free)
            if not free and (reason := service.stale(request.headers.get("Byref-Version"))):
                await bodies.whole(request, EVENT)  # a body that is still coming would hold up the end
                service.leave(reason)
                return _error(409, "version", reason)
            if not request.path.startswith(("/healthz", "/metrics", "/v1/status")):
                service.used = time.monotonic()
            return await handler(request)
        except Refused as fault:
            return _error(fault.status, "refused", str(fault))
        except ByrefError as fault:
            status = next((code for kind, code in STATUS.items() if isinstance(fault, kind)), 400)
            return _error(status, fault.reason if isinstance(fault, Miss) else type(fault).__name__, str(fault))
        except web.HTTPException as fault:
            return _error(fault.status, "http", fault.text or fault.reason)
        except Exception as fault:
            return _error(500, "fault", service.own.faults.add(f"serve {request.path[:80]}", fault))
        finally:
            service.in_flight -= 1

    async def capture(request: web.Request) -> web.Response:
        incoming = await bodies.capture(request)
        fields = incoming.fields
        session, echo = service.session(request, fields), fields.flag("echo", True)
        work = partial(
            session.capture, tool=fields.needed("tool"), output=incoming.output, args=fields.value("args"),
            exit_code=fields.number("exit_code"), is_error=fields.flag("is_error"), call_id=fields.optional("call_id"),
            intent=fields.text("intent"), said=fields.text("said"), budget=fields.number("budget"), raw=fields.flag("raw"),
            began=fields.number("began"), elapsed=fields.seconds("elapsed"), media=incoming.media)
        fields.done()
        framed = _framed(request)
        # Whoever sent much needs no copy of what passes.
        return await service.run(lambda: _captured(work(), echo and not incoming.large, framed), incoming.large)

    async def fetch(request: web.Request) -> web.Response:
        fields = await bodies.head(request)
        session = service.session(request, fields)
        work = partial(session.fetch, fields.needed("ref"), fields.optional("at"), part=fields.optional("part"),
                       max_tokens=fields.number("max_tokens", 8000), cursor=fields.optional("cursor"), encoding=fields.optional("encoding"))
        fields.done()
        framed = _framed(request)
        return await service.run(lambda: _fetched(work(), framed))

    async def search(request: web.Request) -> web.Response:
        fields = await bodies.head(request)
        session = service.session(request, fields)
        work = partial(
            session.search, fields.text("query"), fields.texts("refs"), tool=fields.optional("tool"),
            signature=fields.optional("signature"), outcome=fields.optional("outcome"), kind=fields.optional("kind"),
            since=fields.optional("since"), session=fields.optional("of_session"),
            timebox_ms=fields.number("timebox_ms", 1000) or 1000, k=fields.number("k"),
            max_tokens=fields.number("max_tokens", MAX_TOKENS) or MAX_TOKENS, layers=fields.texts("layers"),
            emphasis=fields.optional("emphasis") or "balanced", explain=fields.flag("explain"), weights=fields.numbers("weights"),
            like=fields.optional("like"),
            profile=fields.optional("profile") or "cascade")
        fields.done()
        framed = _framed(request)

        def answer() -> web.Response:
            found = as_found(work())
            return web.Response(body=frame.encode(found), content_type=frame.MEDIA) if framed else _json(found)
        return await service.run(answer)

    async def about(request: web.Request) -> web.Response:
        if "call" in request.query:
            found = service.call(request.query["call"])
            return _error(404, "unknown", "no such call here, or one long past") if found is None else _json(found)
        return await status(request, bodies.Fields(request.query)) if "scope" in request.query else _json(service.about())

    async def status(request: web.Request, fields: bodies.Fields | None = None) -> web.Response:
        fields = fields or await bodies.head(request)
        session = service.session(request, fields)
        fields.done()
        framed = _framed(request)

        def work() -> web.Response:
            found = as_json(session.status(), service.settings.url)
            return web.Response(body=frame.encode(found), content_type=frame.MEDIA) if framed else _json(found)
        return await service.run(work)

    async def hooks(request: web.Request) -> web.Response:
        event = await bodies.whole(request, EVENT)
        gateway = service.gateway(request.headers.get("Byref-Settings", ""), False)
        harness = request.match_info["harness"]
        said = await service.run(partial(service.answer, gateway, harness, event))
        if said and (request.transport is None or request.transport.is_closing()):  # it waits for a short time alone
            from byref.proxy.frontends.hooks import unheard
            await service.run(partial(unheard, gateway, harness, event))
        return web.Response(body=said, content_type="application/json")

    async def metrics(request: web.Request) -> web.Response:
        media, body = await service.run(service.metrics.scrape)
        return web.Response(body=body, headers={"Content-Type": media})

    async def healthz(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def stop(request: web.Request) -> web.Response:
        if request.transport is None or request.transport.get_extra_info("socket").family != socket.AF_UNIX:
            raise Refused(403, "over the Unix socket alone")
        service.leave("asked to")
        return _json({"stopping": True})

    app = web.Application(middlewares=[guard], client_max_size=0)
    app.add_routes([
        web.post("/v1/capture", capture), web.post("/v1/fetch", fetch), web.post("/v1/search", search),
        web.get("/v1/status", about), web.post("/v1/status", status),
        web.post("/v1/stop", stop), web.post("/hooks/{harness}", hooks), web.get("/healthz", healthz),
        web.get("/metrics", metrics)])
    return app


def _framed(request: web.Request) -> bool:
    return request.headers.get("Accept", "") == frame.MEDIA


def _json(value: Json, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(value).encode() + b"\n", status=status, content_type="application/json")


def _error(status: int, reason: str, message: str) -> web.Response:
    return _json({"error": {"reason": reason, "message": message}}, status)


def _captured(shown: Captured, echo: bool, framed: bool) -> web.Response:
    head: dict[str, Json] = {
        "ref": shown.ref, "head": shown.head, "shape": shown.shape, "passed": shown.passed, "stored": shown.stored,
        "warning": shown.warning, "exit_code": shown.exit_code, "is_error": shown.is_error,
        "gaps": [{"part": gap.part, "address": gap.address, "count": gap.count, "unit": gap.unit} for gap in shown.gaps]}
    sent = echo or not shown.passed
    if framed:
        pieces = {name: b"".join(shown.blocks(name)) for name in shown.names} if sent else {}
        head["parts"] = [{"name": name, "size": len(piece)} for name, piece in pieces.items()]
        return web.Response(body=frame.encode(head, pieces.values()), content_type=frame.MEDIA)
    return _json(head | {"text": shown.text if sent else None, "texts": shown.texts if sent else None})


def _fetched(page: Page, framed: bool) -> web.Response:
    head: dict[str, Json] = {
        "ref": page.ref, "address": page.address, "cursor": page.cursor, "note": page.note, "total": page.total,
        "tokens": page.tokens, "binary": page.binary, "tool": page.tool, "shape": page.shape}
    if not framed:
        return _json(head | {"text": page.text})
    if to_bytes(page.text) != page.data:  # binary: what stands for it in a text
        head["text"] = page.text
    return web.Response(body=frame.encode(head, (page.data,)), content_type=frame.MEDIA)
