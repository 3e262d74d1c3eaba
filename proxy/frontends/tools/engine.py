"""A call of a tool of ours: arguments checked, the API asked or the work done here, the answer stored whole, its view returned.

What is stored as the arguments of a call to an API is its request, without what signs it: method, path, query and body. So the same request
has the same ref on whatever way it came.
"""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from byref.proxy import config, discover
from byref.proxy.captured import Captured
from byref.proxy.contracts import DERIVED, Call, Json, Layout, Seen, View
from byref.proxy.errors import ConfigError, Invalid, Miss
from byref.proxy.frontends.tools.arguments import checked, title
from byref.proxy.frontends.tools.client import Asked, Client
from byref.proxy.gates import Limits
from byref.proxy.intake import Kept
from byref.proxy.operations import Adapter, Here, Operation, Request, Result
from byref.proxy.session import Session
from byref.proxy.signature import signature

BODY = "body"  # the part that an API's answer is
PAGES = 50  # of one call, at most


@dataclass(frozen=True, slots=True)
class Called:
    """What one page of a call gave. text: of the view, or the raw answer where it passed. status: of HTTP, 0 for what ran here.

    age: seconds since the answer was captured, where it came from the store; else None. more: whether another page follows.
    """

    captured: Captured
    text: str
    status: int
    age: float | None = None
    more: bool = False


def adapter(name: str) -> Adapter:
    """Raises `ConfigError` with the names there are."""
    found = discover.load("tools", name).ADAPTER
    if not isinstance(found, Adapter):
        raise ConfigError(f"the tool {name} has no ADAPTER, as byref.proxy.operations says")
    return found


def operation(of: Adapter, name: str) -> Operation:
    """Raises `Invalid` with the names there are."""
    for one in of.operations:
        if one.name == name:
            return one
    names = [one.name for one in of.operations if one.name]
    told = f"{of.name} does {', '.join(names)}; not" if names else f"{of.name} does one thing: leave out"
    raise Invalid(f"{told} {name[:40]!r}")


class Tools:
    """Adapters at work. environment: of the caller. bases: URLs that stand in for those of the adapters, by name.

    client: shared by all calls; closed by `close`.
    """

    def __init__(self, environment: Mapping[str, str], bases: Mapping[str, str] | None = None, client: Client | None = None) -> None:
        self._environment = environment
        self._bases = config.upstreams(environment) if bases is None else bases
        self._client = client or Client()

    def call(self, session: Session, of: Adapter, what: Operation, given: Mapping[str, Json], *, pages: int = 1, max_age: float = 0.0,
             raw: bool = False, budget: int | None = None, intent: str = "", call_id: str | None = None, folder: str = "",
             stop: Callable[[], bool] = lambda: False) -> Iterator[Called]:
        """The pages of one call, each stored as an output of its own, as they come.

        max_age: seconds; an answer in the store that is no older will do. folder: where an operation of this machine runs. Raises
        `Invalid` for arguments, `ConfigError` for a key that is not set, `Unavailable` and `Failed` for an API that could not be asked.
        """
        if not 1 <= pages <= PAGES:
            raise Invalid(f"pages is a number from 1 to {PAGES}")
        arguments = checked(of, what, given)
        if what.request is None:
            yield self._run(session, of, what, arguments, raw, budget, intent, call_id, folder, stop)
            return
        request: Request | None = what.request(arguments)
        for number in range(pages):
            if request is None or stop():
                return
            own = None if call_id is None else f"{call_id}/{number}" if number else call_id
            called, body = self._asked(session, of, request, raw, budget, intent, own, max_age)
            request = _after(session, what, request, body) if called.status < 400 else None
            yield Called(called.captured, called.text, called.status, called.age, request is not None)

    def _run(self, session: Session, of: Adapter, what: Operation, arguments: Mapping[str, Json], raw: bool, budget: int | None,
             intent: str, call_id: str | None, folder: str, stop: Callable[[], bool]) -> Called:
        here = Here(folder or config.folder_here(), self._environment, stop, config.run_limit(self._environment))
        began, start = session.begin(), time.monotonic()
        result: Result = what.run(arguments, here) if what.run is not None else Result({})
        elapsed = time.monotonic() - start
        try:
            captured = session.capture(
                tool=title(of, what), args=dict(arguments), output=dict(result.parts), exit_code=result.exit_code, is_error=result.is_error,
                raw=raw, budget=budget, intent=intent, call_id=call_id, began=began, elapsed=elapsed)
        finally:
            for part in result.parts.values():
                if not isinstance(part, bytes):
                    part.close()
        return Called(captured, captured.text, 0)

    def _asked(self, session: Session, of: Adapter, request: Request, raw: bool, budget: int | None, intent: str, call_id: str | None,
               max_age: float) -> tuple[Called, bytes]:
        args = described(request)
        held = _held(session, of, args, max_age) if max_age > 0 and request.method == "GET" else None
        if held is not None:
            ref, body, age = held
            layout = of.layout(request.path) if of.layout is not None else None
            captured = again(session, ref, layout, raw=raw, budget=budget, intent=intent)
            return Called(captured, shown(captured), 200, age), body
        headers, query = of.signed(self._environment) if of.signed is not None else ({}, {})
        began, start = session.begin(), time.monotonic()
        answered = self._client.ask(of.name, asked(self._bases.get(of.name, of.base), request, headers, query), limits(of),
                                    of.name in self._bases)
        captured = capture(
            session, of, request, answered.status, answered.body, answered.media, raw=raw, budget=budget, intent=intent, call_id=call_id,
            began=began, elapsed=time.monotonic() - start)
        return Called(captured, shown(captured), answered.status), answered.body

    def close(self) -> None:
        self._client.close()


def limits(of: Adapter) -> Limits:
    """The limits of an API: its own rate, where it says one."""
    return Limits(rate=of.rate) if of.rate else Limits()


def asked(base: str, request: Request, headers: Mapping[str, str], query: Mapping[str, str]) -> Asked:
    """The request as it goes out. headers, query: what signs it."""
    pairs = [*request.query, *query.items()]
    url = base.rstrip("/") + request.path + (f"?{urlencode(pairs)}" if pairs else "")
    sent = {"Accept": "application/json, */*;q=0.5", **headers}
    body = None
    if request.body is not None:
        body = json.dumps(request.body, ensure_ascii=False).encode()
        sent["Content-Type"] = "application/json"
    return Asked(request.method, url, sent, body, request.safe)


def described(request: Request) -> dict[str, Json]:
    """What is stored as the arguments of a call. A name that the query holds several times has a list."""
    query: dict[str, Json] = {}
    for name, value in request.query:
        known = query.get(name)
        query[name] = value if known is None else [*known, value] if isinstance(known, list) else [known, value]
    found: dict[str, Json] = {"path": request.path}
    if request.method != "GET":
        found["method"] = request.method
    if query:
        found["query"] = query
    if request.body is not None:
        found["body"] = request.body
    return found


def capture(session: Session, of: Adapter, request: Request, status: int, body: bytes, media: str, *, raw: bool = False,
            budget: int | None = None, intent: str = "", call_id: str | None = None, began: int | None = None,
            elapsed: float | None = None) -> Captured:
    """Stores an API's answer with what its adapter derives of it, and returns its view. The same for every way it came."""
    failed = status >= 400
    made: Mapping[str, bytes] = {}
    try:
        if not failed and of.derived is not None:
            made = of.derived(body)
    except Exception as fault:  # an adapter's fault costs what it derives, not the answer
        session.gateway.faults.add(f"derived {of.name}", fault)
    return session.capture(
        tool=of.name, args=described(request), output={BODY: body, **made}, is_error=failed, raw=raw, budget=budget, intent=intent,
        call_id=call_id, began=began, elapsed=elapsed, media={BODY: media, **dict.fromkeys(made, f"text/plain; charset=utf-8{DERIVED}")},
        aside=tuple(made), layout=None if failed or of.layout is None else of.layout(request.path))


def shown(captured: Captured) -> str:
    """What the agent reads of an API's answer: parts that were derived of it are for search."""
    return captured.head + captured.texts[BODY]


def _after(session: Session, what: Operation, request: Request, body: bytes) -> Request | None:
    """The request of the page after this one. A fault there costs the pages that follow, not this one."""
    try:
        return None if what.after is None else what.after(request, body)
    except Exception as fault:
        session.gateway.faults.add(f"after {what.name}", fault)
        return None


def again(session: Session, ref: str, layout: Layout | None, *, raw: bool = False, budget: int | None = None,
          intent: str = "") -> Captured:
    """The view of a stored answer, made anew. Nothing is stored, so that its age stays what it is. Raises a `Miss`."""
    from byref.filters.render import view as render
    store, gateway = session.gateway.store, session.gateway
    manifest = store.resolve(session.scope, ref).manifest
    parts = [part for part in manifest.parts if not part.derived]
    view = View("", ())
    if not raw:
        call = Call(manifest.tool, json.loads(manifest.arguments), manifest.exit_code, manifest.is_error, intent, "", session.task, layout)
        view = render(ref, [(part, store.open(part.blob.digest)) for part in parts], call, Seen(), gateway.settings.profile, budget,
                      gateway.rules(session.scope))
    return Captured([Kept(part.name, part.media, part.blob, store) for part in parts], view, ref, manifest.exit_code, manifest.is_error)


def _held(session: Session, of: Adapter, args: Mapping[str, Json], max_age: float) -> tuple[str, bytes, float] | None:
    """Ref, body and age of the newest answer to a request that is no older. Errors are none."""
    store = session.gateway.store
    for output in store.recent(session.scope, signature=signature(of.name, args), limit=1):
        age = session.gateway.clock() - output.captured
        digests = [part.blob.digest for part in output.manifest.parts if part.name == BODY]
        if output.manifest.is_error or not digests or not 0 <= age <= max_age:
            return None
        try:
            return output.ref, b"".join(store.open(digests[0]).blocks()), age
        except Miss:
            return None
    return None
