"""Postings: what a plain loop over the tokens counts, and all of a blob or nothing."""
from __future__ import annotations

from collections import Counter
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers import postings
from byref.layers.chunking import chunks
from byref.layers.postings import Builder
from byref.proxy.text import terms_by_line

pytest.importorskip("numpy")


def keys_of(token: str) -> tuple[int, ...]:
    """None of the shortest, and two of some."""
    return (len(token) * 1_000_003,) * (len(token) > 1) + ((1 << 63) + len(token) % 3,) * (len(token) > 4)


@given(st.lists(st.text(alphabet="ab c\né", max_size=3000), max_size=4))
def test_each_key_is_counted_in_each_chunk_as_a_plain_loop_counts_it(texts: list[str]) -> None:
    made, expected = Builder(keys_of), {}
    for number, text in enumerate(texts):
        assert made.add(f"b{number}", text.encode(), "text", Event())
        for start, end in chunks(text.encode(), "text"):
            tokens = [token for row in terms_by_line(text.encode()[start:end].decode()) for token in row]
            counted = Counter(key for token in tokens for key in keys_of(token))
            if counted:
                expected[f"b{number}", start, end] = counted
    segment = made.segment()
    found: dict[tuple[str, int, int], dict[int, int]] = {}
    for at, key in enumerate(segment.keys.tolist()):
        for place in range(int(segment.offsets[at]), int(segment.offsets[at + 1])):
            row = int(segment.posts[place])
            chunk = segment.blobs[int(segment.blob[row])], int(segment.start[row]), int(segment.end[row])
            found.setdefault(chunk, {})[key] = int(segment.counts[place])
    assert found == {chunk: {key: min(255, count) for key, count in counted.items()} for chunk, counted in expected.items()}
    assert segment.length.tolist() == [sum(counted.values()) for counted in expected.values()]
    assert segment.blobs == tuple(f"b{n}" for n in range(len(texts))) and (segment.keys[1:] > segment.keys[:-1]).all()


def test_of_a_blob_that_was_cancelled_nothing_is_there_and_all_of_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "STEP", 2)
    made, cancel = Builder(keys_of), Event()
    assert made.add("a", b"first words\n" * 500, "log", cancel)
    cancel.set()
    assert not made.add("b", b"second thoughts\n" * 500, "log", cancel)
    cancel.clear()
    assert made.add("c", b"third\n", "log", cancel)
    segment = made.segment()
    assert segment.blobs == ("a", "c") and set(segment.blob.tolist()) == {0, 1} and int(segment.length.sum()) == 4 * 500 + 2
