"""Waits for an `flock`, but not for ever."""
from __future__ import annotations

import fcntl
import os
from _thread import allocate_lock, start_new_thread


def wait(descriptor: int, seconds: float) -> bool:
    """Takes the exclusive lock of a descriptor as soon as others let it go.

    False after so many seconds; the descriptor is then closed sooner or later, and no longer the caller's. `flock` has no
    timeout and polling starves one of eight writers, so a thread waits in the kernel's queue.
    """
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
