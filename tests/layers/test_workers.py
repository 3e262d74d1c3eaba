"""Warm threads: used again, replaced where they hang, and in nobody's way at a fork or at the end."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from threading import Event

import pytest

from byref.layers import workers


def run(work: object = None) -> int:
    """The thread that ran it."""
    done, found = Event(), []

    def note() -> None:
        found.append(threading.get_ident())
        done.set()

    workers.start(note)
    assert done.wait(60)
    for _ in range(60_000):  # until the thread waits again
        if workers._idle:
            break
        time.sleep(0.001)
    return found[0]


def test_a_thread_is_used_again_and_one_that_hangs_is_replaced() -> None:
    ran = [run() for _ in range(workers.KEPT + 2)]  # one that another test left may come to wait meanwhile
    assert len(set(ran)) < len(ran)
    go, began = Event(), []
    workers._idle.clear()

    def hang() -> None:
        began.append(threading.get_ident())
        go.wait(60)

    workers.start(hang)
    assert run() not in began
    go.set()


def test_many_at_once_all_run_and_only_some_stay() -> None:
    barrier = threading.Barrier(workers.KEPT * 2 + 1, timeout=60)
    for _ in range(workers.KEPT * 2):
        workers.start(lambda: barrier.wait())
    barrier.wait()
    for _ in range(12_000):
        time.sleep(0.005)
        assert len(workers._idle) <= workers.KEPT
        if len(workers._idle) == workers.KEPT:
            break
    assert len(workers._idle) == workers.KEPT


def test_turns_are_short_while_anybody_searches_and_then_as_before() -> None:
    before = sys.getswitchinterval()
    with workers.prompt():
        with pytest.raises(ZeroDivisionError), workers.prompt():
            raise ZeroDivisionError
        assert sys.getswitchinterval() == pytest.approx(workers.TURN) and not gc.isenabled()
    assert sys.getswitchinterval() == before and gc.isenabled()
    gc.disable()
    try:
        with workers.prompt():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_process_ends_while_a_thread_hangs() -> None:
    code = "import threading; from byref.layers import workers; workers.start(threading.Event().wait); print('over')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "over\n"


def test_a_forked_process_has_threads_of_its_own_and_long_turns() -> None:
    run()
    before = sys.getswitchinterval()
    with workers.prompt():
        child = os.fork()
        if child == 0:
            code = 1
            try:
                done = Event()
                workers.start(done.set)
                code = 0 if done.wait(60) and sys.getswitchinterval() == before and gc.isenabled() else 2
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_another_thread_makes_ahead_comes_in_order_and_no_more_of_it_than_is_wanted() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for n in range(100):
            made.append(n)
            yield n

    assert list(workers.ahead(items())) == list(range(100))
    made.clear()
    for item in workers.ahead(items(), 2):
        if item == 5:
            break
    time.sleep(0.05)
    assert len(made) <= 5 + 4

    def faulty() -> Iterator[int]:
        yield 1
        raise KeyError("x")

    taken = []
    with pytest.raises(KeyError):
        for item in workers.ahead(faulty()):
            taken.append(item)
    assert taken == [1]
