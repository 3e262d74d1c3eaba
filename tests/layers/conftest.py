"""What tests of layers are given."""
from __future__ import annotations

import time
from threading import Event

import pytest

from byref.layers.contract import Budget
from layer_worlds import World


@pytest.fixture
def world() -> type[World]:
    return World


@pytest.fixture
def budget() -> Budget:
    return Budget(time.monotonic() + 60, Event(), time.monotonic)
