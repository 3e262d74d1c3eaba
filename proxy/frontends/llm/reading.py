"""A request's JSON as it is written: where each value stands, so that a string can be replaced and nothing else changes.

Only what may hold tool results is walked; all else is read whole by C code, and kept as the characters that it came in.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from byref.proxy.contracts import Json

_BLANK = re.compile(r"[ \t\r\n]*+")
_NAME = re.compile(r'"([^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+)"[ \t\r\n]*+:[ \t\r\n]*+')
_FOLLOWS = re.compile(r"[ \t\r\n]*+([,\]}])")
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


def _no_number(text: str) -> Json:
    raise ValueError(f"{text} is no JSON")


_scan: Callable[[str, int], tuple[Json, int]] = getattr(json.JSONDecoder(parse_constant=_no_number), "scan_once")  # noqa: B009  no stub


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


class Parsed(NamedTuple):
    """A request and its value."""

    text: str
    node: Node

    def known(self, text: str) -> dict[int, Node]:
        """Values that stand in another request at the same place, by where they start: the elements of lists at the top."""
        lists = [node.elements for node in self.node.members.values() if node.elements]
        if not lists or text[:lists[0][0].end] != self.text[:lists[0][0].end]:
            return {}
        same = _common(text, self.text)
        return {one.start: one for elements in lists for one in elements if one.end < same}


def parse(body: bytes, into: Collection[str], formers: Iterable[Parsed] = ()) -> Parsed:
    """The text of a request and its value. into: names of the members that are walked into.

    formers: requests before it, of which one may begin as it does: what they share is not read again.

    Raises ValueError for what is no JSON object, and for one in which a name stands twice where we look: what is not understood
    exactly must not be changed.
    """
    text = body.decode()
    known = next(filter(None, (former.known(text) for former in formers)), {})
    try:
        node = _read(text, _after(text, 0), into, known)
    except (IndexError, StopIteration, RecursionError):
        raise ValueError("the request is no JSON") from None
    if not node.members or _after(text, node.end) != len(text):
        raise ValueError("the request is no JSON object")
    return Parsed(text, node)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _after(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _read(text: str, at: int, into: Collection[str], known: Mapping[int, Node]) -> Node:
    """An object or a list that is walked. One match a member and one a comma: a request has thousands."""
    members: dict[str, Node] = {}
    elements: list[Node] = []
    close = "}" if text[at] == "{" else "]"
    named, walk, name = close == "}", True, ""
    place = _after(text, at + 1)
    if text[place] == close:
        return Node(at, place + 1, None, members, elements)
    while True:
        if named:
            begun = _NAME.match(text, place)
            if begun is None:
                raise ValueError("a member without a name")
            name, place = begun[1], begun.end()
            if "\\" in name:
                name = json.loads(f'"{name}"')
            walk = name in into
            if name in members:
                raise ValueError(f"the member {name[:40]!r} stands twice")
        if walk and text[place] in "{[":
            node = known.get(place) or _read(text, place, into, known)
        else:
            value, end = _scan(text, place)
            node = Node(place, end, value)
        if named:
            members[name] = node
        else:
            elements.append(node)
        follows = _FOLLOWS.match(text, node.end)
        if follows is None or (follows[1] != "," and follows[1] != close):
            raise ValueError("a comma is missing")
        if follows[1] == close:
            return Node(at, follows.end(), None, members, elements)
        place = _after(text, follows.end())


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
