"""One pattern of many alternatives; the places of matches without the objects around them."""
from __future__ import annotations

import re

import pytest

from byref.filters.patterns import any_of, captures, spans
from byref.proxy.text import pattern


def test_it_matches_where_any_alternative_does() -> None:
    pattern = any_of(r"^a+$", r"b\d", r"c|d")
    assert [bool(pattern.search(text)) for text in ("aaa", "xb7", "d", "ab", "")] == [True, True, True, False, False]


def test_flags_hold_for_all() -> None:
    assert any_of("^a", "^b", flags=re.I | re.M).findall("A\nB\nc") == ["A", "B"]


@pytest.mark.parametrize(("source", "data"), [
    ("b+", b"abbcb"), ("(a)(x)?", b"aax"), ("(?m)^", b"a\nb\n"), ("x*", b"axx"), ("z", b"abc"), ("", b""),
    ("é", "aéb".encode()), ("$", b"ab"),
])
def test_places_are_those_that_finditer_gives(source: str, data: bytes) -> None:
    compiled = pattern(source)
    found = list(compiled.finditer(data))
    assert spans(compiled, data) == [one.span() for one in found]
    assert captures(compiled, data) == [[one.span(group) for group in range(len(one.groups()) + 1)] for one in found]


def test_without_the_call_below_finditer_is_asked() -> None:
    class Public:
        finditer = staticmethod(pattern("(a)|b").finditer)
        search = staticmethod(pattern("(a)|b").search)

    assert captures(Public(), b"ab") == captures(pattern("(a)|b"), b"ab") == [[(0, 1), (0, 1)], [(1, 2), (-1, -1)]]
