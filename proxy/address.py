"""Addresses: what `fetch` takes to name a piece of an output.

| form                      | names                                                                     |
|---------------------------|---------------------------------------------------------------------------|
| `L120-180`, `L5`, `L120-` | lines, 1-based, inclusive, each ending after its newline; `120-180` too   |
| `b0-4096`, `b4096-`       | bytes, 0-based, half-open                                                 |
| `/regex/`, `/regex/±2`    | lines that an RE2 pattern matches, with so many lines around each; `/x/i` |
| `records 3-9`             | records of the output's own list, 0-based as in paths, inclusive          |
| `results[3].title`, `$.results[3:9]`, `results[*].id` | what a JSON path names                        |

Any of them may follow `part:`, the name of one part.
"""
from __future__ import annotations

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FORMS = "L120-180 (lines), b0-4096 (bytes), a JSON path such as results[3].title, records 3-9, or /regex/±2"
_CONTEXT = 1000  # lines around a match


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines first to last, 1-based and inclusive; last is None for all that follow."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes start to end, half-open; end is None for all that follow."""

    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Match:
    """Lines that match an RE2 pattern, with context lines before and after."""

    pattern: str
    context: int


@dataclass(frozen=True, slots=True)
class Records:
    """Records first to last, 0-based and inclusive; last is None for all that follow."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class Path:
    """A JSON path, as it was written."""

    path: str


if TYPE_CHECKING:
    from typing import TypeAlias

    Address: TypeAlias = Lines | Bytes | Match | Records | Path


def parse(at: str, names: Sequence[str]) -> tuple[str | None, Address | None]:
    """The part, if `at` names one of these, and the address, if it names a piece. Raises `Invalid`."""
    text = at.strip()
    for name in sorted(names, key=len, reverse=True):
        if text.startswith(name + ":"):
            rest = text[len(name) + 1:].strip()
            return name, _address(rest) if rest else None
    return None, _address(text) if text else None


def _address(text: str) -> Address:
    if "\n" in text or "\0" in text or len(text) > 4096:
        raise Invalid(f"an address is one line of at most 4096 characters: {FORMS}")
    if text[0] == "/":
        return _match(text)
    head, rest = text[0], text[1:].lstrip()
    if head.isdigit():
        head, rest = "L", text
    if head in "Ll" and not rest.strip("0123456789-–lL ") and rest[:1].isdigit():
        first, last = _range(rest.replace("–", "-").replace("-L", "-").replace("-l", "-"), text)
        if first < 1 or (last is not None and last < first):
            raise Invalid(f"{_short(text)} names no lines: they count from 1, first to last")
        return Lines(first, last)
    if head in "bB" and rest[:1].isdigit() and rest.replace("-", "").isdigit():
        start, end = _range(rest, text)
        if "-" not in rest:
            end = start + 1
        if end is not None and end < start:
            raise Invalid(f"{_short(text)} names no bytes: they count from 0, start to end, the end not included")
        return Bytes(start, end)
    for word in ("records", "record"):
        if text.startswith(word) and text[len(word):].strip()[:1].isdigit():
            first, last = _range(text[len(word):].strip(), text)
            if last is not None and last < first:
                raise Invalid(f"{_short(text)} names no records: they count from 0, first to last")
            return Records(first, last)
    if head in "LlbB" and rest[:1] and not rest.strip("0123456789-–, lLbB"):
        raise Invalid(f"{_short(text)} is no range; an address is {FORMS}")
    return Path(text)


def _range(text: str, whole: str) -> tuple[int, int | None]:
    """The two numbers of `120-180`, `5` (twice the same) or `120-` (open)."""
    first, dash, last = text.partition("-")
    first, last = first.strip(), last.strip()
    if not _digits(first) or (last and not _digits(last)):
        raise Invalid(f"{_short(whole)} is no range; an address is {FORMS}")
    return int(first), (int(last) if last else None) if dash else int(first)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15


def _match(text: str) -> Match:
    pattern, slash, tail = text[1:].rpartition("/")
    if not slash or not pattern:
        raise Invalid("a pattern stands between slashes: /error|warning/ or /error/±2 with two lines around each match")
    tail = tail.strip()
    pattern = pattern.replace("\\/", "/")
    if tail.startswith("i"):
        pattern, tail = f"(?i:{pattern})", tail[1:].strip()
    number = tail.lstrip("±+-")
    if tail and not (_digits(number) and tail[:-len(number)] in ("", "±", "+-", "+")):
        raise Invalid(f"after the pattern comes nothing or ± and a number of lines, not {_short(tail)}")
    return Match(pattern, min(int(number), _CONTEXT) if tail else 0)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
