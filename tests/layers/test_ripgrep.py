"""ripgrep before RE2: the same answers with and without it, whatever the pattern and the bytes."""
from __future__ import annotations

import random
import shutil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byref.layers import ripgrep, text
from byref.layers.contract import Budget
from byref.layers.ripgrep import finder, offsets, sieve
from byref.proxy.query import parse
from byref.proxy.scanning import scan
from byref.proxy.store.source import BytesSource

RG = shutil.which("rg") or ""
installed = pytest.mark.skipif(not RG, reason="ripgrep (rg) is not installed")
ATOMS = ["a", "b", "k", "é", "0", "_", r"\.", "-", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\B", "^", "$", r"\n", "[ab]",
         "[^ab]", r"[\w.-]", r"[^\s]", "[]a]", "[^]a]", "[é-ü]", "[^k]", "(?:ab|k)", "(a|b0)", r"\(", "[a-k]"]
PATTERNS = st.tuples(st.sampled_from(["", "i"]), st.lists(st.tuples(
    st.sampled_from(ATOMS), st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "+?", "|"])), min_size=1, max_size=4))
PIECES = [*"abkK 07_-.(é\t\v\r\n", "\u212a", "ab", "\n"]
RAW = [b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80", b"\xe0\x80\x80"]


def made(seed: int) -> list[bytes]:
    draw = random.Random(seed)
    return [b"".join(draw.choice(RAW) if draw.random() < .05 else draw.choice(PIECES).encode() for _ in range(draw.randrange(1, 300)))
            for _ in range(8)]


@installed
@settings(max_examples=100, deadline=None)
@given(PATTERNS, st.integers(0, 10**6))
def test_what_re2_finds_it_finds_with_ripgrep_before_it(drawn: tuple[str, list[tuple[str, str]]], seed: int) -> None:
    flags, atoms = drawn
    query = parse(f"/{''.join(atom + repeat for atom, repeat in atoms)}/{flags}")
    asked = sieve(query.compiled.pattern.decode()) if query.compiled is not None else None
    if query.compiled is None or asked is None:
        return
    parts = made(seed)
    places = offsets(RG, asked, [[part[:7], part[7:]] for part in parts], lambda: True)
    assert places is not None and len(places) == len(parts)
    for part, own in zip(parts, places, strict=True):
        alone = scan(BytesSource(part), query, lambda: False)
        assert scan(BytesSource(part), query, lambda: False, finder=finder(query.compiled, asked, own)) == alone
        assert own or not alone.units


@pytest.mark.parametrize("pattern", [
    "(?m)a*", "(?m)^", "(?m)a|", r"(?m)\pL", r"(?m)\Aa", r"(?m)a\z", "(?m)(?i)a", "(?m)(?P<n>a)", "(?mi)é", r"(?m)[^é]", "(?m)[[:alpha:]]",
    r"(?m)\Qa.b\E", r"(?m)a\x41", "(?m)a**", r"(?m)\C", "(?m)[^", "(?m)(a", "a"])
def test_what_the_two_may_read_otherwise_is_left_to_re2(pattern: str) -> None:
    assert sieve(pattern) is None


@installed
@pytest.mark.parametrize("query", [r"/line \d+7 of cache 1\d/", r"/cache 3\n(line|last)/", "/no such thing [0-9]+/", "/LAST of/i"])
def test_a_search_is_the_same_with_and_without_it(world: Any, budget: Budget, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    here = world({f"n{n}": "".join(f"line {n * m} of cache {n}\n" for m in range(300)) + "last of all" * (n % 2) for n in range(40)})
    with monkeypatch.context() as hidden:
        hidden.setenv("PATH", "")
        alone = text.layer(None).search(parse(query), here.scope, budget)
    monkeypatch.setattr(text, "MUCH", 0)
    monkeypatch.setattr(ripgrep, "SLOW", 1 << 40)
    monkeypatch.setattr(ripgrep, "DENSE", 1 << 40)
    asked: list[object] = []
    real = ripgrep.offsets
    monkeypatch.setattr(ripgrep, "offsets", lambda *given: asked.append(found := real(*given)) or found)
    assert text.layer(None).search(parse(query), here.scope, budget) == alone
    assert asked and all(asked)


@installed
def test_what_there_was_no_time_for_is_not_told_as_empty() -> None:
    asked = sieve("(?m)b")
    assert asked is not None and offsets(RG, asked, [[b"a\nb\n"], [b"b"], [b"b"]], iter([True, False]).__next__) == [[2], [0]]


def test_a_program_that_fails_or_is_not_there_costs_nothing() -> None:
    asked = sieve("(?m)b")
    assert asked is not None
    assert offsets("/nonexistent", asked, [[b"b"]], lambda: True) is None
    assert offsets(shutil.which("false") or "", asked, [[b"b" * (1 << 20)]] * 4, lambda: True) in (None, [[]] * 4)
