"""A search opens each output once, holds a bounded number of them, and meets a fault as often as it asks."""
from __future__ import annotations

import pytest

from byref.proxy import opened
from byref.proxy.contracts import Source
from byref.proxy.errors import Unknown
from byref.proxy.opened import Opened
from byref.proxy.store.source import BytesSource


def counted(asked: list[str]) -> Opened:
    def open(digest: str) -> Source:
        asked.append(digest)
        if digest == "gone":
            raise Unknown(digest)
        return BytesSource(digest.encode() * 10)
    return Opened(open)


def test_what_is_open_is_not_opened_again() -> None:
    asked: list[str] = []
    sources = counted(asked)
    assert sources("a") is sources("a")
    assert sources("b").read() == b"b" * 10
    assert asked == ["a", "b"]


@pytest.mark.parametrize(("name", "value"), [("MOST", 2), ("BYTES", 20)])
def test_what_was_used_last_is_held(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, name, value)
    asked: list[str] = []
    sources = counted(asked)
    for digest in "abaca":
        sources(digest)
    assert asked == ["a", "b", "c"]
    sources("b")
    assert asked == ["a", "b", "c", "b"]


def test_one_that_is_larger_than_all_may_be_stays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "BYTES", 1)
    asked: list[str] = []
    sources = counted(asked)
    for digest in "aab":
        sources(digest)
    assert asked == ["a", "b"]


def test_a_fault_is_told_each_time() -> None:
    asked: list[str] = []
    sources = counted(asked)
    for _ in range(2):
        with pytest.raises(Unknown):
            sources("gone")
    assert asked == ["gone", "gone"]
