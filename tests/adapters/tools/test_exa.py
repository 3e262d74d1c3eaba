"""Exa: requests as its documentation writes them, and its key goes to it alone."""
from __future__ import annotations

import pytest

from byref.adapters.tools.exa import ADAPTER, layout
from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError, Invalid
from byref.proxy.operations import Request


def ask(name: str, **arguments: Json) -> Request:
    operation = next(one for one in ADAPTER.operations if one.name == name)
    assert operation.request is not None
    return operation.request(arguments)


def test_a_search_is_the_body_that_the_documentation_shows() -> None:
    made = ask("search", search="late interaction", limit=5, include_domains=["arxiv.org"], published_after="2024-01-01", text=True)
    assert (made.method, made.path, made.safe) == ("POST", "/search", False)
    assert made.body == {"query": "late interaction", "numResults": 5, "includeDomains": ["arxiv.org"], "startPublishedDate": "2024-01-01",
                         "contents": {"text": True}}


def test_the_other_operations_ask_their_own_places() -> None:
    assert ask("contents", urls=["https://example.org"]).body == {"urls": ["https://example.org"], "text": True}
    assert ask("similar", url="https://example.org", limit=3).body == {"url": "https://example.org", "numResults": 3}
    assert ask("answer", search="why?").body == {"query": "why?"}
    assert ask("contents", urls=["a"]).path == "/contents"
    assert ask("similar", url="a").path == "/findSimilar"
    assert ask("answer", search="a").path == "/answer"


@pytest.mark.parametrize(("name", "arguments"), [("search", {}), ("search", {"search": " "}), ("search", {"search": "a", "limit": 1000}),
                                                 ("contents", {}), ("contents", {"urls": []}), ("contents", {"urls": ["a"] * 200}),
                                                 ("similar", {"url": 3}), ("answer", {"search": None})])
def test_what_makes_no_request_is_told(name: str, arguments: dict[str, Json]) -> None:
    with pytest.raises(Invalid):
        ask(name, **arguments)


def test_it_is_asked_with_a_key_or_not_at_all() -> None:
    assert ADAPTER.signed is not None
    assert ADAPTER.signed({"EXA_API_KEY": "k"}) == ({"x-api-key": "k"}, {})
    with pytest.raises(ConfigError, match="EXA_API_KEY"):
        ADAPTER.signed({})


def test_each_call_is_said_to_cost() -> None:
    assert all(operation.cost for operation in ADAPTER.operations)


def test_an_answer_has_its_own_layout() -> None:
    found = layout("/answer")
    assert found is not None and found.records == "citations" and found.lead == ("answer",)
    found = layout("/search")
    assert found is not None and found.records == "results" and "costDollars.total" in found.top and "requestId" in found.top
