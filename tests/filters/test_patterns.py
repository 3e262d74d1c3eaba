"""One pattern of many alternatives; the places of matches without the objects around them."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters import narrow, patterns
from byref.filters.patterns import Seldom, any_of, captures, spans
from byref.filters.shapes import listing, matches, tests
from byref.proxy.text import pattern

EVERY = [one for module in (narrow, listing, matches, tests) for one in vars(module).values() if isinstance(one, Seldom)]
WORDS = st.sampled_from([*re.findall(r"\w+|\|+|&&|[;/-]", """
    git -C x log blame -L status -s --short --porcelain=v2 ls-files --name-only npm ls list tar -tzf unzip -l rg --files grep egrep -A3 ack
    find fd tree du locate sudo xargs awk sed -n head tail cut jq wc sort uniq cat pytest py.test tox go test cargo nextest make check bin
    jest mocha || && | ; """), "-A", "-L ", "sed -n", "go test", "--short", "\n", "\u00a0", "\u2003", "\x1c", "é", "\ud800"])


def test_it_matches_where_any_alternative_does() -> None:
    pattern = any_of(r"^a+$", r"b\d", r"c|d")
    assert [bool(pattern.search(text)) for text in ("aaa", "xb7", "d", "ab", "")] == [True, True, True, False, False]


def test_flags_hold_for_all() -> None:
    assert any_of("^a", "^b", flags=re.I | re.M).findall("A\nB\nc") == ["A", "B"]


@given(st.lists(st.tuples(WORDS, st.sampled_from(["", " ", " ", " ", "\t", "\n", "\u00a0", "\x1c"]))))
def test_what_is_seldom_found_is_found_wherever_its_pattern_is(pairs: list[tuple[str, str]]) -> None:
    text = "".join(word + blank for word, blank in pairs)
    assert len(EVERY) > 3
    for one in EVERY:
        assert one(text) == (one.pattern.search(text) is not None), one.pattern.pattern


def test_what_is_seldom_found_needs_its_sign_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Seldom("b+", "b")("abb") and not Seldom("b+", "b")("a") and not Seldom("b+", "c")("abb") and not Seldom("b$", "b")("ba")

    class Public:
        search = staticmethod(pattern("b").search)

    monkeypatch.setattr(patterns, "compiled", lambda source: Public())
    assert Seldom("b+", "b")("abb") and not Seldom("b+", "b")("a"), "without the call below, too"


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
