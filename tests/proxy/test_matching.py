"""Fetching by pattern: the lines that match, under addresses that lead back to them."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy import matching
from byref.proxy.errors import Invalid
from byref.proxy.matching import search
from byref.proxy.store.source import BytesSource

LOG = "".join(f"{i} {'ERROR disk' if i % 10 == 0 else 'ok'}\n" for i in range(1, 41)).encode()


def find(data: bytes, pattern: str, context: int = 0, max_tokens: int = 10_000,
         resume: tuple[int, int] = (0, 0)) -> tuple[str, int, tuple[int, int] | None]:
    return search([("stdout", BytesSource(data))], pattern, context, max_tokens, resume)


def test_matching_lines_come_with_their_numbers() -> None:
    assert find(LOG, "ERROR") == ("L10:10 ERROR disk\nL20:20 ERROR disk\nL30:30 ERROR disk\nL40:40 ERROR disk\n", 4, None)


def test_lines_around_a_match_are_told_apart_and_come_once() -> None:
    text, hits, _ = find(b"a\nX1\nb\nX2\nc\nd\ne\nf\nX3\n", "X", 1)
    assert (text, hits) == ("L1-a\nL2:X1\nL3-b\nL4:X2\nL5-c\n--\nL8-f\nL9:X3\n", 3)
    text, _, _ = find(b"a\nX1\nX2\nb\n", "X", 2)
    assert text == "L1-a\nL2:X1\nL3:X2\nL4-b\n"


def test_several_parts_are_named_and_anchors_hold_for_lines() -> None:
    text, hits, _ = search([("stdout", BytesSource(b"bad\nnot bad\n")), ("stderr", BytesSource(b"x\nbad"))], "^bad$", 0, 1000, (0, 0))
    assert (text, hits) == ("stdout:L1:bad\nstderr:L2:bad\n", 2)


def test_a_match_over_lines_shows_them_all_and_an_empty_one_its_line() -> None:
    assert find(b"a\nfoo\nbar\nb\n", r"foo\nbar")[0] == "L2:foo\nL3:bar\n"
    assert find(b"a\n\nb\n", "^$")[0] == "L2:\n"
    assert find(b"", "x*") == ("", 0, None)


def test_a_long_line_shows_what_surrounds_the_match_by_its_bytes() -> None:
    data = b'{"a":' + b"1," * 5000 + b'"sku":"ZX-77813-Q","qty":-4,' + b"2," * 5000 + b"}"
    text, hits, _ = find(data, "ZX-77813-Q")
    assert hits == 1 and '"qty":-4' in text and len(text) < 1000
    found = re.match(r"b(\d+)-(\d+):(.*)\n$", text)
    assert found and data[int(found[1]):int(found[2])].decode() == found[3]


@pytest.mark.parametrize("max_tokens", [12, 40, 100])
def test_pages_of_matches_put_together_are_all_matches(max_tokens: int) -> None:
    out, resume, rounds = "", (0, 0), 0
    while True:
        text, _, more = find(LOG, r"\d", max_tokens=max_tokens, resume=resume)
        assert (3 * len(text) + 9) // 10 <= max_tokens
        out += text
        rounds += 1
        if more is None:
            break
        resume = more
    assert out == find(LOG, r"\d")[0] and rounds > 1


def test_pages_within_one_long_line_put_together_are_all_its_matches() -> None:
    data = b"first\n" + b" ".join(b"k%05d" % i for i in range(400))
    whole, hits, _ = find(data, r"k00\d70")
    out, resume, count = "", (0, 0), 0
    while True:
        text, n, more = find(data, r"k00\d70", max_tokens=150, resume=resume)
        out, count = out + text, count + n
        if more is None:
            break
        resume = more
    assert (out, count) == (whole, hits)


@given(st.lists(st.text(alphabet="abX ", max_size=12), max_size=60), st.integers(0, 3), st.integers(150, 400))
def test_small_windows_find_what_one_big_window_finds(lines: list[str], context: int, window: int) -> None:
    data = "\n".join(lines).encode()
    expected = find(data, "X+a?", context)
    old = matching.WINDOW
    matching.WINDOW = window
    try:
        assert find(data, "X+a?", context) == expected
    finally:
        matching.WINDOW = old


@given(st.lists(st.text(alphabet="abX é", max_size=12), max_size=40))
def test_it_finds_what_a_plain_loop_over_the_lines_finds(lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    expected = "".join(f"L{i}:{line}\n" for i, line in enumerate(lines, 1) if "X" in line)
    assert find(text.encode(), "X")[0] == expected


def test_a_pattern_that_is_not_re2_is_invalid_and_one_that_explodes_elsewhere_does_not() -> None:
    with pytest.raises(Invalid, match="RE2"):
        find(LOG, r"(?=look)")
    assert find(b"a" * 50_000 + b"!\n", r"(a+)+$")[1] == 0
    with pytest.raises(Invalid):
        find(LOG, "x", resume=(7, 0))
