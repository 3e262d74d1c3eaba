"""A folded text reads as JSON without escapes and unfolds to the very characters it came from, at every level."""
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.scanner import REPR, TOP, Document, Level, Number, members, read, value_end
from byref.proxy.errors import Invalid

LEVELS = [TOP, TOP.inner(), TOP.inner().inner(), REPR, REPR.inner(), REPR.inner().inner()]
signs = st.text(alphabet='a\\"\'nrtu0é\n\t {}[]:,', max_size=40)


@given(signs, st.sampled_from(LEVELS), st.integers(0, 40))
def test_unfolding_gives_back_the_raw_text_also_in_two_pieces(raw: str, level: Level, at: int) -> None:
    folded = level.fold(raw)
    assert folded is not None
    assert level.unfold(folded) == raw
    assert level.unfold(folded[:at]) + level.unfold(folded[at:]) == raw


def test_a_text_that_holds_the_characters_folding_needs_is_refused() -> None:
    assert TOP.fold("a\ufdd0") is None
    with pytest.raises(Invalid):
        Document("[1, \ufdd3]")


@given(st.recursive(st.none() | st.integers() | st.text(max_size=8),
                    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=4), v, max_size=3)),
       st.integers(0, 3), st.booleans())
def test_json_in_strings_in_strings_is_read_at_its_level(value: object, depth: int, as_repr: bool) -> None:
    raw, level = json.dumps({"v": value}), TOP
    if as_repr:
        for _ in range(depth):
            raw = json.dumps(raw)[1:-1]
        raw, level = repr(raw + "'" * 0)[1:-1].replace("\\'", "'"), REPR
        for _ in range(depth):
            level = level.inner()
    else:
        for _ in range(depth):
            raw, level = json.dumps(raw)[1:-1], level.inner()
    document = Document(raw, level)
    found = read(document.text)
    assert found is not None and found[2]
    (name, read_value), = found[0] if isinstance(found[0], tuple) else ()
    assert name == "v"
    assert isinstance(read_value, (list, tuple)) == isinstance(value, (list, dict))


def test_numbers_stay_as_written_and_names_may_repeat() -> None:
    assert read('{"a":1E400,"a":-0.0,"b":[NaN,12345678901234567890.1250]}') == (
        (("a", Number("1E400")), ("a", Number("-0.0")), ("b", [Number("NaN"), Number("12345678901234567890.1250")])), 56, True)


@pytest.mark.parametrize(("text", "value", "end"), [
    ('{"a": [1, 2, {"b": "unfinish', (("a", [Number("1"), Number("2"), (("b", "unfinish"),)]),), 28),
    ('{"a": 1, "b": tru', (("a", Number("1")),), 7), ('{"a": 1, "b"', (("a", Number("1")),), 7),
    ("[1, 2, oops, 3]", [Number("1"), Number("2")], 5),
    ('[[1], [2', [[Number("1")], [Number("2")]], 8), ("[", [], 1), ('{"a":1]', (("a", Number("1")),), 6),
])
def test_of_a_broken_text_what_is_complete_is_read(text: str, value: object, end: int) -> None:
    assert read(text) == (value, end, False)


@pytest.mark.parametrize("text", ["", "x", '"s"x', "tru", "}"])
def test_what_does_not_begin_as_json_is_not_read(text: str) -> None:
    found = read(text)
    assert found is None or text.startswith('"')


def test_members_have_spans_for_name_and_value() -> None:
    text = '{ "a" : [1, {"b": 2}] , "c":"x" }'
    assert [(text[a:b], text[c:d]) for a, b, c, d in members(text, 0)] == [('"a"', '[1, {"b": 2}]'), ('"c"', '"x"')]


def test_brackets_in_strings_do_not_count_and_depth_has_no_limit() -> None:
    assert value_end(r'["]", "\"]", 1] tail', 0) == 15
    deep = "[" * 100_000 + "]" * 100_000
    assert value_end(deep + " ", 0) == 200_000
    assert value_end("[[1], [2", 0) == 8


def test_a_document_knows_where_its_characters_stand_in_the_output() -> None:
    raw = json.dumps({"text": json.dumps({"rows": [{"a": 'x"y'}, {"a": "ü"}]})})
    outer = Document(raw)
    _, _, start, end = outer.members(0)[0]
    inner = outer.inside(start, end)
    assert inner is not None
    rows = inner.members(inner.members(0)[0][2])
    assert [raw[inner.raw(a):inner.raw(b)] for _, _, a, b in rows] == [r'{\"a\": \"x\\\"y\"}', r'{\"a\": \"\\u00fc\"}']
    assert outer.inside(*outer.members(0)[0][:2]) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="a[]{}:, é", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="ab,]", max_size=3), inner, max_size=3), max_leaves=12)


@given(values, st.sampled_from(["", " ", ",", "]", '}, "x": [', "\n{"]), st.sampled_from([None, 1]))
def test_a_value_ends_where_it_ends_whatever_follows_and_a_broken_one_with_the_text(value: object, tail: str, indent: int | None) -> None:
    text = json.dumps([value], indent=indent, ensure_ascii=False)
    assert value_end(text + tail, 0) == len(text)
    assert value_end(text[:-1], 0) == len(text) - 1
