"""Other forms of a query, searched beside it: their answers said in the terms of one query, so that places meet by span.

A form looks for other words, so its hits count terms of its own: here the terms of all forms become those of one query, in which those
that the caller did not ask for stand for none of its tokens. That a form stands somewhere to the letter says nothing of the query.
"""
from __future__ import annotations

from typing import NamedTuple

from byref.layers.orchestrator import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.layers.contract import Hit
    from byref.proxy.query import Query, Term

DESCRIBED = 99  # score of the layer `names` below which no call counts as named


class Form(NamedTuple):
    """A query in another form, and what layers answered. asked: as in `weighted.QUERIES`."""

    query: Query
    asked: str
    answers: Sequence[Answer]


def joined(query: Query, answers: Sequence[Answer], forms: Sequence[Form]) -> tuple[Query, list[Answer]]:
    """One query with the terms of all, and all answers in those: first those to the query itself, then a form's after another's."""
    terms: list[Term] = list(query.terms)
    places = {term.form: number for number, term in enumerate(terms)}
    found = list(answers)
    for form in forms:
        moved: list[int] = []
        for term in form.query.terms:
            if term.form not in places:
                places[term.form] = len(terms)
                terms.append(type(term)(term.form, 0, term.factor, term.edged, term.loose, term.weight))
            moved.append(places[term.form])
        found += [_moved(answer, moved, form.asked) for answer in form.answers]
    return query.with_terms(tuple(terms)), found


def _moved(answer: Answer, moved: Sequence[int], asked: str) -> Answer:
    known: dict[int, int] = {0: 0}

    def bits(held: int) -> int:
        if held not in known:
            known[held] = sum(1 << place for place in {place for bit, place in enumerate(moved) if held >> bit & 1})
        return known[held]

    def hit(one: Hit) -> Hit:
        score = min(one.score, DESCRIBED) if one.signal == "names" else one.score
        return one._replace(terms=bits(one.terms), near=bits(one.near), exact=0, score=score,
                            signal="words" if one.signal == "exact" else one.signal)

    given = answer.contribution
    made = type(given)([hit(one) for one in given.hits], given.searched, given.whole, (), given.faults, given.note, given.uncovered)
    return answer.of(made, asked)
