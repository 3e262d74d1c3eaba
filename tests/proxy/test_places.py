"""Places: of a chunk that an index names, the lines that answer are shown, under their own numbers."""
from __future__ import annotations

from typing import Any

from byref.layers.contract import Hit, Span
from byref.layers.ranking import Ranked
from byref.proxy.places import SHOWN, places
from byref.proxy.query import parse
from layer_worlds import World

LINES = [f"line {n} says little" for n in range(1, 60)]


def ranked(hit: Hit) -> Ranked:
    return Ranked(hit, (hit.signal,), 0, 0, 0, ())


def found(text: str, start: int, end: int, line: int, query: str) -> list[Any]:
    here = World({"a": text})
    (blob,) = here.scope.held
    return places([ranked(Hit(Span(blob, start, end), 1, "words", line=line))], here.scope, parse(query), (), 9)


def test_the_best_lines_of_a_chunk_are_its_places() -> None:
    LINES[30] = "here the connection pool is exhausted"
    text = "\n".join(LINES)
    start = text.index("line 21 ")
    best = found(text, start, text.index("line 41 "), 21, "exhausted connection pool")[0]
    assert text[best.unit.start:best.unit.end] == LINES[30] and best.unit.line == 31


def test_where_no_word_stands_the_beginning_is_shown_at_whole_lines() -> None:
    text = "\n".join(LINES)
    (place,) = found(text, 0, len(text), 1, "unrelated")
    assert place.unit.end - place.unit.start <= SHOWN and text[:place.unit.end].endswith("\n")
    assert (place.unit.line, place.unit.last) == (1, text[:place.unit.end].count("\n"))


def test_a_layer_that_knows_no_lines_gets_their_numbers_where_its_span_is_whole_lines() -> None:
    text = "\n".join(LINES)
    start = text.index("line 21 ")
    assert found(text, start, text.index("line 41 "), 0, "unrelated")[0].unit.line == 21
    assert found(text, start + 2, text.index("line 41 "), 0, "unrelated")[0].unit.line == 0


def test_a_blob_that_was_let_go_meanwhile_has_no_place() -> None:
    here = World({"a": "needle\n"})
    (blob,) = here.scope.held
    here.name_of.clear()
    assert places([ranked(Hit(Span(blob, 0, 6), 1, "words", line=1))], here.scope, parse("needle"), (), 9) == []


def test_the_line_with_the_heavier_word_is_shown_first() -> None:
    text = "alpha here\n-\n-\nbravo there\n"
    here = World({"a": text})
    (blob,) = here.scope.held
    for weights, wanted in (({"bravo": 2}, 4), ({"alpha": 2}, 1)):
        one = ranked(Hit(Span(blob, 0, len(text)), 1, "words", line=1))
        assert places([one], here.scope, parse("alpha bravo", weights), (), 9)[0].unit.line == wanted
