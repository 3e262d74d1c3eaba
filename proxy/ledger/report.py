"""What the proxy saved: gross, and net of what its own reductions cost.

net = raw - view - fetched - searched - repeats - definitions. Raw is at most what the harness would have shown of an output. A repeat is
the same call again in the same session, soon after and without a fetch in between; it counts against us only where it shows lines that
the view before it hid (where that cannot be told any more: where that view hid anything), and then with its whole raw size: had that
view been complete, the call would not have been made again, so it saved nothing either.
"""
from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from byref.proxy.contracts import Event
from byref.proxy.ledger.recount import Counts, page_key, raw_key, repeat_key, repeats, view_key
from byref.proxy.ledger.totals import Conversation, Report, Row

__all__ = ["Report", "report"]

HARNESS = 30_000  # bytes of an output beyond which a harness may cut by itself: Claude Code does, at this many characters of a command's
SOON = 10  # calls between a call and the same again; more, and it is asked for what has changed since
WITHOUT_TOOLS = frozenset({"cli", "warm"})  # sessions whose agents have commands and no definitions


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
    _conversations(every, found, definition)
    charged = {id(viewed): known.shows.get(repeat_key(former, viewed), former.numbers.get("gaps", 0) > 0)
               for former, viewed, between in repeats(every) if between < SOON}
    _Walk(found, known, charged).run(every)
    return found


def _conversations(every: Iterable[Event], found: Report, definition: int) -> None:
    """Who called how often, and what was billed: each message once."""
    billed: set[int | None] = set()
    for event in every:
        if event.kind not in ("viewed", "usage"):
            continue
        one = found.conversations.setdefault(event.session, Conversation(event.session))
        message = event.numbers.get("message")
        if event.kind == "viewed":
            one.calls += 1
            one.definition = 0 if event.session in WITHOUT_TOOLS else definition
        elif message not in billed:
            billed.add(message)
            one.messages.add(message)
            for of in (one.billed, found.billed):
                for name, count in event.numbers.items():
                    if name != "message":
                        of[name] = of.get(name, 0) + count
    found.messages = len(billed)


class _Walk:
    """One pass over the events of a report."""

    def __init__(self, found: Report, known: Counts, charged: Mapping[int, bool]) -> None:
        self.found, self.known, self.charged = found, known, charged
        self.hid: set[tuple[str, str]] = set()  # (session, ref) of views that left something out
        self.fetched: set[tuple[str, str]] = set()  # those fetched from since they were last shown
        self.asked: set[tuple[str, str]] = set()
        self.rows: dict[tuple[str, str, str, str], Row] = {}  # by tool, shape, day, session
        self.shown: dict[str, set[str]] = {}  # by ref, the sessions that were shown it
        self.last: dict[str, str] = {}  # by ref, the last of them
        self.days: dict[int, str] = {}
        self.size = 0  # bytes of the output that was captured last: its view comes next
        self.repeated: dict[str, str] = {}  # by session, the former ref of the call that comes next

    def run(self, every: Iterable[Event]) -> None:
        for event in every:
            if event.kind == "captured":
                self.size = event.numbers.get("bytes", 0)
                self._row(event).size += self.size
            elif event.kind == "viewed":
                self._viewed(event, self._row(event))
            elif event.kind == "fetched":
                self._fetched(event)
            elif event.kind == "repeated":
                self.repeated[event.session] = event.ref
            elif event.kind == "searched":
                self._searched(event)
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

    def _conversation(self, session: str) -> Conversation:
        return self.found.conversations.setdefault(session, Conversation(session))

    def _viewed(self, event: Event, row: Row) -> None:
        numbers, key, one = event.numbers, (event.session, event.ref), self._conversation(event.session)
        self.shown.setdefault(event.ref, set()).add(event.session)
        self.last[event.ref] = event.session
        one.so_far += 1
        later = one.later
        raw, view, exact = numbers.get("raw", 0), numbers.get("view", 0), False
        if self.known.tokens:
            counted, shown = self.known.tokens.get(raw_key(event)), self.known.tokens.get(view_key(event))
            if counted is not None and shown is not None:
                raw, view, exact = counted, shown, True
        former = self.repeated.pop(event.session, "")
        again = self.charged.get(id(event), False) and (event.session, former) not in self.fetched
        gaps = numbers.get("gaps", 0) > 0
        row.calls += 1
        row.counted += exact
        row.raw += raw
        row.view += view
        row.reduced += gaps
        row.repeats += again
        row.repeated += raw if again else 0
        row.hid += gaps and key not in self.hid
        row.turns += later
        row.carried += (raw - view - (raw if again else 0)) * later
        if self.size > HARNESS and "native" not in numbers:
            self.found.uncapped += raw - view
        one.raw += raw
        one.held += raw * later
        one.entered += view
        if again:
            self._extra(one, later)
        self.fetched.discard(key)
        if gaps:
            self.hid.add(key)

    def _fetched(self, event: Event) -> None:
        # A tool or command of ours may not know the conversation that it serves: then it is the one that was last shown the output.
        known = event.session in self.shown.get(event.ref, ())
        session = event.session if known else self.last.get(event.ref, event.session)
        row, key, one = self._row(event, session), (session, event.ref), self._conversation(session)
        tokens = self.known.tokens.get(page_key(event), event.numbers.get("tokens", 0))
        row.fetches += 1
        row.fetched += tokens
        row.asked += key in self.hid and key not in self.asked
        row.carried -= tokens * one.later
        self._extra(one, one.later)
        one.entered += tokens
        self.fetched.add(key)
        self.asked.add(key)

    def _searched(self, event: Event) -> None:
        found, one = self.found, self._conversation(event.session)
        tokens = event.numbers.get("tokens", 0)
        found.searches += 1
        one.searched += tokens
        one.search_turns += tokens * one.later
        self._extra(one, one.later)
        one.entered += tokens

    def _extra(self, one: Conversation, later: float) -> None:
        """A request that the agent makes because of us: it reads all so far."""
        one.extra += 1
        one.prefix += one.context
        one.after += later
