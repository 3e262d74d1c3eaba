"""One pattern of many alternatives; the places of matches without the objects around them."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters import narrow, patterns
from byref.filters.patterns import Seldom, any_of, captures, lines_with, loose, spans
from byref.filters.shapes import listing, log, matches, tests
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


SAID = st.sampled_from([
    "PASSED", "FAILED ", "a::b ", "x.py ..s", "\t", " ", "\u00a0", "\x1c", "--- FAIL", "=== RUN", "ok 1", "ok  \t", "12 passed", "٣ passed",
    "test x ... ok", "✓ ", "___ t ___", "== 1 failed ==", "Ran 3 tests", "Exit code 1", "? \t", "\udc80", "12:30:59", "é", "z"])


@given(st.lists(st.lists(SAID, max_size=4).map("".join), max_size=12))
def test_lines_that_may_be_of_a_kind_hold_all_that_are(rows: list[str]) -> None:
    text = "\n".join(rows)
    found = lines_with(tests._MAY_SAY, text)
    assert [row for row in found if tests._says(row)] == [row for row in rows if tests._says(row)]
    assert len(lines_with(log._MAY_BE_NEAR, text)) >= sum(log._NEAR.match(row) is not None for row in rows)


def test_lines_with_a_sign_are_few() -> None:
    assert lines_with(loose(r"^\d\s"), "1 a\nb 2 \n3\u00a0c\n٣ d\n4") == ["1 a", "3\u00a0c", "٣ d"]
    assert lines_with("b", "abc\nx\nb") == ["bc", "b"]


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
