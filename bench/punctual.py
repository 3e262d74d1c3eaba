"""How far searches overrun their timebox, idle and beside two busy processes; a bare sleep and a thread hand-over beside it.

usage: punctual.py [--times N] [--small] [--profile BOX]

Words, trigrams and static vectors are indexed, nothing is built or cached meanwhile; queries are words, identifiers, phrases, misspelt
ones and patterns, over logs and docstrings. `hung layer` has one more layer, which never returns. Bars: p99 at most 15 ms idle, 35 ms
with two busy processes. A figure of a machine that others use is theirs, too: the load stands beside it, and the lateness of a sleep of
the same length in the same minute.
"""
from __future__ import annotations

import argparse
import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Event, Thread

from labelled import labelled

import byref
from byref.layers.caching import Memory
from byref.layers.contract import GENERATE, Added, Contribution, LayerStatus, Scope
from byref.layers.orchestrator import Orchestrator
from byref.proxy.session import Session
from inputs import log

BOXES = (5, 10, 20, 50, 100, 200, 500)  # milliseconds
LOGS, LOG = 40, 500_000  # outputs beside the documents, and bytes of each
BARS = {"idle": 15, "busy": 35}
BUSY = 2  # processes
INDEXED = ("bm25", "trigram", "static")
PATTERNS = (r"/ERROR .*refused/", r"/id=[0-9a-f]*beef/", r"/\bWARN\b.*took 8\d\d ms/i")


class Hung:
    """A layer that never returns."""

    name, version, roles = "hung", "1", frozenset({GENERATE})

    def applies(self, scope: Scope, query: object) -> bool:
        return True

    def status(self, scope: Scope) -> LayerStatus:
        return LayerStatus(self.name, self.version, GENERATE, "", "", 0, "", 0)

    def search(self, query: object, scope: Scope, budget: object, candidates: object = None) -> Contribution:
        Event().wait()
        return Contribution(())

    def indexed(self) -> frozenset[str]:
        return frozenset()

    def apply(self, add: object, remove: object, cancel: object) -> None:
        pass

    def close(self) -> None:
        pass


def percentile(values: Sequence[float], share: int) -> float:
    """The value below which so many percent lie, nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


def queries() -> list[str]:
    """One of each kind in turn."""
    by_tag: dict[str, list[str]] = {}
    for question in labelled().questions:
        if question.collection in ("python", "help"):
            by_tag.setdefault(question.tag, []).append(question.query)
    rows = [*by_tag.values(), list(PATTERNS), ["session token refused", "upstream retry timeout", "cache"]]
    return [rows[number % len(rows)][number // len(rows) % len(rows[number % len(rows)])] for number in range(len(rows) * 60)]


def filled(session: Session, small: bool) -> None:
    for number in range(LOGS // 8 if small else LOGS):
        session.capture(tool="log", output=log(LOG, number), raw=True)
    given = labelled()
    for collection in ("python", "help"):
        for number, text in enumerate(given.documents[collection].values()):
            if not small or number % 8 == 0:
                session.capture(tool="document", output=text, raw=True)


def overruns(session: Session, asked: Sequence[str], box: int, times: int) -> list[float]:
    """Milliseconds beyond the timebox, each query in turn."""
    found = []
    for number in range(times):
        began = time.perf_counter()
        session.search(asked[number * 7 % len(asked)], timebox_ms=box)
        found.append(max(0.0, 1000 * (time.perf_counter() - began) - box))
    return found


def sleeps(box: int, times: int) -> list[float]:
    """How late a bare sleep of a timebox's length is."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        time.sleep(box / 1000)
        found.append(max(0.0, 1000 * (time.perf_counter() - began) - box))
    return found


def hand_overs(times: int) -> list[float]:
    """Milliseconds until a waiting thread has answered."""
    there: SimpleQueue[int | None] = SimpleQueue()
    back: SimpleQueue[int] = SimpleQueue()

    def answer() -> None:
        while (one := there.get()) is not None:
            back.put(one)

    thread = Thread(target=answer, daemon=True)
    thread.start()
    found = []
    for number in range(times):
        time.sleep(0.002)
        began = time.perf_counter()
        there.put(number)
        back.get()
        found.append(1000 * (time.perf_counter() - began))
    there.put(None)
    thread.join()
    return found


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that compute for nothing."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def table(session: Session, asked: Sequence[str], name: str, times: int, boxes: Sequence[int]) -> float:
    """Prints a row a timebox; the largest p99."""
    passed = hand_overs(200)
    print(f"{name}: load {os.getloadavg()[0]:.1f}; hand-over to a thread and back p50 {percentile(passed, 50):.2f}, "
          f"p99 {percentile(passed, 99):.2f} ms")
    print(f"  {'timebox':>8}  {'over p50':>8} {'p99':>6} {'max':>6}   bare sleep p50    p99")
    worst = 0.0
    for box in boxes:
        count = max(40, min(times, times * 100 // box))
        found, slept = overruns(session, asked, box, count), sleeps(box, max(20, min(100, 2000 // box)))
        worst = max(worst, percentile(found, 99))
        print(f"  {box:>8}  {percentile(found, 50):>8.1f} {percentile(found, 99):>6.1f} {max(found):>6.1f}   "
              f"{percentile(slept, 50):>14.1f} {percentile(slept, 99):>6.1f}", flush=True)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200, help="searches at timeboxes up to 100 ms")
    parser.add_argument("--small", action="store_true", help="an eighth of the outputs")
    parser.add_argument("--boxes", type=int, nargs="*", default=BOXES)
    given = parser.parse_args()
    asked = queries()
    with byref.open(profile="safe") as gateway:
        session = gateway.session("bench")
        filled(session, given.small)
        gateway.indexes._memory = Memory(0)
        setattr(gateway.indexes, "used", lambda *_: None)  # noqa: B010
        orchestrator: Orchestrator = gateway.indexes.orchestrator(session.scope)
        began = time.perf_counter()
        view = gateway.indexes.everything(session.scope)
        for layer in orchestrator.layers:
            if layer.name in INDEXED and not layer.status(view).missing:
                layer.apply([Added(one.blob, view.open(one.blob), one.output.shape) for one in view.held.values()], (), Event())
        print(f"{len(view.outputs)} outputs, indexed in {time.perf_counter() - began:.0f} s; "
              f"bars: p99 {BARS['idle']} ms idle, {BARS['busy']} with {BUSY} busy processes")
        for query in asked[:20]:
            session.search(query, timebox_ms=20_000)
        worst = {"idle": table(session, asked, "idle", given.times, given.boxes)}
        with busy(BUSY):
            worst["busy"] = table(session, asked, f"{BUSY} busy processes", given.times, given.boxes)
        orchestrator.layers += (Hung(),)
        table(session, asked, "hung layer", given.times // 2, given.boxes)
    for name, bar in BARS.items():
        print(f"{name}: worst p99 {worst[name]:.1f} ms, bar {bar}{'' if worst[name] <= bar else ': MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
