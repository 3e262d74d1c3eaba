"""Recorded sessions through byref, in as many processes as are asked for: sessions stream in and sums stream out, in order."""
from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

from byref.filters.render import MARKER
from byref.proxy.contracts import Call
from byref.proxy.errors import ByrefError
from byref.proxy.gateway import Gateway
from byref.proxy.gateway import open as open_gateway
from byref.proxy.ledger.counter import TokenCounter, token_counter
from byref.proxy.ledger.recordings import claude_code, codex, opencode
from byref.proxy.ledger.replay import Shown, replay
from byref.proxy.ledger.summary import ALREADY, Summary, printable, summary
from byref.proxy.ledger.trajectories import Trajectory

HEAD = re.compile(r"^«r[a-z2-7]{10} ", re.M)  # the first line of a view, within
_LEAD = 300  # characters: a harness puts a line or two of its own before it
OURS = ("mcp__byref__", "byref_")  # second calls, as harnesses name them: final, never a view
# What a harness's hooks do not change, and so is not saved: whether that is failures, and results of which tools (adapters/harnesses).
STAND = {claude_code.SOURCE: (True, ("Edit", "MultiEdit", "Write", "NotebookEdit")), codex.SOURCE: (False, ("apply_patch",)),
         opencode.SOURCE: (True, ("edit", "multiedit", "write", "patch", "apply_patch"))}
_AHEAD = 4  # batches a process that are read before they are asked for
_BATCH = 40  # calls at least; what is said between processes costs as much for a short session as for some of them


class Views:
    """An arm of byref as a library, with one profile: a store in memory and a context of its own for each session.

    Whether a call failed is not said: most recordings do not know. Outputs that are views already, our second calls, and what the hooks
    of a session's harness cannot change stay as they are.
    """

    marker = MARKER

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self._gateway: Gateway | None = None

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A fresh store, so that none grows; raises `ByrefError` where a view could not be made, for no figure should hide that."""
        self.close()
        self._gateway = open_gateway("memory:", profile=self.profile)
        session = self._gateway.session("replay", task=trajectory.task)
        failures, edits = STAND.get(trajectory.source, (False, ()))

        def view(call: Call, output: str) -> Shown:
            if call.tool.startswith(OURS):
                return Shown(output)
            if HEAD.search(output, 0, _LEAD):
                return Shown(output, ALREADY)
            whole = (failures and call.is_error) or call.tool in edits
            found = session.capture(tool=call.tool, args=call.arguments, output=output, said=call.said, raw=whole)
            if found.warning:
                raise ByrefError(found.warning)
            return Shown(found.text, found.shape)
        return view

    def close(self) -> None:
        """Lets go of the last session's store."""
        if self._gateway is not None:
            self._gateway.close()
            self._gateway = None


class Work:
    """What each process does: sessions to sums, one for each profile. A session that fails is told by its name."""

    def __init__(self, profiles: Sequence[str], counter: str = "", definitions: int = 0) -> None:
        self.profiles, self.counter, self.definitions = tuple(profiles), counter, definitions

    def __call__(self, trajectory: Trajectory) -> list[Summary] | str:
        found = []
        for profile in self.profiles:
            arm = Views(profile)
            try:
                found += [summary(each, self.definitions) for each in replay([trajectory], arm, _counter(self.counter))]
            except ByrefError as fault:
                return f"session {printable(trajectory.id)}: {fault}"
            finally:
                arm.close()
        return found


_COUNTERS: dict[str, TokenCounter] = {}


def _counter(name: str) -> TokenCounter:
    if name not in _COUNTERS:
        _COUNTERS[name] = token_counter(name)
    return _COUNTERS[name]


def _begin() -> None:
    """A process of the pool: an interrupt is not its own, and it ends with the one that began it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def worked(trajectories: Iterable[Trajectory], work: Work, jobs: int) -> Iterator[list[Summary] | str]:
    """What comes of each session, in order. jobs: processes; 1 for none beside this one. An interrupt is this process's to answer.

    Raises `ByrefError` where a process ends that should not.
    """
    if jobs <= 1:
        yield from map(work, trajectories)
        return
    kind = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    waiting: deque[Future[list[list[Summary] | str]]] = deque()
    context = multiprocessing.get_context(kind)
    with ProcessPoolExecutor(jobs, context, initializer=_begin) as pool:
        try:
            for batch in _batches(trajectories):
                waiting.append(pool.submit(_each, work, batch))
                while len(waiting) > jobs * _AHEAD or (waiting and waiting[0].done()):
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        except BrokenProcessPool:
            raise ByrefError("one of the processes was ended from outside, perhaps for its memory: try --jobs 1") from None
        finally:
            for one in waiting:
                one.cancel()


def _each(work: Work, trajectories: Sequence[Trajectory]) -> list[list[Summary] | str]:
    return list(map(work, trajectories))


def _batches(trajectories: Iterable[Trajectory]) -> Iterator[list[Trajectory]]:
    """The sessions, some short ones together."""
    batch: list[Trajectory] = []
    calls = 0
    for trajectory in trajectories:
        batch.append(trajectory)
        calls += len(trajectory.turns)
        if calls >= _BATCH:
            yield batch
            batch, calls = [], 0
    if batch:
        yield batch
