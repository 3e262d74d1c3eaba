"""The weighted profile: every factor of a score by hand, what is not known weighs nothing, and ages are the same on every machine."""
from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers.weighted import (
    LEAST_AGE,
    MODEL,
    ORIGINAL,
    QUERIES,
    SIGNALS,
    SYNONYM,
    Facts,
    Way,
    age,
    base,
    explained,
    of_vectors,
    source_of,
    sources,
    weigh,
)
from byref.proxy.errors import ConfigError

HUNDRED_HOURS = 100 * 3600


def test_a_score_by_hand() -> None:
    # half of the best cosine of a call that succeeded in .4 s, a hundred hours before the newest: .5 * 1.2 * 1.2 * e^-1
    found = weigh([Way("static", "static", 5_000)], Facts(success=True, elapsed_ms=400, age=HUNDRED_HOURS))
    assert found.score == 264_816  # e^-1 is .3678 in bps
    # words of a synonym, source of .3, failed, took 6 s, fetched 4 times, documented, behind a login, tool mostly fails:
    # .7 * .8 * .3 * .7 * .8 * 1.1 * 1.05 * .9 * .8 = .0782369
    facts = Facts("web", 3_000, False, 6_000, 4, 4_900, True, True)
    assert weigh([Way("bm25", "words", 10_000, SYNONYM)], facts, one_source=False).score == 78_236


def test_several_ways_to_one_place_add_thirty_percent_each() -> None:
    ways = [Way("bm25", "words", 5_000), Way("static", "static", 10_000), Way("static", "static", 10_000, MODEL)]
    found = weigh(ways, Facts())
    assert [(way, score) for way, score, _ in found.ways] == [(ways[1], 1_000_000), (ways[2], 500_000), (ways[0], 400_000)]
    assert found.score == 1_000_000 + 3 * (500_000 + 400_000) // 10
    assert weigh(ways[::-1], Facts()) == found, "the order in which they come makes no difference"
    assert weigh([], Facts()).score == 0


def test_what_is_not_known_weighs_nothing_and_bounds_are_not_included() -> None:
    whole = weigh([Way("late", "late", 10_000)], Facts()).score
    assert whole == 1_000_000
    at_the_bounds = Facts(elapsed_ms=1_000, fetches=3, rate=9_000), Facts(elapsed_ms=5_000, rate=5_000)
    assert [weigh([Way("late", "late", 10_000)], facts).score for facts in at_the_bounds] == [whole, whole]
    beyond = [Facts(success=True), Facts(success=False), Facts(elapsed_ms=999), Facts(elapsed_ms=5_001), Facts(fetches=4),
              Facts(documented=True), Facts(authentication=True), Facts(rate=9_001), Facts(rate=4_999)]
    assert [weigh([Way("late", "late", 10_000)], facts).score for facts in beyond] == [100 * factor for factor in SIGNALS.values()]


def test_a_source_counts_only_beside_another_one() -> None:
    facts = Facts("web", 2_000)
    assert weigh([Way("late", "late", 10_000)], facts).score == 1_000_000
    assert weigh([Way("late", "late", 10_000)], facts, one_source=False).score == 200_000


def test_words_are_told_from_vectors() -> None:
    assert [of_vectors(signal) for signal in ("static", "dense", "late", "late-code", "late:code", "words", "exact", "names", "stat")] == [
        True, True, True, True, True, False, False, False, False]


def test_a_base_is_a_share_of_the_best() -> None:
    assert [base(7, 7), base(3, 9), base(0, 9), base(-4, 9), base(0, 0)] == [10_000, 3_333, 1, 1, 1]


@given(st.integers(0, 10**9))
def test_an_age_is_the_exponential_rounded_down(seconds: int) -> None:
    true = 10_000 * math.exp(-0.01 * seconds / 3600)
    assert age(seconds) == LEAST_AGE or 0 <= true - age(seconds) < 1 + 1e-6
    assert LEAST_AGE <= age(seconds + 3600) <= age(seconds) <= 10_000
    assert age(seconds) == LEAST_AGE or true >= LEAST_AGE


def test_ages_at_known_hours() -> None:
    assert [age(hours * 3600) for hours in (0, 1, 24, 100, 230, 231, 10_000)] == [10_000, 9_900, 7_866, 3_678, 1_002, 1_000, 1_000]
    assert age(-5) == 10_000


def test_the_explanation_holds_every_factor() -> None:
    facts = Facts("web", 3_000, True, 400, 9, 9_500, True, True, HUNDRED_HOURS)
    told: Any = explained(weigh([Way("bm25", "words", 10_000), Way("static", "static", 8_000, SYNONYM)], facts, one_source=False))
    first, second = told["ways"]
    assert first["factors"] == {
        "base": 10_000, "query": QUERIES[ORIGINAL], "sub-source": 8_000, "source": 3_000, "success": 12_000, "fast": 12_000,
        "fetched": 11_000, "documented": 10_500, "authentication": 9_000, "reliable": 11_000, "age": 3_678}
    assert (first["share"], second["share"], second["query"]) == (10_000, 3_000, SYNONYM)
    for one in (first, second):
        product = 10**6
        for factor in one["factors"].values():
            product = product * factor
        assert one["score"] == product // 10_000 ** len(one["factors"])
    assert told["score"] == first["score"] + 3 * second["score"] // 10


def test_outputs_are_mapped_to_sources_by_tool_and_kind() -> None:
    known = sources(tomllib.loads("""
[[source]]
name = "code"
tools = ["Read", "Grep"]
[[source]]
name = "web"
tools = ["mcp__*__search"]
kinds = ["json"]
documented = true
[[source]]
name = "logs"
kinds = ["log", "tests"]
[[source]]
name = "code"
tools = ["Glob"]
[[source]]
name = "notes"
tools = ["Note"]
[[source]]
name = "mail"
tools = ["Mail"]
"""), "sources.toml")
    asked = [("Read", "code"), ("Glob", "text"), ("mcp__exa__search", "json"), ("mcp__exa__search", "text"), ("Bash", "log"),
             ("Note", "text"), ("Mail", "text"), ("Bash", "text")]
    assert [source_of(known, *one)[:2] for one in asked] == [
        ("code", 4_000), ("code", 4_000), ("web", 3_000), ("", 1_000), ("logs", 2_000), ("notes", 1_000), ("mail", 1_000), ("", 1_000)]
    assert source_of(known, "mcp__exa__search", "json").documented and not source_of(known, "Read", "code").documented
    assert source_of((), "Read", "code").weight == 10_000 and sources({}, "sources.toml") == ()


@pytest.mark.parametrize("text", ["[source]\nname = 'a'", "[[sources]]", "[[source]]\ntools = ['a']", "[[source]]\nname = 'a'\ntools = 'b'",
                                  "[[source]]\nname = 'a'\nweight = 3", "[[source]]\nname = 'a'\ndocumented = 1"])
def test_a_file_of_sources_that_cannot_be_used_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match=r"sources\.toml"):
        sources(tomllib.loads(text), "sources.toml")
