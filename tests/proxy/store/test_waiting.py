"""A writer waits in line for the lock, and gives up in time without ever holding it afterwards."""
from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from byref.proxy.store.waiting import wait


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], int]:
    return lambda: os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)


def is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def test_the_lock_is_taken_when_it_is_let_go(opened: Callable[[], int]) -> None:
    holder, waiter, other = opened(), opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    threading.Timer(0.05, lambda: fcntl.flock(holder, fcntl.LOCK_UN)).start()
    assert wait(waiter, 60)
    assert not is_free(other)
    fcntl.flock(waiter, fcntl.LOCK_UN)
    assert is_free(other)
    for descriptor in (holder, waiter, other):
        os.close(descriptor)


def test_a_wait_given_up_never_holds_the_lock_and_closes_its_descriptor(opened: Callable[[], int]) -> None:
    holder, other = opened(), opened()
    fcntl.flock(holder, fcntl.LOCK_EX)
    waiters = [opened() for _ in range(3)]
    assert [wait(waiter, 0.02) for waiter in waiters] == [False] * 3
    fcntl.flock(holder, fcntl.LOCK_UN)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (is_free(other) and all(is_closed(waiter) for waiter in waiters)):
        time.sleep(0.01)
    assert is_free(other) and all(is_closed(waiter) for waiter in waiters)
    os.close(holder)
    os.close(other)


def is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False
