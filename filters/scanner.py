"""A scanner of JSON as it is written: spans, never values. What is complete in broken JSON stays usable.

A JSON text may itself stand in a string, and that in a Python repr. A `Level` says how quotes, backslashes
and newlines are spelled there. `Document` reads such a text in place: its escapes are folded to single
characters that stand nowhere else, so that C code scans it as JSON without escapes, and they are unfolded
to the very characters of the raw text before anything is shown or addressed.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from byref.proxy.errors import Invalid

# Noncharacters (Unicode 23.7): no text in interchange holds them. Two backslashes, an escaped quote, a
# backslash, a backslash of an outer level, a newline, return and tab that stand as themselves inside a string, a quote
# that no inner level could have written, the inner quote while it is told from that, and a quote in a Python string of
# the other kind.
_PAIR, _QUOTE, _BACK, _ODD, _LINE, _RETURN, _TAB, _BARE, _INNER, _OTHER = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6\ufdd7\ufdd8\ufdd9"
_MARKS = re.compile("[\ufdd0-\ufdd9]")
# A Python literal is read as JSON, with other quotes; its own words are numbers of their length meanwhile.
_LITERAL = re.compile(r"\s*+(?:[\[{]\s*+)++'")
_TOKENS = re.compile(rf"'((?:[^'{_BACK}]++|{_BACK}.)*+)('|\Z)|\"[^\"]*+(?:\"|\Z)|\b(?:None|True|False)\b", re.S)
_SPELT = {"None": "-0e9", "True": "-1e9", "False": "-1e99"}
_STRING = r'"(?:[^"\\]++|\\(?:.|\Z))*+(?:"|\Z)'
_SCALAR = re.compile(rf'{_STRING}|[^\s,:\[\]{{}}"]++', re.S)
_BRACKET = re.compile(rf'(?:[^"\[\]{{}}]++|{_STRING})*+([\[\]{{}}]|\Z)', re.S)
_BLANK = re.compile(r"[ \t\r\n\ufeff]*+")
_NEXT = re.compile(r"[ \t\r\n]*+(,?)[ \t\r\n]*+")
_COLON = re.compile(r"[ \t\r\n]*+:[ \t\r\n]*+")
_TOKEN = re.compile(r'"[^"]*+("?)|([\[{])|([\]}])|(,)|(:)|[^\s"\[\]{},:]++')
_WHOLE = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")

Span: TypeAlias = tuple[int, int]
Member: TypeAlias = tuple[int, int, int, int]  # name start, name end, value start, value end; an element's name is empty


class Number(str):
    """A number as it is written."""

    __slots__ = ()


Value: TypeAlias = "bool | Number | str | list[Value] | tuple[tuple[str, Value], ...] | None"
_MEANT = {code: word for word, code in _SPELT.items()}
_scan = json.JSONDecoder(object_pairs_hook=tuple, parse_int=Number, parse_float=Number, parse_constant=Number, strict=False).raw_decode
_literal = json.JSONDecoder(object_pairs_hook=tuple, parse_int=Number, parse_constant=Number, strict=False,
                            parse_float=lambda text: Number(_MEANT.get(text, text))).raw_decode
_skim = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode
_SKIMMED = 1 << 20  # characters of a text whose values are read to find their ends: quicker than to look at each bracket, but takes memory


@dataclass(frozen=True, slots=True)
class Level:
    """How JSON is spelled where it stands. outer: the backslash of the text around it, empty at the top."""

    quote: str = '"'
    back: str = "\\"
    outer: str = ""

    def inner(self) -> Level:
        """The level of a JSON text in a string of this one."""
        return Level(self.back + self.quote, self.back * 2, self.back)

    def fold(self, raw: str) -> str | None:
        """The text with one character for each escape; None if it holds characters that are needed for that."""
        if not raw.isascii() and _MARKS.search(raw):
            return None
        if self.outer:
            raw = raw.replace("\n", _LINE).replace("\r", _RETURN).replace("\t", _TAB)
        if "\\" not in raw:
            return raw.replace('"', _BARE) if self.quote != '"' else raw
        raw = raw.replace(self.back * 2, _PAIR).replace(self.back + self.quote, _QUOTE)
        if self.outer:
            if self.quote != '"':
                raw = raw.replace(self.quote, _INNER).replace('"', _BARE).replace(_INNER, '"')
            raw = raw.replace(self.back, _BACK)
            for letter, char in (("n", "\n"), ("r", "\r"), ("t", "\t")):
                raw = raw.replace(self.outer + letter, char)
            return raw.replace("\\", _ODD)
        return raw.replace("\\", _BACK)

    def unfold(self, text: str) -> str:
        """What stands in the raw text for a piece of a folded one. unfold(a) + unfold(b) is unfold(a + b)."""
        if self.outer:
            if text.isascii() and '"' not in text and "\n" not in text and "\t" not in text and "\r" not in text:
                return text
            text = text.replace(_ODD, "\\").replace("\n", self.outer + "n").replace("\r", self.outer + "r").replace("\t", self.outer + "t")
            if self.quote != '"':
                text = text.replace('"', self.quote)
        if text.isascii():
            return text
        text = text.replace(_QUOTE, self.back + self.quote).replace(_PAIR, self.back * 2).replace(_BACK, self.back)
        return text.replace(_LINE, "\n").replace(_RETURN, "\r").replace(_TAB, "\t").replace(_BARE, '"') if self.outer else text


TOP = Level()
REPR = Level('"', "\\\\", "\\")  # JSON in a Python string literal


class Document:
    """A JSON text at its level. Positions in `text` are those of the folded text; `raw` gives those of the output."""

    __slots__ = ("_cursor", "_members", "_same", "_spelt", "base", "level", "literal", "text", "whole", "write")

    def __init__(self, raw: str, level: Level = TOP, base: int = 0) -> None:
        """base: where raw begins in the output. Raises `Invalid` if raw holds the noncharacters that fold needs."""
        text = level.fold(raw)
        if text is None:
            raise Invalid("the text holds Unicode noncharacters; take bytes, such as b0-4096")
        spelt = text
        self.literal = _LITERAL.match(text) is not None and not any([code in text for code in _MEANT])  # of Python
        if self.literal:
            text = _TOKENS.sub(_swapped, text)
        self.text, self.level, self.base = text, level, base
        self._spelt = spelt  # the same, character by character, with the quotes and words that stand in the output
        self._same = len(text) == len(raw)
        # a piece of a string to what stands in the output
        self.write: Callable[[str], str] = self._unswapped if self.literal else str if text == raw else level.unfold
        self.whole = False  # known to be valid from its start to its end
        self._cursor = (0, 0)
        self._members: dict[int, list[Member]] = {}

    def raw(self, at: int) -> int:
        """The position in the output of a position in `text`. Quick for positions near the one asked before."""
        if self._same:
            return self.base + at
        start, raw = self._cursor
        if at < start - at:
            start = raw = 0
        raw += len(self.level.unfold(self._spelt[start:at])) if at >= start else -len(self.level.unfold(self._spelt[at:start]))
        self._cursor = (at, raw)
        return self.base + raw

    def spelt(self, start: int, end: int) -> str:
        """What stands in the output for a piece of `text`."""
        return self.level.unfold(self._spelt[start:end])

    def _unswapped(self, text: str) -> str:
        return self.level.unfold(text.replace(_OTHER, '"'))

    def nested(self, body: str) -> Level:
        """The level of a JSON text that a string of this one holds."""
        level = self.level
        return Level(level.quote, level.back * 2, level.back) if _OTHER in body else level.inner()

    def escaped(self, text: str) -> str:
        """A piece of a string as it would be written at the top level, whatever the level it stands at."""
        return TOP.unfold(text).replace(_ODD, "\\").replace(_LINE, "\n")

    def roots(self) -> list[Member]:
        """The values at the top: one, or one a line (NDJSON)."""
        if -1 not in self._members:
            self._members[-1] = list(_roots(self.text))
        return self._members[-1]

    def know(self, start: int, members: list[Member]) -> None:
        """Members that were scanned already; -1 for those at the top."""
        self._members[start] = members

    def members(self, start: int) -> list[Member]:
        """The members of the object, or elements of the array, that opens at start."""
        if start not in self._members:
            self._members[start] = list(members(self.text, start))
        return self._members[start]

    def inside(self, start: int, end: int) -> Document | None:
        """The JSON text that the string from start to end holds, if it holds one."""
        body = self.text[start + 1:end - 1 if end - 1 > start and self.text[end - 1] == '"' else end]
        if self.text[start] != '"':
            return None
        document = Document(self.write(body), self.nested(body), self.raw(start + 1))
        first = document.text.lstrip(" \t\r\n")[:1]
        return document if first and first in "[{" else None


def _swapped(token: re.Match[str]) -> str:
    """A token of a Python literal as one of JSON, of the same length."""
    if token[2] is not None:
        return '"' + token[1].replace('"', _OTHER) + ('"' if token[2] else "")
    return _SPELT.get(token[0], token[0])


def value_end(text: str, start: int) -> int:
    """Where the value that starts here ends; the end of the text if it is cut off."""
    if text[start] not in "[{":
        scalar = _SCALAR.match(text, start)
        return scalar.end() if scalar else start
    if len(text) <= _SKIMMED:
        try:
            return _skim(text, start)[1]
        except (ValueError, RecursionError):  # broken, or too deep
            pass
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        sign = bracket[1]
        if sign == "":
            break
        depth += 1 if sign in "[{" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


def members(text: str, start: int) -> Iterator[Member]:
    """The members of the container that opens at start, up to its end or to where it is broken."""
    named = text[start] == "{"
    n = len(text)
    at = _end(_BLANK, text, start + 1)
    while at < n and text[at] not in "]}":
        name = name_end = at
        if named:
            name_end = value_end(text, at)
            colon = _COLON.match(text, name_end)
            if text[at] != '"' or colon is None or colon.end() >= n:
                return
            at = colon.end()
        end = value_end(text, at)
        if end == at:
            return
        yield name, name_end, at, end
        comma = _NEXT.match(text, end)
        if comma is None or not comma[1]:
            return
        at = comma.end()


def _roots(text: str) -> Iterator[Member]:
    at = _end(_BLANK, text, 0)
    while at < len(text):
        end = value_end(text, at)
        if end == at:
            return
        yield at, at, at, end
        at = _end(_BLANK, text, end)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def read(text: str, at: int = 0, literal: bool = False) -> tuple[Value, int, bool] | None:
    """(value, end, complete) of the JSON at a position of a folded text; None if there is none. literal: it is Python's.

    Objects are tuples of (name, value), so that repeated names stay; strings are folded, numbers as written.
    Of a text that is cut off or broken, what stands before the break. Raises RecursionError beyond a
    nesting of several hundred.
    """
    scan = _literal if literal else _scan
    try:
        value, end = scan(text, at)
        return value, end, True
    except json.JSONDecodeError as fault:
        if text[at:at + 1] not in ("{", "["):
            return None
        limit = len(text) if fault.msg.startswith("Unterminated") else fault.pos
    repaired, end = _closed(text, at, limit)
    try:
        return scan(repaired, 0)[0], end, False
    except json.JSONDecodeError:
        return None


def _closed(text: str, start: int, limit: int) -> tuple[str, int]:
    """Text from start, up to the last complete value before limit, with what is open closed; and where that is."""
    stack: list[str] = []
    cut, tail, named = start, "", False
    for token in _TOKEN.finditer(text, start, limit):
        kind = token.lastindex
        if kind == 2:
            stack.append("}" if token[2] == "{" else "]")
            named = token[2] == "{"
        elif kind == 3:
            if not stack or stack.pop() != token[3]:
                break
        elif kind == 4:
            named = bool(stack) and stack[-1] == "}"
            continue
        elif kind == 5:
            named = False
            continue
        elif kind == 1:
            if named:
                continue
            if not token[1]:
                tail = '"'
        elif named or not _WHOLE.fullmatch(token[0]):
            break
        cut = token.end()
    return text[start:cut] + tail + "".join(reversed(stack)), cut
