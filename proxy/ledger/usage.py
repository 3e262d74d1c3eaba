"""How byref is used: calls by tool, searches that found nothing or came again, and whether hits of meaning alone were of use."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from byref.proxy.contracts import Event
from byref.proxy.ledger.events import key
from byref.proxy.ledger.tables import Table

AGAIN = 60.0  # seconds within which the same search counts as repeated
TOP = 15  # queries that are named
FETCH, SEARCH = "byref fetch", "byref search"  # ours: servers that are wrapped have tools of these names, too


@dataclass(slots=True)
class Usage:
    """Sums over events. calls: by tool, ours among them. empty: searches without a hit. again: the same query of one session within a
    minute. queries: how often each was asked, as the projection lets them be kept. meant: refs that a search brought by meaning alone,
    once a search; fetched: those of them that the session fetched from later.
    """

    calls: Counter[str] = field(default_factory=Counter)
    searches: int = 0
    empty: int = 0
    again: int = 0
    queries: Counter[str] = field(default_factory=Counter)
    meant: int = 0
    fetched: int = 0

    def as_dict(self) -> Mapping[str, object]:
        """The same as plain values; a share of nothing is null."""
        return {"calls": dict(self.calls.most_common()), "searches": self.searches, "empty": _share(self.empty, self.searches),
                "again_within_60_s": _share(self.again, self.searches), "queries": dict(self.queries.most_common(TOP)),
                "meaning_only": self.meant, "meaning_only_fetched": _share(self.fetched, self.meant)}


def usage(ledger: Iterable[Event]) -> Usage:
    """Sums over events, oldest first."""
    found = Usage()
    asked: dict[tuple[str, str], float] = {}
    waiting: dict[tuple[str, int], int] = {}  # by session and key of a ref: hits of meaning alone that were not fetched from yet
    for event in ledger:
        if event.kind == "viewed":
            found.calls[event.tool or "-"] += 1
        elif event.kind == "fetched":
            found.calls[FETCH] += 1
            found.fetched += waiting.pop((event.session, key(event.ref)), 0)
        elif event.kind == "missed":
            found.calls["byref, nothing found"] += 1
        elif event.kind == "searched":
            found.calls[SEARCH] += 1
            found.searches += 1
            found.empty += not event.numbers.get("hits", 0)
            if event.note:
                found.queries[event.note] += 1
                before = asked.get((event.session, event.note))
                found.again += before is not None and abs(event.at - before) <= AGAIN
                asked[event.session, event.note] = event.at
            for name, ref in event.numbers.items():
                if name.startswith("meant"):
                    found.meant += 1
                    waiting[event.session, ref] = waiting.get((event.session, ref), 0) + 1
    return found


def tables(found: Usage) -> list[Table]:
    """For `byref.proxy.ledger.tables`."""
    shares = (("searches", found.searches), ("without a hit", _share(found.empty, found.searches)),
              ("the same again within 60 s", _share(found.again, found.searches)), ("hits of meaning alone", found.meant),
              ("of these fetched from later", _share(found.fetched, found.meant)))
    return [Table("calls", ("tool", "calls"), tuple(found.calls.most_common())), Table("searches", ("searches", ""), shares),
            Table("queries", ("query", "times"), tuple(found.queries.most_common(TOP)))]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
