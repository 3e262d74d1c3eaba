"""JSON changed in place: what is changed is, and every other byte stands."""
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.wrap.spelling import LARGEST, changed, items, member

ODD = b'{ "a" : 1.10 ,"n":[ 1E5, -0, 12345678901234567890.123456789 , {"x":"\\u00e9\\/","x":null} ], "\xc3\xa9": "\\ud800" , "last":true } '
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                      lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4), max_leaves=12)


@pytest.mark.parametrize(("change", "wanted"), [
    ({}, ODD),
    ({"a": b"2"}, ODD.replace(b"1.10", b"2")),
    ({"a": None}, ODD.replace(b' "a" : 1.10 ,', b"")),
    ({"last": None}, ODD.replace(b' , "last":true', b"")),
    ({"n": {1: b'"z"', 4: b"[]"}, "last": b"0"},
     ODD.replace(b"-0", b'"z"').replace(b'"x":null} ]', b'"x":null},[] ]').replace(b"true", b"0")),
    ({"n": None, "a": b"{}"}, b'{ "a" : {}' + ODD[ODD.index(b', "\xc3'):]),
])
def test_every_other_byte_stands(change: Any, wanted: bytes) -> None:
    assert changed(ODD, change) == wanted == changed(memoryview(ODD), change)


@pytest.mark.parametrize("change", [
    {"absent": b"1"}, {"absent": None}, {"n": {3: {"x": b"1"}}}, {"n": {9: b"1"}}, {"a": {"b": b"1"}}, {"last": {"b": None}}])
def test_what_cannot_be_changed_is_told(change: Any) -> None:
    with pytest.raises(ValueError, match=r"stands twice|not an object|neither"):
        changed(ODD, change)


@pytest.mark.parametrize("data", [
    b"", b"[", b"{", b'{"a":1', b'{"a" 1}', b"{'a':1}", b'{"a":1}x', b'{"a":' + b"[" * 200_000, b" " * (LARGEST + 1)])
def test_what_is_no_json_or_too_large_is_told(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        changed(data, {"a": None})


def test_a_member_and_the_items_of_a_list_come_as_they_were_spelt() -> None:
    assert member(ODD, "a") == "1.10" and member(ODD, "é".encode().decode("latin-1")) == '"\\ud800"'
    assert items(ODD, "n") == ["1E5", "-0", "12345678901234567890.123456789", '{"x":"\\u00e9\\/","x":null}']
    assert member(b'{"a":1,"a":2.0}', "a") == "2.0"
    with pytest.raises(ValueError, match="no b"):
        member(b"{}", "b")


@given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=5), st.data(), st.booleans(), st.sampled_from([None, 1]))
def test_it_is_what_changing_the_parsed_value_comes_to(value: dict[str, Any], data: st.DataObject, away: bool, indent: int | None) -> None:
    text = json.dumps(value, indent=indent).encode()
    key = data.draw(st.sampled_from(sorted(value)))
    new = data.draw(VALUES)
    if not key.isascii():
        return
    done = json.loads(changed(text, {key: None if away else json.dumps(new).encode()}))
    assert done == {k: new if k == key else v for k, v in value.items() if not (away and k == key)}
