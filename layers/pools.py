"""Pools of threads of numpy and torch, narrow while we compute: one as wide as the machine waits for its last thread whenever something
else runs (measured: 25 to 900 ms for what one thread does in 7).
"""
from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event, Lock, Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

THREADS = 1
PATIENCE = 1.0  # seconds that are waited for a pool; after them it is as it is

_lock = Lock()
_users = 0
_tasks: SimpleQueue[tuple[int, Event]] | None = None


@contextmanager
def narrow(threads: int = THREADS) -> Iterator[None]:
    """Pools are this wide meanwhile, and as they were when nobody needs that any more. Without threadpoolctl numpy's stays as it is."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _told(threads)
    before = _of_torch(threads)
    try:
        yield
    finally:
        _of_torch(before)
        with _lock:
            _users -= 1
            if not _users:
                _told(0)


def _told(threads: int) -> None:
    """Has numpy's pool set by a thread of its own: threadpoolctl heeds the first thread that ever set it, for as long as that lives."""
    global _tasks
    if _tasks is None:
        _tasks = SimpleQueue()
        Thread(target=_serve, args=(_tasks,), name="byref-pools", daemon=True).start()
    done = Event()
    _tasks.put((threads, done))
    done.wait(PATIENCE)


def _alone() -> None:
    """After a fork: the thread is the parent's."""
    global _tasks, _users, _lock
    _tasks, _users, _lock = None, 0, Lock()


os.register_at_fork(after_in_child=_alone)


def _serve(tasks: SimpleQueue[tuple[int, Event]]) -> None:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        ThreadpoolController = None
    limiter = controller = None
    while True:
        threads, done = tasks.get()
        if ThreadpoolController is not None and threads:
            if controller is None or not controller.lib_controllers:  # numpy was not loaded yet
                controller = ThreadpoolController().select(user_api="blas")
            limiter = controller.limit(limits=threads)
        elif limiter is not None:
            limiter.restore_original_limits()
            limiter = None
        done.set()


def _of_torch(threads: int) -> int:
    """torch's is the calling thread's own: sets it, and says what it was; 0 leaves it."""
    if "torch" not in sys.modules or not threads:
        return 0
    import torch
    before = int(torch.get_num_threads())
    if before != threads:
        torch.set_num_threads(threads)
    return before
