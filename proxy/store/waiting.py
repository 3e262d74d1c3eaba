"""Waits for an `flock`, but not for ever.

First by polling: on a busy machine each hand-over in the kernel's queue waits for the scheduler, and eight writers get three
times as many commits done without it. Polling alone starves one of them for a second, so after `POLL` a writer does queue, in a
thread, since `flock` has no timeout. `bench/store.py` shows both effects: commits a second, and the longest wait.
"""
from __future__ import annotations

import fcntl
import os
import time
from _thread import allocate_lock, start_new_thread

POLL = 0.02  # seconds


def wait(descriptor: int, seconds: float) -> bool:
    """Takes the exclusive lock of a descriptor as soon as others let it go.

    False after so many seconds; the descriptor is then closed sooner or later, and no longer the caller's.
    """
    end = time.monotonic() + POLL
    while time.monotonic() < end:
        time.sleep(0.001)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            pass
    attempt = _Attempt(descriptor)
    try:
        if attempt.done.acquire(timeout=seconds) and attempt.held:
            return True
    except BaseException:
        attempt.abandon()
        raise
    attempt.abandon()
    return False


class _Attempt:
    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._guard = descriptor, allocate_lock()
        self._ended = self._abandoned = self.held = False
        self.done = allocate_lock()
        self.done.acquire()
        start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            self.held = True
        except OSError:
            pass
        with self._guard:
            self._ended = True
            if self._abandoned:
                os.close(self._descriptor)
        self.done.release()

    def abandon(self) -> None:
        with self._guard:
            self._abandoned = True
            if self._ended:
                os.close(self._descriptor)
