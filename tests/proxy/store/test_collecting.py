"""Bytes of a part are collected whole, or not at all."""
from __future__ import annotations

import pytest

from byref.proxy.contracts import Blob
from byref.proxy.errors import StoreFull
from byref.proxy.store.collecting import Collector


def test_pieces_become_one_blob_that_is_put_once() -> None:
    put: list[bytes] = []

    def take(data: bytes) -> Blob:
        put.append(data)
        return Blob("b2:x", len(data), data.count(b"\n"))
    writer = Collector(take, 10)
    for piece in (b"ab\n", bytearray(b"cd"), memoryview(b"\n")):
        writer.write(piece)
    assert writer.finish() == Blob("b2:x", 6, 2) == writer.finish() and put == [b"ab\ncd\n"]


def test_what_is_too_large_for_the_store_is_refused_and_let_go() -> None:
    writer = Collector(lambda data: Blob("b2:x", len(data), 0), 10)
    writer.write(b"x" * 10)
    with pytest.raises(StoreFull, match="10 bytes"):
        writer.write(b"x")
    writer.write(b"y" * 10)
    assert writer.finish().size == 10
