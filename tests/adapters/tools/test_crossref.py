"""Crossref: the worked example of docs/adapters.md."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

import byref
from byref.adapters.tools.crossref import ADAPTER, layout
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.operations import Request

RECORDED = Path(__file__).parents[4] / "shared/corpus/api/crossref"


def ask(operation_name: str, /, **arguments: Json) -> Request:
    operation = next(one for one in ADAPTER.operations if one.name == operation_name)
    assert operation.request is not None
    return operation.request(arguments)


def test_a_search_and_a_doi_are_the_requests_that_the_documentation_shows() -> None:
    assert ask("works", search="richard feynman", rows=5) == Request("/works", (("query", "richard feynman"), ("rows", "5")))
    assert ask("work", doi="https://doi.org/10.1037/0003-066X.59.1.29").path == "/works/10.1037/0003-066X.59.1.29"
    assert ask("work", doi="doi:10.5555/a b<c").path == "/works/10.5555/a%20b%3Cc"


@pytest.mark.parametrize(("name", "arguments"), [("works", {}), ("works", {"search": "a", "rows": 5000}), ("work", {"doi": "11.5/x"}),
                                                 ("work", {"doi": "10.5"})])
def test_what_makes_no_request_is_told(name: str, arguments: dict[str, Json]) -> None:
    with pytest.raises(Invalid):
        ask(name, **arguments)


def test_pages_follow_the_cursor_until_one_is_empty() -> None:
    after = ADAPTER.operations[0].after
    assert after is not None
    first = ask("works", search="a", cursor="*")
    found = after(first, json.dumps({"message": {"next-cursor": "n1", "items": [{}]}}).encode())
    assert found is not None and ("cursor", "n1") in found.query
    assert after(first, json.dumps({"message": {"next-cursor": "n1", "items": []}}).encode()) is None
    assert after(ask("works", search="a"), json.dumps({"message": {"next-cursor": "n1", "items": [{}]}}).encode()) is None
    assert after(first, b"no json") is None


def test_recorded_answers_show_every_doi_in_little_room() -> None:
    if not RECORDED.is_dir():
        pytest.skip("the recordings of Crossref are not here")
    raw = shown = 0
    with byref.open("memory:") as gateway:
        session = gateway.session("s", proven=False)
        for file in sorted(RECORDED.glob("*.json")):
            text = file.read_text()
            message = json.loads(text).get("message") if text.startswith("{") else None
            if not isinstance(message, dict) or not ("items" in message or "DOI" in message):
                continue
            path = "/works" if "items" in message else f"/works/{message['DOI']}"
            view = session.capture(tool="crossref", args={"path": path, "file": file.name}, output=text, layout=layout(path))
            for record in message.get("items", [message]):
                if "DOI" in record:
                    assert record["DOI"] in view.text.replace("\\/", "/"), file.name
            raw, shown = raw + len(text), shown + len(view.text)
    assert raw > 100_000 and shown < 0.2 * raw


def test_the_documentation_writes_this_very_file(root: Path) -> None:
    blocks = (root / "docs/adapters.md").read_text().split("```python\n")[1:]
    source = (root / "adapters/tools/crossref.py").read_text()
    assert len(blocks) == 6
    for block in blocks:
        assert block.partition("```")[0] in source
