"""The `file:` store keeps every promise of a store, over restarts, forks and many processes."""
from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from byref.proxy.contracts import Store
from byref.proxy.store import open_store
from conformance.captures import Factory
from conformance.retention import RetentionSuite
from conformance.store import StoreSuite


def at(folder: Path, *, max_bytes: int = 1 << 30, max_age: float = 1e9, clock: Callable[[], float] = time.time) -> Store:
    return open_store(f"file:{folder}", max_bytes=max_bytes, max_age=max_age, clock=clock)


class TestFile(StoreSuite, RetentionSuite):
    @pytest.fixture
    def factory(self, tmp_path: Path) -> Factory:
        def make(*, max_bytes: int = 1 << 30, max_age: float = 1e9, clock: Callable[[], float] = time.time) -> Store:
            return at(tmp_path / "store", max_bytes=max_bytes, max_age=max_age, clock=clock)
        return make
