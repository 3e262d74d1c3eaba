"""The orchestrator: the answer never waits for a layer, and says what became of each."""
from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from byref.layers.contract import GENERATE, REFINE, Candidates, Contribution, Hit, LayerStatus, Span, Starting
from byref.layers.orchestrator import ABORTED, RAN, SKIPPED, Orchestrator, load
from byref.proxy.errors import Corrupt, Invalid
from byref.proxy.query import parse


class Made:
    """A layer that does what it is told."""

    version = "1"

    def __init__(self, name: str, search: Callable[..., Contribution], *roles: str, fit: bool = True) -> None:
        self.name, self.roles, self.search, self.fit, self.closed = name, frozenset(roles or {GENERATE}), search, fit, False

    def applies(self, scope: Any, query: Any) -> bool:
        return self.fit

    def status(self, scope: Any) -> LayerStatus:
        return LayerStatus(self.name, "1", GENERATE, "", "", 0, "", 0, "" if self.fit else "get it there")

    def indexed(self) -> frozenset[str]:
        return frozenset()

    def apply(self, add: Any, remove: Any, cancel: Any) -> None: ...

    def close(self) -> None:
        self.closed = True


def found(*scores: int) -> Contribution:
    return Contribution([Hit(Span("b", n, n + 1), score, "x") for n, score in enumerate(scores)])


def ask(orchestrator: Orchestrator, timebox: float = 5.0, names: Any = None, choose: Any = lambda answers: Candidates(()),
        named: bool = False) -> dict[str, Any]:
    answers = orchestrator.search(parse("query"), SimpleNamespace(named=named), timebox, names, time.monotonic,  # type: ignore[arg-type]
                                  choose)
    return {one.name: one for one in answers}


def test_a_layer_that_hangs_is_aborted_then_stuck_until_it_returns() -> None:
    go, told = Event(), []

    def hang(query: Any, scope: Any, budget: Any, candidates: Any) -> Contribution:
        told.append(budget)
        go.wait(60)
        return found(1)

    orchestrator = Orchestrator([Made("slow", hang), Made("quick", lambda *_: found(1, 2))], lambda *_: None)
    answers = ask(orchestrator, 2.0)
    assert (answers["slow"].status, answers["quick"].status) == (ABORTED, RAN) and told[0].cancel.is_set()
    assert answers["slow"].contribution.hits == () and len(answers["quick"].contribution.hits) == 2
    again = ask(orchestrator)
    assert (again["slow"].status, again["slow"].note) == (SKIPPED, "stuck")
    go.set()
    for _ in range(6000):
        if ask(orchestrator)["slow"].status == RAN:
            break
        time.sleep(0.01)
    assert ask(orchestrator)["slow"].status == RAN


def test_a_layer_that_raises_costs_its_own_effect_and_is_logged() -> None:
    faults: list[str] = []
    orchestrator = Orchestrator([Made("bad", lambda *_: 1 / 0), Made("good", lambda *_: found(1))],  # type: ignore[arg-type,return-value]
                                lambda where, fault: faults.append(f"{where}: {fault}"))
    answers = ask(orchestrator)
    assert (answers["bad"].status, answers["bad"].note, answers["good"].status) == (ABORTED, "faulty", RAN)
    assert faults == ["layer bad: division by zero"]


def test_a_miss_of_what_the_caller_named_is_the_callers() -> None:
    def miss(*_: Any) -> Contribution:
        raise Corrupt("rabc", "damaged")
    with pytest.raises(Corrupt):
        ask(Orchestrator([Made("a", miss)], lambda *_: None), named=True)
    faults: list[str] = []
    answers = ask(Orchestrator([Made("a", miss), Made("b", lambda *_: found(1))], lambda where, fault: faults.append(where)))
    assert (answers["a"].status, answers["b"].status, faults) == (ABORTED, RAN, ["layer a"])


def test_what_a_layer_computes_with_and_cannot_is_told_and_no_fault() -> None:
    def unfit(*_: Any) -> Contribution:
        raise Invalid("the model in /m is damaged: delete it")
    for named in (True, False):
        answer = ask(Orchestrator([Made("a", unfit)], lambda *_: pytest.fail("logged")), named=named)["a"]
        assert (answer.status, answer.note) == (SKIPPED, "the model in /m is damaged: delete it")


def test_refining_layers_get_the_candidates_of_the_others() -> None:
    seen: list[Any] = []

    def refine(query: Any, scope: Any, budget: Any, candidates: Any) -> Contribution:
        seen.append(candidates)
        return found(9)

    orchestrator = Orchestrator([Made("r", refine, REFINE), Made("g", lambda *_: found(3, 2))], lambda *_: None)
    answers = ask(orchestrator, choose=lambda answers: Candidates([hit for one in answers for hit in one.contribution.hits]))
    assert [[hit.score for hit in one] for one in seen] == [[3, 2]] and list(answers) == ["r", "g"]


def test_a_layer_of_both_roles_is_asked_once_after_the_others() -> None:
    seen: list[Any] = []

    def both(query: Any, scope: Any, budget: Any, candidates: Any) -> Contribution:
        seen.append(candidates)
        return found(9)

    orchestrator = Orchestrator([Made("late", both, GENERATE, REFINE), Made("g", lambda *_: found(3))], lambda *_: None)
    answers = ask(orchestrator, choose=lambda answers: Candidates([hit for one in answers for hit in one.contribution.hits]))
    assert [[hit.score for hit in one] for one in seen] == [[3]] and list(answers) == ["late", "g"]


def test_named_layers_alone_run_and_what_does_not_apply_is_skipped() -> None:
    orchestrator = Orchestrator([Made("a", lambda *_: found(1)), Made("b", lambda *_: found(1), fit=False)], lambda *_: None)
    assert list(ask(orchestrator, names=["a"])) == ["a"]
    assert (ask(orchestrator)["b"].status, ask(orchestrator)["b"].note) == (SKIPPED, "does not apply")
    with pytest.raises(Invalid, match="there are a, b"):
        orchestrator.check(["c"])


def test_a_layer_that_saw_but_a_part_counts_as_aborted_and_keeps_its_hits() -> None:
    part = Contribution(found(1).hits, frozenset({"b"}), False)
    answer = ask(Orchestrator([Made("a", lambda *_: part)], lambda *_: None))["a"]
    assert answer.status == ABORTED and answer.contribution is part


def test_every_module_of_the_folder_that_is_a_layer_is_found_and_closed() -> None:
    layers = load(lambda name: None, lambda where, fault: pytest.fail(f"{where}: {fault}"))
    assert {"names", "text", "bm25", "trigram", "fuzzy"} <= {layer.name for layer in layers}
    Orchestrator(layers, lambda *_: None).close()


def test_a_layer_that_still_loads_is_skipped_not_faulty() -> None:
    def load_on(*_: Any) -> Contribution:
        raise Starting
    answer = ask(Orchestrator([Made("a", load_on)], lambda where, fault: pytest.fail(where)))["a"]
    assert (answer.status, answer.note) == (SKIPPED, "starting")


def test_a_layer_is_told_before_the_answer_stops_waiting_for_it() -> None:
    def heed(query: Any, scope: Any, budget: Any, candidates: Any) -> Contribution:
        while not budget.late():
            time.sleep(0.001)
        return Contribution(found(1).hits, frozenset(), False)
    answer = ask(Orchestrator([Made("a", heed)], lambda *_: None), 0.5)["a"]
    assert answer.status == ABORTED and len(answer.contribution.hits) == 1


def test_where_candidates_leave_no_doubt_refining_layers_are_skipped_and_the_answer_says_why() -> None:
    asked: list[str] = []
    orchestrator = Orchestrator([
        Made("first", lambda *_: found(1)), Made("second", lambda *_: asked.append("second") or found(2), REFINE)],  # type: ignore[func-returns-value]
        lambda *_: None)
    answers = ask(orchestrator, choose=lambda answers: Candidates((), "the string stands there"))
    assert (answers["second"].status, answers["second"].note, asked) == (SKIPPED, "the string stands there", [])
    assert ask(orchestrator)["second"].status == RAN
