"""Time on the dashboard: measured in timeboxes that grow, and read from the ledger."""
from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import byref
from byref.layers.contract import GENERATE, WHOLE, Contribution, Hit, LayerStatus, Span, Starting
from byref.proxy.contracts import Event
from byref.proxy.frontends.dashboard_times import BOXES, LOADING, RUNS, SHORT, former, measured
from byref.proxy.ledger.events import NOTE, searched
from byref.proxy.searching import search

SCOPE = "1000:/home/me/project"


class Slow:
    """A layer that finds one line more each few milliseconds, as long as it may."""

    name, version, roles = "slow", "1", frozenset({GENERATE})

    def __init__(self, each: float) -> None:
        self.each, self.asked = each, 0

    def applies(self, scope: Any, query: Any) -> bool:
        return True

    def status(self, scope: Any) -> LayerStatus:
        return LayerStatus("slow", "1", "generate", "", "", WHOLE, "", 0)

    def search(self, query: Any, scope: Any, budget: Any, candidates: Any = None) -> Contribution:
        self.asked += 1
        hits: list[Hit] = []
        for blob in list(scope.held)[:12]:
            if budget.late():
                return Contribution(hits, frozenset(hit.span.blob for hit in hits), False)
            hits.append(Hit(Span(blob, 0, 8), 100 - len(hits), "words", 1, 1, 1, 1))
            time.sleep(self.each)
        return Contribution(hits)

    def indexed(self) -> frozenset[str]:
        return frozenset()

    def apply(self, add: Any, remove: Any, cancel: Any) -> None: ...
    def close(self) -> None: ...


@pytest.fixture
def session() -> Iterator[byref.Session]:
    with byref.open("memory:") as gateway:
        one = gateway.session("s", scope=SCOPE)
        for number in range(20):
            one.capture(tool="shell", args={"command": f"make {number}"}, output=f"pool {number} is lost\n" * 3)
        yield one


def asking(session: byref.Session, layer: Slow) -> Any:
    indexes = session.gateway.indexes
    indexes.orchestrator(SCOPE).layers = (layer,)
    return partial(search, session.gateway.store, SCOPE, "pool", indexes=indexes)


def test_longer_timeboxes_give_more_of_the_answer_until_none_is_cut(session: byref.Session) -> None:
    found: Any = measured(asking(session, Slow(0.01)), 5000)
    points = found["points"]
    assert (found["best"], found["cut"]) == (10, []) and [point["timebox_ms"] for point in points] == list(BOXES[:len(points)])
    assert [point["cut"] for point in points] == [["slow"]] * (len(points) - 1) + [[]]
    assert points[0]["share"] < points[-1]["share"] == points[-1]["searched"] == 10_000


def test_a_search_that_is_cut_in_the_longest_timebox_says_so(session: byref.Session) -> None:
    found: Any = measured(asking(session, Slow(0.05)), 150)
    assert found["cut"] == ["slow"] and [point["timebox_ms"] for point in found["points"]] == [5, 10, 20, 50, 100, 150]


def test_a_search_that_is_done_at_once_is_asked_no_more_than_one_timebox_needs(session: byref.Session) -> None:
    whole, boxes = asking(session, Slow(0))(timebox_ms=60_000, k=10), []
    found: Any = measured(lambda timebox_ms, **_: boxes.append(timebox_ms) or whole, 10_000)
    assert boxes == [10_000, *[BOXES[0]] * RUNS] and BOXES[0] <= SHORT
    (last,) = found["points"]
    assert last | {"micros": 0} == {"timebox_ms": BOXES[0], "micros": 0, "cut": [], "share": 10_000, "searched": 10_000}


def test_a_layer_that_still_loads_is_waited_for_and_else_said(session: byref.Session) -> None:
    class Loading(Slow):
        def search(self, *given: Any) -> Contribution:
            self.asked += 1
            if self.asked < 3:
                raise Starting
            return Contribution([Hit(Span(next(iter(given[1].held)), 0, 8), 1, "words", 1, 1, 1, 1)])

    found: Any = measured(asking(session, layer := Loading(0)), 2000)
    assert (found["starting"], found["best"]) == ([], 1)
    layer.asked = -999
    found = measured(asking(session, layer), 2000)
    assert (found["starting"], found["best"]) == (["slow"], 0) and layer.asked >= LOADING + RUNS - 999


def test_the_ledger_gives_curves_times_by_layer_and_queries_newest_first(session: byref.Session) -> None:
    for query in ("pool 3 lost", "nowhere_to_be_found_qzx", "pool 3 lost", "lost", "x" * NOTE):
        session.search(query)
    session.gateway.store.log(SCOPE, Event("searched", 1.0, "s", "", "", "", {"tokens": 1, "hits": 1}, "before times were kept"))
    found: Any = former(session.gateway.store.events(SCOPE, kind="searched"))
    assert (found["searches"], found["untimed"], found["empty"], len(found["curves"])) == (6, 1, 2, 3)
    assert found["queries"] == ["before times were kept", "lost", "pool 3 lost", "nowhere_to_be_found_qzx"]
    for curve in found["curves"]:
        assert curve[-1][1] == 10_000 and curve == sorted(curve)
    rows = {row["name"]: row for row in found["layers"]}
    assert rows["text"]["searches"] == 5 and 0 < rows["text"]["median"] <= rows["text"]["most"]


def test_times_of_layers_are_medians_and_ninth_tenths() -> None:
    ledger = [searched(at=1.0, session="s", tokens=1, hits=1, times={"micros": 9, "best": 1, "ended-text": micros, "named-text": 1})
              for micros in (100, 200, 300, 400, 1100)]
    assert former(ledger)["layers"] == [{"name": "text", "searches": 5, "median": 300, "most": 820}]
    assert former([]) == {"searches": 0, "untimed": 0, "empty": 0, "curves": [], "queries": [], "layers": []}
