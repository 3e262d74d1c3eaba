"""Texts inside JSON: where a long line is cut, what a piece of it is worth by its form, texts that are written as an index."""
from __future__ import annotations

import re

from byref.filters.records import Record
from byref.filters.scanner import Number

_WORDS = 8  # in an index of a text, at least
_ENDS = (". ", "! ", "? ", "}, ", "},", "; ", ", ", " ")
_ENTRY = re.compile(r"""\s*(?:[-*] )?["'`*\\]*[\w][\w .()/-]{0,40}["'`*\\]*:(?:\s.{0,60})?|\s*\\*#+ .{1,100}""")


def sentence_end(text: str, start: int, end: int) -> int:
    """Where a line reads best cut, between start and end."""
    for sign in _ENDS:
        at = text.rfind(sign, start + 60, end)
        if at >= 0:
            return at + len(sign)
    return end


def prose_worth(text: str) -> int:
    """What a piece of a text is worth by its form: entries and headings more than running words, these and what is deep by their length."""
    rate = (0 if _ENTRY.fullmatch(text) else 5) + min((len(text) - len(text.lstrip(" "))) // 4, 3)
    return -len(text) * rate // 120


def running(index: Record) -> list[str] | None:
    """The words of a text in their order, where members are words with all of their places from 0 on; else None."""
    if len(index) < _WORDS or not isinstance(index[0][1], list):
        return None
    places: dict[str, str] = {}
    for word, where in index:
        if not isinstance(where, list):
            return None
        for place in where:
            if not isinstance(place, Number) or place in places:
                return None
            places[place] = word
    words = [places.get(str(i)) for i in range(len(places))]
    return [word for word in words if word is not None] if None not in words else None
