"""Fuzzy: a misspelt name is found, with the line that it stands in."""
from __future__ import annotations

from typing import Any

import pytest

from byref.layers.contract import Budget, Hit, Span
from byref.layers.fuzzy import LEAST, layer
from byref.proxy.query import parse

pytest.importorskip("rapidfuzz")
TEXT = "".join(f"plain line {n}\n" for n in range(90)) + "    value = refreshTokenHandler(session)\n" + "plain end\n" * 50


@pytest.mark.parametrize("query", ["refreshTokenHandler", "refrehsTokenHandler", "refreshTokenHandlr", "REFRESHtokenhandler"])
def test_the_line_of_a_misspelt_name_is_found_in_a_small_scope(world: Any, budget: Budget, query: str) -> None:
    here = world({"code": TEXT, "other": "nothing of the kind\n" * 30})
    found = layer(None).search(parse(query), here.scope, budget)
    assert here.texts(found) == ["    value = refreshTokenHandler(session)"] and found.hits[0].line == 91
    assert LEAST <= found.hits[0].score <= 10_000


def test_in_a_large_scope_candidates_alone_are_looked_at(world: Any, budget: Budget) -> None:
    here = world({"code": TEXT, "large": "words\n" * 300_000})
    (blob,) = [one.blob for one in here.added("code")]
    assert not layer(None).search(parse("refrehsTokenHandler"), here.scope, budget, []).hits
    hit = Hit(Span(blob, 0, len(TEXT)), 1, "trigram", line=1)
    assert layer(None).search(parse("refrehsTokenHandler"), here.scope, budget, [hit]).hits[0].line == 91


def test_what_is_unlike_is_no_hit_and_other_scripts_work(world: Any, budget: Budget) -> None:
    here = world({"a": "настройка соединения\n", "b": TEXT})
    assert here.names(layer(None).search(parse("настрйка соединения"), here.scope, budget)) == ["a"]
    assert not layer(None).search(parse("qqzzxxwwvv"), here.scope, budget).hits


@pytest.mark.parametrize(("query", "right", "wrong"), [
    ("setrecusionlimit", "sys.setrecursionlimit", "sys.getrecursionlimit"),  # a letter dropped, not one dropped and another
    ("b85ecnode", "base64.b85encode", "base64.b85decode"),  # two letters swapped
    ("singledispach", "functools.singledispatch", "functools.singledispatchmethod"),  # a word, not a part of a longer one
    ("check_ouput", "def check_output(command):", "def check_outputs_of(command):"),
])
def test_one_typing_error_is_nearer_than_another_word(world: Any, budget: Budget, query: str, right: str, wrong: str) -> None:
    here = world({"wrong": wrong + "\n", "right": right + "\n"})
    found = layer(None).search(parse(query), here.scope, budget)
    assert here.texts(found)[0] == right and found.hits[0].title == 60
    assert len(found.hits) == 1 or found.hits[0].score > found.hits[1].score
