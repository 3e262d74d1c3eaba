"""Commits of many threads share a transaction, and none of them notices but by the time that it takes."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from byref.proxy.contracts import Capture, Manifest, View
from byref.proxy.errors import Collision, StoreBusy
from byref.proxy.store import open_store
from byref.proxy.store.catalog import Catalog
from byref.proxy.store.grouping import MOST, Group, Job
from conformance.captures import SCOPE, capture, shell
from conformance.processes import in_child

LIMIT = 60.0


def job(name: str) -> Job:
    given = Capture(SCOPE, "main", "window", None, name, Manifest("shell", "{}", ()), "", View("", ()))
    return Job(given, (), [], 0.0)


def told(jobs: Sequence[Job]) -> None:
    for one in jobs:
        one.result = one.capture


def ready(until: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not until():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.001)


def test_who_comes_alone_waits_for_nobody() -> None:
    batches: list[int] = []

    def run(jobs: Sequence[Job]) -> None:
        batches.append(len(jobs))
        told(jobs)
    group = Group(run)
    assert [group.do(job(name)).ref for name in ("a", "b", "c")] == ["a", "b", "c"] and batches == [1, 1, 1]


def test_all_that_come_during_one_transaction_are_in_the_next_in_their_order() -> None:
    batches: list[list[str]] = []
    begun, first, others = threading.Event(), threading.Event(), 2 * MOST

    def run(jobs: Sequence[Job]) -> None:
        begun.set()
        if not batches:
            first.wait(LIMIT)
        batches.append([one.capture.ref for one in jobs])
        told(jobs)
    group = Group(run)
    results: list[str] = []
    threads = []
    for number in range(others + 1):
        threads.append(threading.Thread(target=lambda name=str(number): results.append(group.do(job(name)).ref)))
        threads[-1].start()
        assert begun.wait(LIMIT)  # the first is under way
        ready(lambda: len(group._queue) == len(threads) - 1)
    first.set()
    for thread in threads:
        thread.join(LIMIT)
    names = [str(number) for number in range(others + 1)]
    assert batches == [names[:1], names[1:MOST + 1], names[MOST + 1:]] and sorted(results) == sorted(names)


def test_a_fault_is_for_whom_it_is_meant() -> None:
    def run(jobs: Sequence[Job]) -> None:
        told(jobs)
        for one in jobs:
            if one.capture.ref == "bad":
                one.fault = StoreBusy("held")
    group = Group(run)
    with pytest.raises(StoreBusy):
        group.do(job("bad"))
    assert group.do(job("good")).ref == "good", "and holds up nobody after it"


class Interrupted(BaseException):
    """As KeyboardInterrupt, which Python raises in the main thread wherever that is."""


def test_who_is_interrupted_while_it_waits_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[str]] = []
    first, wait = threading.Event(), Job.wait

    def run(jobs: Sequence[Job]) -> None:
        if not batches:
            first.wait(LIMIT)
        batches.append([one.capture.ref for one in jobs])
        told(jobs)

    def interrupted(self: Job) -> None:
        if self.capture.ref == "early":
            raise Interrupted
        wait(self)
        if self.capture.ref == "late":  # it is to lead
            raise Interrupted
    monkeypatch.setattr(Job, "wait", interrupted)
    group, results = Group(run), list[str]()

    def do(name: str) -> None:
        try:
            results.append(group.do(job(name)).ref)
        except Interrupted:
            results.append(f"not {name}")
    threads = []
    for number, name in enumerate(("leads", "early", "late", "third", "fourth")):
        threads.append(threading.Thread(target=do, args=(name,), daemon=True))
        threads[-1].start()
        queued = (0, 0, 1, 2, 3)[number]
        ready(lambda number=number, queued=queued: len(group._queue) == queued and (number != 1 or results == ["not early"]))
    first.set()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(results) == ["fourth", "leads", "not early", "not late", "third"]
    assert batches == [["leads"], ["third", "fourth"]] and not group._led


def test_who_is_interrupted_while_it_commits_for_others_leaves_them_to_the_next() -> None:
    batches: list[list[str]] = []
    first = threading.Event()

    def run(jobs: Sequence[Job]) -> None:
        if not batches:
            first.wait(LIMIT)
        batches.append([one.capture.ref for one in jobs])
        if jobs[0].capture.ref == "second":
            raise Interrupted
        told(jobs)
    group, results = Group(run), list[str]()

    def do(name: str) -> None:
        try:
            results.append(group.do(job(name)).ref)
        except Interrupted:
            results.append(f"not {name}")
    threads = []
    for number, name in enumerate(("first", "second", "third", "fourth")):
        threads.append(threading.Thread(target=do, args=(name,), daemon=True))
        threads[-1].start()
        ready(lambda number=number: len(group._queue) == number)
    first.set()
    for thread in threads:
        thread.join(LIMIT)
    assert batches == [["first"], ["second", "third", "fourth"], ["third", "fourth"]]
    assert sorted(results) == ["first", "fourth", "not second", "third"] and not group._led


def test_many_threads_commit_in_fewer_transactions_than_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(f"file:{tmp_path / 's'}", max_bytes=1 << 30, max_age=1e9, clock=time.time)
    held, written, write = threading.Event(), [0], Catalog.write

    def counted(self: Catalog, durable: bool = True) -> object:
        written[0] += 1
        held.wait(LIMIT)
        return write(self, durable)
    given = [capture(store, b"output %d\n" % number, arguments=shell(f"echo {number}")) for number in range(24)]
    other = Manifest("shell", shell("made up"), given[7].manifest.parts)  # another output by the ref of one that is before it
    clash = Capture(SCOPE, "main", "window", None, given[7].ref, other, "", View("", ()))
    monkeypatch.setattr(Catalog, "write", counted)
    faults: list[BaseException] = []

    def commit(one: Capture) -> None:
        try:
            store.commit(one)
        except Collision as fault:
            faults.append(fault)
    threads = [threading.Thread(target=commit, args=(one,)) for one in [*given, clash]]
    for number, thread in enumerate(threads):
        thread.start()
        ready(lambda number=number: len(store._group._queue) == number)
    held.set()
    for thread in threads:
        thread.join(LIMIT)
    assert written == [3] and len(faults) == 1, "one alone, then all that waited, then these without the one that was wrong"
    for one in given:
        assert store.resolve(SCOPE, one.ref).manifest == one.manifest
    assert store.verify().damaged == () and store.tick("window") == 24
    store.close()


def test_a_fork_takes_no_leader_along(tmp_path: Path) -> None:
    store = open_store(f"file:{tmp_path / 's'}", max_bytes=1 << 30, max_age=1e9, clock=time.time)
    store.commit(capture(store, b"of the parent\n"))
    store._group._led = True  # as while another thread commits

    def work() -> None:
        store.commit(capture(store, b"of the child\n", arguments=shell("child")))
    in_child(work)
    assert len(store.recent(SCOPE)) == 2
    store.close()
