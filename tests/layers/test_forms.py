"""Answers to other forms of a query are said in the terms of one query, and stand for no more than they are."""
from __future__ import annotations

from typing import Any

from byref.layers.contract import Contribution, Hit, Span
from byref.layers.forms import DESCRIBED, Form, joined
from byref.layers.orchestrator import RAN, Answer
from byref.layers.weighted import ORIGINAL, SYNONYM
from byref.proxy.query import met, parse
from layer_worlds import World


def test_terms_of_a_form_become_those_of_one_query_and_cover_nothing_of_it() -> None:
    query, form = parse("slow db query"), parse("slow database query")
    bits = {term.form: 1 << number for number, term in enumerate(form.terms)}
    held = bits[b"database"] | bits[b"query"]
    answer = Answer("text", "1", RAN, Contribution([Hit(Span("b", 0, 9), 7, "words", bits[b"database"], held, 3, 3)]))
    first = Answer("text", "1", RAN, Contribution([Hit(Span("b", 20, 29), 9, "words", 1, 1, 5, 5)]))
    whole, answers = joined(query, [first], [Form(form, SYNONYM, [answer])])
    assert whole.terms[:len(query.terms)] == query.terms and answers[0] == first
    assert [term.form for term in whole.terms[len(query.terms):]] == [b"database"]
    hit = answers[1].contribution.hits[0]
    assert [term.form for bit, term in enumerate(whole.terms) if hit.terms >> bit & 1] == [b"database"]
    assert met(whole, hit.near) == ("query",) and answers[1].asked == SYNONYM and answers[0].asked == ORIGINAL


def test_a_form_is_nowhere_to_the_letter_and_names_no_call() -> None:
    hits = [Hit(Span("b", 0, 9), 7, "exact", 1, 1, 3, 3, 2), Hit(Span("c", 0, 9), 100, "names", line=1)]
    _, answers = joined(parse("db"), [], [Form(parse("database"), SYNONYM, [Answer("text", "1", RAN, Contribution(hits))])])
    first, second = answers[0].contribution.hits
    assert (first.exact, first.signal, second.score) == (0, "words", DESCRIBED)


def test_the_same_word_of_two_forms_is_one_term() -> None:
    forms = [Form(parse(text), SYNONYM, []) for text in ("database down", "database up")]
    whole, _ = joined(parse("db down"), [], forms)
    assert [term.form for term in whole.terms] == [b"db", b"down", b"database", b"up"]


def test_places_of_a_real_layer_meet_by_span(world: Any) -> None:
    from byref.layers.text import Text
    here: World = world({"a": "the database is down\n", "b": "the db is down\n"})
    import math
    import time
    from threading import Event

    from byref.layers.contract import Budget

    def ask(text: str) -> Answer:
        return Answer("text", "1", RAN, Text().search(parse(text), here.scope, Budget(math.inf, Event(), time.monotonic)))
    whole, answers = joined(parse("db down"), [ask("db down")], [Form(parse("database down"), SYNONYM, [ask("database down")])])
    by_span: dict[Span, set[bytes]] = {}
    for answer in answers:
        for hit in answer.contribution.hits:
            by_span.setdefault(hit.span, set()).update(term.form for bit, term in enumerate(whole.terms) if hit.terms >> bit & 1)
    assert sorted(map(sorted, by_span.values())) == [[b"database", b"down"], [b"db", b"down"]]
