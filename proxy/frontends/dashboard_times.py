"""What the dashboard shows of time: a search measured in growing timeboxes, and what the ledger holds of former ones."""
from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from statistics import quantiles
from typing import NamedTuple

from byref.proxy.anytime import BEST, WHOLE, recorded
from byref.proxy.contracts import Event, Json
from byref.proxy.excerpts import Hit
from byref.proxy.ledger.events import NOTE
from byref.proxy.searching import Found

BOXES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # milliseconds
LONGEST = 10_000
SHORT, RUNS = 100, 3  # up to so many milliseconds chance tells much: the middle one of three
LOADING = 5  # first searches, at most, while a layer still loads what it computes with
ROOM = 20_000  # tokens: the best places fit
SEARCHES = 500  # the newest that are drawn
QUERIES = 20  # the newest different ones that can be measured again
_LINES = re.compile(r"(.*?)L(\d+)(?:-(\d+))?$")


def measured(ask: Callable[..., Found], most: int) -> dict[str, Json]:
    """A search in growing timeboxes, up to `most` milliseconds, with nothing that layers answered before; first in the longest.

    ask: the search, given timebox_ms, cached, k and max_tokens. Share: of the best places of the longest, in basis points. Ends with the
    first box in which no layer was cut, since longer ones give the same.
    """
    most = max(1, min(most, LONGEST))
    ask = partial(ask, cached=False, k=BEST, max_tokens=ROOM)
    for _ in range(LOADING):
        wanted = ask(timebox_ms=most)
        if not _starting(wanted):
            break
    points: list[Json] = []
    for box in (*(box for box in BOXES if box < most), most):
        runs = [_point(box, ask(timebox_ms=box), wanted.hits) for _ in range(RUNS if box <= SHORT else 1)]
        runs.sort(key=lambda point: (point.share, point.searched))
        points.append(runs[len(runs) // 2]._asdict())
        if not any(point.cut for point in runs):
            break
    return {"best": len(wanted.hits), "cut": _cut(wanted), "points": points, "starting": _starting(wanted)}


class Point(NamedTuple):
    """What one timebox gave. micros: when the answer was there. cut: layers. share: of the best places; searched: of the outputs; bps."""

    timebox_ms: int
    micros: int
    cut: list[str]
    share: int
    searched: int


def _starting(found: Found) -> list[str]:
    return [one.name for one in found.layers if one.note == "starting"]


def _cut(found: Found) -> list[str]:
    """A layer that still works at a shorter box is not asked again: `stuck`, which longer boxes need not be."""
    return [one.name for one in found.layers if one.status == "aborted" or one.note == "stuck"]


def _point(box: int, found: Found, wanted: tuple[Hit, ...]) -> Point:
    there = sum(any(_same(hit, one) for one in found.hits) for hit in wanted)
    return Point(box, found.timeline.micros if found.timeline else 0, _cut(found), WHOLE * there // max(1, len(wanted)),
                 WHOLE * found.searched // max(1, found.outputs))


def _same(one: Hit, other: Hit) -> bool:
    """Whether two hits are of the same place: with fewer layers an address may be some lines longer or shorter."""
    if one.ref != other.ref or one.address == other.address:
        return one.ref == other.ref
    first, second = _LINES.match(one.address), _LINES.match(other.address)
    if first is None or second is None or first[1] != second[1]:
        return False
    return int(first[2]) <= int(second[3] or second[2]) and int(second[2]) <= int(first[3] or first[2])


def former(ledger: Iterable[Event]) -> dict[str, Json]:
    """What the ledger holds of searches: curves of the newest, how long each layer took to be through, and queries to measure again.

    ledger: events of searches, oldest first. A curve is of (microseconds, share of the best places that some layer had named by then, in
    basis points); `empty` searches found nothing, so that there is no share of it; `untimed` were made before times were kept.
    """
    ends: dict[str, deque[int]] = {}
    curves: deque[Json] = deque(maxlen=SEARCHES)
    queries: dict[str, None] = {}
    events = list(ledger)
    timed = empty = 0
    for through, curve in recorded(events):
        timed += 1
        empty += not curve
        if curve:
            most = curve[-1][1]
            curves.append([[micros, WHOLE * named // most] for micros, named in curve])
        for name, micros in through.items():
            ends.setdefault(name, deque(maxlen=SEARCHES)).append(micros)
    for event in reversed(events):
        if event.note and len(event.note) < NOTE and len(queries) < QUERIES:  # a longer one was cut
            queries.setdefault(event.note)
    return {"searches": len(events), "untimed": len(events) - timed, "empty": empty, "curves": list(curves), "queries": list(queries),
            "layers": [{"name": name, "searches": len(every), "median": _share(every, 50), "most": _share(every, 90)}
                       for name, every in sorted(ends.items(), key=lambda item: _share(item[1], 50))]}


def _share(every: deque[int], percent: int) -> int:
    """The value below which so many percent lie."""
    return every[0] if len(every) == 1 else round(quantiles(every, n=100, method="inclusive")[percent - 1])
