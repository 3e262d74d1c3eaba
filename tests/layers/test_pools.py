"""Pools of threads are narrow while a layer computes, and the program's own again afterwards."""
from __future__ import annotations

import threading

import numpy as np
import pytest

from byref.layers import pools

controllers = pytest.importorskip("threadpoolctl", reason="threadpoolctl is not here: pip install 'byref[onnx]'")


def widths() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in controllers.threadpool_info() if pool["user_api"] == "blas"}


def test_pools_are_narrow_while_anyone_needs_it_and_as_before_afterwards() -> None:
    before, seen = widths(), []
    steps = [threading.Event() for _ in range(3)]

    def first() -> None:
        with pools.narrow():
            seen.append(widths())
            steps[0].set()
            steps[1].wait(30)

    def second() -> None:
        steps[0].wait(30)
        with pools.narrow():
            steps[1].set()
            steps[2].wait(30)
            seen.append(widths())
    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    other.start()
    one.join()
    steps[2].set()
    other.join()
    assert seen == [{1}, {1}], "as long as somebody needs it"
    assert widths() == before


def test_threads_of_torch_are_as_before_afterwards() -> None:
    torch = pytest.importorskip("torch", reason="torch is not here: pip install 'byref[late]'")
    before = torch.get_num_threads()
    with pools.narrow(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
