"""JSON paths give the bytes as they stand, or say what there is instead."""
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byref.filters.lexical import find, steps
from byref.proxy.errors import Invalid

PAGE = json.dumps({
    "results": [{"title": f"t{i}", "id": i} for i in range(12)], "odd key": {"x": 1.0}, "a.b": 2, "é": "ü", "none": None,
    "content": [{"text": json.dumps({"results": [{"q": 'a\n"b"'}, [7, 8]]})}],
}, indent=1, ensure_ascii=False).encode()


def texts(data: bytes, path: str) -> list[str]:
    return [data[a:b].decode() for a, b in find(data, path)]


@pytest.mark.parametrize(("path", "want"), [
    ("results[3].title", ['"t3"']), ("$.results[3].id", ["3"]), ("results[-1].id", ["11"]), ("results[3:5].id", ["3", "4"]),
    ("results[10:].id", ["10", "11"]),
    ('["odd key"].x', ["1.0"]), ("['odd key']", ['{\n  "x": 1.0\n }']), ("odd key.x", ["1.0"]),
    ('["a.b"]', ["2"]), ("é", ['"ü"']), ("none", ["null"]),
    ("results[*].id", [str(i) for i in range(12)]), ("$.*.x", ["1.0"]),
])
def test_a_path_gives_what_is_written(path: str, want: list[str]) -> None:
    assert texts(PAGE, path) == want


def test_a_byte_order_mark_before_the_json_is_no_part_of_it() -> None:
    data = "\ufeff \n{\"a\": [1, \"é\", 22]}".encode()
    assert [data[start:end] for start, end in find(data, "$.a[1:3]")] == ['"é", 22'.encode()]
    assert [data[start:end] for start, end in find(data, "$")] == [data[5:]]


def test_a_slice_is_one_span_from_its_first_to_its_last_element() -> None:
    [(a, b)] = find(PAGE, "$.results[3:9]")
    assert [row["id"] for row in json.loads(b"[" + PAGE[a:b] + b"]")] == [3, 4, 5, 6, 7, 8]


def test_a_path_goes_on_through_a_string_that_holds_json() -> None:
    [(a, b)] = find(PAGE, "content[0].text.results[0].q")
    assert PAGE[a:b] == rb'\"a\\n\\\"b\\\"\"'
    assert texts(PAGE, "content[0].text.results[1][1]") == ["8"]


def test_numbers_escapes_and_repeated_names_stay_as_they_are() -> None:
    data = rb'{"a":[1E400, -0.0, 12345678901234567890.125],"s":"a\/b\u00e9","d":1,"d":2}'
    assert texts(data, "a[0:3]") == ["1E400, -0.0, 12345678901234567890.125"]
    assert texts(data, "s") == [r'"a\/b\u00e9"']
    assert texts(data, "d") == ["1", "2"]


def test_lines_of_values_are_an_array() -> None:
    data = b'{"a":1}\n{"a":2}\n\n{"a":3}\n'
    assert texts(data, "[1].a") == ["2"]
    assert texts(data, "$[1:3]") == ['{"a":2}\n\n{"a":3}']
    assert texts(data, "[*].a") == ["1", "2", "3"]


def test_what_is_complete_in_a_cut_text_can_still_be_had() -> None:
    cut = PAGE[:120]
    assert texts(cut, "results[1].title") == ['"t1"']


@pytest.mark.parametrize(("path", "says"), [
    ("results[30]", "12 elements"), ("resul", "results, odd key"), ("results.title", "array of 12"), ("results[1].title.x", "string"),
    ("none.x", "null"),
    ("a..b", "cannot be read"), ("results[x]", "cannot be read"), ("results[20:30]", "12 elements"),
    ("$.content[0].text.nope", "it has results"), ("[0]", "object"),
])
def test_a_wrong_path_is_invalid_and_says_what_there_is(path: str, says: str) -> None:
    with pytest.raises(Invalid, match="invalid: ") as fault:
        find(PAGE, path)
    assert says in str(fault.value)


@pytest.mark.parametrize("data", [b"", b"plain words here", b"\x00\xff\xfe", b"[1, 2", b"]"])
def test_what_is_no_json_is_invalid_or_found_but_never_a_crash(data: bytes) -> None:
    try:
        assert all(0 <= a <= b <= len(data) for a, b in find(data, "a[0].b"))
    except Invalid:
        pass


values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                      lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4), max_leaves=20)


@settings(max_examples=80, deadline=None)
@given(values, st.booleans(), st.data())
def test_every_value_is_found_where_it_is_written(value: object, ascii_only: bool, data: st.DataObject) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=data.draw(st.sampled_from([None, 1]))).encode("utf-8", "surrogatepass")
    path, at = "$", value
    while isinstance(at, (list, dict)) and at and data.draw(st.booleans()):
        if isinstance(at, list):
            index = data.draw(st.integers(0, len(at) - 1))
            path, at = f"{path}[{index}]", at[index]
        else:
            key = data.draw(st.sampled_from(sorted(at)))
            path, at = f"{path}[{json.dumps(key)}]", at[key]
    [(start, end)] = find(raw, path)
    assert json.loads(raw[start:end].decode("utf-8", "surrogatepass")) == at


@given(st.text(max_size=30))
def test_any_text_is_a_path_or_invalid(path: str) -> None:
    try:
        steps(path)
    except Invalid:
        pass
