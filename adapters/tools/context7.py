"""context7: documentation of libraries, in snippets with their code. https://context7.com/docs/api-guide

`CONTEXT7_API_KEY` is sent where it is set, and never stored; without one the API allows few calls. As an MCP server it is wrapped like
any other: `byref wrap -- npx -y @upstash/context7-mcp`.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from byref.proxy.contracts import Column, Layout
from byref.proxy.errors import Invalid
from byref.proxy.operations import Adapter, Argument, Operation, Request

if TYPE_CHECKING:
    from byref.proxy.operations import Arguments

KEY = "CONTEXT7_API_KEY"
LONGEST = 500  # characters of a query, and of a name
_ID = re.compile(r"/[^/\s]+/[^/\s]+(?:[/@][^/\s]+)?")  # as its specification gives it
_LIBRARIES = Layout("results", (), (Column("id"), Column("title")), (
    Column("totalSnippets", "snippets"), Column("trustScore", "trust"), Column("benchmarkScore", "score"), Column("stars"),
    Column("lastUpdateDate", "updated"), Column("state"), Column("versions[]", "versions", 4), Column("description")))
_SNIPPETS = Layout("codeSnippets", (), (Column("codeTitle", "title"), Column("codeId", "id")),
                   (Column("codeLanguage", "language"), Column("pageTitle", "page")), ("codeDescription", "codeList"), sections="### ")


def _library(arguments: Arguments) -> Request:
    name = _text(arguments, "name")
    return Request("/v2/libs/search", (("libraryName", name), ("query", _text(arguments, "search", name))))


def _docs(arguments: Arguments) -> Request:
    library = _text(arguments, "library")
    if not _ID.fullmatch(library):
        raise Invalid(f"library is an id as /vercel/next.js or /vercel/next.js/v15, not {library[:40]!r}; `context7 library NAME` finds it")
    form = str(arguments.get("form") or "txt")
    return Request("/v2/context", (("libraryId", library), ("query", _text(arguments, "search")), ("type", form)))


def _text(arguments: Arguments, name: str, default: str = "") -> str:
    value = arguments.get(name) or default
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST:
        raise Invalid(f"{name} is a text of 1 to {LONGEST} characters")
    return value


def _signed(environment: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return ({"Authorization": f"Bearer {environment[KEY]}"} if environment.get(KEY) else {}), {}


def layout(path: str) -> Layout | None:
    """The layout of an answer by the path of its request."""
    return _LIBRARIES if path.rstrip("/").endswith("/libs/search") else _SNIPPETS


ADAPTER = Adapter(
    "context7", "documentation of libraries", (
        Operation("library", "Which libraries have documentation here, with their ids.", (
            Argument("name", "of a library, as next.js", required=True, plain=True),
            Argument("search", "what it is needed for; ranks them better")), request=_library),
        Operation("docs", "Snippets of a library's documentation.", (
            Argument("library", "its id, as /vercel/next.js", required=True, plain=True),
            Argument("search", "a question or a task", required=True, plain=True),
            Argument("form", "txt is Markdown (txt)", choices=("txt", "json"))), request=_docs)),
    base="https://context7.com/api", signed=_signed, layout=layout, environment=(KEY,))
