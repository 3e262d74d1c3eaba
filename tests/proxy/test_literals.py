"""Texts that are looked for one by one are found where RE2 finds an alternation of them."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.literals import FEW, literal, pays, places
from byref.proxy.text import pattern

WORDS = st.sampled_from(["a", "ab", "aba", "b a", "kelvin", "sessions", "session token refused", "a longer text than twelve", "ba"])
PIECES = st.sampled_from([b"a", b"B", b"aba", b"ABA b A", b"Kelvin", b"SESSIONS", b"Session token Refused", b"\n", b" ", b"\xff",
                          "é".encode(), b"a longer text than TWELVE"])
LONG_S, KELVIN = b"\xc5\xbf", b"\xe2\x84\xaa"


@given(st.lists(WORDS, min_size=1, max_size=FEW, unique=True), st.lists(PIECES, max_size=40))
def test_matches_begin_where_those_of_an_alternation_do(words: list[str], pieces: list[bytes]) -> None:
    data, texts = b"".join(pieces), [word.encode() for word in words]
    assert literal(data, texts)
    compiled = pattern("(?i)" + "|".join(words))
    assert list(places(data.lower(), texts)) == [match.start() for match in compiled.finditer(data)]


@pytest.mark.parametrize("data", [LONG_S + b"ession", KELVIN + b"elvin", "İ".encode() + LONG_S])
def test_letters_that_fold_to_ascii_are_left_to_re2(data: bytes) -> None:
    assert not literal(data, [b"session"])
    assert not literal(b"plain", ["größe".encode()])


def test_one_text_is_left_to_re2_unless_its_first_letter_has_a_third_case() -> None:
    assert [pays([text]) for text in (b"refused", b"session", b"kelvin")] == [False, True, True]
    assert pays([b"refused", b"lease"]) and not pays([b"a", b"b", b"c", b"d"])
