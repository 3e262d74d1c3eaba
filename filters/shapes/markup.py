"""Markup: HTML, XML and Markdown, and the pages that web tools return: what they say stands, what surrounds it goes first."""
from __future__ import annotations

import re

from byref.filters import elements, pages
from byref.filters.failures import mark, suspects
from byref.filters.lines import Lines, split
from byref.filters.narrow import command, narrowed
from byref.filters.reports import ROOT, report
from byref.filters.sections import sections
from byref.filters.units import Units
from byref.proxy.contracts import Call

_HTML = re.compile(r"<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]", re.I)
_XML = re.compile(r"\ufeff?\s*(?:<\?xml\s|<!--|<!DOCTYPE\s|<[A-Za-z][\w:.-]*(?:\s[^<>]*)?>\s*<)")
_TREE = re.compile(r"^ *- [a-z]+\b.* \[ref=\w+\]|^ *uid=\w+ [A-Za-z]+", re.M)
_PAGE = re.compile(r"^ *\"(?:meta_tags|jsonld|og:\w+|twitter:\w+)\": |\bThe viewport shows \d+% of the webpage", re.M)
_NODES, _PAGES = ("[ref=", "uid="), ("\"meta_tags\": ", "\"jsonld\": ", "\"og:", "\"twitter:", "The viewport shows ")  # what these hold
_HEADING = re.compile(r"^#{1,6} \S", re.M)
_LINK = re.compile(r"\]\((?:https?:|/|#|\.)")
_READ = re.compile(r"^\s*(?:cat|nl|head|tail|sed|less|more|bat|open)\b")
_READERS = frozenset({"read", "view", "open", "open_file", "read_file", "notebookread"})
_FAILED = re.compile(r"[\W_]*(?:[\w.]*(?:Error|Exception|Timeout)\b|(?:error|fatal|failed|failure|traceback|panic|unhandled|"
                     r"access denied|http error|timed? ?out|unable to|cannot|permission denied)\b)", re.I)
_WIDE = 300  # characters of a line on average from which no file is written by hand: it is read as a page
_ENDS = 4  # lines at each end of a page that may say that it could not be had
_SAID = 200  # characters of a line that says so; more is a text about failures


class Markup:
    name = "markup"
    most = 82

    def match(self, call: Call, media: str, sample: str) -> int:
        if _sectioned(call, sample):
            return 97
        kind = media.partition(";")[0].strip().lower()
        if kind.endswith(("html", "xml", "markdown")):
            return 91
        reads = call.tool.lower() in _READERS or _READ.match(command(call)) is not None
        if _XML.match(sample) and not _HTML.search(sample[:600]):
            return 82 if ROOT.search(sample) else 0 if reads else 76
        if "<" in sample and _HTML.search(sample):
            return 0 if sample.count("<") < 4 or (reads and sample.count("\n") * _WIDE > len(sample)) else 76
        if (any([sign in sample for sign in _NODES]) and len(_TREE.findall(sample)) > 4) or (
                any([sign in sample for sign in _PAGES]) and _PAGE.search(sample)):
            return 0 if reads else 74
        if reads:
            return 0
        links = len(_LINK.findall(sample)) if "](" in sample else 0
        headings = len(_HEADING.findall(sample)) if "# " in sample else 0
        if (links > 2 and headings) or links > 9:
            return 58
        return 40 if headings > 2 and _fetched(call) else 0

    def units(self, text: str, call: Call) -> Units:
        if call.layout is not None and _sectioned(call, text):
            return sections(text, call, call.layout.sections)
        if _XML.match(text) or _HTML.search(text, 0, 4000):
            return _document(text, call, bool(_HTML.search(text, 0, 4000)))
        lines = split(text)
        rank, worth = pages.weigh(lines.texts)
        return _marked(lines, rank, worth, call)


def _sectioned(call: Call, text: str) -> bool:
    """Whether the tool's layout says what begins a section, and the text has one."""
    heading = call.layout.sections if call.layout is not None and not call.is_error else ""
    return bool(heading) and (text.startswith(heading) or f"\n{heading}" in text)


def _document(text: str, call: Call, html: bool) -> Units:
    """Units of HTML or XML."""
    lines = split(text, elements.cut)
    if html:
        rank, worth = elements.weigh(lines.texts)
        return _marked(lines, rank, worth, call)
    units = lines.units(strictness=0 if narrowed(call) else 100)
    if not report(units):
        mark(units, suspects(units.texts))
    return units


def _marked(lines: Lines, rank: bytearray, worth: list[int], call: Call) -> Units:
    """A page with what says that it failed: prose about failures is none."""
    units = lines.units(rank=rank, worth=worth, strictness=0 if narrowed(call) else 100)
    n = len(units.texts)
    wrong = call.is_error or bool(call.exit_code)
    found = [i for i in suspects(units.texts) if wrong or (len(units.texts[i]) < _SAID and (min(i, n - 1 - i) < _ENDS
                                                                                           or _FAILED.match(units.texts[i])))]
    mark(units, found)
    return units


def _fetched(call: Call) -> bool:
    """Whether a call names an address on the web."""
    return isinstance(call.arguments, dict) and any([key in call.arguments for key in ("url", "urls", "uri", "link")])


SHAPE = Markup()
