"""Counts what the ledger only estimated: the tokens of raw outputs, views and fetched pages, from what the store still holds.

It runs when a report is asked for, never while an agent waits. Each count becomes an event of its own, so that no text is counted
twice, and that a count outlives the text. What is no longer held, answers of searches, and events of older ledgers that do not name
their text keep the estimate; a report says of how many figures that is true.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from byref.proxy.contracts import Capture, Event, Source
from byref.proxy.errors import ByrefError
from byref.proxy.ledger import events
from byref.proxy.ledger.counter import TokenCounter
from byref.proxy.text import estimate, to_text

_NUMBERED = re.compile(r"^\d+[→\t:|-]")
_BLOCK = 1 << 20  # characters that are counted at a time
_TOGETHER = 500  # texts that are counted at a time


class Held(Protocol):
    """What is asked of a store."""

    def views(self, ref: str) -> Iterable[Capture]: ...
    def open(self, digest: str) -> Source: ...


Page = Callable[[str, str, str], str | None]  # scope, ref, address: the text of the whole stretch, None where there is none


@dataclass(slots=True)
class Counts:
    """What was counted: tokens by key, whether a repeat shows what was hid by key, and by which methods.

    keys: of raw outputs, by what they are made of, since a report asks for each several times.
    """

    tokens: dict[int, int] = field(default_factory=dict)
    shows: dict[int, bool] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)
    keys: dict[tuple[str, int, int | None], int] = field(default_factory=dict)

    def of(self, viewed: Event) -> tuple[int, int]:
        """The keys of the raw output of a view, and of its text."""
        numbers = viewed.numbers
        made = viewed.ref, numbers.get("aside", 0), numbers.get("native")
        raw = self.keys.get(made)
        if raw is None:
            raw = self.keys[made] = raw_key(viewed)
        return raw, numbers.get("text") or raw

    def take(self, event: Event) -> None:
        """Takes in an event `counted`."""
        numbers = event.numbers
        if "tokens" in numbers:
            self.tokens[numbers["key"]] = numbers["tokens"]
            self.methods.add(event.tool)
        else:
            self.shows[numbers["key"]] = bool(numbers.get("shows"))


def raw_key(viewed: Event) -> int:
    """The key of the raw output of a view: the same bytes, the same parts, cut alike by the harness."""
    numbers = viewed.numbers
    most = _most(numbers)
    return events.key(f"raw {viewed.ref} {numbers.get('aside', 0)} {'' if most is None else most}")


def _most(numbers: Mapping[str, int]) -> int | None:
    """Characters that the harness shows at most; None for all, and where that is not known."""
    native = numbers.get("native", events.WHOLE)
    return None if native == events.WHOLE else native


def view_key(viewed: Event) -> int:
    """The key of the view's text; that of the raw output where the view is that."""
    return viewed.numbers.get("text") or raw_key(viewed)


def page_key(fetched: Event) -> int:
    """The key of a fetched page."""
    return events.key(f"page {fetched.ref} {fetched.note} {fetched.numbers.get('bytes')} {fetched.numbers.get('tokens')}")


def repeat_key(former: Event, viewed: Event) -> int:
    """The key of a repeat: the view of the former call, and the one that answers the repeat."""
    return events.key(f"repeat {former.ref} {view_key(former)} {viewed.ref} {view_key(viewed)}")


def repeats(ledger: Sequence[Event]) -> Iterator[tuple[Event, Event, int]]:
    """Each repeat in a session: the view of the former call, the view that answers the call made again, and how many calls lie between."""
    again = {(event.session, event.ref) for event in ledger if event.kind == "repeated"}
    if not again:
        return
    seen: dict[tuple[str, str], tuple[Event, int]] = {}
    calls: dict[str, int] = {}
    waiting: dict[str, str] = {}
    for event in ledger:
        if event.kind == "repeated":
            waiting[event.session] = event.ref
        elif event.kind == "viewed":
            number = calls[event.session] = calls.get(event.session, 0) + 1
            former = seen.get((event.session, waiting.pop(event.session, ""))) if waiting else None
            if former is not None:
                yield former[0], event, number - former[1] - 1
            if (event.session, event.ref) in again:
                seen[event.session, event.ref] = event, number


class _Batch:
    """Texts that are counted together: a tokenizer takes many small ones in a third of the time of one by one."""

    def __init__(self, counter: TokenCounter, at: float, known: Counts) -> None:
        self.counter, self._at, self._known = counter, at, known
        self._texts: dict[int, str] = {}
        self._size = 0

    def holds(self, key: int) -> bool:
        """Whether this text was counted, or is about to be."""
        return key in self._known.tokens or key in self._texts

    def add(self, key: int, text: str) -> Iterator[Event]:
        """Takes a text in; the events of all, once they are many."""
        self._texts[key] = text
        self._size += len(text)
        if self._size > _BLOCK or len(self._texts) >= _TOGETHER:
            yield from self.rest()

    def counted(self, key: int, tokens: int) -> Event:
        """The event of a count, which is known from now on."""
        event = events.counted(at=self._at, key=key, method=self.counter.name, tokens=tokens)
        self._known.take(event)
        return event

    def rest(self) -> Iterator[Event]:
        """The events of those that were taken in."""
        texts, self._texts, self._size = self._texts, {}, 0
        if texts:
            for key, tokens in zip(texts, self.counter.count(list(texts.values())), strict=True):
                yield self.counted(key, tokens)


def recount(ledger: Iterable[Event], held: Held, page: Page, counter: TokenCounter, at: float, known: Counts) -> Iterator[Event]:
    """The events `counted` that the ledger lacks. known: what was counted before; it grows as this goes on.

    Where the counter is an estimate itself there is nothing to count.
    """
    every = list(ledger)
    batch = _Batch(counter, at, known)
    if counter.exact:
        for event in every:
            if event.kind == "viewed" and event.ref:
                yield from _viewed(event, held, batch, known)
            elif event.kind == "fetched" and event.ref and not batch.holds(page_key(event)):
                text = _page(event, held, page)
                if text is not None:
                    yield from batch.add(page_key(event), text)
        yield from batch.rest()
    for former, viewed, _ in repeats(every):
        key = repeat_key(former, viewed)
        if key not in known.shows and former.ref and viewed.ref:
            shows = _shows(former, viewed, held)
            if shows is not None:
                known.shows[key] = shows
                yield events.compared(at=at, key=key, shows=shows)


def _viewed(event: Event, held: Held, batch: _Batch, known: Counts) -> Iterator[Event]:
    numbers = event.numbers
    if "text" not in numbers and numbers.get("view") != numbers.get("raw"):
        return  # an older ledger: its view cannot be told from others of the ref
    raw, view = known.of(event)
    if batch.holds(raw) and batch.holds(view):
        return
    calls = list(held.views(event.ref))
    if not batch.holds(raw) and calls:
        yield from _raw(raw, calls[0], held, numbers.get("aside", 0), _most(numbers), batch)
    if not batch.holds(view):
        text = _view(calls, event)
        if text is not None:
            yield from batch.add(view, text)


def _view(calls: Iterable[Capture], viewed: Event) -> str | None:
    """The view that an event names, of one of these calls."""
    aside = viewed.numbers.get("aside", 0)
    texts = (whole(call.view.head, [text for i, text in enumerate(call.view.texts) if not aside >> i & 1])
             for call in calls if not call.view.passed)
    return next((text for text in texts if events.key(text) == viewed.numbers.get("text")), None)


def _raw(key: int, call: Capture, held: Held, aside: int, native: int | None, batch: _Batch) -> Iterator[Event]:
    """Counts the raw output as the agent would have got it: its parts as one text, at most as much as the harness shows."""
    parts = [part for i, part in enumerate(call.manifest.parts) if not aside >> i & 1]
    try:
        text = _cut(_joined([_texts(held.open(part.blob.digest)) for part in parts]), native)
        if sum(part.blob.size for part in parts) > _BLOCK:
            yield batch.counted(key, batch.counter.run(text))
        else:
            yield from batch.add(key, "".join(text))
    except ByrefError:
        return


def _texts(source: Source) -> Iterator[str]:
    """A part as text, in pieces that end where a character does."""
    left = b""
    for block in source.blocks():
        data = left + block
        end = len(data)
        while end and len(data) - end < 4 and data[end - 1] & 0xC0 == 0x80:
            end -= 1
        end -= end > 0 and data[end - 1] >= 0xC0
        left = data[end:]
        yield to_text(data[:end])
    yield to_text(left)


def _joined(parts: Iterable[Iterator[str]]) -> Iterator[str]:
    """Parts as one text, with a line end between them where there is none, as `whole` has it."""
    last = ""
    for number, part in enumerate(parts):
        if number and last and not last.endswith("\n"):
            yield "\n"
        last = ""
        for text in part:
            last = text or last
            yield text


def _cut(texts: Iterable[str], most: int | None) -> Iterator[str]:
    left = most
    for text in texts:
        if left is None:
            yield text
        elif left > 0:
            yield text[:left]
            left -= len(text)


def whole(head: str, texts: Iterable[str]) -> str:
    """A view as one text: its head and its parts."""
    return "".join([head, *_joined(iter([text]) for text in texts)])


def _page(event: Event, held: Held, page: Page) -> str | None:
    """The text of a fetched page, where its address brings as much as was fetched."""
    scope = next((call.scope for call in held.views(event.ref)), None)
    text = None if scope is None else page(scope, event.ref, event.note)
    return text if text is not None and estimate(text) == event.numbers.get("tokens") else None


def _shows(former: Event, viewed: Event, held: Held) -> bool | None:
    """Whether a repeat shows lines that the view before it hid. None where that cannot be told any more."""
    if not former.numbers.get("gaps"):
        return False
    calls = list(held.views(former.ref))
    before = _view(calls, former)
    after = _view(held.views(viewed.ref), viewed) if viewed.numbers.get("text") else _whole(viewed, held)
    raw = _whole(former, held)
    if before is None or after is None or raw is None:
        return None
    return bool((_lines(raw) - _lines(before)) & _lines(after) - {""})


def _lines(text: str) -> set[str]:
    """The lines of a text, stripped, without the line number that a view may have left out."""
    return {_NUMBERED.sub("", line.strip()).strip() for line in text.split("\n")}


def _whole(event: Event, held: Held) -> str | None:
    """The raw output of a call, if it is held and not too large to compare."""
    call = next(iter(held.views(event.ref)), None)
    if call is None or sum(part.blob.size for part in call.manifest.parts) > 8 * _BLOCK:
        return None
    try:
        return "\n".join(text for part in call.manifest.parts for text in ["".join(_texts(held.open(part.blob.digest)))])
    except ByrefError:
        return None
