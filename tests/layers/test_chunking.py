"""Chunks of an index: they lose nothing, keep to their size, and cut no character."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byref.layers.chunking import LONG, MOST, chunks

CODE = "".join(f"def function_{n}(value):\n    first = value + {n}\n    return first\n\n" for n in range(60)).encode()


@given(st.one_of(st.binary(max_size=4000), st.text("ab \n\t{},é漢", max_size=6000).map(str.encode)), st.sampled_from(["text", "log"]))
def test_nothing_but_blanks_lies_outside_and_nothing_twice(data: bytes, shape: str) -> None:
    at = 0
    for start, end in chunks(data, shape):
        assert at <= start < end and not data[at:start].strip()
        at = end
    assert not data[at:].strip()


def test_a_chunk_of_code_begins_at_the_left_edge() -> None:
    found = list(chunks(CODE, "code"))
    assert len(found) > 5 and all(CODE[start:start + 4] == b"def " for start, _ in found)


def test_sizes_are_bounded_and_long_lines_cut_at_whole_characters() -> None:
    line = ("größe漢字" * 40_000).encode()
    found = list(chunks(b"head\n" + line + b"\ntail\n", "json"))
    assert all(end - start <= max(LONG, MOST) for start, end in found)
    assert b"".join((b"head\n" + line + b"\ntail\n")[a:b] for a, b in found).decode()


def test_paragraphs_of_prose_stand_alone() -> None:
    prose = b"\n\n".join(b"%d " % n + b"words of a paragraph that says something of its own, over two lines\n" * 3 for n in range(9))
    assert len(list(chunks(prose, "text"))) == 9
