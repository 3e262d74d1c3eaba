"""The `memory:` store keeps every promise of a store, and nothing outside its process."""
from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from byref.proxy.contracts import Store
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.store import open_store
from conformance.captures import SCOPE, Factory, keep
from conformance.ledger import LedgerSuite
from conformance.retention import RetentionSuite
from conformance.store import StoreSuite


def memory(*, max_bytes: int = 1 << 30, max_age: float = 1e9, clock: Callable[[], float] = time.time) -> Store:
    return open_store("memory:", max_bytes=max_bytes, max_age=max_age, clock=clock)


class TestMemory(StoreSuite, RetentionSuite, LedgerSuite):
    @pytest.fixture
    def factory(self) -> Factory:
        return memory


def test_two_stores_share_nothing() -> None:
    ref = keep(memory(), b"mine\n")
    with pytest.raises(Unknown):
        memory().resolve(SCOPE, ref)


def test_damage_in_memory_is_found() -> None:
    store = memory()
    ref = keep(store, b"good\n")
    digest = store.resolve(SCOPE, ref).manifest.parts[0].blob.digest
    assert store.open(digest).read() == b"good\n" == store.open(digest).read()
    store._blobs[digest] = b"evil\n"  # type: ignore[attr-defined]
    for _ in range(2):
        with pytest.raises(Corrupt):
            store.open(digest).read()
    assert [name for name, _ in store.verify().damaged] == [digest]
