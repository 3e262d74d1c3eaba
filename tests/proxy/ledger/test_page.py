"""The page is one file: it asks nothing of a network, and holds what the tables do."""
from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from byref.proxy.ledger import events
from byref.proxy.ledger.page import page
from byref.proxy.ledger.prices import usual
from byref.proxy.ledger.report import report
from byref.proxy.ledger.tables import tables

VOID = {"meta"}


class Nesting(HTMLParser):
    """Raises where an element is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [tag] if tag not in VOID else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def made(tool: str) -> str:
    found = report(events.captured(at=1e9, session="s", ref="r1", tool=tool, shape="log", size=3000, raw=1000, view=100, parts=1, gaps=1))
    return page(tables(found, [usual()]), found)


def test_it_asks_nothing_of_a_network() -> None:
    text = made("Bash")
    assert not re.search(r"(?:src|href|url|import)\s*[=(:]|https?:|<script|<link", text, re.I) and "default-src 'none'" in text
    assert "prefers-color-scheme:dark" in text and "width=device-width" in text and "overflow-x:auto" in text


def test_names_are_text_and_elements_are_closed() -> None:
    reader = Nesting()
    reader.feed(made("<script>alert(1)</script>"))
    assert reader.open == [] and "<script>alert(1)</script>" in reader.text and "90.0%" in reader.text


def test_it_is_html_as_the_standard_has_it() -> None:
    html5lib = pytest.importorskip("html5lib", reason="html5lib is not installed")
    for tool in ("Bash", "<script>alert('1')</script> & \"more\""):
        html5lib.HTMLParser(strict=True).parse(made(tool))  # raises at the first fault
    html5lib.HTMLParser(strict=True).parse(page(tables(report([])), report([])))


def test_a_day_has_its_bars() -> None:
    assert "2001-09-09: 1000 raw, 100 in views, 900 net" in made("Bash") and "<svg" in made("Bash")


def test_an_empty_ledger_is_a_page_too() -> None:
    assert "<svg" not in page(tables(report([]), [usual()]), report([])) and "0 of 0 tokens" in page(tables(report([])), report([]))
