"""A run of units has the shortest exact address: siblings a path, all else bytes."""
from __future__ import annotations

import json

from byref.filters.lexical import find
from byref.filters.shapes.json import SHAPE
from byref.filters.units import Units
from byref.proxy.contracts import Call

LONG = "Sentence of some length. " * 30


def cut(raw: str) -> Units:
    units = SHAPE.units(raw, Call("x"))
    assert units is not None
    return units


def at(units: Units, sign: str) -> int:
    return next(i for i, text in enumerate(units.texts) if sign in text)


def test_all_of_an_output_that_is_json_is_the_root() -> None:
    units = cut(json.dumps({"a": [1, 2], "b": LONG}))
    assert units.address(0, len(units.texts) - 1) == "$"


def test_a_member_has_its_path_and_odd_names_are_quoted() -> None:
    units = cut(json.dumps({"odd name": LONG, "plain": LONG + "!", "x": {"deep": LONG}}))
    assert units.address(at(units, '"odd name"'), at(units, '"plain"') - 1) == '$["odd name"]'
    assert units.address(at(units, '"plain"'), at(units, '"x"') - 1) == "$.plain"


def test_names_that_repeat_have_bytes_instead() -> None:
    raw = f'{{"a":"{LONG}","a":"{LONG}","b":1}}'
    units = cut(raw)
    address = units.address(0, 1)
    assert address.startswith("b0-")


def test_pieces_of_a_string_have_bytes_that_count_non_ascii_right() -> None:
    raw = json.dumps({"a": "é" * 10, "t": r"\n".join(["ü" * 50] * 3) + LONG}, ensure_ascii=False)
    units = cut(raw)
    k = at(units, "Sentence")
    start, end = map(int, units.address(k + 1, k + 1)[1:].split("-"))
    assert units.texts[k + 1].strip().rstrip('"') in raw.encode()[start:end].decode()


def test_records_of_a_string_that_holds_json_are_addressed_through_it() -> None:
    rows = [{"id": i, "name": f"name {i}"} for i in range(20)]
    raw = json.dumps({"content": [{"type": "text", "text": json.dumps({"rows": rows})}]})
    units = cut(raw)
    k = at(units, "7|name 7")
    assert units.address(k, k + 2) == "$.content[0].text.rows[7:10]"
    [(a, b)] = find(raw.encode(), "$.content[0].text.rows[7:10]")
    assert "name 7" in raw[a:b] and "name 9" in raw[a:b] and "name 10" not in raw[a:b]


def test_an_address_that_would_be_long_is_given_in_bytes() -> None:
    raw = json.dumps({"a_rather_long_name": {"another_rather_long_name": {"yet_another_name": LONG}}})
    units = cut(raw)
    assert units.address(at(units, "Sentence"), len(units.texts) - 1).startswith("b")
