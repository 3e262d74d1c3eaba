"""structuredContent made shorter: as valid as it was, and nothing left out without a word that says where it is."""
from __future__ import annotations

import json
from typing import Any

import pytest

import byref
from byref.proxy.frontends.wrap.structured import FIRST, KEPT, reduce

REF = "rk7f3qmab2x"
LONG = "a sentence of the page that goes on. " * 200
ROWS: list[Any] = [{"id": i, "name": f"row {i}"} for i in range(300)]
OBJECT = {"type": "object", "required": ["id"], "additionalProperties": False,
          "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def valid(value: Any, against: dict[str, Any]) -> bool:
    import jsonschema
    return bool(jsonschema.Draft202012Validator(against).is_valid(value))


def test_a_long_string_is_cut_and_says_where_all_of_it_is() -> None:
    value = {"page": {"body": LONG, "title": "t"}}
    less: Any = reduce(value, None, REF)
    assert less["page"]["body"] == f"{LONG[:KEPT]} «{REF} structuredContent:$.page.body {len(LONG)} characters»"
    assert less["page"]["title"] == "t" and value["page"]["body"] == LONG


def test_a_long_list_keeps_its_start_and_the_whole_says_what_is_left_out() -> None:
    against = schema(rows={"type": "array", "items": OBJECT})
    less: Any = reduce({"rows": ROWS}, against, REF)
    assert less["rows"] == ROWS[:FIRST] and valid(less, against)
    assert less["byref"] == [f"«{REF} structuredContent:$.rows[{FIRST}:300] {300 - FIRST} of 300 items»"]


def test_a_list_of_texts_says_it_in_its_last_item() -> None:
    value = {"names": [f"name {i} of many" for i in range(300)]}
    for against in (None, schema(names={"type": "array", "items": {"type": "string"}})):
        less: Any = reduce(value, against, REF)
        assert len(less["names"]) == FIRST + 1 and "290 of 300 items" in less["names"][-1] and "byref" not in less


@pytest.mark.parametrize("against", [
    {**schema(rows={"type": "array", "items": OBJECT}), "additionalProperties": False},
    {**schema(rows={"type": "array", "items": OBJECT}), "maxProperties": 1},
    schema(rows={"type": "array", "items": OBJECT, "minItems": 300}),
    schema(rows={"type": "array", "contains": {"const": ROWS[299]}}),
    schema(rows={"anyOf": [{"type": "array", "minItems": 100}]}),
    schema(rows={"type": "nonsense"}), schema(rows={"$ref": "https://example.com/elsewhere.json"}),
])
def test_where_the_schema_leaves_no_room_it_stays_as_it_is(against: dict[str, Any]) -> None:
    value = {"rows": ROWS}
    assert reduce(value, against, REF) is value


@pytest.mark.parametrize("limits", [
    {"enum": [LONG]}, {"const": LONG}, {"pattern": "^a"}, {"format": "uri"}, {"minLength": 1000}, {"maxLength": 9000, "minLength": 7000}])
def test_a_string_of_a_given_form_stays(limits: dict[str, Any]) -> None:
    value = {"text": LONG}
    assert reduce(value, schema(text={"type": "string", **limits}), REF) is value


def test_references_within_the_schema_are_followed() -> None:
    against = {**schema(rows={"$ref": "#/$defs/Rows"}), "$defs": {"Rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}}, "Row": {
        "type": "object", "properties": {"code": {"type": "string", "pattern": "^a.*"}, "text": {"type": "string"}}}}}
    value = {"rows": [{"code": LONG, "text": LONG}] * 30}
    less: Any = reduce(value, against, REF)
    assert valid(less, against) and less["rows"][0]["code"] == LONG and len(less["rows"][0]["text"]) < 300


def test_every_marker_names_what_fetch_gives() -> None:
    value = {"a b": {"deep": [{"x": LONG}]}, "rows": ROWS, "ü": LONG, 'odd "key"': LONG, "«": LONG}
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        ref = session.capture(tool="t", output={"structuredContent": json.dumps(value, ensure_ascii=False)}).ref
        less: Any = reduce(value, None, ref)
        whole = json.dumps(less, ensure_ascii=False)
        found = {m[0].split(" ", 1)[1].rsplit(" ", 2 if "characters" in m[0] else 4)[0] for m in byref.MARKER.finditer(
            json.dumps([less["a b"], less["rows"], less["byref"]], ensure_ascii=False) + less["ü"])}
        assert len(found) == 3
        for address in found:
            page = session.fetch(ref, address.replace('\\"', '"'), max_tokens=None)
            assert page.text.strip('"') in (LONG, LONG[:0]) or json.loads(f"[{page.text.replace(chr(10), ',')}]") == ROWS[FIRST:]
    assert less['odd "key"'] == LONG and less["«"] == LONG and len(whole) < len(json.dumps(value))


def test_what_is_small_or_would_not_get_smaller_stays() -> None:
    for value in ({"a": 1}, {"a": "x" * 500}, {f"k{i}": i for i in range(2000)}, {"byref": LONG}):
        assert reduce(value, None, REF) is value
