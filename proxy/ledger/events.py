"""The events of one capture or one second call. They hold numbers, refs and tool names: no output text, no arguments.

Tokens are the built-in estimate of `byref.proxy.text.estimate`; a report says so. Kinds and their numbers:

| kind     | ref             | numbers                                                                        |
|----------|-----------------|--------------------------------------------------------------------------------|
| captured | the output      | bytes, raw (tokens of the raw output), parts                                   |
| viewed   | the output      | raw, view (tokens), gaps (how many)                                            |
| repeated | the former one  | raw, view of the call that repeats it                                          |
| fetched  | the output      | tokens, bytes of one page                                                      |
| searched | -               | tokens of the answer, hits                                                     |
| usage    | of its 1st call | message (hash of its id); as billed: input, read and written (cache), output   |
"""
from __future__ import annotations

from byref.proxy.contracts import Event
from byref.proxy.text import short_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def captured(*, at: float, session: str, ref: str, tool: str, shape: str, size: int, raw: int, view: int, parts: int, gaps: int,
             repeats: str = "") -> tuple[Event, ...]:
    """The events of one capture. repeats: the ref of the former output of the same call in this session.

    A repeat is noted before the view that answers it, so that what the former view hid can be told from what this one hides.
    """
    def event(kind: str, of: str, numbers: Mapping[str, int]) -> Event:
        return Event(kind, at, session, of, tool, shape, numbers)

    first = event("captured", ref, {"bytes": size, "raw": raw, "parts": parts})
    last = event("viewed", ref, {"raw": raw, "view": view, "gaps": gaps})
    return (first, event("repeated", repeats, {"raw": raw, "view": view}), last) if repeats else (first, last)


def fetched(*, at: float, session: str, ref: str, tool: str, shape: str, tokens: int, size: int) -> Event:
    """One page of a second call."""
    return Event("fetched", at, session, ref, tool, shape, {"tokens": tokens, "bytes": size})


def searched(*, at: float, session: str, tokens: int, hits: int) -> Event:
    """One answer of a search."""
    return Event("searched", at, session, "", "", "", {"tokens": tokens, "hits": hits})


def usage(*, at: float, session: str, ref: str, tool: str, message: str, numbers: Mapping[str, int]) -> Event:
    """What one message of a model cost, as the provider billed it, in the provider's own tokens.

    ref: the output of the first call that the message made, if any. message: its id, of which 60 bits of a hash are kept, so
    that no message counts twice. A number that the provider did not give is absent: unknown, not 0.
    """
    return Event("usage", at, session, ref, tool, "", {"message": message_number(message), **numbers})


def message_number(message: str) -> int:
    """60 bits that stand for a message's id."""
    return int.from_bytes(short_hash(message), "big") >> 4
