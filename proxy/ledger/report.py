"""What the proxy saved: gross, and net of what its own reductions cost.

net = raw - view - fetched - searched - repeats. A repeat is the same call again in the same session without a fetch in
between; it counts against us only where the view before it had left something out, and then with its whole raw size: had
that view been complete, the call would not have been made again, so it saved nothing either.
All tokens are the built-in estimate, not a provider's count.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from byref.proxy.contracts import Event

ESTIMATE = "tokens by the built-in estimate (about 0.3 a character of ASCII), not a provider's count"


@dataclass(slots=True)
class Row:
    """Totals of one tool, one shape, or all. Tokens by estimate; size in bytes.

    reduced: views with gaps. repeats: calls that count as such, repeated: their tokens.
    """

    calls: int = 0
    reduced: int = 0
    size: int = 0
    raw: int = 0
    view: int = 0
    fetches: int = 0
    fetched: int = 0
    repeats: int = 0
    repeated: int = 0

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
class Report:
    """Totals over events. asked: share of the views with gaps that were fetched from later.

    billed: tokens as the provider counted them, over the messages of which it is known.
    """

    total: Row = field(default_factory=Row)
    tools: dict[str, Row] = field(default_factory=dict)
    shapes: dict[str, Row] = field(default_factory=dict)
    searches: int = 0
    searched: int = 0
    asked: float = 0.0
    messages: int = 0
    billed: dict[str, int] = field(default_factory=dict)

    @property
    def net(self) -> int:
        """Tokens saved in all; searches belong to no tool and are taken off here."""
        return self.total.net - self.searched

    @property
    def text(self) -> str:
        """Two tables and a line of totals."""
        out = []
        for title, rows in (("tool", self.tools), ("shape", self.shapes)):
            out.append(f"{title:16}{'calls':>8}{'raw':>12}{'view':>12}{'fetched':>10}{'repeated':>10}{'net':>12}{'saved':>8}")
            for name, row in sorted(rows.items(), key=lambda item: (-item[1].raw, item[0])):
                out.append(_line(name, row))
            out.append(_line("all", self.total) + "\n")
        searches = f"; {self.searches} searches took {self.searched}" if self.searches else ""
        share = self.net / self.total.raw if self.total.raw else 0.0
        out.append(f"net {self.net} of {self.total.raw} tokens saved ({share:.1%}); {self.total.reduced} of {self.total.calls} "
                   f"views left something out, {self.asked:.0%} of them were fetched from{searches}")
        out.append(ESTIMATE)
        if self.messages:
            names = (("input", "input"), ("read", "read from the cache"), ("written", "written to it"), ("output", "output"))
            counts = ", ".join(f"{self.billed[name]} {words}" for name, words in names if name in self.billed)
            out.append(f"as the provider billed {self.messages} messages: {counts}")
        return "\n".join(out) + "\n"

    def as_dict(self) -> Mapping[str, object]:
        """The same as plain values."""
        def plain(row: Row) -> dict[str, object]:
            return {name: getattr(row, name) for name in (*Row.__slots__, "gross", "net", "saved")}
        return {"total": plain(self.total), "tools": {k: plain(v) for k, v in sorted(self.tools.items())},
                "shapes": {k: plain(v) for k, v in sorted(self.shapes.items())}, "searches": self.searches, "searched": self.searched,
                "asked": self.asked, "net": self.net, "unit": ESTIMATE,
                "messages": self.messages, "billed": dict(sorted(self.billed.items()))}


def report(events: Iterable[Event]) -> Report:
    """Totals over events, oldest first, as `Store.events` gives them."""
    found = Report()
    hid: set[tuple[str, str]] = set()  # (session, ref) of views that left something out
    fetched: set[tuple[str, str]] = set()  # those fetched from since they were last shown
    asked: set[tuple[str, str]] = set()
    messages: set[int | None] = set()
    for event in events:
        numbers, key = event.numbers, (event.session, event.ref)
        if event.kind == "searched":
            found.searches += 1
            found.searched += numbers.get("tokens", 0)
            continue
        if event.kind == "usage":
            if numbers.get("message") not in messages:
                messages.add(numbers.get("message"))
                for name, count in numbers.items():
                    if name != "message":
                        found.billed[name] = found.billed.get(name, 0) + count
            continue
        rows = (found.total, found.tools.setdefault(event.tool, Row()), found.shapes.setdefault(event.shape, Row()))
        for row in rows:
            if event.kind == "captured":
                row.size += numbers.get("bytes", 0)
            elif event.kind == "viewed":
                row.calls += 1
                row.raw += numbers.get("raw", 0)
                row.view += numbers.get("view", 0)
                row.reduced += numbers.get("gaps", 0) > 0
            elif event.kind == "fetched":
                row.fetches += 1
                row.fetched += numbers.get("tokens", 0)
            elif event.kind == "repeated" and key in hid and key not in fetched:
                row.repeats += 1
                row.repeated += numbers.get("raw", 0)
        if event.kind == "viewed":
            fetched.discard(key)
            if numbers.get("gaps", 0):
                hid.add(key)
        elif event.kind == "fetched":
            fetched.add(key)
            asked.add(key)
    found.messages = len(messages)
    found.asked = len(asked & hid) / len(hid) if hid else 0.0
    return found


def _line(name: str, row: Row) -> str:
    return f"{name[:15]:16}{row.calls:8}{row.raw:12}{row.view:12}{row.fetched:10}{row.repeated:10}{row.net:12}{row.saved:8.1%}"
