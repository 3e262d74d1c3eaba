"""Spans of a request are those of its characters, and what is read is what a JSON parser reads."""
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.llm.reading import Edit, Node, applied, literal, offset, parse

INTO = frozenset(("messages", "content"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4)
                      | st.dictionaries(st.sampled_from(["a", "content", "é"]), inner, max_size=3))


def plain(node: Node, text: str) -> object:
    """The value of a node, of its members and elements."""
    if text[node.start] == "{" and node.value is None:
        return {name: plain(one, text) for name, one in node.members.items()}
    if text[node.start] == "[" and node.value is None:
        return [plain(one, text) for one in node.elements]
    return node.value


@given(VALUES, st.sampled_from([None, 1, 3]), st.booleans())
def test_what_is_walked_is_what_a_parser_reads_and_stands_where_it_says(value: object, indent: int | None, ascii_only: bool) -> None:
    body = json.dumps({"messages": [value], "x": {"content": value}}, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    text, node = parse(body, INTO)
    assert plain(node, text) == json.loads(body)
    for one in (node, *node.members.values(), *node.get("messages").elements):
        assert json.loads(text[one.start:one.end]) == plain(one, text)


@given(st.lists(VALUES, min_size=1, max_size=5), st.lists(VALUES, max_size=3), st.integers(0, 4), st.booleans())
def test_what_a_former_request_shares_reads_the_same(first: list[object], more: list[object], cut: int, tail: bool) -> None:
    former = parse(json.dumps({"messages": first, "x": 1}).encode(), INTO)
    body = json.dumps({"messages": first[:cut] + more, **({"content": [1]} if tail else {})}).encode()
    assert parse(body, INTO, [former]) == parse(body, INTO)


def test_elements_that_stand_alike_are_taken_over() -> None:
    body = json.dumps({"messages": [{"content": ["a" * 50]}, {"content": ["b"]}]}).encode()
    former = parse(body, INTO)
    again = parse(body.replace(b'"b"', b'"b", "c"'), INTO, [former])
    assert again.node.get("messages").elements[0] is former.node.get("messages").elements[0]
    assert again.node.get("messages").elements[1].get("content").elements[1].value == "c"


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"1", b'{"a":1,"a":2}', b'{"a":1,}', b'{"a":[1,]}', b'{"a" 1}', b'{"a":1} x',
                                  b'{a:1}', b'{"a":1', b'{"a":NaN}', b'{"messages":[[1 2]]}',
                                  b'\xef\xbb\xbf{"a":1}', b'{"a":"\xff"}', b'{"a":"\n"}'])
def test_what_is_not_exactly_a_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        parse(body, INTO)


@given(st.text(), st.integers(0, 50), st.booleans())
def test_a_character_is_found_among_escapes(text: str, count: int, ascii_only: bool) -> None:
    written = json.dumps(text, ensure_ascii=ascii_only)
    at = offset(written, min(count, len(text)))
    assert json.loads('"' + written[at:]) == text[count:]


@given(st.text())
def test_any_text_is_written_so_that_it_can_be_sent(text: str) -> None:
    assert json.loads(literal(text)) == text and literal(text).encode()
    assert json.loads(literal(text + "\ud800").encode()) == text + "\ud800"


def test_edits_change_their_characters_alone() -> None:
    assert applied("abcdef", [Edit(1, 2, "XX"), Edit(4, 5, "")]) == "aXXcdf"
