"""Figures of replayed trajectories by source, tool, shape or what else a key says.

`tally` adds outcomes up, one `Count` a trajectory; `Row` turns counts into figures. A row of other counts, such as of trajectories
drawn at random, has its figures too.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields

from byref.proxy.ledger.replay import Outcome, Replayed


@dataclass(slots=True)
class Count:
    """Sums over outputs of one trajectory. Tokens, strings, lines, outputs; need: strings or old lines that were lost, by output."""

    outputs: int = 0
    raw: int = 0
    view: int = 0
    used: int = 0
    named: int = 0
    lost: int = 0
    edits: int = 0
    unseen: int = 0
    need: int = 0
    told: int = 0
    made: int = 0
    told_records: int = 0
    made_records: int = 0
    longer: int = 0
    repeats: int = 0
    hid: int = 0
    nanoseconds: int = 0

    def add(self, other: Count) -> None:
        """Takes in another's sums."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _mean(shares: Sequence[float]) -> float:
    return _share(sum(shares), len(shares))


@dataclass(slots=True)
class Row:
    """Figures over trajectories. A share of nothing is NaN. Every figure is as ../shared/eval/evidence.py of the project defines it."""

    counts: list[Count] = field(default_factory=list)

    @property
    def total(self) -> Count:
        """The sums over all trajectories."""
        whole = Count()
        for count in self.counts:
            whole.add(count)
        return whole

    @property
    def saved(self) -> float:
        """Share of the tokens of tool outputs that the views leave out."""
        return 1 - _share(self.total.view, self.total.raw)

    @property
    def es(self) -> float:
        """Share of used strings that the view still holds, in data or in names, mean over trajectories."""
        return _mean([1 - (c.lost - c.named) / c.used for c in self.counts if c.used])

    @property
    def data(self) -> float:
        """The same in the data alone."""
        return _mean([1 - c.lost / c.used for c in self.counts if c.used])

    @property
    def need(self) -> float:
        """Outputs with a used string that is not in the data, and edits with a line in no view, per 1,000 tokens removed."""
        total = self.total
        return 1000 * total.need / max(1, total.raw - total.view)

    @property
    def edit(self) -> float:
        """Share of the old lines of edits, seen in some raw output, that some view showed before."""
        total = self.total
        return 1 - _share(total.unseen, total.edits)

    @property
    def made(self) -> float:
        """Share of data lines that do not stand in the raw text: 0."""
        return _share(self.total.made, self.total.told)

    @property
    def records(self) -> float:
        """The same of JSON, where re-renderings are declared."""
        return _share(self.total.made_records, self.total.told_records)

    @property
    def milliseconds(self) -> float:
        """Time of the views per 10,000 tokens of raw output."""
        return self.total.nanoseconds / 100 / max(1, self.total.raw)


def tally(replayed: Iterable[Replayed], keys: Callable[[Replayed, Outcome], Iterable[str]]) -> dict[str, Row]:
    """Rows by key; an outcome counts once for each of its keys. Old lines count where the output that held them last does."""
    rows: dict[str, Row] = {}
    for each in replayed:
        here: dict[str, Count] = {}
        named = {outcome.evidence.index: list(keys(each, outcome)) for outcome in each.outcomes}
        for outcome in each.outcomes:
            for name in named[outcome.evidence.index]:
                _count(here.setdefault(name, Count()), outcome)
            for old in outcome.evidence.old:
                for name in named[old.origin]:
                    here.setdefault(name, Count()).edits += 1
            for old in outcome.unseen:
                for name in named[old.origin]:
                    here.setdefault(name, Count()).unseen += 1
            for name in named[outcome.unseen[0].origin] if outcome.unseen else ():
                here.setdefault(name, Count()).need += 1
        for name, count in here.items():
            rows.setdefault(name, Row()).counts.append(count)
    return rows


def _count(count: Count, outcome: Outcome) -> None:
    count.outputs += 1
    count.raw += outcome.raw
    count.view += outcome.view
    count.used += len(outcome.evidence.used)
    count.named += len(outcome.named)
    count.lost += len(outcome.lost)
    count.need += bool(outcome.lost)
    count.told += outcome.told * (not outcome.records)
    count.made += outcome.made * (not outcome.records)
    count.told_records += outcome.told * outcome.records
    count.made_records += outcome.made * outcome.records
    count.longer += outcome.longer
    count.repeats += outcome.evidence.repeats is not None
    count.hid += outcome.hid
    count.nanoseconds += outcome.nanoseconds
