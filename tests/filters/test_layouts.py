"""By a layout a view shows what its tool's adapter says matters, as it is written, and one gap fetches all the rest."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byref.filters.render import MARKER, view
from byref.proxy.contracts import Blob, Call, Column, Json, Layout, Part, Seen, View
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest
from conformance.views import REF

LAYOUT = Layout("results", ("meta.count", "meta.next"), (Column("id"), Column("title")),
                (Column("venue.name", "venue"), Column("retracted", flag=True), Column("authors[].name", "authors", 2, also="cut")),
                ("text",))
ONE = Layout("", (), LAYOUT.firm, LAYOUT.columns, LAYOUT.prose)
FILL = {"ignored": {"deep": ["filler"] * 60}, "links": [f"https://example.org/{i}" for i in range(30)]}


def record(i: int, **more: Json) -> dict[str, Json]:
    return {"id": f"W{i}", "title": f"Title number {i}", "venue": {"name": f"Venue {i}"}, "retracted": False,
            "authors": [{"name": f"Author {i}-{k}"} for k in range(4)], "text": None, **FILL, **more}


def page(*records: Mapping[str, Json], **meta: Json) -> bytes:
    return json.dumps({"meta": {"count": 48213, "next": "abc=", **meta}, "results": records, "group_by": []}).encode()


def look(data: bytes, layout: Layout | None = LAYOUT, args: Json = None, is_error: bool = False, seen: Seen | None = None) -> View:
    part = Part("body", "application/json", Blob(digest(data), len(data), data.count(b"\n")))
    return view(REF, [(part, BytesSource(data))], Call("library", args, is_error=is_error, layout=layout), seen or Seen())


def text(shown: View) -> str:
    return shown.head + "".join(shown.texts)


def test_a_row_holds_what_the_layout_names_in_its_order() -> None:
    shown = text(look(page(record(0), record(1, retracted=True))))
    assert "meta.count=48213|meta.next=abc=\n" in shown
    assert "results[2 {id|title|venue|retracted|authors}]\n" in shown
    assert " 0: W0|Title number 0|Venue 0||Author 0-0; Author 0-1 (4)\n" in shown
    assert " 1: W1|Title number 1|Venue 1|retracted|Author 1-0; Author 1-1 (4)\n" in shown


def test_all_other_members_are_named_and_fetched_by_one_gap() -> None:
    made = look(page(record(0), record(1)))
    assert " also: ignored links\n" in text(made)
    assert [gap.address for gap in made.gaps] == ["$"], "group_by is empty, which is a fact, too"
    assert "filler" not in text(made)
    bare = look(json.dumps({"meta": {"next": "abc="}, "results": [record(0), record(1)]}).encode())
    assert [gap.address for gap in bare.gaps] == ["$.results"]


@pytest.mark.parametrize(("data", "name"), [
    (page(record(0), record(1)).replace(b'"group_by": []', b'"warning": "this API ends soon"'), "warning"),
    (page(record(0), record(1), pages=9), "meta.pages"),
    (page(record(0), record(1)).replace(b'"group_by": []', b'"meta.next": "another"'), "meta.next"),
    (page(record(0), record(1)).replace(b'"group_by": []', b'"results": [3]'), "results"),
    (page(record(0), record(1), next="x" * 300), "meta.next")])
def test_what_stands_beside_the_records_is_in_the_gap_too(data: bytes, name: str) -> None:
    made = look(data)
    assert [gap.address for gap in made.gaps] == ["$"] and f" also: {name} " in text(made)


def test_an_answer_that_is_null_is_left_out_by_a_gap() -> None:
    told = Layout("results", ("meta.count", "meta.next"), LAYOUT.firm, lead=("answer",))
    for answer, address in (("yes", "$.results"), (None, "$"), (3, "$"), ("", "$")):
        data = json.dumps({"meta": {"count": 3}, "answer": answer, "results": [record(0), record(1)]}).encode()
        assert [gap.address for gap in look(data, told).gaps] == [address]


def test_a_list_that_the_api_cut_says_so() -> None:
    shown = text(look(page(record(0, cut=True), record(1, cut=False))))
    assert "Author 0-0; Author 0-1 (4+) cut" in shown and "Author 1-0; Author 1-1 (4)\n" in shown


def test_null_is_told_from_missing_and_from_empty() -> None:
    bare = {key: value for key, value in record(2).items() if key != "title"}
    shown = text(look(page(record(0, title=None), record(1, title=""), bare, record(3, title="null"))))
    assert " 0: W0|null|" in shown and ' 1: W1|""|' in shown and " 2: W2||" in shown and ' 3: W3|"null"|' in shown


def test_numbers_stand_as_they_are_written() -> None:
    data = page(record(0)).replace(b'"W0"', b"1.50e3").replace(b'"Title number 0"', b"12345678901234567890")
    assert " 0: 1.50e3|12345678901234567890|" in text(look(data))


def test_of_a_text_the_sentences_stand_that_meet_what_was_asked() -> None:
    long = " ".join(f"Sentence {i} speaks of a wholly different matter that nobody has asked about in this call at all." for i in range(40))
    long += " The cache is the bottleneck and nothing else counts. " + long
    shown = text(look(page(record(0, text=long), record(1)), args={"search": "cache bottleneck"}))
    assert "The cache is the bottleneck" in shown
    assert len(shown) < len(long)


def test_a_text_that_is_an_index_of_its_words_reads_in_order_with_each_word_in_every_place() -> None:
    sentence = "the cache is the bottleneck because the cache is cold and all that we know of it is cold"
    words = sentence.split()
    index: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        index.setdefault(word, []).append(place)
    shown = text(look(page(record(0, text=index)), args={"search": "bottleneck"}))
    assert sentence in shown


def test_one_record_stands_by_names_and_with_its_text() -> None:
    made = look(json.dumps(record(7, text="A short text of its own.")).encode(), ONE)
    assert "id=W7|title=Title number 7|venue=Venue 7|authors=Author 7-0; Author 7-1 (4)\n" in text(made)
    assert "A short text of its own." in text(made)
    assert [gap.address for gap in made.gaps] == ["$"]


def test_every_record_of_a_large_page_is_there_by_what_it_is_known_by() -> None:
    shown = text(look(page(*[record(i) for i in range(200)])))
    for i in range(200):
        assert f" {i}: W{i}|Title number {i}" in shown


def test_what_the_context_was_shown_collapses_as_ever() -> None:
    first = look(page(record(0), record(1)), seen=Seen(proven=True))
    again = look(page(record(0), record(1)), seen=Seen(first.lines, first.terms, True))
    assert len(text(again)) < len(text(first))


def test_an_answer_of_another_form_and_an_error_are_cut_as_any_json() -> None:
    other = json.dumps({"error": "Invalid query", "message": "no such filter", "hint": ["words"] * 100}).encode()
    numbers = b'{"results": [1, 2, 3]}' + b" " * 500
    for data, failed in ((other, False), (page(), False), (page(record(0), record(1)), True), (numbers, False)):
        assert text(look(data, is_error=failed)) == text(look(data, None, is_error=failed))
    broken = page(record(0), record(1))[:-40]
    assert text(look(broken)) == text(look(broken, None))


def test_no_number_of_failures_is_made_of_records_that_went_well() -> None:
    assert "failure" not in text(look(page(*[record(i, title="error " * 30) for i in range(2000)])))


NAMES = ["id", "title", "venue", "name", "authors", "text", "cut", "x|y", "«$.a»", 'q"']
JSONS = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
                     lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5), max_leaves=20)


@settings(max_examples=150, deadline=None)
@given(st.lists(JSONS, max_size=4), st.booleans())
def test_whatever_the_records_are_nothing_is_made_up_or_longer(records: list[Json], ascii: bool) -> None:
    raw = json.dumps({"meta": {"count": 3}, "results": [*records, record(0)], "rest": "words " * 200}, ensure_ascii=ascii)
    made = look(raw.encode("utf-8", "surrogatepass"))
    shown = text(made)
    assert len(shown.encode("utf-8", "surrogatepass")) <= len(raw.encode("utf-8", "surrogatepass"))
    if made.passed:
        return
    for line in shown.split("\n"):
        if MARKER.fullmatch(line):
            continue
        for atom in re.findall(r"[^\W_]{3,}", line):
            assert atom in raw or atom in ("results", "also", "venue", "authors", "retracted", "each", "unless", "said"), atom
