"""How an answer came to be: what the steps say is what happened, and equal answers stay equal."""
from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.layers.contract import GENERATE, Contribution, Hit, LayerStatus, Span
from byref.layers.orchestrator import RAN, SKIPPED, Answer
from byref.layers.ranking import Branch, Ranked
from byref.proxy.anytime import Step, Timeline, recorded, timeline
from byref.proxy.contracts import Event
from byref.proxy.searching import search

SCOPE = "1000:/home/me/project"


@pytest.fixture
def session() -> Iterator[byref.Session]:
    with byref.open("memory:") as gateway:
        one = gateway.session("s", scope=SCOPE)
        for number in range(20):
            one.capture(tool="shell", args={"command": f"make {number}"}, output=f"the connection pool of worker {number} is lost\n" * 3)
        yield one


def place(*layers: str, at: int = 0) -> Ranked:
    hit = Hit(Span("b", at, at + 9), 1, "words")
    return Ranked(hit, (), 0, 0, 0, tuple(Branch(layer, "words", 1, 1, 1, hit.span) for layer in layers))


def answer(name: str, began: int, micros: int, status: str = RAN) -> Answer:
    return Answer(name, "1", status, Contribution(()), micros=micros, began=began)


def test_steps_are_in_the_order_in_which_layers_were_through_and_name_a_place_once() -> None:
    answers = [answer("slow", 2_000_000, 900), answer("quick", 1_500_000, 100), answer("none", 0, 0), answer("no", 1_500_000, 5, SKIPPED)]
    found = timeline(answers, [place("slow", "quick"), place("slow"), place("quick")], 1_000_000, 9_000_000)
    assert found == Timeline(8_000, 3, (Step("quick", "original", RAN, 500, 600, 0, 2), Step("slow", "original", RAN, 1_000, 1_900, 0, 1)))


def test_every_place_of_the_best_is_named_once_and_stands_in_the_end(session: byref.Session, root: Path) -> None:
    found = session.search("what of the lost connection pool", explain=True)
    told: Any = (found.explanation or {})["time"]
    pytest.importorskip("jsonschema").validate(found.explanation, json.loads((root / "docs" / "explain-2.schema.json").read_text()))
    assert told["best"] == 10 == sum(step["named"] for step in told["steps"])
    last = told["steps"][-1]
    assert (last["standing"], last["covered"]) == (10, 10_000)
    assert [step["ended"] for step in told["steps"]] == sorted(step["ended"] for step in told["steps"])
    assert all(0 <= step["began"] <= step["ended"] <= told["micros"] for step in told["steps"])
    assert {step["layer"] for step in told["steps"]} == {one.name for one in found.layers if one.status != "skipped"}


def test_times_make_no_two_answers_differ(session: byref.Session) -> None:
    first, second = session.search("worker 7"), session.search("worker 7")
    assert first.timeline != second.timeline and first == second and first != session.search("worker 8")


class Late:
    """A layer that is through only when its time is over. within: it heeds that."""

    name, version, roles = "late_one", "1", frozenset({GENERATE})

    def applies(self, scope: Any, query: Any) -> bool:
        return True

    def status(self, scope: Any) -> LayerStatus:
        return LayerStatus("late_one", "1", "generate", "", "", 0, "", 0)

    def search(self, query: Any, scope: Any, budget: Any, candidates: Any = None) -> Contribution:
        while not budget.late():
            time.sleep(0.001)
        return Contribution((), frozenset(), False)

    def indexed(self) -> frozenset[str]:
        return frozenset()

    def apply(self, add: Any, remove: Any, cancel: Any) -> None: ...
    def close(self) -> None: ...


def test_a_layer_that_was_cut_ends_near_the_end_of_the_timebox(session: byref.Session) -> None:
    indexes = session.gateway.indexes
    orchestrator = indexes.orchestrator(SCOPE)
    orchestrator.layers = (*orchestrator.layers, Late())
    found = search(session.gateway.store, SCOPE, "worker 7", timebox_ms=100, indexes=indexes)
    assert found.timeline is not None
    (step,) = [one for one in found.timeline.steps if one.layer == "late_one"]
    assert step.status == "aborted" and step.ended >= 30_000 and found.timeline.micros >= step.ended


def test_a_layer_that_heeds_no_time_counts_until_it_was_left(session: byref.Session) -> None:
    class Stuck(Late):
        def search(self, query: Any, scope: Any, budget: Any, candidates: Any = None) -> Contribution:
            budget.cancel.wait(20)  # until nobody waits any more
            return Contribution(())

    indexes = session.gateway.indexes
    indexes.orchestrator(SCOPE).layers = (Stuck(),)
    found = search(session.gateway.store, SCOPE, "worker 7", timebox_ms=500, indexes=indexes)
    assert found.timeline is not None and [one.note for one in found.layers] == ["still running"]
    (step,) = found.timeline.steps
    assert step.status == "aborted" and step.ended - step.began >= 20_000


def test_what_was_looked_at_adds_up_over_layers(session: byref.Session) -> None:
    class Some(Late):
        def __init__(self, name: str, first: int, last: int) -> None:
            self.name, self.first, self.last = name, first, last  # type: ignore[misc]

        def search(self, query: Any, scope: Any, budget: Any, candidates: Any = None) -> Contribution:
            blobs = list(scope.held)[self.first:self.last]
            return Contribution([Hit(Span(blob, 0, 8), 1, "words", 1, 1, 1, 1) for blob in blobs], frozenset(blobs))

    indexes = session.gateway.indexes
    indexes.orchestrator(SCOPE).layers = (Some("one", 0, 5), Some("two", 3, 10))
    found = search(session.gateway.store, SCOPE, "worker", indexes=indexes, explain=True)
    told: Any = (found.explanation or {})["time"]["steps"]
    assert told[0]["covered"] in (2500, 3500) and told[1]["covered"] == 5000


def test_what_layers_answered_before_is_not_used_where_time_is_measured(session: byref.Session) -> None:
    asked = []

    class Counted(Late):
        def search(self, query: Any, scope: Any, budget: Any, candidates: Any = None) -> Contribution:
            asked.append(query.text)
            return Contribution(())

    from byref.layers.caching import Cached, Memory
    indexes = session.gateway.indexes
    indexes.orchestrator(SCOPE).layers = (Cached(Counted(), Memory(), SCOPE),)  # type: ignore[arg-type]
    for cached in (True, True, False, False):
        search(session.gateway.store, SCOPE, "worker 7", indexes=indexes, cached=cached)
    assert len(asked) == 3


def test_the_ledger_holds_the_times_of_a_search_and_gives_its_curve(session: byref.Session) -> None:
    found = session.search("what of the lost connection pool")
    assert found.timeline is not None
    (event,) = session.gateway.store.events(kind="searched")
    ((ends, curve),) = recorded([event])
    assert event.numbers["micros"] == found.timeline.micros and curve[-1][1] == found.timeline.best == event.numbers["best"]
    assert ends == {step.layer: step.ended for step in found.timeline.steps}
    assert [named for _, named in curve] == sorted(named for _, named in curve)
    assert not list(recorded([Event(kind, 1.0, "s", "", "", "", {"tokens": 1, "hits": 0}) for kind in ("searched", "fetched")]))


def test_a_form_of_the_query_has_a_name_of_its_own_in_the_ledger() -> None:
    time = Timeline(9, 2, (Step("bm25", "original", RAN, 0, 3, 1, 1), Step("bm25", "synonym", RAN, 3, 7, 1, 1)))
    assert time.numbers() == {"micros": 9, "best": 2, "ended-bm25": 3, "named-bm25": 1, "ended-bm25:synonym": 7, "named-bm25:synonym": 1}
    ((_, curve),) = recorded([Event("searched", 1.0, "s", "", "", "", time.numbers())])
    assert curve == [(3, 1), (7, 2)]
