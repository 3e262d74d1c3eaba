"""Commits of several threads in one transaction, so that one wait for the disk serves all that came during the last one.

Who comes first leads: its transaction holds what is queued by then. Whoever comes meanwhile waits, and the first of these leads next.
A thread alone waits for nobody.
"""
from __future__ import annotations

import os
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from byref.proxy.contracts import Capture
    from byref.proxy.store.catalog import Values

MOST = 64  # captures of one transaction: others that wait for the lock wait no longer than that takes


class Job:
    """One capture to commit, and what came of it. call, events: the values of its rows."""

    __slots__ = ("_turn", "call", "capture", "events", "fault", "leads", "now", "result")

    def __init__(self, capture: Capture, call: Values, events: list[Values], now: float) -> None:
        self.capture, self.call, self.events, self.now = capture, call, events, now
        self.result: Capture | None = None
        self.fault: BaseException | None = None
        self.leads = False
        self._turn = allocate_lock()
        self._turn.acquire()

    def wait(self) -> None:
        """Until it is settled, or leads."""
        self._turn.acquire()

    def wake(self) -> None:
        self._turn.release()


class Group:
    """Gives jobs of many threads to one call of `run` at a time, which sets the result or the fault of each.

    run raises only what interrupts its thread, such as KeyboardInterrupt: jobs that then have neither go to the next call.
    """

    def __init__(self, run: Callable[[Sequence[Job]], None]) -> None:
        self._run = run
        self._reset()

    def _reset(self) -> None:
        self._lock, self._pid = allocate_lock(), os.getpid()
        self._queue: list[Job] = []
        self._led = False

    def do(self, job: Job) -> Capture:
        """The result of a job. Raises its fault."""
        if self._pid != os.getpid():  # who led before a fork leads in the parent alone
            self._reset()
        try:
            with self._lock:
                self._queue.append(job)
                if not self._led:
                    self._led = job.leads = True
            if not job.leads:
                job.wait()
            if job.leads:
                self._lead(job)
        except BaseException:
            self._leave(job)
            raise
        if job.fault is not None:
            raise job.fault
        assert job.result is not None
        return job.result

    def _lead(self, job: Job) -> None:
        with self._lock:
            batch = self._queue[:MOST]
            del self._queue[:MOST]
        try:
            self._run(batch)
        finally:
            others = [one for one in batch if one is not job]
            again = [one for one in others if one.result is None and one.fault is None]
            with self._lock:
                self._queue[:0] = again
                following = self._hand_over(job)
            for one in others:
                if one not in again:
                    one.wake()
            if following is not None:
                following.wake()

    def _hand_over(self, job: Job) -> Job | None:
        """Under the lock: who leads next."""
        job.leads = False
        following = self._queue[0] if self._queue else None
        self._led = following is not None
        if following is not None:
            following.leads = True
        return following

    def _leave(self, job: Job) -> None:
        """Its thread waits no longer."""
        with self._lock:
            if job in self._queue:
                self._queue.remove(job)
            following = self._hand_over(job) if job.leads else None
        if following is not None:
            following.wake()
