"""What the proxy saved: gross, and net of what its own reductions cost.

net = raw - view - fetched - searched - repeats - definitions; second calls that found nothing count as searches do. Raw is at most what
the harness would have shown of an output, and where that is not known at most its first 30,000 bytes. A repeat is the same call again
in the same session, soon after and without a fetch in between; it counts against us only where it shows lines that the view before it
hid (where that cannot be told any more: where that view hid anything), and then with its whole raw size: had that view been complete,
the call would not have been made again, so it saved nothing either.
"""
from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from byref.proxy.contracts import Event
from byref.proxy.ledger.recount import Counts, page_key, repeat_key, repeats
from byref.proxy.ledger.totals import Conversation, Report, Row

__all__ = ["Report", "report", "uncollected"]

# Bytes of an output beyond which harnesses cut by themselves, Claude Code at this many characters of a command's. It shows 2 KB then,
# others show about as much as this: what is beyond was not saved by us.
HARNESS = 30_000
SOON = 10  # calls between a call and the same again; more, and it is asked for what has changed since
WITHOUT_TOOLS = frozenset({"cli", "warm"})  # sessions whose agents have commands and no definitions


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cyclic garbage meanwhile: it would walk all events again and again, a fifth of the time of a report."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def report(ledger: Iterable[Event], *, counts: Counts | None = None, definition: int = 0) -> Report:
    """Totals over events, oldest first, as `Store.events` gives them.

    counts: what was counted beyond the events' own `counted`. definition: tokens of our tools' definitions, charged to every session
    whose agent may have them.
    """
    every = list(ledger)
    known = counts or Counts()
    for event in every:
        if event.kind == "counted":
            known.take(event)
    found = Report(methods=tuple(sorted(known.methods)))
    every = _heard(every)
    _conversations(every, found, definition)
    charged = {id(viewed): known.shows.get(repeat_key(former, viewed), former.numbers.get("gaps", 0) > 0)
               for former, viewed, between in repeats(every) if between < SOON}
    _Walk(found, known, charged).run(every)
    return found


def _heard(every: list[Event]) -> list[Event]:
    """The events as agents saw them: in the place of a view that nobody waited for stands the raw output."""
    if not any(event.kind == "unheard" for event in every):
        return every
    last: dict[tuple[str, str], int] = {}
    found = list(every)
    for place, event in enumerate(every):
        if event.kind == "viewed":
            last[event.session, event.ref] = place
        elif event.kind == "unheard" and (at := last.get((event.session, event.ref))) is not None:
            viewed = every[at]
            numbers = {name: value for name, value in viewed.numbers.items() if name != "text"}
            found[at] = Event(viewed.kind, viewed.at, viewed.session, viewed.ref, viewed.tool, viewed.shape,
                              {**numbers, "view": numbers.get("raw", 0), "gaps": 0})
    return found


def _conversations(every: Sequence[Event], found: Report, definition: int) -> None:
    """Who called how often, and what was billed: each message once."""
    billed: set[int | None] = set()
    for event in every:
        if event.kind not in ("viewed", "usage", "compacted", "uncached"):
            continue
        one = _of(found, event.session)
        if event.session not in WITHOUT_TOOLS and (event.kind == "viewed" or event.numbers.get("ours")):
            one.definition = definition
        if event.kind == "viewed":
            one.calls += 1
        elif event.kind == "compacted":
            one.ends.append(one.calls)
        elif event.kind == "uncached":
            one.uncached += event.numbers.get("tokens", 0)
            found.uncached[event.numbers.get("minimum", 0)] += 1
        elif (message := event.numbers.get("message")) not in billed:
            billed.add(message)
            one.messages.add(message)
            for of in (one.billed, found.billed):
                for name, count in event.numbers.items():
                    if name not in ("message", "ours"):
                        of[name] = of.get(name, 0) + count
    found.messages = len(billed)


def _of(found: Report, session: str) -> Conversation:
    one = found.conversations.get(session)
    return found.conversations.setdefault(session, Conversation(session)) if one is None else one


class _Walk:
    """One pass over the events of a report."""

    def __init__(self, found: Report, known: Counts, charged: Mapping[int, bool]) -> None:
        self.found, self.known, self.charged = found, known, charged
        self.hid: dict[tuple[str, str], Row] = {}  # by (session, ref) of views that left something out, the row that counts them
        self.fetched: set[tuple[str, str]] = set()  # those fetched from since they were last shown
        self.asked: set[tuple[str, str]] = set()
        self.rows: dict[tuple[str, str, str, str], Row] = {}  # by tool, shape, day, session
        self.shown: dict[str, set[str]] = {}  # by ref, the sessions that were shown it
        self.last: dict[str, str] = {}  # by ref, the last of them
        self.latest = ""  # the session that was shown an output last
        self.days: dict[int, str] = {}
        self.size = 0  # bytes of the output that was captured last: its view comes next
        self.wanted: frozenset[str] = frozenset()  # refs that were fetched from: who was shown others is of no use
        self.repeated: dict[str, str] = {}  # by session, the former ref of the call that comes next

    def run(self, every: Sequence[Event]) -> None:
        self.wanted = frozenset(event.ref for event in every if event.kind == "fetched")
        row, captured = Row(), None
        for event in every:
            if event.kind == "captured":
                self.size, captured = event.numbers.get("bytes", 0), event
                row = self._row(event)
                row.size += self.size
            elif event.kind == "viewed":
                same = captured is not None and (event.ref, event.at, event.session, event.tool, event.shape) == (
                    captured.ref, captured.at, captured.session, captured.tool, captured.shape)
                self._viewed(event, row if same else self._row(event))
            elif event.kind == "fetched":
                self._fetched(event)
            elif event.kind == "repeated":
                self.repeated[event.session] = event.ref
            elif event.kind in ("searched", "missed"):
                self._searched(event)
            elif event.kind == "compacted":
                self._compacted(event)
        found = self.found
        for names, row in self.rows.items():
            found.total.add(row)
            for of, name in zip((found.tools, found.shapes, found.days, found.sessions), names, strict=True):
                of.setdefault(name, Row()).add(row)

    def _row(self, event: Event, session: str | None = None) -> Row:
        number = int(event.at // 86400)
        day = self.days.get(number) or self.days.setdefault(number, time.strftime("%Y-%m-%d", time.gmtime(event.at)))
        names = event.tool, event.shape, day, event.session if session is None else session
        row = self.rows.get(names)
        return self.rows.setdefault(names, Row()) if row is None else row

    def _viewed(self, event: Event, row: Row) -> None:
        numbers, one = event.numbers, _of(self.found, event.session)
        self.latest = event.session
        if event.ref in self.wanted:
            self.shown.setdefault(event.ref, set()).add(event.session)
            self.last[event.ref] = event.session
        one.so_far += 1
        later = one.later
        raw, view, gaps = numbers.get("raw", 0), numbers.get("view", 0), numbers.get("gaps", 0) > 0
        if self.known.tokens:
            keys, tokens = self.known.of(event), self.known.tokens
            if keys[0] in tokens and keys[1] in tokens:
                raw, view = tokens[keys[0]], tokens[keys[1]]
                row.counted += 1
        if self.size > HARNESS and "native" not in numbers:
            most = max(view, raw * HARNESS // self.size)
            self.found.uncapped += raw - most
            raw = most
        former = self.repeated.pop(event.session, "") if self.repeated else ""
        again = bool(self.charged) and self.charged.get(id(event), False) and (event.session, former) not in self.fetched
        row.calls += 1
        row.raw += raw
        row.view += view
        row.turns += later
        row.carried += (raw - view - (raw if again else 0)) * later
        if again:
            row.repeats += 1
            row.repeated += raw
        one.entered += view
        if again:
            self._extra(one, later)
        else:
            one.raw += raw
            one.held += raw * later
        key = event.session, event.ref
        self.fetched.discard(key)
        if gaps:
            row.reduced += 1
            if key not in self.hid:
                self.hid[key] = row
                row.hid += 1

    def _fetched(self, event: Event) -> None:
        # A tool or command of ours may not know the conversation that it serves: then it is the one that was last shown the output.
        known = event.session in self.shown.get(event.ref, ())
        session = event.session if known else self.last.get(event.ref, event.session)
        row, key, one = self._row(event, session), (session, event.ref), _of(self.found, session)
        tokens = self.known.tokens.get(page_key(event), event.numbers.get("tokens", 0))
        row.fetches += 1
        row.fetched += tokens
        if key in self.hid and key not in self.asked:
            self.hid[key].asked += 1  # a share of what was hidden on its day, whenever it was fetched
        row.carried -= tokens * one.later
        self._extra(one, one.later)
        one.entered += tokens
        self.fetched.add(key)
        self.asked.add(key)

    def _searched(self, event: Event) -> None:
        # By who was never shown an output here, it is for the conversation that was shown one last.
        known = event.session in self.found.conversations and self.found.conversations[event.session].calls > 0
        found, one = self.found, _of(self.found, event.session if known else self.latest or event.session)
        tokens = event.numbers.get("tokens", 0)
        found.searches += event.kind == "searched"
        found.misses += event.kind == "missed"
        one.searched += tokens
        one.search_turns += tokens * one.later
        self._extra(one, one.later)
        one.entered += tokens

    def _compacted(self, event: Event) -> None:
        """What entered so far is gone; what stands in its place is not known."""
        one = _of(self.found, event.session)
        one.compacted += 1
        one.entered = 0

    def _extra(self, one: Conversation, later: float) -> None:
        """A request that the agent makes because of us: it reads all so far."""
        one.extra += 1
        one.prefix += one.context
        one.after += later
