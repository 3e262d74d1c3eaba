"""The modules of bench/peers, by name."""
from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture
def own() -> tuple[str, ...]:
    """Where they lie, and their names."""
    return "bench/peers", "arms", "harnesses", "offloading", "published", "tables", "run"


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


@pytest.fixture
def harnesses(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("harnesses")


@pytest.fixture
def offloading(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("offloading")
