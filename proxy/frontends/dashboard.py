"""The dashboard's routes on the daemon: the page's files, and what they ask for. All of it reads; nothing here changes a store.

| route                | gives                                                                                       |
|----------------------|---------------------------------------------------------------------------------------------|
| GET /web/            | the page; GET /web/NAME a file of it. They hold nothing of a store, and need no key         |
| POST /v1/dashboard   | over the Unix socket alone: a code for one entry, within `CODE` seconds                     |
| POST /web/api/enter  | a key for that code; passport, greet, again: a new key for a page that was let in before    |
| GET /web/api/...     | overview, outputs, output, savings, layers: see dashboard_data.py; times: dashboard_times.py |
| GET /web/api/live    | what changed, as it does: see dashboard_live.py                                             |
| POST /web/api/...    | fetch, search; measure: the same search in growing timeboxes; ticket: for a download        |
| GET /web/api/raw     | for a ticket, once: the bytes of a part, as a file                                          |

A key stands in `Authorization`, opens these routes alone, and holds for as long as the daemon lives. The code comes to the page behind
the `#` of its URL, which no browser sends and no log holds; after one use it is worth nothing. dashboard_door.py has the rest.
"""
from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from aiohttp import web

from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid, StoreError
from byref.proxy.frontends import bodies
from byref.proxy.frontends import dashboard_data as data
from byref.proxy.frontends import dashboard_times as times
from byref.proxy.frontends.dashboard_door import Door
from byref.proxy.frontends.dashboard_live import Live
from byref.proxy.frontends.http import Refused, Service
from byref.proxy.searching import Found, search

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "web")
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"}
PAGES = frozenset(("document", "iframe", "frame", "embed", "object"))  # what a browser asks for, in `Sec-Fetch-Dest`
FRESH, SHARE = 20.0, 20.0  # a report of what has changed since stands for so many seconds, and for so many times what it took
AGED = 600.0  # seconds for which a report of what has not changed stands: the last day moves on
DAYS = (1, 7, 30)
REPORTS = 32  # that are held, of so many projects and spans
Body = Callable[[web.Request, bodies.Fields], Awaitable[Json | web.StreamResponse]]


class Held(NamedTuple):
    """A report. at: when it was there, by the clock that only goes on; took: seconds; revision: of the store, before it began."""

    at: float
    took: float
    report: Json
    revision: tuple[int, ...]

    def left(self, revision: tuple[int, ...]) -> float:
        """For how many seconds more it stands, while the store is at that revision."""
        return self.at + (AGED if self.revision == revision else max(FRESH, SHARE * self.took)) - time.monotonic()


class Savings:
    """What `byref report` says of the store, by that command in a process of its own: over a large ledger it computes for seconds."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._held: dict[tuple[int, str], Held] = {}  # by days and scope
        self._running: dict[tuple[int, str], asyncio.Task[Held]] = {}

    async def of(self, days: int, scope: str, revision: tuple[int, ...]) -> dict[str, Json]:
        """The report of the last days, 0 for all there are, of a scope or of all; `age` and `took` in seconds.

        revision: of the store now. One of an older revision stands for a while all the same: `again` says for how many seconds more, 0
        where it is of this one. Raises `StoreError` where there is none.
        """
        held = self._held.get((days, scope))
        if held is None or held.left(revision) <= 0:
            running = self._running.get((days, scope))
            if running is None or running.done():
                running = self._running[days, scope] = asyncio.ensure_future(self._ask(days, scope, revision))
                running.add_done_callback(lambda task: self._running.pop((days, scope), None))
            held = await asyncio.shield(running)
        again = 0.0 if held.revision == revision else max(held.left(revision), 1.0)
        return {"age": time.monotonic() - held.at, "took": held.took, "again": again, "report": held.report}

    async def _ask(self, days: int, scope: str, revision: tuple[int, ...]) -> Held:
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
        held = self._held[days, scope] = Held(now, now - began, found, revision)
        return held


class Dashboard:
    """The routes over a service. clock: seconds, for codes."""

    def __init__(self, service: Service, clock: Callable[[], float] = time.monotonic) -> None:
        self.service = service
        self.savings, self.live = Savings(service.settings.home), Live(service)
        self.door = Door(service.token, lambda: service.port, clock)
        self._files = dict(_files(FOLDER))

    def attach(self, app: web.Application) -> None:
        """Adds the routes. Those of /web are open to who has no daemon's token: they ask for a key themselves."""
        app.router.add_post("/v1/dashboard", self._code)
        free = [app.router.add_resource(path) for path in ("/web", "/web/api/{what}", "/web/{name:.*}")]
        free[0].add_route("GET", self._moved)
        free[1].add_route("GET", partial(self._api, {
            "overview": self._overview, "outputs": self._outputs, "output": self._output, "savings": self._saved, "layers": self._layers,
            "held": self._held, "times": self._times, "live": self._live, "raw": self._raw}))
        free[1].add_route("POST", partial(self._api, {
            "enter": self._enter, "greet": self._greet, "again": self._again, "passport": self._passport, "fetch": self._fetch,
            "search": self._search, "measure": self._measure, "ticket": self._ticket}))
        free[2].add_route("GET", self._file)
        self.service.free.update(free)
        app.on_response_prepare.append(partial(_apart, frozenset(free)))

    # who may look

    async def _code(self, request: web.Request) -> web.Response:
        if not self.service.same_user(request):
            raise Refused(403, "over the Unix socket alone")
        if not self.service.port:
            raise Refused(409, "this daemon listens on no port; end it with `byref serve --stop`, and ask again")
        return _json({"url": f"http://127.0.0.1:{self.service.port}/web/#{self.door.code()}"})

    async def _enter(self, request: web.Request, fields: bodies.Fields) -> Json:
        code = fields.needed("code")
        fields.done()
        return self.door.enter(code)

    async def _passport(self, request: web.Request, fields: bodies.Fields) -> Json:
        fields.done()
        return self.door.passport()

    async def _greet(self, request: web.Request, fields: bodies.Fields) -> Json:
        name, nonce = fields.needed("name"), fields.needed("nonce")
        fields.done()
        return self.door.greet(name, nonce)

    async def _again(self, request: web.Request, fields: bodies.Fields) -> Json:
        name, nonce, proof = fields.needed("name"), fields.needed("nonce"), fields.needed("proof")
        fields.done()
        return self.door.again(name, nonce, proof)

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
        if answer not in (self._enter, self._greet, self._again, self._raw):  # these bring a code, a proof or a ticket
            self.door.check(request.headers.get("Authorization", ""))
        fields = bodies.Fields(request.query) if request.method == "GET" else await bodies.head(request)
        found = await answer(request, fields)
        return found if isinstance(found, web.StreamResponse) else _json(found)

    async def _overview(self, request: web.Request, fields: bodies.Fields) -> Json:
        fields.done()
        store = self.service.own.store
        return await self.service.run(lambda: data.overview(store)) | {"daemon": self.service.about()}

    async def _outputs(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope, session, before = fields.needed("scope"), fields.optional("session"), fields.optional("before")
        wanted = data.Wanted(fields.text("tool"), fields.text("shape"), fields.text("day"), fields.text("failed") == "1")
        fields.done()
        return await self.service.run(lambda: data.outputs(self.service.own.store, scope, session, before, wanted))

    async def _output(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope, ref = fields.needed("scope"), fields.needed("ref")
        fields.done()
        return await self.service.run(lambda: data.output(self.service.own.store, scope, ref))

    async def _held(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope, ref = fields.needed("scope"), fields.needed("ref")
        fields.done()
        return await self.service.run(lambda: {"captured": self.service.own.store.resolve(scope, ref).captured})

    async def _live(self, request: web.Request, fields: bodies.Fields) -> web.StreamResponse:
        fields.done()
        return await self.live.stream(request, HEADERS)

    async def _ticket(self, request: web.Request, fields: bodies.Fields) -> Json:
        what = fields.needed("scope"), fields.needed("ref"), fields.needed("part")
        fields.done()
        await self.service.run(lambda: data.part_of(self.service.own.store, *what))  # what is not there is said on the page
        return {"url": f"api/raw?ticket={self.door.ticket(*what)}"}

    async def _raw(self, request: web.Request, fields: bodies.Fields) -> web.StreamResponse:
        what = self.door.redeem(fields.needed("ticket"))
        fields.done()
        store = self.service.own.store
        part = await self.service.run(lambda: data.part_of(store, *what))
        blocks = await self.service.run(lambda: iter(store.open(part.blob.digest).blocks()))
        block = await self.service.run(lambda: next(blocks, b""))
        media, name = data.as_file(what[1], part, block)
        response = web.StreamResponse(headers=HEADERS | {
            "Cache-Control": "no-store", "Content-Type": media, "Content-Length": str(part.blob.size),
            "Content-Disposition": f'attachment; filename="{name}"'})
        await response.prepare(request)
        while block:
            await response.write(block)
            block = await self.service.run(lambda: next(blocks, b""))
        return response

    async def _saved(self, request: web.Request, fields: bodies.Fields) -> Json:
        asked, scope = fields.text("days", "0"), fields.text("scope")
        fields.done()
        if "\0" in scope:
            raise Invalid("this is no project's name")
        revision = await self.service.run(self.service.own.store.revision)
        return await self.savings.of(next((days for days in DAYS if str(days) == asked), 0), scope, revision)

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
        scope = fields.needed("scope")
        ask, timebox = self._asked(scope, fields)
        return await self.service.run(partial(data.found, ask, timebox, self.service.own.store, scope))

    async def _measure(self, request: web.Request, fields: bodies.Fields) -> Json:
        ask, timebox = self._asked(fields.needed("scope"), fields)
        return await self.service.run(partial(times.measured, ask, timebox))

    async def _times(self, request: web.Request, fields: bodies.Fields) -> Json:
        scope = fields.needed("scope")
        fields.done()
        return await self.service.run(lambda: times.former(self.service.own.store.events(scope, kind="searched")))

    def _asked(self, scope: str, fields: bodies.Fields) -> tuple[Callable[..., Found], int]:
        """The search that is asked for, but for how long and how much; and its timebox in milliseconds."""
        own = self.service.own
        timebox = fields.number("timebox_ms", 1000) or 1000
        ask = partial(search, own.store, scope, fields.needed("query"), tool=fields.optional("tool"),
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


def _json(value: Json, status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(value).encode(), status=status, content_type="application/json",
                        headers=HEADERS | {"Cache-Control": "no-store"})
