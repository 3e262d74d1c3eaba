"""A request's JSON as it is written: where each value stands, so that a string can be replaced and nothing else changes.

Only what may hold tool results is walked; all else is read whole by C code, and kept as the characters that it came in.
"""
from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from byref.proxy.contracts import Json

_BLANK = re.compile(r"[ \t\r\n]*+")
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


def _no_number(text: str) -> Json:
    raise ValueError(f"{text} is no JSON")


_scan = json.JSONDecoder(parse_constant=_no_number).raw_decode


class Node(NamedTuple):
    """A value and where it stands, in characters, half-open. value: of one that was not walked; of one that was, None."""

    start: int = 0
    end: int = 0
    value: Json = None
    members: Mapping[str, Node] = {}
    elements: Sequence[Node] = ()

    def get(self, name: str) -> Node:
        """A member of an object that was walked; `NOTHING` where there is none."""
        return self.members.get(name, NOTHING)

    def text(self, name: str = "") -> str:
        """The string that this is, or that a member is; empty where it is none."""
        value = self.members[name].value if name and name in self.members else None if name else self.value
        return value if isinstance(value, str) else ""

    def truth(self, name: str) -> bool:
        """Whether a member is true."""
        return self.get(name).value is True


NOTHING = Node()


class Edit(NamedTuple):
    """Characters of a request from start to end, half-open, and what stands there instead."""

    start: int
    end: int
    text: str


def parse(body: bytes, into: Collection[str]) -> tuple[str, Node]:
    """The text of a request and its value. into: names of the members that are walked into.

    Raises ValueError for what is no JSON object, and for one in which a name stands twice where we look: what is not understood
    exactly must not be changed.
    """
    text = body.decode()
    try:
        node = _read(text, _after(text, 0), into)
    except (IndexError, RecursionError):
        raise ValueError("the request is no JSON") from None
    if not node.members or _after(text, node.end) != len(text):
        raise ValueError("the request is no JSON object")
    return text, node


def _after(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _read(text: str, at: int, into: Collection[str]) -> Node:
    if text[at] == "{":
        members: dict[str, Node] = {}
        place = _after(text, at + 1)
        while text[place] != "}":
            if text[place] != '"':
                raise ValueError("a member without a name")
            name, end = _scan(text, place)
            place = _after(text, end)
            if text[place] != ":" or name in members:
                raise ValueError(f"the member {name[:40]!r} stands twice, or without a value")
            node = _value(text, _after(text, place + 1), into, name in into)
            members[name] = node
            place = _next(text, node.end, "}")
        return Node(at, place + 1, None, members)
    elements: list[Node] = []
    place = _after(text, at + 1)
    while text[place] != "]":
        node = _value(text, place, into, True)
        elements.append(node)
        place = _next(text, node.end, "]")
    return Node(at, place + 1, None, {}, elements)


def _value(text: str, at: int, into: Collection[str], walk: bool) -> Node:
    if walk and text[at] in "{[":
        return _read(text, at, into)
    value, end = _scan(text, at)
    return Node(at, end, value)


def _next(text: str, at: int, close: str) -> int:
    """Where the next member or element begins, or the bracket that closes stands."""
    place = _after(text, at)
    if text[place] == close:
        return place
    if text[place] != ",":
        raise ValueError("a comma is missing")
    place = _after(text, place + 1)
    if text[place] == close:
        raise ValueError("a comma too many")
    return place


def offset(literal: str, count: int) -> int:
    """Where in a JSON string literal, quotes included, the text's character number `count` begins."""
    at, read = 1, 0
    for escape in _ESCAPE.finditer(literal, 1, len(literal) - 1):
        if read + escape.start() - at >= count:
            break
        read += escape.start() - at + 1
        at = escape.end()
    return at + count - read


def literal(text: str) -> str:
    """A text as a JSON string literal; ASCII alone where it holds what no UTF-8 can."""
    found = json.dumps(text, ensure_ascii=False)
    return found if found.isascii() or _encodes(found) else json.dumps(text)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits made, which are in order and apart."""
    pieces, at = [], 0
    for edit in edits:
        pieces += [text[at:edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])
