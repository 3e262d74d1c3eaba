"""The events of one capture or one second call. They hold numbers, refs and tool names: no output text, no arguments of tools.

Events are only ever added, and so are their numbers: what an older ledger lacks is unknown. Tokens are the built-in estimate of
`byref.proxy.text.estimate`, since no tokenizer is loaded while an agent waits; `byref.proxy.ledger.recount` counts them later, and
adds a `counted` for each text. Kinds and their numbers:

| kind     | ref             | numbers                                                                        |
|----------|-----------------|--------------------------------------------------------------------------------|
| captured | the output      | bytes, raw (tokens of the raw output), parts                                   |
| viewed   | the output      | raw, view (tokens), gaps (how many); text (key of a view that is not the raw   |
|          |                 | output); native (characters that the harness shows, -1: all), aside (bits: parts     |
|          |                 | not shown)                                                                     |
| repeated | the former one  | raw, view of the call that repeats it                                          |
| fetched  | the output      | tokens, bytes of one page; note: its address                                   |
| searched | -               | tokens of the answer, hits; meant1, ... (keys of the refs of hits that only    |
|          |                 | layers of meaning brought); note: the query, through the projection; micros    |
|          |                 | until it was there; best (places, at most 10), ended-LAYER (micros), and       |
|          |                 | named-LAYER (places of the best that no layer had named before): `anytime`     |
| missed   | -               | tokens of the refusal: a second call that found nothing; note: which kind it is |
| unheard  | the output      | none: nobody waited for its last view, the raw output stood                    |
| compacted | -              | none: the conversation was compacted, what was shown before is read no longer  |
| counted  | -               | key of a text, its tokens; tool: by what they were counted. Of a repeat, shows: |
|          |                 | whether it shows lines that the former view hid                                |
| usage    | of its 1st call | message (hash of its id); as billed: input, read and written (cache), output;  |
|          |                 | ours: 1 where the request carried the definitions of our tools                 |
| uncached | -               | of a prompt that views brought below what its provider caches: tokens, minimum |
"""
from __future__ import annotations

from byref.proxy.contracts import Event
from byref.proxy.text import project, short_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NOTE = 200  # characters of a note
WHOLE = -1  # as `native`: the harness shows all of it, or has cut it already
_BILLED = 1 << 40  # tokens of one message that no provider can bill
_MEANING = frozenset({"static", "dense", "late", "sparse"})
_NOTES = frozenset({"shown", "duplicate"})  # signals that say how a hit stands to others, not what brought it


def captured(*, at: float, session: str, ref: str, tool: str, shape: str, size: int, raw: int, view: int, parts: int, gaps: int,
             repeats: str = "", text: str = "", native: int | None = None, aside: int = 0) -> tuple[Event, ...]:
    """The events of one capture. repeats: the ref of the former output of the same call in this session.

    text: of a view that is not the raw output. native: characters that the harness would have shown, `WHOLE` for all. aside: a bit for
    each part that is not shown.

    A repeat is noted before the view that answers it, so that what the former view hid can be told from what this one hides.
    """
    def event(kind: str, of: str, numbers: Mapping[str, int]) -> Event:
        return Event(kind, at, session, of, tool, shape, numbers)

    first = event("captured", ref, {"bytes": size, "raw": raw, "parts": parts})
    more = {"text": key(text) if text else 0, "aside": aside} | ({} if native is None else {"native": native})
    last = event("viewed", ref, {"raw": raw, "view": view, "gaps": gaps} | {
        name: value for name, value in more.items() if value or name == "native"})
    return (first, event("repeated", repeats, {"raw": raw, "view": view}), last) if repeats else (first, last)


def fetched(*, at: float, session: str, ref: str, tool: str, shape: str, tokens: int, size: int, address: str = "") -> Event:
    """One page of a second call."""
    return Event("fetched", at, session, ref, tool, shape, {"tokens": tokens, "bytes": size}, address if len(address) <= NOTE else "")


def searched(*, at: float, session: str, tokens: int, hits: int, query: str = "", meant: Iterable[str] = (),
             times: Mapping[str, int] | None = None) -> Event:
    """One answer of a search. meant: refs of hits that only layers of meaning brought. times: as `anytime.Timeline` has them."""
    keys = {f"meant{number}": key(ref) for number, ref in enumerate(dict.fromkeys(meant), 1)}
    return Event("searched", at, session, "", "", "", {"tokens": tokens, "hits": hits} | keys | dict(times or {}), project(query)[:NOTE])


def missed(at: float, session: str, tokens: int, reason: str) -> Event:
    """A second call that found nothing. What it asked for is not kept: it may be a ref that was purged, or anything at all."""
    return Event("missed", at, session, "", "", "", {"tokens": tokens}, reason)


def unheard(*, at: float, session: str, ref: str) -> Event:
    """The view that a session was last given of an output came too late: the raw output stood."""
    return Event("unheard", at, session, ref, "", "", {})


def compacted(*, at: float, session: str) -> Event:
    """A conversation was compacted: its next request carries none of the outputs before."""
    return Event("compacted", at, session, "", "", "", {})


def meant(signals: Sequence[str]) -> bool:
    """Whether only layers of meaning brought a hit with these signals. A signal may name its model behind a sign."""
    names = {signal.replace(":", "-").partition("-")[0] for signal in signals} - _NOTES
    return bool(names) and names <= _MEANING


def counted(*, at: float, key: int, method: str, tokens: int) -> Event:
    """The tokens of a text that an event names by its key. method: what counted them."""
    return Event("counted", at, "", "", method, "", {"key": key, "tokens": tokens})


def compared(*, at: float, key: int, shows: bool) -> Event:
    """Whether a repeat shows lines that the view before it hid."""
    return Event("counted", at, "", "", "", "", {"key": key, "shows": int(shows)})


def usage(*, at: float, session: str, ref: str, tool: str, message: str, numbers: Mapping[str, int]) -> Event:
    """What one message of a model cost, as the provider billed it, in the provider's own tokens.

    ref: the output of the first call that the message made, if any. message: its id, of which 60 bits of a hash are kept, so
    that no message counts twice. A number that the provider did not give is absent: unknown, not 0; so is one that no bill can hold.
    """
    sound = {name: value for name, value in numbers.items() if type(value) is int and 0 <= value < _BILLED}
    return Event("usage", at, session, ref, tool, "", {"message": message_number(message), **sound})


def uncached(*, at: float, session: str, tokens: int, minimum: int) -> Event:
    """Views took a prompt below the tokens from which its provider caches one; tokens by the estimate."""
    return Event("uncached", at, session, "", "", "", {"tokens": tokens, "minimum": minimum})


def message_number(message: str) -> int:
    """60 bits that stand for a message's id."""
    return key(message)


def key(text: str) -> int:
    """60 bits that stand for a text."""
    return int.from_bytes(short_hash(text), "big") >> 4
