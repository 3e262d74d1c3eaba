"""What views would have saved over many sessions, and lost: figures with intervals, by tool, price regime, model of attention and model.

Shares of the bill are of all that was sent and written, as the cost model of `byref.proxy.ledger.economics` prices it. Net is told
twice, for nobody knows what an agent would have done: each string or line that it used later and no view showed brings about one extra
request, either a fetch of a piece or the call made again with all its output. The truth lies between the gross figure and the second:
a used string may have been known from elsewhere, and words are evidence here that need no request. Our tools' definitions are taken off.
"""
from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from byref.proxy.ledger.economics import REGIMES, Prices
from byref.proxy.ledger.intervals import Draws, Interval, at_least, bootstrap, share
from byref.proxy.ledger.prices import Priced
from byref.proxy.ledger.summary import LADDER, Summary, Sums

TOOLS = 15  # that are told one by one


@dataclass(frozen=True, slots=True)
class Regime:
    """At one price regime, in input tokens. bill: of all; the rest are shares of it, net of the definitions of our tools."""

    prices: Prices
    bill: float
    most: Interval
    gross: Interval
    fetched: Interval
    again: Interval


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its sums, and what its views save of the whole bill at the first regime."""

    name: str
    sums: Sums
    most: float
    gross: Interval
    fetched: Interval
    again: Interval


@dataclass(frozen=True, slots=True)
class Money:
    """Dollars of a billed model, over the sessions whose files hold usage: what was billed at list prices, and saved of it."""

    model: str
    sessions: int
    bill: float
    gross: Interval
    fetched: Interval
    again: Interval


@dataclass(slots=True)
class Savings:
    """Sums over sessions as they come; figures when all are in. listed: the list prices of a model by its name, None where unknown."""

    listed: Callable[[str], Priced | None] = lambda model: None
    sessions: int = 0
    total: Sums = field(default_factory=Sums)
    tools: dict[str, Sums] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    contexts: dict[int, list[int]] = field(default_factory=dict)
    requests: int = 0
    unbilled: int = 0
    already: int = 0
    _rows: list[array[float]] = field(default_factory=list)
    _by_tool: list[tuple[array[int], array[float]]] = field(default_factory=list)  # tools by number, and three sums of each
    _numbers: dict[str, int] = field(default_factory=dict)
    _models: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    _draws: Draws | None = None

    def add(self, one: Summary) -> None:
        """Takes in a session."""
        total, main, self._draws = one.total, REGIMES[0], None
        self.sessions += 1
        self.requests += one.requests
        self.already += one.already
        self.total.add(total)
        self.sources[one.source] = self.sources.get(one.source, 0) + 1
        for name, sums in one.tools.items():
            self.tools.setdefault(name, Sums()).add(sums)
        for number, (raw, view) in one.contexts.items():
            held = self.contexts.setdefault(number, [0, 0, 0])
            held[:] = held[0] + 1, held[1] + raw, held[2] + view
        self._rows.append(array("d", _row(one, total)))
        self._by_tool.append((
            array("L", [self._numbers.setdefault(name, len(self._numbers)) for name in one.tools]),
            array("d", [value for sums in one.tools.values() for value in (
                sums.raw.at(main) - sums.view.at(main), sums.fetched.at(main), sums.again.at(main))])))
        listed = self.listed(one.model) if one.usage and one.model else None
        if one.usage and listed and listed.dollars is not None:
            self._models.setdefault(one.model, []).append(_billed(one, total, listed))
        else:
            self.unbilled += 1

    def tokens(self) -> dict[str, Interval]:
        """Shares of tokens and evidence, as ../shared/eval/evidence.py of the project defines them: saved, es, data, need, edit."""
        if not self._rows:
            return {}
        return dict(zip(EVIDENCE, self._drawn().intervals(lambda sums, tools: evidence(sums)), strict=True))

    def regimes(self, prices: Sequence[Prices] = REGIMES) -> list[Regime]:
        """The bill at each of these prices."""
        if not self._rows:
            return []
        found = self._drawn().intervals(lambda sums, tools: [figure for one in prices for figure in of_bill(sums, one)])
        whole = [math.fsum(column) for column in zip(*self._rows, strict=True)]
        return [Regime(one, whole_bill(whole, one), *found[4 * k:4 * k + 4]) for k, one in enumerate(prices)]

    def by_tool(self) -> list[Tool]:
        """The tools with the most tokens, and the others as one."""
        groups = self._groups()

        def figures(whole: Sequence[float], sums: Sequence[float]) -> Sequence[float]:
            out = []
            for k in range(len(groups)):
                gross, fetched, again = sums[1 + 3 * k:4 + 3 * k]
                out += [share(gross, sums[0]), share(gross - fetched, sums[0]), share(gross - again, sums[0])]
            return out
        if not self._rows:
            return []
        found, bill, out = self._drawn().intervals(figures), math.fsum(map(_one_bill, self._rows)), []
        for k, names in enumerate(groups):
            sums = Sums()
            for name in names:
                sums.add(self.tools[name])
            title = names[0] if k < TOOLS else f"{len(names)} others"
            out.append(Tool(title, sums, share(sums.raw.at(REGIMES[0]), bill), *found[3 * k:3 * k + 3]))
        return out

    def money(self) -> list[Money]:
        """By model, where files hold usage and list prices are known."""
        out = []
        for model, rows in sorted(self._models.items(), key=lambda item: -sum(row[0] for row in item[1])):
            found = bootstrap(rows, lambda sums: list(sums))
            out.append(Money(model, len(rows), found[0].value, *found[1:]))
        return out

    def kv(self, width: int) -> dict[str, float]:
        """Bytes of a KV cache of so many bytes a token: held at the end of all sessions together, raw and with views, and net of what
        forced requests bring; and byte-turns, what is held at each request, summed.
        """
        total, raw, view = self.total, self.total.raw, self.total.view
        return {"raw": width * raw.write, "saved": width * (raw.write - view.write),
                "net": width * (raw.write - view.write - total.fetched.write),
                "turns_raw": width * (raw.read + raw.write), "turns_saved": width * (raw.read + raw.write - view.read - view.write)}

    def by_request(self) -> list[tuple[int, int, float, float]]:
        """For requests of the ladder: how many sessions reached it, and their mean context as it was and with views."""
        return [(n, held[0], held[1] / held[0], held[2] / held[0]) for n in LADDER if (held := self.contexts.get(n))]

    def differences(self, other: Savings) -> Mapping[str, Interval]:
        """How another's figures of the same sessions differ from these, paired."""
        def figures(one: Sequence[float], two: Sequence[float]) -> Sequence[float]:
            return [b - a for a, b in zip(_all(one), _all(two), strict=True)]
        return dict(zip(ALL, Draws(self._rows, other._rows).intervals(figures), strict=True)) if self._rows else {}

    def _groups(self) -> list[list[str]]:
        """The tools with the most tokens, each by itself, and the others together."""
        order = sorted(self.tools, key=lambda name: (-self.tools[name].count.raw, name))
        return [[name] for name in order[:TOOLS]] + ([order[TOOLS:]] if order[TOOLS:] else [])

    def _drawn(self) -> Draws:
        """Draws of the sums of sessions, and of their bills and what each group of tools saves."""
        if self._draws is None:
            groups = self._groups()
            group = {self._numbers[name]: k for k, names in enumerate(groups) for name in names}
            tools = []
            for row, (numbers, values) in zip(self._rows, self._by_tool, strict=True):
                parts: list[list[float]] = [[] for _ in range(3 * len(groups))]
                for at, number in enumerate(numbers):
                    for k in range(3):
                        parts[3 * group[number] + k].append(values[3 * at + k])
                tools.append(array("d", [_one_bill(row), *map(math.fsum, parts)]))
            self._draws = Draws(self._rows, tools)
        return self._draws


EVIDENCE = ("saved", "es", "data", "need", "edit")
ALL = (*EVIDENCE, "most", "gross", "fetched", "again")


def _all(sums: Sequence[float]) -> list[float]:
    return [*evidence(sums), *of_bill(sums, REGIMES[0])]


def _row(one: Summary, total: Sums) -> list[float]:
    count = total.count
    row = [total.raw.read, total.raw.write, total.view.read, total.view.write, total.again.read, total.again.write, total.again.output,
           total.fetched.read, total.fetched.write, total.fetched.output, one.rest.read, one.rest.write, one.rest.output,
           one.definitions.read, one.definitions.write]
    used = count.used
    row += [1 - (count.lost - count.named) / used, 1 - count.lost / used, 1.0] if used else [0.0, 0.0, 0.0]
    return [*row, count.need, count.edits, count.unseen]


def evidence(sums: Sequence[float]) -> list[float]:
    """`EVIDENCE` of the sums of sessions."""
    raw, view, (es, data, has), (need, edits, unseen) = sums[1], sums[3], sums[15:18], sums[18:21]
    return [1 - share(view, raw), share(es, has), share(data, has), 1000 * need / at_least(1, raw - view), 1 - share(unseen, edits)]


def whole_bill(sums: Sequence[float], prices: Prices) -> float:
    """All that was sent and written, in input tokens."""
    return (sums[0] + sums[10]) * prices.read + (sums[1] + sums[11]) * prices.write + sums[12] * prices.output


def of_bill(sums: Sequence[float], prices: Prices) -> tuple[float, float, float, float]:
    """Shares of the bill: what outputs are of it, what views save of it, and that net of fetches, or of calls made again."""
    r, w, a = prices.read, prices.write, prices.output
    bill, gross = whole_bill(sums, prices), (sums[0] - sums[2]) * r + (sums[1] - sums[3]) * w
    again, fetched = sums[4] * r + sums[5] * w + sums[6] * a, sums[7] * r + sums[8] * w + sums[9] * a
    ours = sums[13] * r + sums[14] * w
    return (share(sums[0] * r + sums[1] * w, bill), share(gross, bill), share(gross - fetched - ours, bill),
            share(gross - again - ours, bill))


def _one_bill(row: Sequence[float]) -> float:
    return whole_bill(row, REGIMES[0])


def _billed(one: Summary, total: Sums, listed: Priced) -> tuple[float, ...]:
    """Dollars of a session as billed, and what is saved of them: the model's shares of the simulated bill, at its own prices.

    Of the count of output the larger stands: what the file says, which often is only an answer's beginning, or what was written.
    """
    usage, prices = one.usage, listed.prices
    if usage is None:
        return 0.0, 0.0, 0.0, 0.0
    bill = (listed.dollars or 0.0) / 1e6 * (usage.input + usage.read * prices.read + usage.written * prices.write
                             + max(usage.output, one.said) * prices.output)
    _, gross, fetched, again = (0.0 if math.isnan(part) else part for part in of_bill(_row(one, total), prices))
    return bill, bill * gross, bill * fetched, bill * again
