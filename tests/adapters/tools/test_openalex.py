"""OpenAlex: requests as its documentation writes them, and views of answers in its documented form."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.adapters.tools.openalex import ABSTRACTS, ADAPTER, derived, layout
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.operations import Request

RECORDED = Path(__file__).parents[4] / "shared/corpus/api/openalex"


def ask(entity: str = "works", **arguments: Json) -> Request:
    operation = next(one for one in ADAPTER.operations if one.name == entity)
    assert operation.request is not None
    return operation.request(arguments)


def test_a_search_is_the_request_that_the_documentation_shows() -> None:
    made = ask(search="late interaction", filter="publication_year:2024", sort="cited_by_count:desc", per_page=50)
    assert made == Request("/works", (("search", "late interaction"), ("filter", "publication_year:2024"),
                                      ("sort", "cited_by_count:desc"), ("per-page", "50")))


@pytest.mark.parametrize(("given", "path"), [
    ("W2741809807", "/works/W2741809807"), ("https://openalex.org/W2741809807", "/works/W2741809807"),
    ("10.7717/peerj.4375", "/works/doi:10.7717/peerj.4375"), ("https://doi.org/10.7717/peerj.4375", "/works/doi:10.7717/peerj.4375"),
    ("doi:10.1000/a b?c#d", "/works/doi:10.1000/a%20b%3Fc%23d"), ("pmid:14907713", "/works/pmid:14907713")])
def test_one_record_is_asked_for_by_any_of_its_ids(given: str, path: str) -> None:
    assert ask(id=given).path == path


@pytest.mark.parametrize("arguments", [{}, {"per_page": 500, "search": "a"}, {"per_page": 0, "search": "a"}, {"id": "W1", "search": "a"},
                                       {"page": 1, "cursor": "*", "search": "a"}, {"page": "2", "search": "a"}])
def test_what_makes_no_request_is_told(arguments: dict[str, Json]) -> None:
    with pytest.raises(Invalid):
        ask(**arguments)


def test_pages_follow_the_cursor_to_the_end() -> None:
    operation = ADAPTER.operations[0]
    assert operation.after is not None
    first = ask(search="a", cursor="*")
    body = json.dumps({"meta": {"next_cursor": "abc"}, "results": [{"id": "W1"}]}).encode()
    assert operation.after(first, body) == Request("/works", (("search", "a"), ("cursor", "abc")))
    for end in (b'{"meta": {"next_cursor": null}, "results": [{}]}', b'{"meta": {"next_cursor": "x"}, "results": []}', b"not json"):
        assert operation.after(first, end) is None
    assert operation.after(ask(search="a"), body) is None


def test_who_asks_is_told_to_the_api_alone() -> None:
    assert ADAPTER.signed is not None
    assert ADAPTER.signed({"OPENALEX_MAILTO": "me@example.org", "OTHER": "x"}) == ({}, {"mailto": "me@example.org"})
    assert ADAPTER.signed({"OPENALEX_API_KEY": "k"}) == ({}, {"api_key": "k"})
    assert ADAPTER.signed({}) == ({}, {})


def test_an_abstract_has_every_word_in_each_of_its_places() -> None:
    sentences = "We show that the cache is cold. It is the cache that the model waits for, i.e. the bottleneck. Is it?"
    words = sentences.split()
    index: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        index.setdefault(word, []).append(place)
    body = json.dumps({"results": [{"id": "W1", "abstract_inverted_index": None}, {"id": "W2", "abstract_inverted_index": index}]}).encode()
    text = derived(body)[ABSTRACTS].decode()
    assert text.split("\n")[0] == "results[1].abstract_inverted_index"
    assert " ".join(text.split("\n")[1:]).split() == words
    assert "We show that the cache is cold." in text.split("\n")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": 3}',
                                  b'{"results": [null, 1, {"abstract_inverted_index": {"a": [0], "b": [0]}}]}',
                                  b'{"abstract_inverted_index": {"a": "x"}}', b'{"abstract_inverted_index": []}',
                                  b'{"results": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"])
def test_what_holds_no_abstract_gives_none(body: bytes) -> None:
    assert derived(body) == {}


def test_half_a_surrogate_costs_its_own_letter_and_no_other_abstract() -> None:
    body = json.dumps({"results": [{"abstract_inverted_index": {"cut\ud83d": [0], "off": [1]}},
                                   {"abstract_inverted_index": {"whole": [0]}}]}).encode()
    assert derived(body)[ABSTRACTS].decode().split("\n")[1::3] == ["cut? off", "whole"]


def test_a_layout_goes_by_the_path() -> None:
    lists = ("/works", "/authors", "/sources", "/institutions", "/topics", "/autocomplete/works")
    assert [found.records for path in lists if (found := layout(path))] == ["results"] * len(lists)
    for path in ("/works/W1", "/W1", "/authors/A1", "/works/doi:10.1/x"):
        found = layout(path)
        assert found is not None and found.records == ""
    assert layout("/") is None


def test_recorded_abstracts_are_whole() -> None:
    if not RECORDED.is_dir():
        pytest.skip("the recordings of OpenAlex are not here")
    found = 0
    for file in sorted(RECORDED.glob("*.json")):
        body = file.read_bytes()
        records = json.loads(body)
        for record in records.get("results", [records]):
            index = record.get("abstract_inverted_index") if isinstance(record, dict) else None
            if index:
                words = {place: word for word, places in index.items() for place in places}
                text = " ".join(words[place] for place in sorted(words))
                assert " ".join(text.split()) in " ".join(derived(body)[ABSTRACTS].decode().split())
                found += 1
    assert found > 5
