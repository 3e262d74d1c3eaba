"""Patterns: our own constants one alternative a line, and the places of RE2's matches without an object for each."""
from __future__ import annotations

import re
from functools import cache

from byref.proxy.text import pattern as compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from byref.proxy.text import Pattern


def any_of(*alternatives: str, flags: re.RegexFlag = re.NOFLAG, opening: str = "") -> re.Pattern[str]:
    """A pattern that matches where any of the alternatives does. opening: what all start with; where it is missing, none is tried."""
    return re.compile(f"(?={opening})(?:{'|'.join(alternatives)})" if opening else "|".join(alternatives), flags)


class Seldom:
    """A search for what few texts hold, where RE2 looks for a sign of it first: of the many that have none it takes a tenth of the time.

    sign: an RE2 pattern that is found wherever the pattern is; to RE2 the classes `\\s`, `\\w` and `\\d` and the edge `\\b` are those of
    ASCII, so that it has to allow for more than the pattern does.
    """

    __slots__ = ("_look", "_search", "_sign", "pattern")

    def __init__(self, pattern: str, sign: str) -> None:
        self.pattern, self._sign = re.compile(pattern), sign
        self._search = self.pattern.search
        self._look: Callable[[bytes], bool] | None = None  # RE2 compiles it for the first output

    def __call__(self, text: str) -> bool:
        """Whether the pattern is found in a text."""
        if self._look is None:
            self._look = _looker(compiled(self._sign))
        return self._look(text.encode("utf-8", "replace")) and self._search(text) is not None


def loose(pattern: str) -> str:
    """A pattern for RE2 that is found in a line wherever this one is: its classes hold all that lies beyond ASCII."""
    return pattern.replace(r"\s", r"[^!-~\n]").replace(r"\S", r"[^ \t\n]").replace(r"\d", r"[^\x00-/:-\x7f]")


@cache
def _line(sign: str) -> Pattern:
    return compiled(f"(?m)(?:{sign})[^\n]*")


def lines_with(sign: str, text: str) -> list[str]:
    """What follows a sign, an RE2 pattern, on each line of a text that has one: these lines whole where it begins with `^`; and perhaps
    lines without."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8, which RE2 matches with nothing
        return text.split("\n")
    return [data[start:end].decode() for start, end in spans(_line(sign), data)]


def _looker(pattern: Pattern) -> Callable[[bytes], bool]:
    match = getattr(getattr(pattern, "_regexp", None), "Match", None)
    if match is None:
        return lambda data: pattern.search(data) is not None
    anywhere = _anywhere()
    return lambda data: bool(match(anywhere, data, 0, len(data))[0][0] >= 0)


@cache
def _anywhere() -> object:
    """How RE2 is told that a match may begin anywhere."""
    from re2 import _re2
    return _re2.RE2.Anchor.UNANCHORED


def captures(pattern: Pattern, data: bytes) -> list[list[tuple[int, int]]]:
    """Where a pattern and each of its groups match, in order, one after the other: what `finditer` finds, in half its time.

    (-1, -1) stands for a group that takes no part. google-re2 makes a generator and three objects of each match; below them is one
    call that returns its places. Where a version has no such call, `finditer` is asked.
    """
    match = getattr(getattr(pattern, "_regexp", None), "Match", None)
    if match is None:
        return [[found.span(group) for group in range(len(found.groups()) + 1)] for found in pattern.finditer(data)]
    anywhere, at, size = _anywhere(), 0, len(data)
    out: list[list[tuple[int, int]]] = []
    found = match(anywhere, data, 0, size)
    while found[0][0] >= 0:
        out.append(found)
        if at == size:
            break
        end = found[0][1]
        at = end if end > at else at + 1
        found = match(anywhere, data, at, size)
    return out


def spans(pattern: Pattern, data: bytes) -> list[tuple[int, int]]:
    """Where a pattern matches, in order, one after the other."""
    return [places[0] for places in captures(pattern, data)]
