"""What an agent relies on in a view of JSON: nothing invented, nothing changed, every piece addressable."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from byref.filters.lexical import find
from byref.filters.shapes.json import SHAPE
from byref.filters.units import ALWAYS, ANCHOR, MUST, Units
from byref.proxy.contracts import Call
from conformance.views import look

SHARED = Path(__file__).parents[4] / "shared"
CALL = Call("curl")
# Runs of characters of a value: what a re-rendering may not change. Its own signs and words are taken away.
ATOM = re.compile(r"[^\s|\"'{}\[\],:=…\\]+")
OURS = re.compile(r"^\s*\d+(?:,\d+)?\.(?:\"(?:[^\"\\]|\\.)*\"|[^|\"]*?):(?=[\[{\"\d\-tfn])|"
                  r"^\s*(?:\d+(?:,\d+)?: |each(?: unless said)?: )|[\[{]\d+(?= |\]|$)|(?<![^\s])\d+\.(?=[^\d\s])")


def cut(text: str, call: Call = CALL) -> Units:
    units = SHAPE.units(text, call)
    if units is None and not set(text).isdisjoint(map(chr, range(0xFDD0, 0xFDE0))):
        reject()  # the noncharacters that the scanner folds escapes to: such a text is left to other shapes
    assert units is not None
    return units


def atoms(text: str) -> list[str]:
    return ATOM.findall(OURS.sub(" ", text))


def stands(atom: str, raw: str) -> bool:
    return atom in raw or all(part in raw for part in atom.split("."))


def addressed(raw: bytes, address: str) -> bytes:
    """What fetch returns for an address, after the address itself, which already names the keys that lead there."""
    if address.startswith("b"):
        a, b = map(int, address[1:].split("-"))
        assert 0 <= a <= b <= len(raw)
        return raw[a:b]
    spans = find(raw, address)
    assert spans
    return raw[spans[0][0]:spans[-1][1]]


numbers = st.one_of(st.integers(-10**30, 10**30).map(str),
                    st.sampled_from(["1e400", "-0.0", "1.0E+2", "0.30000000000000004", "1E-7", "9007199254740993"]))
strings = st.text(max_size=40).map(json.dumps) | st.text(max_size=40).map(lambda s: json.dumps(s, ensure_ascii=False)) \
    | st.sampled_from(['""', '"null"', '"12"', '"a|b"', '" x"', r'"a\/b\u00e9"', r'"\ud800"', r'"line\nline"', '"…"'])
names = st.sampled_from(["id", "name", "url", "status", "error", "a.b", "é", "x y"]).map(
    lambda s: json.dumps(s, ensure_ascii=False)) | strings
blank = st.sampled_from(["", "", " ", "\n  "])


def _array(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(blank, st.lists(items, max_size=6)).map(lambda t: f"[{t[0]}" + f",{t[0]}".join(t[1]) + f"{t[0]}]")


def _object(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(blank, st.lists(st.tuples(names, items), max_size=6)).map(
        lambda t: f"{{{t[0]}" + f",{t[0]}".join(f"{k}:{v}" for k, v in t[1]) + f"{t[0]}}}")


def _records(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    rows = st.lists(st.tuples(items, items, numbers), min_size=2, max_size=10)
    return rows.map(lambda rs: "[" + ",".join(f'{{"id":{n},"title":{a},"more":{b}}}' for a, b, n in rs) + "]")


scalars = numbers | strings | st.sampled_from(["true", "false", "null"])
containers = st.recursive(scalars, lambda inner: _array(inner) | _object(inner) | _records(inner), max_leaves=40)
documents = containers.filter(lambda s: s[0] in "[{")


@settings(max_examples=80, deadline=None)
@given(documents)
def test_every_atom_of_a_view_stands_in_the_raw_text(raw: str) -> None:
    units = cut(raw)
    for text in units.texts:
        assert "\n" not in text
        for atom in atoms(text):
            assert stands(atom, raw), (atom, text)


@settings(max_examples=80, deadline=None)
@given(documents)
def test_every_number_and_word_of_the_output_stands_in_some_unit(raw: str) -> None:
    told = "\n".join(cut(raw).texts)
    scalars = re.findall(r'"(?:[^"\\]|\\.)*"|[^\s,:\[\]{}"]+', raw)
    for scalar in scalars:
        for atom in ATOM.findall(re.sub(r"\\[nr]", " ", scalar)):  # escaped line ends become line ends
            assert stands(atom, told), (atom, told)


@settings(max_examples=80, deadline=None)
@given(documents, st.data())
def test_an_address_fetches_what_its_units_show(raw: str, data: st.DataObject) -> None:
    units, encoded = cut(raw), raw.encode("utf-8", "surrogateescape")
    last = len(units.texts) - 1
    i = data.draw(st.integers(0, last))
    j = data.draw(st.integers(i, last))
    there = addressed(encoded, units.address(i, j)).decode("utf-8", "surrogateescape") + units.address(i, j)
    for text in units.texts[i:j + 1]:
        for atom in atoms(text):
            assert stands(atom, there), (units.address(i, j), atom)
    assert addressed(encoded, units.address(0, last)).strip() == encoded.strip()


@settings(max_examples=100, deadline=None)
@given(documents, st.integers(0, 10_000))
def test_a_text_that_is_cut_off_shows_all_of_what_is_there(raw: str, at: int) -> None:
    raw = raw[:max(1, at % (len(raw) + 1))]
    units = SHAPE.units(raw, CALL)
    if units is None:
        return
    told = "\n".join(units.texts)
    for text in units.texts:
        for atom in atoms(text):
            assert stands(atom, raw), (atom, text)
    for atom in ATOM.findall(raw):
        assert stands(atom, told) or raw.rstrip().endswith(atom), (atom, told)
    assert addressed(raw.encode(), units.address(0, len(units.texts) - 1)).strip() == raw.encode().strip()


@settings(max_examples=40, deadline=None)
@given(documents, st.booleans())
def test_json_in_a_string_or_a_repr_is_cut_as_json_with_its_escapes_kept(raw: str, as_repr: bool) -> None:
    filler = "x" * 320
    inner = f'{{"filler":"{filler}","value":{raw}}}'
    outer = json.dumps({"content": [{"text": inner}]})
    if as_repr:
        outer = f"meta=None content=[TextContent(type='text', text={inner!r}, annotations=None)] isError=False"
    units = cut(outer)
    written = outer.replace(repr(filler), "")
    for text in units.texts:
        for atom in atoms(text):
            assert stands(atom, written), (atom, text)
    encoded = outer.encode("utf-8", "surrogateescape")
    for i, text in enumerate(units.texts):
        there = addressed(encoded, units.address(i, i)).decode("utf-8", "surrogateescape") + units.address(i, i)
        for atom in atoms(text):
            assert stands(atom, there), (units.address(i, i), atom, text)


VALUES = st.none() | st.booleans() | st.integers(-10**20, 10**20) | st.text(max_size=30) \
    | st.sampled_from(["it's", '"', "'\"\\", "a\nb", "None", "1"])
LITERALS = st.lists(st.fixed_dictionaries({"id": st.integers(0, 999), "name": VALUES, "more": st.lists(VALUES, max_size=3)}),
                    min_size=2, max_size=6)


@settings(max_examples=60, deadline=None)
@given(LITERALS, st.booleans())
def test_a_python_literal_is_cut_as_json_with_its_own_words_and_quotes(value: list[dict[str, object]], in_json: bool) -> None:
    raw = json.dumps({"error": "", "response": repr(value) + " " * 300}, ensure_ascii=False) if in_json else repr(value)
    units = cut(raw)
    assert any("id" in text for text in units.texts)
    encoded = raw.encode("utf-8", "surrogateescape")
    for i, text in enumerate(units.texts):
        there = addressed(encoded, units.address(i, i)).decode("utf-8", "surrogateescape") + units.address(i, i)
        for atom in atoms(text):
            assert stands(atom, there), (units.address(i, i), atom, text)


def test_a_python_literal_says_what_is_missing_and_what_failed_in_its_own_words() -> None:
    raw = repr([{"id": i, "note": None if i else "None", "ok": i != 4, "title": f"it's \"{i}\""} for i in range(6)])
    units = cut(raw)
    assert units.texts[0] == "[6 {id|note|ok|title}]"
    assert units.texts[1] == ' 0|"None"|True|it\\\'s "0"' and units.texts[2].startswith(" 1|None|True|")
    assert [text for text, rank in zip(units.texts, units.rank, strict=True) if rank == MUST] == [' 4|None|False|it\\\'s "4"']
    assert units.address(3, 4) == "$[2:4]" and addressed(raw.encode(), "$[2].title") == rb"""'it\'s "2"'"""


def test_records_are_rows_under_one_heading_with_everything_as_written() -> None:
    raw = '{"ads":[{"id":7205759403792794131,"price":1.0E+2,"tag":null,"n":"null"},{"id":9007199254740993,"price":-0.0,"tag":"","n":"7"},' \
          '{"id":3,"price":1e-7,"n":"a|b"},{"id":4,"price":9007199254740993.0,"n":"…"}],"count":60}'
    assert cut(raw).texts == ['"ads":[4 {id|price|tag|n}]',
                              ' 7205759403792794131|1.0E+2|null|"null"', ' 9007199254740993|-0.0|""|"7"',
                              ' 3|1e-7||"a|b"', ' 4|9007199254740993.0||"…"', '"count":60']


def test_a_row_is_addressed_by_its_path_and_rows_by_a_slice() -> None:
    raw = json.dumps({"results": [{"title": f"t{i}", "id": i} for i in range(12)], "next": "abc"})
    units = cut(raw)
    first = next(i for i, text in enumerate(units.texts) if text.strip().startswith("t3|"))
    assert units.address(first, first) == "$.results[3]"
    assert units.address(first, first + 5) == "$.results[3:9]"
    assert units.address(len(units.texts) - 1, len(units.texts) - 1) == "$.next"
    assert units.counts is not None and sum(units.counts) == 12 and units.name == "records"


def test_repeated_keys_both_stand_and_what_differs_from_the_usual_stands_out() -> None:
    rows = [f'{{"id":{i},"status":"live","status":"live"}}' for i in range(20)]
    rows[11] = '{"id":11,"status":"paused","status":"blocked"}'
    units = cut(f'[{",".join(rows)}]')
    assert " each unless said: status=live|status=live" in units.texts
    assert " 11|status=paused|status=blocked" in units.texts


def test_what_says_that_a_call_failed_always_stands() -> None:
    units = cut('{"a":1,"error":{"code":429,"message":"slow down"},"errors":[],"warning":null,"status":"failed",' \
                '"items":[{"id":1},{"id":2,"error":"gone"},{"id":3}],' \
                '"more":[{"id":1,"what":"' + "long " * 40 + '"},{"id":2,"error":"lost"},{"id":3}]}')
    must = {units.texts[i] for i, rank in enumerate(units.rank) if rank in (MUST, ALWAYS)}
    assert must == {'"error":{"code":429,"message":"slow down"}', '"status":"failed"',
                    '"items":[{"id":1},{"id":2,"error":"gone"},{"id":3}]',
                    " 1: 2|lost"}


def test_one_value_a_line_is_an_array_of_records() -> None:
    raw = "".join(f'{{"level":"info","n":{i}}}\n' for i in range(9))
    units = cut(raw)
    assert units.texts[0] == "[9 {n}]"
    assert units.address(4, 6) == "$[2:5]"
    assert find(raw.encode(), "$[2:5]") == [(raw.index('{"level":"info","n":2'), raw.index('{"level":"info","n":5') - 1)]


def test_objects_that_are_alike_are_records_under_their_names() -> None:
    units = cut('{"visa_1":{"brand":"visa","last":"2135"},"visa_2":{"brand":"visa","last":"5541"},"mc":{"brand":"mc","last":"0007"}}')
    assert units.texts == ["{3 {brand|last}}", ' visa_1: visa|"2135"', ' visa_2: visa|"5541"', ' mc: mc|"0007"']
    assert units.address(2, 2) == "$.visa_2"


def test_a_long_string_is_cut_at_its_escaped_newlines_and_sentences() -> None:
    body = r"\n".join(["# Title", "One sentence. " * 40, "last line"])
    units = cut(f'{{"readme":"{body}","n":1}}')
    assert units.texts[0] == '"readme":"# Title'
    assert all(len(text) <= 320 for text in units.texts) and len(units.texts) > 3
    assert any(text.strip() == 'last line"' for text in units.texts)
    assert units.glued is not None and sum(units.glued) >= 1


def test_a_result_with_an_error_flag_in_a_repr_keeps_the_flag() -> None:
    units = cut("meta=None content=[TextContent(type='text', text='{\"a\": 1, \"b\": [1, 2]}', annotations=None)] isError=True")
    assert any("isError=True" in text for text in units.texts)


def test_words_after_json_stay() -> None:
    raw = '{"a": [' + ",".join(f'{{"x": {i}}}' for i in range(30)) + "]}\ndone\n"
    units = cut(raw)
    assert units.texts[-1] == "done"
    assert units.address(0, len(units.texts) - 1) == f"b0-{len(raw)}"


def test_json_after_words_is_text() -> None:
    raw = 'Found it:\n{"a": [' + ",".join(f'{{"x": {i}}}' for i in range(30)) + "]}\ndone\n"
    assert SHAPE.match(CALL, "text/plain", raw) == 0 and SHAPE.units(raw, CALL) is None


@pytest.mark.parametrize("text", ["", "plain words", "[INFO] 12 started", "{not json", "[12:30] hello", "{}{"])
def test_what_is_no_json_is_left_to_other_shapes(text: str) -> None:
    assert SHAPE.units(text, CALL) is None or SHAPE.match(CALL, "text/plain", text) == 0 or text.startswith("{}")


def test_nesting_beyond_any_stack_is_left_to_other_shapes() -> None:
    for text in ("[" * 5000 + "]" * 5000, '{"a":' * 3000 + "1" + "}" * 3000, '[{"a":' * 400 + "[" + "]}" * 10):
        units = SHAPE.units(text, CALL)
        assert units is None or units.texts


def test_a_json_file_that_is_read_line_by_line_is_left_to_the_shape_of_files() -> None:
    raw = json.dumps({"name": "x", "scripts": {"build": "tsc", "test": "jest"}, "files": ["a", "b"]}, indent=2)
    assert SHAPE.match(Call("shell", {"command": "cat package.json"}), "text/plain", raw) == 0
    assert SHAPE.match(Call("shell", {"command": "curl -s http://127.0.0.1/x"}), "text/plain", raw) > 50


def test_a_file_of_records_is_cut_into_records_however_it_is_read() -> None:
    users = [{"id": f"usr_{i * 7919:x}", "status": "suspended" if i in (41, 77) else "active", "city": "Lund"} for i in range(120)]
    records = json.dumps({"page": 1, "users": users}, indent=2)
    settings = json.dumps({f"option_{i}": {f"on_{i}": True, f"level_{i}": i} for i in range(200)}, indent=2)
    for call in (Call("Bash", {"command": "cat users.json"}), Call("Read", {"file_path": "users.json"})):
        assert SHAPE.match(call, "", records[:4000]) and not SHAPE.match(call, "", settings[:4000])
    shown = look(records, "cat users.json", task="which users are suspended")
    assert sum("suspended" in line for line in shown.lines) == 2


def test_real_pages_show_every_record_and_every_row_is_its_own_record() -> None:
    pages = sorted((SHARED / "corpus" / "api").rglob("*.json"))
    if not pages:
        pytest.skip("../shared/corpus is not here")
    for page in [p for p in pages if p.stat().st_size < 60_000][::9]:
        raw = page.read_text(encoding="utf-8")
        units, encoded = SHAPE.units(raw, CALL), raw.encode()
        if units is None:
            continue
        for i, text in enumerate(units.texts):
            there = addressed(encoded, units.address(i, i)).decode() + units.address(i, i)
            for atom in atoms(text)[:40]:
                assert stands(atom, there), (page.name, units.address(i, i), atom)


def test_a_case_with_numbers_that_floats_cannot_hold() -> None:
    page = SHARED / "cases" / "05-json-numbers-and-keys-lexical" / "input.json"
    if not page.exists():
        pytest.skip("../shared/cases is not here")
    raw = page.read_text(encoding="utf-8")
    told = "\n".join(cut(raw).texts)
    for number in re.findall(r"\d{12,}", told):
        assert number in raw
    assert '"count":60' in told and "7205759403792816603" in told and "status=paused|status=blocked" in told
    assert sum(len(text) + 1 for text in cut(raw).texts) < len(raw) // 2


def test_anchors_are_few_enough_to_fit_a_view() -> None:
    raw = json.dumps([{"id": i, "text": f"word {i} " * 12} for i in range(1000)])
    units = cut(raw)
    assert sum(rank == ANCHOR for rank in units.rank) < 10


def test_a_byte_order_mark_makes_no_other_text_of_it() -> None:
    assert SHAPE.match(CALL, "text/plain", '\ufeff[{"id": 1}, {"id": 2}]') == SHAPE.match(CALL, "text/plain", '[{"id": 1}, {"id": 2}]') > 0
    assert cut('\ufeff[{"id": 1}, {"id": 2}]').texts == cut('[{"id": 1}, {"id": 2}]').texts
