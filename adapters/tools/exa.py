"""Exa: search of the web, the texts of pages, pages like one, and answers with their sources. https://exa.ai/docs/reference

`EXA_API_KEY` is sent and never stored. Each call costs money: what it cost and the id of the request stand in its answer, and nothing is
asked twice by itself.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from byref.proxy.contracts import Column, Json, Layout
from byref.proxy.errors import ConfigError, Invalid
from byref.proxy.operations import Adapter, Argument, Operation, Request

if TYPE_CHECKING:
    from byref.proxy.operations import Arguments

KEY = "EXA_API_KEY"
MOST = 100  # results of one call
TYPES = ("auto", "neural", "keyword", "fast", "deep", "instant")
_TOP = ("requestId", "costDollars.total", "resolvedSearchType", "searchType")
_PAGE = (Column("title"), Column("url"))
_SAID = (Column("publishedDate", "published"), Column("author"), Column("score"))
_TEXTS = ("summary", "highlights", "text")
_RESULTS = Layout("results", _TOP, _PAGE, _SAID, _TEXTS)
_ANSWER = Layout("citations", _TOP, _PAGE, _SAID, _TEXTS, lead=("answer",))
_CONTENTS = (
    Argument("text", "with the text of each page", "flag"),
    Argument("highlights", "with the passages of each page that meet the search", "flag"),
    Argument("summary", "with a summary of each page, written by a model", "flag"),
)
_NARROWED = (
    Argument("limit", f"results (10, {MOST} at most)", "integer"),
    Argument("include_domains", "only of these, as arxiv.org", "texts"),
    Argument("exclude_domains", "not of these", "texts"),
    Argument("published_after", "a date, as 2024-01-31"),
    Argument("published_before", "a date"),
)
_NAMES = {"include_domains": "includeDomains", "exclude_domains": "excludeDomains", "published_after": "startPublishedDate",
          "published_before": "endPublishedDate", "category": "category", "type": "type"}


def _search(arguments: Arguments) -> Request:
    return Request("/search", method="POST", body={"query": _needed(arguments, "search")} | _asked(arguments), safe=False)


def _similar(arguments: Arguments) -> Request:
    return Request("/findSimilar", method="POST", body={"url": _needed(arguments, "url")} | _asked(arguments), safe=False)


def _contents(arguments: Arguments) -> Request:
    urls = arguments.get("urls")
    if not isinstance(urls, (list, tuple)) or not urls or len(urls) > MOST:
        raise Invalid(f"urls is a list of 1 to {MOST} addresses of pages")
    wanted: dict[str, Json] = {name: True for name in ("text", "highlights", "summary") if arguments.get(name)} or {"text": True}
    return Request("/contents", method="POST", body={"urls": [str(url) for url in urls]} | wanted, safe=False)


def _answer(arguments: Arguments) -> Request:
    body: dict[str, Json] = {"query": _needed(arguments, "search")}
    return Request("/answer", method="POST", body=body | ({"text": True} if arguments.get("text") else {}), safe=False)


def _needed(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{name} is empty: say what to look for")
    return value


def _asked(arguments: Arguments) -> dict[str, Json]:
    body: dict[str, Json] = {theirs: arguments[ours] for ours, theirs in _NAMES.items() if arguments.get(ours)}
    limit = arguments.get("limit") or 10
    if not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise Invalid(f"limit is a number from 1 to {MOST}, not {str(limit)[:20]}")
    contents: dict[str, Json] = {name: True for name in ("text", "highlights", "summary") if arguments.get(name)}
    return body | {"numResults": limit} | ({"contents": contents} if contents else {})


def _signed(environment: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    if not environment.get(KEY):
        raise ConfigError(f"Exa wants a key: set {KEY}")
    return {"x-api-key": environment[KEY]}, {}


def layout(path: str) -> Layout | None:
    """The layout of an answer by the path of its request."""
    return _ANSWER if path.rstrip("/").endswith("/answer") else _RESULTS


ADAPTER = Adapter(
    "exa", "search of the web, texts of pages, pages like one, answers with sources", (
        Operation("search", "Pages of the web by meaning or by words.", (
            Argument("search", "what to look for", required=True, plain=True),
            Argument("type", "how it searches (auto)", choices=TYPES),
            Argument("category", "as news, research paper, company, github"), *_NARROWED, *_CONTENTS), request=_search, cost=True),
        Operation("contents", "The texts of pages.", (
            Argument("urls", "addresses of pages", "texts", required=True, plain=True), *_CONTENTS), request=_contents, cost=True),
        Operation("similar", "Pages like one.", (
            Argument("url", "address of a page", required=True, plain=True), *_NARROWED, *_CONTENTS), request=_similar, cost=True),
        Operation("answer", "An answer to a question, written by a model, and the pages it rests on.", (
            Argument("search", "a question", required=True, plain=True),
            Argument("text", "with the text of each page", "flag")), request=_answer, cost=True)),
    base="https://api.exa.ai", rate=5, signed=_signed, layout=layout, environment=(KEY,), asked="search")
