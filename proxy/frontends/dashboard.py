"""The dashboard's routes on the daemon: the page's files, and what they ask for. All of it reads; nothing here changes a store.

| route                | gives                                                                                       |
|----------------------|---------------------------------------------------------------------------------------------|
| GET /web/            | the page; GET /web/NAME a file of it. They hold nothing of a store, and need no key         |
| POST /v1/dashboard   | over the Unix socket alone: a code for one entry, within `CODE` seconds                     |
| POST /web/api/enter  | a key for that code                                                                         |
| GET /web/api/...     | overview, outputs, output, savings, layers: see dashboard_data.py; times: dashboard_times.py |
| POST /web/api/...    | fetch, search; measure: the same search in growing timeboxes                                |

A key stands in `Authorization`, opens these routes alone, and holds for as long as the daemon lives. The code comes to the page behind
the `#` of its URL, which no browser sends and no log holds; after one use it is worth nothing.
"""
from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid, StoreError
from byref.proxy.frontends import bodies
from byref.proxy.frontends import dashboard_data as data
from byref.proxy.frontends import dashboard_times as times
from byref.proxy.frontends.http import Refused, Service
from byref.proxy.searching import Found, search

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "web")
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
CODE = 600.0  # seconds in which a code can be used
KEYS = 64  # pages at once; the oldest key goes
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"}
PAGES = frozenset(("document", "iframe", "frame", "embed", "object"))  # what a browser asks for, in `Sec-Fetch-Dest`
FRESH, SHARE = 4.0, 8.0  # a report stands for so many seconds, and for so many times what it took
DAYS = (1, 7, 30)
REPORTS = 32  # that are held, of so many projects and spans
Body = Callable[[web.Request, bodies.Fields], Awaitable[Json]]


class Savings:
    """What `byref report` says of the store, by that command in a process of its own: over a large ledger it computes for seconds."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._held: dict[tuple[int, str], tuple[float, float, Json]] = {}  # by days and scope: when, how long it took, what it said
        self._running: dict[tuple[int, str], asyncio.Task[tuple[float, float, Json]]] = {}

    async def of(self, days: int, scope: str = "") -> dict[str, Json]:
        """The report of the last days, 0 for all there are, of a scope or of all; `age` and `took` in seconds.

        Raises `StoreError` where there is none.
        """
        held = self._held.get((days, scope))
        if held is None or time.monotonic() - held[0] > max(FRESH, SHARE * held[1]):
            running = self._running.get((days, scope))
            if running is None or running.done():
                running = self._running[days, scope] = asyncio.ensure_future(self._ask(days, scope))
                running.add_done_callback(lambda task: self._running.pop((days, scope), None))
            held = await asyncio.shield(running)
        return {"age": time.monotonic() - held[0], "took": held[1], "report": held[2]}

    async def _ask(self, days: int, scope: str) -> tuple[float, float, Json]:
        began = time.monotonic()
        command = [sys.executable, "-P", "-c", "from byref.proxy.frontends.cli import main; main()", "report", "--json", "--estimate"]
        environ = config.inherited() | {"BYREF_HOME": self._home} | ({"BYREF_SCOPE": scope} if scope else {})
        process = await asyncio.create_subprocess_exec(
            *command, *(("--days", str(days)) if days else ()), *(("--here",) if scope else ()), env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said, fault = await process.communicate()
        if process.returncode:
            raise StoreError(f"`byref report` failed: {fault.decode(errors='replace').strip()[-300:]}")
        found: Json = json.loads(said, parse_constant=lambda name: None)  # a share of nothing: a browser reads no NaN
        now = time.monotonic()
        self._held.pop((days, scope), None)
        while len(self._held) >= REPORTS:
            del self._held[next(iter(self._held))]
        self._held[days, scope] = now, now - began, found
        return self._held[days, scope]


class Dashboard:
    """The routes over a service. clock: seconds, for codes."""

    def __init__(self, service: Service, clock: Callable[[], float] = time.monotonic) -> None:
        self.service, self._clock = service, clock
        self.savings = Savings(service.settings.home)
        self._codes: dict[str, float] = {}
        self._keys: dict[str, None] = {}  # hashes of keys, so that comparing them tells nothing
        self._files = dict(_files(FOLDER))

    def attach(self, app: web.Application) -> None:
        """Adds the routes. Those of /web are open to who has no daemon's token: they ask for a key themselves."""
        app.router.add_post("/v1/dashboard", self._code)
        free = [app.router.add_resource(path) for path in ("/web", "/web/api/{what}", "/web/{name:.*}")]
        free[0].add_route("GET", self._moved)
        free[1].add_route("GET", partial(self._api, {
            "overview": self._overview, "outputs": self._outputs, "output": self._output, "savings": self._saved, "layers": self._layers,
            "times": self._times}))
        free[1].add_route("POST", partial(self._api, {"enter": self._enter, "fetch": self._fetch, "search": self._search,
                                                     "measure": self._measure}))
        free[2].add_route("GET", self._file)
        self.service.free.update(free)
        app.on_response_prepare.append(partial(_apart, frozenset(free)))

    # who may look

    async def _code(self, request: web.Request) -> web.Response:
        if not self.service.same_user(request):
            raise Refused(403, "over the Unix socket alone")
        if not self.service.port:
            raise Refused(409, "this daemon listens on no port; end it with `byref serve --stop`, and ask again")
        now = self._clock()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        code = secrets.token_urlsafe(32)
        self._codes[code] = now + CODE
        return _json({"url": f"http://127.0.0.1:{self.service.port}/web/#{code}"})

    async def _enter(self, request: web.Request, fields: bodies.Fields) -> Json:
        until = self._codes.pop(fields.needed("code"), 0.0)
        fields.done()
        if until <= self._clock():
            raise Refused(401, "this code was used, or is too old: run `byref dashboard` again")
        key = secrets.token_urlsafe(32)
        while len(self._keys) >= KEYS:
            del self._keys[next(iter(self._keys))]
        self._keys[_hash(key)] = None
        return {"key": key}

    def _check(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "").encode("utf-8", "replace")
        name, _, key = given.partition(b" ")
        own = hmac.compare_digest(given, f"Bearer {self.service.token}".encode())
        if not own and (name != b"Bearer" or _hash(key.decode("utf-8", "replace")) not in self._keys):
            raise Refused(401, "no key, or one of a daemon that has ended: run `byref dashboard` again")

    # what they see

    async def _moved(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": "/web/"})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        found = self._files.get(request.match_info["name"] or "index.html")
        if found is None:
            return _json({"error": {"reason": "unknown", "message": "no such file of the dashboard"}}, 404)
        content, kind, mark = found
        headers = HEADERS | {"ETag": mark, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == mark:
            return web.Response(status=304, headers=headers)
        return web.Response(body=content, headers=headers, content_type=kind, charset="utf-8")

    async def _api(self, routes: dict[str, Body], request: web.Request) -> web.StreamResponse:
        answer = routes.get(request.match_info["what"])
        if answer is None:
            return _json({"error": {"reason": "unknown", "message": "the dashboard has no such route"}}, 404)
        if answer != self._enter:
            self._check(request)
        fields = bodies.Fields(request.query) if request.method == "GET" else await bodies.head(request)
        return _json(await answer(request, fields))

    async def _overview(self, request: web.Request, fields: bodies.Fields) -> Json:
        fields.done()
        store = self.service.own.store
        return await self.service.run(lambda: data.overview(store)) | {"daemon": self.service.about()}

    async def _outputs(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope, session, before = fields.needed("scope"), fields.optional("session"), fields.optional("before")
        fields.done()
        return await self.service.run(lambda: data.outputs(self.service.own.store, scope, session, before))

    async def _output(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope, ref = fields.needed("scope"), fields.needed("ref")
        fields.done()
        return await self.service.run(lambda: data.output(self.service.own.store, scope, ref))

    async def _saved(self, request: web.Request, fields: bodies.Fields) -> Json:
        asked, scope = fields.text("days", "0"), fields.text("scope")
        fields.done()
        if "\0" in scope:
            raise Invalid("this is no project's name")
        return await self.savings.of(next((days for days in DAYS if str(days) == asked), 0), scope)

    async def _layers(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope = fields.needed("scope")
        fields.done()
        return await self.service.run(lambda: {"layers": data.layers(self.service.own.indexes, scope)})

    async def _fetch(self, request: web.Request, fields: bodies.Fields) -> Json:
        work = partial(data.page, self.service.own.store, fields.needed("scope"), fields.needed("ref"), fields.optional("at"),
                       fields.optional("part"), fields.optional("cursor"), fields.optional("encoding"))
        fields.done()
        return await self.service.run(work)

    async def _search(self, request: web.Request, fields: bodies.Fields) -> Json:
        ask, timebox = self._asked(fields)
        return await self.service.run(partial(data.found, ask, timebox))

    async def _measure(self, request: web.Request, fields: bodies.Fields) -> Json:
        ask, timebox = self._asked(fields)
        return await self.service.run(partial(times.measured, ask, timebox))

    async def _times(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope = fields.needed("scope")
        fields.done()
        return await self.service.run(lambda: times.former(self.service.own.store.events(scope, kind="searched")))

    def _asked(self, fields: bodies.Fields) -> tuple[Callable[..., Found], int]:
        """The search that is asked for, but for how long and how much; and its timebox in milliseconds."""
        own = self.service.own
        timebox = fields.number("timebox_ms", 1000) or 1000
        ask = partial(search, own.store, fields.needed("scope"), fields.needed("query"), tool=fields.optional("tool"),
                      kind=fields.optional("kind"), session=fields.optional("session"), outcome=fields.optional("outcome"),
                      layers=fields.texts("layers"), profile=fields.optional("profile") or "cascade",
                      emphasis=fields.optional("emphasis") or "balanced", weights=fields.numbers("weights") or None, indexes=own.indexes)
        fields.done()
        return ask, timebox


async def _apart(own: frozenset[web.AbstractResource], request: web.Request, response: web.StreamResponse) -> None:
    """A page that an upstream gives to a browser is no page of this origin, or it could read what the dashboard's tab holds."""
    if request.headers.get("Sec-Fetch-Dest") in PAGES and request.match_info.route.resource not in own:
        response.headers.add("Content-Security-Policy", "sandbox")


def _files(folder: str) -> list[tuple[str, tuple[bytes, str, str]]]:
    """The files of the page by name: content, media type, and what tells one version from another."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            kind = TYPES.get(os.path.splitext(name)[1])
            if kind is not None:
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    content = file.read()
                mark = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
                found.append((os.path.relpath(path, folder).replace(os.sep, "/"), (content, kind, mark)))
    return found


def _hash(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=32).hexdigest()


def _json(value: Json, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(value).encode(), status=status, content_type="application/json",
                        headers=HEADERS | {"Cache-Control": "no-store"})
