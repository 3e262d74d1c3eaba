"""Sources over bytes at hand give slices and lines, as all sources do."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.errors import Corrupt
from byref.proxy.store.source import BLOCK, BytesSource, after_newlines, clip
from byref.proxy.text import digest


def test_bytes_that_are_not_those_of_the_digest_are_corrupt() -> None:
    assert BytesSource(b"abc", digest(b"abc")).read() == b"abc"
    with pytest.raises(Corrupt, match="do not match"):
        BytesSource(b"abd", digest(b"abc"))


@given(st.lists(st.sampled_from([b"", b"a", b"line", b"x" * 200])), st.booleans(), st.integers(1, 12), st.integers(0, 12))
def test_lines_end_after_their_newline_and_the_last_where_the_bytes_end(lines: list[bytes], ended: bool, first: int, count: int) -> None:
    data = b"".join(line + b"\n" for line in lines) + (b"" if ended else b"tail")
    pieces = [line + b"\n" for line in lines] + ([] if ended else [b"tail"])
    start, end = BytesSource(data).lines(first, first + count - 1)
    assert data[start:end] == b"".join(pieces[first - 1:first + count - 1])
    assert 0 <= start <= end <= len(data)


@given(st.binary(max_size=400).map(lambda data: data.replace(b"a", b"\n")), st.data())
def test_the_place_after_a_newline(data: bytes, draw: st.DataObject) -> None:
    count = draw.draw(st.integers(0, data.count(b"\n")))
    place = after_newlines(data, count)
    assert data[:place].count(b"\n") == count and (not place or data[place - 1:place] == b"\n")


@given(st.integers(-5, 20), st.none() | st.integers(-5, 20), st.integers(0, 10))
def test_a_range_is_cut_to_what_is_there(start: int, end: int | None, size: int) -> None:
    low, high = clip(start, end, size)
    assert 0 <= low <= high <= size
    assert BytesSource(bytes(range(size))).read(start, end) == bytes(range(size))[low:high]


def test_blocks_are_the_bytes_in_order() -> None:
    data = bytes(range(256)) * 10_000
    blocks = list(BytesSource(data).blocks())
    assert b"".join(blocks) == data and max(map(len, blocks)) == BLOCK
    assert list(BytesSource(b"").blocks()) == []
