"""Warm threads: work begins in one at once, where starting a thread takes milliseconds on a busy machine; and turns that are short.

Nobody waits for these threads: a process ends while they work, a fork begins without them, and one that hangs is replaced by another.
"""
from __future__ import annotations

import gc
import os
import sys
from _thread import start_new_thread
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Lock, Semaphore
from typing import TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Work = Callable[[], object]

Item = TypeVar("Item")

KEPT = 16  # threads that wait for work; more than are idle at once end
TURN = 0.0005  # seconds after which a thread that computes lets another go on; Python's own 5 ms add up over layers

_idle: list[SimpleQueue[Work]] = []  # one queue a waiting thread; append and pop are atomic
_lock = Lock()
_prompt = 0  # how many asked for short turns
_before = 0.0
_collects = True


def start(work: Work) -> None:
    """Runs work in a thread of its own and returns at once. work: catches what it raises."""
    try:
        tasks = _idle.pop()
    except IndexError:
        tasks = SimpleQueue()
        start_new_thread(_run, (tasks,))  # no `Thread`: starting one waits until it runs
    tasks.put(work)


def _run(tasks: SimpleQueue[Work]) -> None:
    while True:
        work = tasks.get()
        work()
        del work  # what it held is not kept until the next
        if len(_idle) >= KEPT:
            return
        _idle.append(tasks)


def ahead(items: Iterator[Item], count: int = 2) -> Iterator[Item]:
    """The same items, made in another thread while those before them are worked on, so many ahead. Raises what making them raises."""
    made: SimpleQueue[Item | _Over] = SimpleQueue()
    room, stop = Semaphore(count), Event()

    def make() -> None:
        over = _Over(None)
        try:
            for item in items:
                made.put(item)
                room.acquire()
                if stop.is_set():
                    return
        except Exception as fault:  # raised where the items are taken
            over = _Over(fault)
        made.put(over)

    start(make)
    try:
        while not isinstance(item := made.get(), _Over):
            room.release()
            yield item
        if item.fault is not None:
            raise item.fault
    finally:
        stop.set()
        room.release()


class _Over:
    """There are no more items."""

    def __init__(self, fault: Exception | None) -> None:
        self.fault = fault


@contextmanager
def prompt() -> Iterator[None]:
    """Threads take short turns meanwhile, and none is stopped for the tens of milliseconds that collecting a large heap's garbage takes.

    Python has one interval and one collector for the process: both are put back when the last one is through.
    """
    global _prompt, _before, _collects
    with _lock:
        if not _prompt:
            _before, _collects = sys.getswitchinterval(), gc.isenabled()
            sys.setswitchinterval(min(TURN, _before))
            gc.disable()
        _prompt += 1
    try:
        yield
    finally:
        with _lock:
            _prompt -= 1
            if not _prompt:
                _put_back()


def _put_back() -> None:
    sys.setswitchinterval(_before)
    if _collects:
        gc.enable()


def _forked() -> None:
    """A child has none of its parent's threads, nor of its searches."""
    global _lock, _prompt
    _idle.clear()
    _lock = Lock()
    if _prompt:
        _prompt = 0
        _put_back()


os.register_at_fork(after_in_child=_forked)
