"""Ranking: tiers, fusion, and the order of what is alike; a pure function of the contributions."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers.contract import Contribution, Hit, Span
from byref.layers.fusion import EMPHASES, FINE, POINT, RECIPROCAL, RRF, TOP, WEIGHTED
from byref.layers.orchestrator import RAN, Answer
from byref.layers.ranking import CASCADE, CLOSE, LEXICAL, SURE, Known, candidates, explanation, rank, route
from byref.layers.weighted import Facts
from byref.proxy.query import parse
from layer_worlds import World

TEXTS = {name: f"text of {name}\n" * 20 for name in "abc"}


def answer(name: str, *hits: Hit) -> Answer:
    return Answer(name, "1", RAN, Contribution(hits))


@pytest.mark.parametrize(("query", "way"), [
    ("retryOnConflict", LEXICAL), ("test_auth.py", LEXICAL), ("timeout", LEXICAL), ("a == b", LEXICAL), ("src/main.rs", LEXICAL),
    ("std::vector push", LEXICAL), ("/err.*/", LEXICAL), ("why does the login fail at night", CASCADE),
    ("数据库连接为什么会超时断开的呢", CASCADE),
    ("how does parse_args treat unknown options", CASCADE), ("connection refused by peer", CASCADE),
])
def test_what_looks_for_a_string_is_told_from_a_question(query: str, way: str) -> None:
    assert route(parse(query)) == way


def test_a_long_span_lends_its_signal_to_each_shorter_one_inside(world: Any) -> None:
    here = world(TEXTS)
    a, b, _ = (one.blob for one in reversed(here.added()))
    ranked = rank(parse("what is the text of it about"), here.scope, [
        answer("text", Hit(Span(a, 10, 20), 5, "words", 1, 1, 2, 2)),
        answer("static", Hit(Span(a, 0, 100), 9, "static"), Hit(Span(b, 0, 50), 4, "static"))], "balanced")
    assert [(one.hit.span.blob, one.hit.span.start, one.signals) for one in ranked] == [(a, 10, ("words", "static")), (b, 0, ("static",))]
    assert [(one.layer, one.rank) for one in ranked[0].branches] == [("static", 1), ("text", 1)]


def test_what_another_form_of_the_query_finds_counts_less(world: Any) -> None:
    here = world(TEXTS)
    b = here.added()[0].blob
    query = parse("what is the text of it about")
    asked = answer("static", Hit(Span(b, 0, 50), SURE, "static"))
    form = Answer("static", "1", RAN, asked.contribution, asked="synonym")
    first, = rank(query, here.scope, [asked], "balanced")
    second, = rank(query, here.scope, [form], "balanced")
    both, = rank(query, here.scope, [form, asked], "balanced")
    assert second.fused == first.fused * 7 // 10 and both.fused == first.fused
    alone, summed = (rank(query, here.scope, answers, "balanced", RECIPROCAL)[0].fused for answers in ([asked], [form, asked]))
    assert summed == alone + alone * 7 // 10
    assert [branch.asked for branch in both.branches] == ["original", "synonym"]


def test_basis_points_and_tiers(world: Any) -> None:
    here = world(TEXTS)
    a, b, c = (one.blob for one in reversed(here.added()))
    ranked = rank(parse("text of a thing that is long"), here.scope, [
        answer("text", Hit(Span(b, 0, 9), 1, "words", 1, 1, 1, 1), Hit(Span(a, 0, 9), 1, "exact", 1, 1, 1, 1, 2),
               Hit(Span(c, 0, 9), 1, "exact", 0, 0, 1, 1, 1)),
        answer("names", Hit(Span(b, 0, 15), 100, "names", line=1))], "balanced")
    assert [(one.hit.span.blob, one.bps) for one in ranked] == [(a, 15_000), (c, 10_000), (b, 15_000)]


def test_a_misspelt_string_comes_before_its_scattered_words_and_after_itself(world: Any) -> None:
    here = world(TEXTS)
    a, b, _ = (one.blob for one in reversed(here.added()))
    query = parse("refreshTokenHandlr")
    some = 1 << next(bit for bit, term in enumerate(query.terms) if term.form == b"token")
    ranked = rank(query, here.scope, [
        answer("text", Hit(Span(a, 0, 9), 9, "words", some, some, 1, 1)), answer("fuzzy", Hit(Span(b, 0, 9), 9500, "fuzzy"))], "balanced")
    assert [one.hit.span.blob for one in ranked] == [b, a]


def test_what_means_the_same_is_left_out_where_the_string_itself_was_found(world: Any) -> None:
    here = world(TEXTS)
    a, b, _ = (one.blob for one in reversed(here.added()))
    exact = answer("text", Hit(Span(a, 0, 9), 9, "exact", 1, 1, 1, 1, 2))
    alike = answer("static", Hit(Span(b, 0, 9), SURE, "static"))
    assert len(rank(parse("text"), here.scope, [exact, alike], "balanced")) == 1
    assert len(rank(parse("text"), here.scope, [alike], "balanced")) == 1
    assert len(rank(parse("what does this text mean"), here.scope, [exact, alike], "balanced")) == 2


def test_where_no_word_stands_anywhere_what_is_hardly_alike_is_no_hit(world: Any) -> None:
    here = world(TEXTS)
    (first, *_) = here.added()
    for score, hits in ((SURE - 1, 0), (SURE, 1)):
        alike = answer("static", Hit(Span(first.blob, 0, 9), score, "static"))
        assert len(rank(parse("qqzzx vvkkj"), here.scope, [alike], "balanced")) == hits


@given(st.permutations(range(3)), st.sampled_from(sorted(EMPHASES)))
def test_no_order_of_layers_changes_the_ranks(order: list[int], profile: str) -> None:
    here = World(TEXTS)
    blobs = [one.blob for one in here.added()]
    answers = [answer("text", *(Hit(Span(blob, 5, 9), 3, "words", 1, 1, 1, 1) for blob in blobs)),
               answer("static", *(Hit(Span(blob, 0, 40), 3, "static") for blob in blobs)),
               answer("bm25", Hit(Span(blobs[1], 0, 30), 3, "words", 1, 1))]
    query = parse("what is alike in time and place")
    assert rank(query, here.scope, [answers[n] for n in order], profile) == rank(query, here.scope, answers, profile)


def test_what_is_alike_comes_newest_first(world: Any) -> None:
    here = world(TEXTS)
    blobs = [one.blob for one in here.added()]
    hits = [Hit(Span(blob, 0, 9), 3, "words", 1, 1, 1, 1) for blob in reversed(blobs)]
    filler = [Hit(Span("none", n, n + 1), 4, "words") for n in range(TOP)]
    ranked = rank(parse("some words of it"), _with(here.scope), [answer("text", *filler, *hits)], "balanced", RECIPROCAL)
    ranked = [one for one in ranked if one.hit.span.blob != "none"]
    assert [one.hit.span.blob for one in ranked] == blobs and {one.fused for one in ranked} == {0}


def _with(scope: Any) -> Any:
    first = next(iter(scope.held.values()))
    return type(scope)(scope.name, scope.outputs, {**scope.held, "none": first}, scope.open)


def test_the_explanation_says_what_each_branch_added(world: Any) -> None:
    here = world(TEXTS)
    answers = [answer("text", Hit(Span(here.added()[0].blob, 0, 9), 7, "words", 1, 1, 1, 1))]
    query = parse("what is said here of it")
    (one,) = rank(query, here.scope, answers, "balanced", RECIPROCAL)
    told: Any = explanation(query, "balanced", answers, [(one, "r1", "L1")], RECIPROCAL)
    assert told["version"] == 2 and told["route"] == CASCADE and told["layers"][0]["status"] == RAN
    (branch,) = told["hits"][0]["branches"]
    assert branch["points"] == POINT * EMPHASES["balanced"]["words"] // (RRF + 1) == told["hits"][0]["fused"]


def test_a_title_goes_before_a_mention_and_both_before_a_longer_word(world: Any) -> None:
    here = world(TEXTS)
    a, b, c = (one.blob for one in reversed(here.added()))
    hits = [Hit(Span(blob, 0, 9), 1, "exact", 1, 1, 1, 1, 2, title=title) for blob, title in ((a, 15), (b, 60), (c, 0))]
    ranked = rank(parse("from_bytes"), here.scope, [answer("text", *hits)], "balanced")
    assert [one.hit.span.blob for one in ranked] == [b, a, c]


def test_of_misspelt_strings_the_likest_comes_first_then_its_title(world: Any) -> None:
    here = world(TEXTS)
    a, b, c = (one.blob for one in reversed(here.added()))
    hits = [Hit(Span(blob, 0, 9), score, "fuzzy", title=title) for blob, score, title in ((a, 9700, 15), (b, 9700, 60), (c, CLOSE, 100))]
    ranked = rank(parse("refreshTokenHandlr"), here.scope, [answer("fuzzy", *hits)], "balanced")
    assert [one.hit.span.blob for one in ranked] == [b, a, c] and ranked[0].close == 9700


def test_late_interaction_orders_what_words_and_vectors_chose_and_ties_go_by_these(world: Any) -> None:
    here = world(TEXTS)
    a, b, c = (one.blob for one in reversed(here.added()))
    query = parse("what is the meaning of this text")
    words = answer("bm25", *(Hit(Span(blob, 0, 40), score, "words", 1, 1) for blob, score in ((a, 90), (b, 50), (c, 40))))
    late = answer("late", *(Hit(Span(blob, 0, 40), score, "late") for blob, score in ((c, 8000), (a, 5000), (b, 5000))))
    assert [one.hit.span.blob for one in rank(query, here.scope, [words], "balanced")] == [a, b, c]
    ranked = rank(query, here.scope, [words, late], "balanced")
    assert [one.hit.span.blob for one in ranked] == [c, a, b] and ranked[1].fused // FINE == ranked[2].fused // FINE
    exact = answer("text", Hit(Span(b, 0, 9), 1, "exact", 1, 1, 1, 1, 2))
    assert rank(query, here.scope, [words, late, exact], "balanced")[0].hit.span.blob == b, "what stands to the letter goes before"


def test_nothing_is_refined_where_the_string_asked_for_stands_or_one_place_stands_out(world: Any) -> None:
    here = world(TEXTS)
    a, b, _ = (one.blob for one in reversed(here.added()))
    exact = answer("text", Hit(Span(a, 0, 9), 1, "exact", 1, 1, 1, 1, 2))
    assert candidates(parse("from_bytes"), here.scope, [exact], "balanced").settled
    some = answer("text", Hit(Span(a, 0, 9), 1, "words", 1, 1, 1, 1))
    assert not candidates(parse("from_bytes"), here.scope, [some], "balanced").settled
    query = parse("what is the meaning of this text")
    near = answer("bm25", Hit(Span(a, 0, 40), 90, "words", 1, 1), Hit(Span(b, 0, 40), 80, "words", 1, 1))
    given = candidates(query, here.scope, [near], "balanced")
    assert not given.settled and [hit.span.blob for hit in given.hits] == [a, b]
    spans = (Span(a, 0, 40), 90), (Span(a, 50, 90), 80), (Span(b, 0, 40), 45)
    far = answer("bm25", *(Hit(span, score, "words", 1, 1) for span, score in spans))
    assert "no doubt" in candidates(query, here.scope, [far], "balanced").settled
    assert not candidates(query, here.scope, [answer("bm25", *far.contribution.hits[:2])], "balanced").settled


def test_the_weighted_profile_needs_facts_and_says_every_factor(world: Any) -> None:
    here = world(TEXTS)
    a, b, _ = (one.blob for one in reversed(here.added()))
    answers = [answer("bm25", Hit(Span(a, 0, 40), 90, "words", 1, 1), Hit(Span(b, 0, 40), 89, "words", 1, 1))]
    query = parse("what is the meaning of this text")
    with pytest.raises(ValueError, match="weighted"):
        rank(query, here.scope, answers, "balanced", WEIGHTED)
    ranked = rank(query, here.scope, answers, "balanced", WEIGHTED, Known({a: Facts(success=False), b: Facts(success=True)}, True))
    assert [one.hit.span.blob for one in ranked] == [b, a] and ranked[0].weighed is not None
    assert dict(ranked[0].weighed.ways[0][2])["success"] == 12_000
