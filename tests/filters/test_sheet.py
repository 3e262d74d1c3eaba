"""Values become lines that a reader can use and that can be left out one by one."""
from __future__ import annotations

import json

from byref.filters.scanner import Document
from byref.filters.sheet import Sheet
from byref.filters.units import ANCHOR, MUST, PLAIN


def cut(value: object, raw: str = "") -> Sheet:
    raw = raw or json.dumps(value)
    sheet = Sheet(raw)
    assert sheet.values(Document(raw)) == len(Document(raw).text.rstrip())
    return sheet


def test_short_members_share_lines_and_dull_ones_stand_together() -> None:
    sheet = cut({"id": 1, "name": "x", "avatar_url": "http://a", "events_url": "http://b", "count": 60})
    assert sheet.texts == ['"id":1,"name":"x"', '"avatar_url":"http://a","events_url":"http://b"', '"count":60']
    assert sheet.worth[1] < sheet.worth[0] and list(sheet.rank) == [ANCHOR, PLAIN, ANCHOR]


def test_a_copy_of_a_value_stands_with_what_says_little() -> None:
    sheet = cut({"open": 291.27, "high": 294.18, "regularOpen": 291.27, "regularHigh": 294.18, "volume": 5252602})
    assert sheet.texts == ['"open":291.27,"high":294.18', '"regularOpen":291.27,"regularHigh":294.18', '"volume":5252602']
    assert sheet.worth[1] < sheet.worth[0] == sheet.worth[2]


def test_a_text_that_is_written_as_an_index_reads_as_a_text_and_has_its_path() -> None:
    words = ["the", "cache", "is", "cold", "because", "the", "cache", "is", "new", "and", "the", "disk", "is", "slow"] * 9
    index = {word: [i for i, other in enumerate(words) if other == word] for word in sorted(set(words))}
    sheet = cut({"id": 1, "abstract": index})
    shown = [k for k, text in enumerate(sheet.texts) if "cache" in text]
    assert "".join(sheet.texts[k] for k in shown) == '"abstract":' + " ".join(words)
    sheet.places.pure = True
    assert sheet.places.address(shown[0], shown[-1]) == "$.abstract"


def test_letters_that_are_written_as_escapes_are_no_words() -> None:
    sheet = cut({"name": "M\u00e9decine", "other": "x" * 400})
    assert "u00e9" not in " ".join(sheet.units().sources or ()) and "M\\u00e9decine" in sheet.texts[0]


def test_rows_far_down_in_a_table_deep_inside_weigh_less() -> None:
    rows = [{"key": f"k{i}", "year": 1990 + i} for i in range(30)]
    sheet = cut({"message": {"items": [{"title": "one of them, and a long title at that " * 5, "reference": rows}]}})
    worth = [value for text, value in zip(sheet.texts, sheet.worth, strict=True) if text.strip().startswith("k")]
    assert len(worth) == 30 and worth[0] > worth[-1]


def test_the_place_of_a_record_is_no_term_of_its_values() -> None:
    sheet = cut([{"id": i, "geometry": {"coordinates": [[n / 7, n / 3] for n in range(60)]}} for i in range(3)])
    head = next(k for k, text in enumerate(sheet.texts) if text.strip().startswith("0.geometry.coordinates:["))
    assert "0." not in sheet.sources[head] and "geometry.coordinates" in sheet.sources[head]


def test_an_object_of_many_members_shows_both_of_its_ends() -> None:
    sheet = cut({"dependencies": {f"package-{i}": f"^{i}.0.1" for i in range(400)}})
    assert sheet.rank[-1] == ANCHOR and len(sheet.texts) > 50 and list(sheet.rank).count(ANCHOR) < 16


def test_a_member_that_failed_stands_alone_and_always() -> None:
    sheet = cut({"id": 1, "error": "no such host", "n": 2})
    assert sheet.texts[sheet.rank.index(MUST)] == '"error":"no such host"'


def test_long_arrays_of_small_values_come_some_to_a_line() -> None:
    sheet = cut({"versions": [f"0.0.{i}" for i in range(200)]})
    assert sheet.texts[0] == '"versions":[200' and all(len(text) < 240 for text in sheet.texts)
    assert "".join(text.strip() for text in sheet.texts[1:]).count('"0.0.') == 200 - "".join(sheet.texts).count("[") + 1


def test_a_long_array_of_numbers_says_how_many_and_shows_both_ends() -> None:
    sheet = cut({"model": "m-1", "embedding": [i / 7 for i in range(1500)]})
    last = len(sheet.texts) - 1
    assert sheet.texts[1] == '"embedding":[1500'
    assert [i for i, rank in enumerate(sheet.rank) if rank == ANCHOR] == [0, 1, 2, last]
    assert max(sheet.worth[3:last]) < min(sheet.worth[2], sheet.worth[last])


def test_arrays_of_arrays_of_records_are_one_table_that_says_which_is_whose() -> None:
    sheet = cut([[{"no": "A1", "to": "X"}, {"no": "A2", "to": "Y"}], [{"no": "B1", "to": "Y"}]])
    assert sheet.texts == ["[3 {no|to}]", " 0,0: A1|X", " 0,1: A2|Y", " 1,0: B1|Y"]


def test_large_values_of_few_records_stand_beside_their_rows() -> None:
    sheet = cut([{"url": f"http://x/{i}", "text": f"page {i}. " * 60} for i in range(3)])
    rows = [i for i, text in enumerate(sheet.texts) if text.startswith((" 0: ", " 1: ", " 2: "))]
    assert len(rows) == 3 and rows[1] > rows[0] + 1
    assert sheet.texts[rows[0] + 1].lstrip().startswith('0.text:"page 0.')


def test_an_index_that_stands_in_its_record_is_said_once() -> None:
    sheet = cut({f"card_{i}": {"id": f"card_{i}", "brand": "visa" if i % 2 else "mc", "last": f"{i}{i}"} for i in range(4)})
    assert sheet.texts[0] == "{4 id: {brand|last}}" and sheet.texts[1] == ' card_0: mc|"00"'


def test_json_in_a_string_is_cut_as_json_and_a_text_by_its_lines() -> None:
    inner = json.dumps([{"id": i, "title": f"title {i}"} for i in range(12)])
    sheet = cut({"text": inner, "log": "first line\n\nsecond line\n" + "x" * 200})
    assert '[12 {id|title}]' in [text.strip() for text in sheet.texts]
    assert '"log":"first line' in sheet.texts and " second line" in sheet.texts


def test_worth_fades_only_in_large_outputs() -> None:
    small, large = cut({"a_url": "http://x", "b": 1}), cut({"a_url": "http://x", "b": "word " * 4000})
    assert small.units().worth[0] == 0 > large.units().worth[0]
    assert ANCHOR in large.rank


def test_a_record_that_says_what_hardly_any_other_says_weighs_more() -> None:
    records = [{"id": i, "region": "eu", "colour": "red" if i % 4 else "blue"} for i in range(60)]
    records[40]["region"] = "us"
    sheet = cut(records)
    worth = {text.strip(): value for text, value in zip(sheet.texts, sheet.worth, strict=True)}
    assert worth["40|blue|region=us"] > worth["39|red"] == worth["44|blue"]


def test_a_failing_row_deep_inside_stands_with_the_heading_that_says_whose_it_is() -> None:
    report = [{"source": f"a{f}.css", "errored": bool(f % 2), "warnings": [{"line": n, "severity": "error", "text": "bad hex " * 5}
                                                                          for n in range(4 * (f % 2))]} for f in range(20)]
    sheet = cut(report)
    heads = [k for k, text in enumerate(sheet.texts) if ".warnings:[4 " in text]
    assert len(heads) == 10 and {sheet.rank[k] for k in heads} == {MUST}


def test_what_a_list_in_a_failing_record_says_of_it_stands_though_its_own_rows_report_no_failure() -> None:
    eslint = [{"filePath": f"a{f}.js", "errorCount": 2 * (f % 2), "messages": [{"ruleId": "no-undef", "severity": 2, "line": n,
                "message": f"'b{n + f}' is not defined in the whole module."} for n in range(1, 3)]} for f in range(20)]
    sheet = cut(eslint)
    ranks = [sheet.rank[k] for k, text in enumerate(sheet.texts) if "is not defined" in text]
    assert ranks == [PLAIN, PLAIN, ANCHOR, ANCHOR] * 10


def test_what_a_failing_go_test_printed_stands_and_what_others_printed_does_not() -> None:
    events = [event for k in range(60) for name in [f"TestMany/{k}"] for event in (
        {"Action": "run", "Test": name}, {"Action": "output", "Test": name, "Output": f"=== RUN   {name}\n"},
        {"Action": "output", "Test": name, "Output": f"    store_test.go:8: got {k} blocks\n"},
        {"Action": "fail" if k == 41 else "pass", "Test": name, "Elapsed": 0})]
    sheet = cut(events, "\n".join(map(json.dumps, events)))
    assert [text.rpartition("got ")[2] for text, level in zip(sheet.texts, sheet.rank, strict=True) if "got " in text and level == MUST] \
        == ['41 blocks\\n"']
