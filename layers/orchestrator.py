"""Asks layers, each in a thread of its own, until the timebox ends. It knows nothing of what they mean.

A layer is told its deadline and its cancel event; the answer never waits for one that heeds neither: it counts as aborted, and as
`skipped: stuck` until its thread has returned. One that raises costs its own contribution, and the fault is logged; one that still
loads what it computes with says so by `Starting` and counts as `skipped: starting`.
"""
from __future__ import annotations

import time
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Lock

from byref.layers import workers
from byref.layers.contract import REFINE, Budget, Contribution, Starting
from byref.proxy import discover
from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid, Miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from byref.layers.contract import Candidates, Hit, Layer, Scope
    from byref.proxy.query import Query

    Log = Callable[[str, Exception], object]

RAN, ABORTED, SKIPPED = "ran", "aborted", "skipped"
WRITING = 300  # of 1,000 parts of a short timebox: they are for ranking and writing, which go on when the layers are through
LONGEST = 0.06  # seconds: as much of a long one
GENERATING = 750  # of 1,000 parts of the rest: by then candidates are to be there, if there are layers that refine them
NOTE = 300  # characters of why a layer cannot be used
EARLY = 0.008  # seconds before their time is over that layers are told so, or a quarter of a short time: `bench/punctual.py`
ORDER = ("names", "bm25", "static", "trigram", "text", "fuzzy")  # quick ones first; any other after these


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one layer. status: ran, aborted or skipped; note says why. micros: microseconds it took, or was waited for.

    asked: how the query came to be, as in `weighted.QUERIES`. began: nanoseconds on this process's clock, 0 where nobody asked it.
    """

    name: str
    version: str
    status: str
    contribution: Contribution
    note: str = ""
    micros: int = 0
    asked: str = "original"
    began: int = 0

    def of(self, contribution: Contribution, asked: str | None = None) -> Answer:
        """The same of another contribution."""
        return Answer(self.name, self.version, self.status, contribution, self.note, self.micros, asked or self.asked, self.began)

    def cut(self, count: int) -> Answer:
        """With so many of its best hits."""
        held = self.contribution
        if len(held.hits) <= count:
            return self
        return self.of(Contribution(held.hits[:count], held.searched, held.whole, held.places, held.faults, held.note, held.uncovered))


def load(folder_of: Callable[[str], str | None], log: Log) -> list[Layer]:
    """All layers there are, for one scope. folder_of: where a layer of that name may keep files. One that cannot be loaded is logged."""
    layers: list[Layer] = []
    for name in known():
        try:
            layers.append(discover.load("layers", name).layer(folder_of(name)))
        except Exception as fault:  # whatever a layer of somebody else does while it is made
            log(f"layer {name}", fault)
    return layers


def known() -> list[str]:
    """The names of all layers there are, in the order in which they are asked."""
    return sorted(discover.names("layers"), key=lambda name: (_place(name), name))


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


class Orchestrator:
    """The layers of one scope. Safe for many threads."""

    def __init__(self, layers: Sequence[Layer], log: Log) -> None:
        self.layers = tuple(layers)
        self._log = log
        self._lock = Lock()
        self._stuck: dict[str, int] = {}

    def check(self, names: Iterable[str] | None) -> None:
        """Raises `Invalid` for the name of a layer that there is not."""
        known = {layer.name for layer in self.layers}
        for name in names or ():
            if name not in known:
                raise Invalid(f"there is no layer {name[:40]!r}; there are {', '.join(sorted(known))}")

    def search(self, query: Query, scope: Scope, timebox: float, names: Iterable[str] | None, clock: Callable[[], float],
               choose: Callable[[Sequence[Answer]], Candidates]) -> list[Answer]:
        """Answers in the order of the layers. timebox in seconds. choose: candidates for those that refine, from the other answers;
        where it settles, these are skipped.

        Raises the `Miss` of a layer where the caller named the outputs; elsewhere one that is let go meanwhile costs that layer alone.
        """
        start = clock()
        wanted = None if names is None else set(names)
        chosen = [layer for layer in self.layers if wanted is None or layer.name in wanted]
        first = [layer for layer in chosen if REFINE not in layer.roles]
        later = [layer for layer in chosen if REFINE in layer.roles]  # of both roles: once, and candidates are what it starts with
        whole = timebox - min(timebox * WRITING / 1000, LONGEST)
        answers = self._run(first, query, scope, start, whole * GENERATING / 1000 if later else whole, clock, None)
        if later:
            candidates = choose(list(answers.values()))
            if candidates.settled:
                answers |= {layer.name: Answer(layer.name, layer.version, SKIPPED, Contribution(()), candidates.settled) for layer in later}
            else:
                answers |= self._run(later, query, scope, start, whole, clock, candidates.hits)
        return [answers[layer.name] for layer in chosen]

    def _run(self, layers: Sequence[Layer], query: Query, scope: Scope, start: float, share: float, clock: Callable[[], float],
             candidates: Sequence[Hit] | None) -> dict[str, Answer]:
        """share: seconds from start on that these layers have."""
        answers: dict[str, Answer] = {}
        running: list[_Running] = []
        arrived: SimpleQueue[None] = SimpleQueue()
        until = start + share - min(EARLY, share / 4)
        for layer in layers:
            with self._lock:
                stuck = self._stuck.get(layer.name, 0)
            if stuck:
                answers[layer.name] = Answer(layer.name, layer.version, SKIPPED, Contribution(()), "stuck")
                continue
            one = _Running(layer, Budget(until, Event(), clock), arrived)
            running.append(one)
            workers.start(partial(one.run, query, scope, candidates, self._release))
        # Waits on real time, whatever clock the budget goes by.
        end = time.monotonic() + share - (clock() - start)
        for _ in running:
            try:
                arrived.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                break
        for one in running:
            answers[one.layer.name] = self._taken(one, scope.named)
        return answers

    def _taken(self, one: _Running, named: bool) -> Answer:
        layer = one.layer
        with self._lock:
            if not one.done:
                one.abandoned = True
                self._stuck[layer.name] = self._stuck.get(layer.name, 0) + 1
        if one.abandoned:
            one.budget.cancel.set()
            return one.answer(ABORTED, Contribution(()), "still running")
        if isinstance(one.fault, Invalid):  # what it computes with is not fit for use; its status says what to do
            return one.answer(SKIPPED, Contribution(()), str(one.fault).removeprefix("invalid: ")[:NOTE])
        if isinstance(one.fault, Miss) and named:
            raise one.fault
        if isinstance(one.fault, Starting):
            return one.answer(SKIPPED, Contribution(()), "starting")
        if one.fault is not None:
            self._log(f"layer {layer.name}", one.fault)
            return one.answer(ABORTED, Contribution(()), "faulty")
        contribution = one.contribution
        if contribution is None:
            return one.answer(SKIPPED, Contribution(()), "does not apply")
        return one.answer(RAN if contribution.whole else ABORTED, contribution, contribution.note)

    def _release(self, one: _Running) -> None:
        with self._lock:
            one.done = True
            if one.abandoned:
                self._stuck[one.layer.name] -= 1

    def close(self) -> None:
        for layer in self.layers:
            try:
                layer.close()
            except Exception as fault:  # the others are to be closed, too
                self._log(f"layer {layer.name}", fault)


class _Running:
    """One layer at work in its thread. arrived: gets an item when it is through."""

    def __init__(self, layer: Layer, budget: Budget, arrived: SimpleQueue[None]) -> None:
        self.layer, self.budget, self._arrived = layer, budget, arrived
        self.done, self.abandoned = False, False
        self.began, self.ended = time.perf_counter_ns(), 0
        self.contribution: Contribution | None = None
        self.fault: Exception | None = None

    def run(self, query: Query, scope: Scope, candidates: Sequence[Hit] | None, release: Callable[[_Running], None]) -> None:
        try:
            if self.layer.applies(scope, query):
                self.contribution = self.layer.search(query, scope, self.budget, candidates)
        except Exception as fault:  # logged by whoever waits
            self.fault = fault
        self.ended = time.perf_counter_ns()
        release(self)
        self._arrived.put(None)

    def answer(self, status: str, contribution: Contribution, note: str) -> Answer:
        ended = time.perf_counter_ns() if self.abandoned else self.ended
        return Answer(self.layer.name, self.layer.version, status, contribution, note, (ended - self.began) // 1000, began=self.began)
