"""Crossref: works by DOI, and what publishers say of them. https://api.crossref.org/swagger-ui/index.html

`CROSSREF_MAILTO` (the polite pool) is sent where it is set, and never stored. docs/adapters.md writes this file step by step.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from byref.proxy.contracts import Column, Layout
from byref.proxy.errors import Invalid
from byref.proxy.operations import Adapter, Argument, Operation, Request

if TYPE_CHECKING:
    from byref.proxy.operations import Arguments

MAILTO = "CROSSREF_MAILTO"
ROWS = 1000  # records of a page at most
_FIRM = (Column("DOI"), Column("title[]", "title", 1), Column("issued.date-parts", "issued"))
_COLUMNS = (Column("container-title[]", "in", 1), Column("type"), Column("is-referenced-by-count", "cited"),
            Column("author[].family", "authors", 3), Column("publisher"))
_LIST = Layout("message.items", ("message.total-results", "message.next-cursor"), _FIRM, _COLUMNS, ("abstract",))
_ONE = Layout("message", (), _FIRM, _COLUMNS, ("abstract",))


def _works(arguments: Arguments) -> Request:
    if not any(arguments.get(name) for name in ("search", "filter", "cursor")):
        raise Invalid("say which works: a search, or a filter")
    rows = arguments.get("rows") or 20
    if not isinstance(rows, int) or not 1 <= rows <= ROWS:
        raise Invalid(f"rows is a number from 1 to {ROWS}, not {str(rows)[:20]}")
    names = {"search": "query", "filter": "filter", "sort": "sort", "order": "order", "select": "select", "cursor": "cursor"}
    query = [(theirs, str(arguments[ours])) for ours, theirs in names.items() if arguments.get(ours)]
    return Request("/works", (*query, ("rows", str(rows))))


def _work(arguments: Arguments) -> Request:
    doi = str(arguments["doi"]).strip()
    doi = doi.partition("doi.org/")[2] or doi.removeprefix("doi:")
    if not doi.startswith("10.") or "/" not in doi:
        raise Invalid(f"a DOI begins with 10. and holds a slash, as 10.5555/12345678; not {doi[:40]!r}")
    return Request(f"/works/{quote(doi, safe='/.-_();:')}")


def _after(request: Request, body: bytes) -> Request | None:
    """The page that follows, where this one was asked for by a cursor and was not empty."""
    try:
        message = json.loads(body)["message"]
        following, items = message["next-cursor"], message["items"]
    except (ValueError, KeyError, TypeError):
        return None
    if not items or not isinstance(following, str) or not any(name == "cursor" for name, _ in request.query):
        return None
    return Request(request.path, tuple((name, following if name == "cursor" else value) for name, value in request.query))


def _signed(environment: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return {}, ({"mailto": environment[MAILTO]} if environment.get(MAILTO) else {})


def layout(path: str) -> Layout | None:
    """A list, or the one record below it."""
    steps = [step for step in path.split("/") if step]
    return _ONE if len(steps) > 1 and steps[0] == "works" else _LIST


ADAPTER = Adapter(
    "crossref", "works by DOI, with what publishers say of them", (
        Operation("works", "Works that match: DOI, title, date, journal, citations, authors.", (
            Argument("search", "words of title, authors, journal", plain=True),
            Argument("filter", "as the API writes it: from-pub-date:2024,type:journal-article"),
            Argument("sort", "as published, is-referenced-by-count, relevance"),
            Argument("order", "asc or desc", choices=("asc", "desc")),
            Argument("select", "only these members, with commas between"),
            Argument("rows", f"records of a page (20, {ROWS} at most)", "integer"),
            Argument("cursor", "* for the first of all pages")), request=_works, after=_after),
        Operation("work", "One work by its DOI.", (Argument("doi", "of the work", required=True, plain=True),), request=_work)),
    base="https://api.crossref.org", rate=3, signed=_signed, layout=layout, environment=(MAILTO,), asked="works")
