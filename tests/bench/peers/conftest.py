"""The modules of bench/peers, by name."""
from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture
def own() -> tuple[str, ...]:
    """Where they lie, and their names."""
    return "bench/peers", "arms", "published", "tables", "run"


@pytest.fixture
def arms(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("arms")


@pytest.fixture
def tables(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("tables")


@pytest.fixture
def published(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("published")


@pytest.fixture
def run(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("run")
