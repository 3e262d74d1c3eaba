"""An upstream's own search as a layer: `native:openalex` asks the API within the timebox, and what it answers is an output like others.

Only where a caller names it: it costs a request, maybe money. An answer that comes too late is stored all the same, for the next search.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from byref.proxy import config
from byref.proxy.errors import ByrefError, Invalid
from byref.proxy.frontends.tools import engine
from byref.proxy.frontends.tools.python import shared
from byref.proxy.operations import Adapter
from byref.proxy.searching import Found, Ran
from byref.proxy.session import Session

PREFIX = "native:"
LONGEST = 400  # characters of a query that an API is asked for
SHARE = 0.5  # of the timebox


@dataclass(slots=True)
class Native:
    """What became of one. status: ran or aborted; refs: of the outputs that its answer is."""

    name: str
    status: str = "aborted"
    refs: list[str] = field(default_factory=list)
    note: str = "still running"
    hits: int = 0


def ask(session: Session, names: Sequence[str], query: str, seconds: float) -> list[Native]:
    """Asks these upstreams at once and waits for so long. Raises `Invalid` for one that there is not, or that has no search."""
    found = [Native(name) for name in dict.fromkeys(names)]
    text = query.strip()[:LONGEST]
    threads = [Thread(target=_asked, args=(session, one, adapter_of(one.name), text), name=f"byref-{one.name}", daemon=True)
               for one in found]
    until = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    # what a thread says from here on is not told any more
    return [Native(one.name, one.status, list(one.refs), one.note, one.hits) for one in found]


def adapter_of(name: str) -> Adapter:
    """Raises `Invalid` for what is no upstream with a search of its own."""
    known = name.removeprefix(PREFIX)
    try:
        of = engine.adapter(known)
    except ByrefError as fault:
        raise Invalid(f"there is no layer {name[:40]!r}: {fault}") from None
    if not of.asked:
        raise Invalid(f"there is no layer {name[:40]!r}: {known} has no search of its own")
    return of


def _asked(session: Session, one: Native, of: Adapter, query: str) -> None:
    try:
        for called in shared(config.inherited()).call(session, of, engine.operation(of, of.asked), {"search": query}):
            if called.status >= 400:
                one.note = f"answered {called.status}"
                return
            if called.captured.ref:
                one.refs.append(called.captured.ref)
            one.hits += 1
        one.status, one.note = "ran", ""
    except (ByrefError, OSError) as fault:
        one.note = str(fault)[:120]
    except Exception as fault:  # a layer that fails costs its own contribution alone
        one.note = session.gateway.faults.add(one.name, fault)[:120]


def search(here: Session, query: str, refs: Sequence[str] | None, layers: Sequence[str], timebox_ms: int, **rest: Any) -> Found:
    """A search of `Session.search` in which some layers are upstreams: these for half of the timebox at most, then what is held.

    Where no other layer is named, only in what the upstreams answered, by all layers there are.
    """
    names = [name for name in layers if name.startswith(PREFIX)]
    others = [name for name in layers if not name.startswith(PREFIX)]
    began = time.monotonic()
    told = ask(here, names, query, timebox_ms / 1000 * SHARE)
    left = max(1, timebox_ms - int(1000 * (time.monotonic() - began)))
    answered = [ref for one in told for ref in one.refs]
    if not others and refs is None:
        refs = answered
    found = here.search(query, refs, layers=others or None, timebox_ms=left, **rest)
    ran = tuple(Ran(one.name, one.status, one.hits, one.note) for one in told)
    said = ", ".join(f"{one.name} {' '.join(one.refs)}" if one.status == "ran" else f"{one.name} aborted: {one.note}" for one in told)
    text = f"{found.text.removesuffix(chr(10)).removesuffix(']')}; {said}]\n"
    return Found(found.query, found.hits, (*ran, *found.layers), found.uncovered, found.outputs, found.searched, found.filters, text,
                 found.explanation, found.timeline)
