"""The words of a call that a text can meet, for shapes that choose what stands by them."""
from __future__ import annotations

import re
from collections.abc import Mapping

from byref.proxy.contracts import Call

_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(("and", "are", "for", "from", "how", "not", "per", "that", "the", "this", "was", "what", "with"))


def words_asked(call: Call) -> frozenset[str]:
    """The words of its arguments and its intent in lower case, three letters and more."""
    found: set[str] = set()
    held = [call.arguments, call.intent]
    while held:
        value = held.pop()
        if isinstance(value, str):
            found.update(word for word in _WORD.findall(value.lower()) if word not in _COMMON)
        elif isinstance(value, Mapping):
            held += value.values()
        elif isinstance(value, (list, tuple)):
            held += value
    return frozenset(found)


def met(asked: frozenset[str], text: str) -> int:
    """How many of these words stand in a text."""
    return len(asked & set(_WORD.findall(text.lower()))) if asked else 0
