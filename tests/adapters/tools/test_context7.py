"""context7: requests as its specification has them."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.adapters.tools.context7 import ADAPTER, layout
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.operations import Request

SPECIFICATION = Path(__file__).parents[4] / "shared/corpus/api/openapi/context7_openapi.json"


def ask(operation_name: str, /, **arguments: Json) -> Request:
    operation = next(one for one in ADAPTER.operations if one.name == operation_name)
    assert operation.request is not None
    return operation.request(arguments)


def test_a_library_is_looked_up_by_name() -> None:
    assert ask("library", name="next.js") == Request("/v2/libs/search", (("libraryName", "next.js"), ("query", "next.js")))
    assert ask("library", name="react", search="hooks").query == (("libraryName", "react"), ("query", "hooks"))


def test_docs_are_asked_by_the_id_and_a_question() -> None:
    assert ask("docs", library="/vercel/next.js", search="middleware") == Request(
        "/v2/context", (("libraryId", "/vercel/next.js"), ("query", "middleware"), ("type", "txt")))


@pytest.mark.parametrize("library", ["/vercel/next.js", "/vercel/next.js/v14.3.0", "/vercel/next.js@v14.3.0", "/llmstxt/example"])
def test_ids_of_the_specification_are_taken(library: str) -> None:
    assert ask("docs", library=library, search="a").query[0] == ("libraryId", library)


@pytest.mark.parametrize(("name", "arguments"), [
    ("library", {}), ("library", {"name": "a" * 501}), ("docs", {"library": "next.js", "search": "a"}), ("docs", {"library": "/a/b"}),
    ("docs", {"library": "/a/b c", "search": "a"})])
def test_what_makes_no_request_is_told(name: str, arguments: dict[str, Json]) -> None:
    with pytest.raises(Invalid):
        ask(name, **arguments)


def test_a_key_is_sent_where_there_is_one() -> None:
    assert ADAPTER.signed is not None
    assert ADAPTER.signed({}) == ({}, {}) and ADAPTER.signed({"CONTEXT7_API_KEY": "k"}) == ({"Authorization": "Bearer k"}, {})


def test_libraries_and_snippets_have_layouts() -> None:
    assert [found.records for path in ("/v2/libs/search", "/v2/context") if (found := layout(path))] == ["results", "codeSnippets"]


def test_each_request_stands_in_the_specification() -> None:
    if not SPECIFICATION.is_file():
        pytest.skip("the specification of context7 is not here")
    paths = json.loads(SPECIFICATION.read_text())["paths"]
    for made in (ask("library", name="react"), ask("docs", library="/a/b", search="c")):
        declared = {one["$ref"].rpartition("/")[2] for one in paths[made.path]["get"]["parameters"]}
        assert {name[0].upper() + name[1:] + "Param" for name, _ in made.query} <= declared
