"""Totals of the ledger: by tool, shape, day and session, what was saved of a bill, and how tokens were counted.

Following turns are the requests of the session after the one that first held a text. Their number is known where a provider's bill was
seen; else each call counts as one request, which is an estimate. They end with the session, and with a compaction. Sessions that many
conversations share have no turns: what they saved counts once.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from byref.proxy.ledger.economics import ASKING, Prices

ESTIMATE = "tokens by the built-in estimate (about 0.3 a character of ASCII), not a provider's count"
SHARED = frozenset({"cli", "mcp", "llm", "warm"})  # sessions of who cannot tell one conversation from another


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
    the same times following turns, without those of repeats, which without byref would not have been made. searched, search_turns: the same
    of answers of searches, and of second calls that found nothing.
    ends: calls before each compaction, after which no request reads their outputs. definition: tokens of our tools in each of its requests.
    extra: requests that byref brought about (fetches, searches, repeats); prefix, after: their contexts and their following turns, summed.
    uncached: tokens of prompts that views made too short for the provider's cache.
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
    uncached: int = 0
    ends: list[int] = field(default_factory=list)
    so_far: int = 0  # calls
    compacted: int = 0  # times
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
        end = self.ends[self.compacted] if self.compacted < len(self.ends) else self.calls
        return (end - self.so_far) * self.requests / (self.calls + 1)

    @property
    def context(self) -> float:
        """Tokens of a request now: the mean as billed, else what is known to have entered, which is less."""
        sent = sum(self.billed.get(kind, 0) for kind in ("input", "read", "written"))
        return sent / len(self.messages) if sent else float(self.entered)


@dataclass(slots=True)
class Report:
    """Totals over events. asked: share of the refs with gaps that were fetched from.

    uncapped: tokens of outputs beyond what a harness may show by itself, where it is not known how it cuts: raw does not hold them.
    uncached: prompts that views made too short for their provider's cache, by the tokens from which it caches.
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
    misses: int = 0
    messages: int = 0
    billed: dict[str, int] = field(default_factory=dict)
    uncapped: int = 0
    uncached: Counter[int] = field(default_factory=Counter)
    methods: tuple[str, ...] = ()

    @property
    def asked(self) -> float:
        """Share of the refs whose view left something out that were fetched from."""
        return self.total.asked / self.total.hid if self.total.hid else 0.0

    @property
    def searched(self) -> int:
        """Tokens of answers of searches, and of second calls that found nothing."""
        return sum(one.searched for one in self.conversations.values())

    @property
    def definitions(self) -> int:
        """Tokens of our tools' definitions as they enter: once a session."""
        return sum(one.definition for one in self.conversations.values())

    @property
    def uncached_tokens(self) -> int:
        """Tokens of the prompts that views made too short for their provider's cache."""
        return sum(one.uncached for one in self.conversations.values())

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
        """What was saved at these prices, in input tokens: each token as it is sent and read on, less what extra requests cost, and what
        prompts that fell below the provider's cache cost more than reading them from it would have.
        """
        return sum(self._saving(one, prices) for one in self.conversations.values())

    def _saving(self, one: Conversation, prices: Prices) -> float:
        row = self.sessions.get(one.name, Row())
        net = row.net - one.searched - one.definition
        carried = row.carried - one.search_turns - one.definition * (one.requests - 1)
        asking = one.prefix * prices.read + one.extra * ASKING * (prices.output + prices.write) + one.after * ASKING * prices.read
        return net * prices.write + carried * prices.read - asking - one.uncached * (1 - prices.read)

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
                "sessions": rows(self.sessions), "searches": self.searches, "misses": self.misses, "searched": self.searched,
                "asked": self.asked, "net": self.net, "definitions": self.definitions, "carried": self.carried, "uncapped": self.uncapped,
                "unit": self.method, "methods": list(self.methods), "messages": self.messages, "billed": dict(sorted(self.billed.items())),
                "uncached": {"prompts": self.uncached.total(), "tokens": self.uncached_tokens,
                             "minimums": {str(least): count for least, count in sorted(self.uncached.items())}}}
