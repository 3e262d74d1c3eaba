"""What the proxy saved: gross, and net of what its own reductions cost.

net = raw - view - fetched - searched - repeats - definitions. Raw is at most what the harness would have shown of an output. A repeat is
the same call again in the same session, soon after and without a fetch in between; it counts against us only where it shows lines that
the view before it hid (where that cannot be told any more: where that view hid anything), and then with its whole raw size: had that
view been complete, the call would not have been made again, so it saved nothing either.

Following turns are the requests of the session after the one that first held a text. Their number is known where a provider's bill was
seen; else each call counts as one request, which is an estimate. Sessions that many conversations share have no turns: what they saved
counts once.
"""
from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from byref.proxy.contracts import Event
from byref.proxy.ledger.economics import ASKING, Prices
from byref.proxy.ledger.recount import Counts, page_key, raw_key, repeat_key, repeats, view_key

ESTIMATE = "tokens by the built-in estimate (about 0.3 a character of ASCII), not a provider's count"
HARNESS = 30_000  # bytes of an output beyond which a harness may cut by itself: Claude Code does, at this many characters of a command's
SOON = 10  # calls between a call and the same again; more, and it is asked for what has changed since
SHARED = frozenset({"cli", "mcp", "llm", "warm"})  # sessions of who cannot tell one conversation from another
WITHOUT_TOOLS = frozenset({"cli", "warm"})  # sessions whose agents have commands and no definitions


@dataclass(slots=True)
class Row:
    """Totals of one tool, shape, day or session, or of all. Tokens; size in bytes.

    reduced: views with gaps. counted: calls whose tokens a tokenizer counted. repeats: calls that count as such, repeated: their tokens.
    hid: refs whose view left something out; asked: those of them that were fetched from. turns: following turns, summed over calls;
    carried: what each net token saved in them: net tokens times following turns.
    """

    calls: int = 0
    counted: int = 0
    reduced: int = 0
    size: int = 0
    raw: int = 0
    view: int = 0
    fetches: int = 0
    fetched: int = 0
    repeats: int = 0
    repeated: int = 0
    hid: int = 0
    asked: int = 0
    turns: float = 0.0
    carried: float = 0.0

    def add(self, other: Row) -> None:
        """Takes in another's totals."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def gross(self) -> int:
        """Tokens that the views left out."""
        return self.raw - self.view

    @property
    def net(self) -> int:
        """Tokens saved after all that the reductions cost."""
        return self.gross - self.fetched - self.repeated

    @property
    def saved(self) -> float:
        """Net share of the raw tokens; 0 where there were none."""
        return self.net / self.raw if self.raw else 0.0


@dataclass(slots=True)
class Conversation:
    """A session. billed: tokens by kind over `messages` messages, empty where no bill was seen. raw, held: tokens of its raw outputs, and
    the same times following turns. searched, search_turns: the same of answers of searches. definition: tokens of our tools in each of
    its requests. extra: requests that byref brought about (fetches, searches, repeats); prefix, after: their contexts and their following
    turns, summed.
    """

    name: str
    calls: int = 0
    messages: set[int | None] = field(default_factory=set)
    billed: dict[str, int] = field(default_factory=dict)
    raw: int = 0
    held: float = 0.0
    searched: int = 0
    search_turns: float = 0.0
    definition: int = 0
    extra: int = 0
    prefix: float = 0.0
    after: float = 0.0
    so_far: int = 0  # calls
    entered: int = 0  # tokens

    @property
    def requests(self) -> int:
        """Requests to the model: as billed, else one a call and the first."""
        return len(self.messages) or self.calls + 1

    @property
    def later(self) -> float:
        """Requests after the one that first holds what comes now."""
        if self.name in SHARED:
            return 0.0
        return (self.calls - self.so_far) * self.requests / (self.calls + 1)

    @property
    def context(self) -> float:
        """Tokens of a request now: the mean as billed, else what is known to have entered, which is less."""
        sent = sum(self.billed.get(kind, 0) for kind in ("input", "read", "written"))
        return sent / len(self.messages) if sent else float(self.entered)


@dataclass(slots=True)
class Report:
    """Totals over events. asked: share of the refs with gaps that were fetched from.

    uncapped: net tokens of outputs that a harness may have cut by itself, where it is not known how it does.
    methods: by what tokens were counted, empty where they are estimates. billed: tokens as the provider counted them, over the messages
    of which it is known.
    """

    total: Row = field(default_factory=Row)
    tools: dict[str, Row] = field(default_factory=dict)
    shapes: dict[str, Row] = field(default_factory=dict)
    days: dict[str, Row] = field(default_factory=dict)
    sessions: dict[str, Row] = field(default_factory=dict)
    conversations: dict[str, Conversation] = field(default_factory=dict)
    searches: int = 0
    messages: int = 0
    billed: dict[str, int] = field(default_factory=dict)
    uncapped: int = 0
    methods: tuple[str, ...] = ()

    @property
    def asked(self) -> float:
        """Share of the refs whose view left something out that were fetched from."""
        return self.total.asked / self.total.hid if self.total.hid else 0.0

    @property
    def searched(self) -> int:
        """Tokens of answers of searches."""
        return sum(one.searched for one in self.conversations.values())

    @property
    def definitions(self) -> int:
        """Tokens of our tools' definitions as they enter: once a session."""
        return sum(one.definition for one in self.conversations.values())

    @property
    def net(self) -> int:
        """Tokens saved in all; searches and definitions belong to no tool and are taken off here."""
        return self.total.net - self.searched - self.definitions

    @property
    def carried(self) -> float:
        """Net tokens times the following turns that did not read them."""
        return self.total.carried - sum(
            one.search_turns + one.definition * (one.requests - 1) for one in self.conversations.values())

    @property
    def method(self) -> str:
        """How tokens were had, in words."""
        total = self.total
        if not total.counted:
            return ESTIMATE
        rest = total.calls - total.counted
        counted = f"{total.counted} of {total.calls} calls counted by {', '.join(self.methods)}"
        return counted + (f"; {rest} by the built-in estimate" if rest else "") + ("; searches by the estimate" if self.searches else "")

    def saving(self, prices: Prices) -> float:
        """What was saved at these prices, in input tokens: each token as it is sent and read on, less what extra requests cost."""
        return sum(self._saving(one, prices) for one in self.conversations.values())

    def _saving(self, one: Conversation, prices: Prices) -> float:
        row = self.sessions.get(one.name, Row())
        net = row.net - one.searched - one.definition
        carried = row.carried - one.search_turns - one.definition * (one.requests - 1)
        asking = one.prefix * prices.read + one.extra * ASKING * (prices.output + prices.write) + one.after * ASKING * prices.read
        return net * prices.write + carried * prices.read - asking

    def bill(self, prices: Prices) -> float | None:
        """What the provider billed at these prices, in input tokens; None where no bill was seen."""
        if not self.messages:
            return None
        weights = {"input": 1.0, "read": prices.read, "written": prices.write, "output": prices.output}
        return sum(self.billed.get(kind, 0) * weight for kind, weight in weights.items())

    def of_bill(self, prices: Prices) -> tuple[float, float] | None:
        """Of what the bill would have been without byref: the share that tool results make up, more than which no view can save, and the
        share that was saved. Over sessions whose bill was seen; None where none was.
        """
        bill = self.bill(prices)
        if not bill:
            return None
        known = [one for one in self.conversations.values() if one.messages]
        saved = sum(self._saving(one, prices) for one in known)
        results = sum(one.raw * prices.write + one.held * prices.read for one in known)
        return results / (bill + saved), saved / (bill + saved)

    @property
    def text(self) -> str:
        """Tables and totals for a terminal."""
        from byref.proxy.ledger.tables import plain, tables
        return plain(tables(self))

    def as_dict(self) -> Mapping[str, object]:
        """The same as plain values."""
        def plain(row: Row) -> dict[str, object]:
            return {name: getattr(row, name) for name in (*Row.__slots__, "gross", "net", "saved")}

        def rows(of: Mapping[str, Row]) -> dict[str, object]:
            return {name: plain(row) for name, row in sorted(of.items())}
        return {"total": plain(self.total), "tools": rows(self.tools), "shapes": rows(self.shapes), "days": rows(self.days),
                "sessions": rows(self.sessions), "searches": self.searches, "searched": self.searched, "asked": self.asked, "net": self.net,
                "definitions": self.definitions, "carried": self.carried, "unit": self.method, "methods": list(self.methods),
                "messages": self.messages, "billed": dict(sorted(self.billed.items()))}


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
