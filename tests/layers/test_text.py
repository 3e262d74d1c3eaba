"""The text itself: the whole query, patterns and words, current without any index, and honest about what it did not see."""
from __future__ import annotations

import time
from threading import Event
from typing import Any

import pytest

from byref.layers import text
from byref.layers.contract import Budget, Scope
from byref.layers.text import layer
from byref.proxy.errors import Corrupt
from byref.proxy.query import parse

TEXTS = {"a": "the cache is the bottleneck\n", "b": "a bottleneck is the cache\nnothing\n", "c": "the CACHE is the Bottleneck\n",
         "d": "cache\n"}


def test_to_the_letter_then_in_other_case_then_all_words_then_some(world: Any, budget: Budget) -> None:
    here = world(TEXTS)
    found = layer(None).search(parse("cache is the bottleneck"), here.scope, budget)
    assert here.names(found) == ["a", "c", "b", "d"]
    assert [(hit.signal, hit.exact, hit.line, hit.last) for hit in found.hits] == [
        ("exact", 2, 1, 1), ("exact", 1, 1, 1), ("words", 0, 1, 1), ("words", 0, 1, 1)]
    assert found.whole and found.searched is None


def test_a_pattern_is_its_own_signal(world: Any, budget: Budget) -> None:
    here = world(TEXTS)
    found = layer(None).search(parse("/^a .*cache$/"), here.scope, budget)
    assert here.texts(found)[0].startswith("a bottleneck") and {hit.signal for hit in found.hits} == {"regex"}


def test_where_an_index_answers_for_words_the_whole_query_alone_is_looked_for(world: Any, budget: Budget) -> None:
    here = world(TEXTS)
    one = here.scope
    scope = Scope(one.name, one.outputs, one.held, one.open, False, one.total, frozenset(one.held))
    found = layer(None).search(parse("cache is the bottleneck"), scope, budget)
    assert here.names(found) == ["a", "c"] and {hit.terms for hit in found.hits} == {0}


def test_time_that_is_over_is_told(world: Any) -> None:
    here = world(TEXTS)
    found = layer(None).search(parse("cache"), here.scope, Budget(time.monotonic() - 1, Event(), time.monotonic))
    assert not found.whole and found.searched is not None and len(found.searched) == 1


def test_a_damaged_blob_is_told_and_an_error_where_it_was_named(world: Any, budget: Budget) -> None:
    here = world(TEXTS)
    one = here.scope

    def broken(digest: str) -> Any:
        if here.name_of[digest] == "b":
            raise Corrupt(digest, "damaged")
        return here.open(digest)

    found = layer(None).search(parse("cache"), Scope("s", one.outputs, one.held, broken), budget)
    assert found.whole and found.faults == ("r2",) and "r2" in found.note and found.hits
    with pytest.raises(Corrupt):
        layer(None).search(parse("cache"), Scope("s", one.outputs, one.held, broken, True), budget)


def test_a_weight_multiplies_what_a_word_adds_and_never_the_whole_query(world: Any, budget: Budget) -> None:
    here = world({"a": "alpha\n", "b": "bravo\n", "both": "bravo and alpha\n", "exact": "alpha bravo\n"})
    for weights, wanted in (({"alpha": 3}, ["exact", "both", "a", "b"]), ({"bravo": 100}, ["exact", "both", "b"]),
                            ({"alpha": 0}, ["exact", "both", "b"])):
        found = layer(None).search(parse("alpha bravo", weights), here.scope, budget)
        assert [name for name in here.names(found) if weights != {"alpha": 0}] == (wanted if weights != {"alpha": 0} else []), weights
        assert set(here.names(found)) == set(wanted)


def test_two_threads_find_what_one_finds(world: Any, budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    here = world({f"n{n}": "".join(f"line {n * m} of cache {n}\n" for m in range(300)) for n in range(40)})
    both = layer(None).search(parse("cache 17 line"), here.scope, budget)
    monkeypatch.setattr(text, "SHARED", 0)
    assert layer(None).search(parse("cache 17 line"), here.scope, budget) == both and len(both.hits) > 100


def test_time_is_kept_for_ranking_what_was_found(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = world({str(n): f"cache {n}\n\n" * 20 for n in range(900)})
    now, left = [0.0], []

    def clock() -> float:
        now[0] += 0.0001
        return now[0]
    ranked = text._ranked

    def watched(looks: Any, *rest: Any) -> Any:
        left.append((0.05 - now[0], sum(len(look.units) for look in looks if look is not None)))
        return ranked(looks, *rest)
    monkeypatch.setattr(text, "_ranked", watched)
    found = layer(None).search(parse("cache"), here.scope, Budget(0.05, Event(), clock))
    (time_left, units), = left
    assert found.hits and not found.whole and units > 100 and time_left > units * text.RANKED * 0.8


def test_where_time_is_over_only_some_of_it_is_ranked_and_all_to_the_letter(world: Any, budget: Budget,
                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "HASTY", 30)
    here = world({"oldest": "the cache is the bottleneck\n"} | {str(n): f"the cache {n}\n\n" for n in range(200)})
    query = parse("cache is the")
    looks = text._looks(query, here.scope, budget)
    whole, hurried = (text._ranked(looks, query, [200] * len(query.terms), 200, here.scope, lambda late=late: late)
                      for late in (False, True))
    assert len(whole) == 201 and len(hurried) == 31 and "oldest" in {here.name_of[hit.span.blob] for hit in hurried}
