"""A replayed session in sums that any price fits: all it costs is linear in the prices of a read, a write and an output token.

A `Charge` holds the tokens of each kind, so one replay is priced at every regime. `byref.proxy.ledger.bill` says the same at one.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from byref.proxy.ledger.economics import ASKING, Prices
from byref.proxy.ledger.replay import Outcome, Replayed
from byref.proxy.ledger.tally import Count, tally
from byref.proxy.ledger.trajectories import Usage

PIECE = 1500  # tokens of a fetch that takes what it needs
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # requests at which the context is told
ALREADY = "view"  # the shape of an output that was a view of byref when it was recorded


@dataclass(slots=True)
class Charge:
    """Tokens that are read from the cache, written to it, and put out, over all requests."""

    read: float = 0
    write: float = 0
    output: float = 0

    def at(self, prices: Prices) -> float:
        """The price, in input tokens."""
        return self.read * prices.read + self.write * prices.write + self.output * prices.output

    def add(self, other: Charge) -> None:
        """Takes in another."""
        self.read += other.read
        self.write += other.write
        self.output += other.output

    def keep(self, tokens: float, later: int) -> None:
        """Takes in tokens that are sent once and read by so many later requests."""
        self.read += tokens * later
        self.write += tokens


@dataclass(slots=True)
class Sums:
    """Of some outputs of sessions. raw, view: what they cost as they are and as views; again, fetched: the requests that the views
    bring about, the calls made again, or a fetch of at most `PIECE` tokens each. forced: how many requests that is.
    """

    count: Count = field(default_factory=Count)
    raw: Charge = field(default_factory=Charge)
    view: Charge = field(default_factory=Charge)
    again: Charge = field(default_factory=Charge)
    fetched: Charge = field(default_factory=Charge)
    forced: int = 0

    def add(self, other: Sums) -> None:
        """Takes in another's."""
        self.count.add(other.count)
        for name in ("raw", "view", "again", "fetched"):
            held: Charge = getattr(self, name)
            held.add(getattr(other, name))
        self.forced += other.forced


@dataclass(slots=True)
class Summary:
    """One session. rest: all that is no tool output; definitions: those of our tools, over its requests. said: tokens that the agent
    wrote. contexts: tokens of the request of each step of the ladder that it reached, as they were and with views. already: outputs that
    were views when they were recorded.
    """

    id: str
    source: str
    model: str
    usage: Usage | None
    requests: int
    said: int
    tools: dict[str, Sums]
    rest: Charge
    definitions: Charge
    contexts: dict[int, tuple[int, int]]
    already: int = 0

    @property
    def total(self) -> Sums:
        """Over all tools; shares of strings are over the session, not by tool."""
        whole = Sums()
        for sums in self.tools.values():
            whole.add(sums)
        return whole


def summary(replayed: Replayed, definitions: int = 0) -> Summary:
    """The sums of one session. definitions: tokens of our tools' definitions, 0 where none is offered."""
    trajectory = replayed.trajectory
    rest, ours = Charge(), Charge()
    rest.keep(replayed.context, replayed.requests - 1)
    for tokens, later in replayed.said:
        rest.output += tokens
        if later:
            rest.keep(tokens, later - 1)  # the next request is the first to send an answer
    ours.keep(definitions, replayed.requests - 1)
    counts = tally([replayed], lambda each, outcome: (printable(outcome.tool),))
    tools = {name: Sums(row.total) for name, row in counts.items()}
    by_index = {outcome.evidence.index: outcome for outcome in replayed.outcomes}
    for outcome in replayed.outcomes:
        sums = tools[printable(outcome.tool)]
        sums.raw.keep(outcome.raw, outcome.evidence.later)
        sums.view.keep(outcome.view, outcome.evidence.later)
        if outcome.lost:
            _force(sums, outcome, outcome.raw)
        if outcome.unseen:
            origin = by_index[outcome.unseen[0].origin]
            _force(tools[printable(origin.tool)], outcome, origin.raw)
    said = sum(tokens for tokens, _ in replayed.said)
    already = sum(outcome.shape == ALREADY for outcome in replayed.outcomes)
    return Summary(printable(trajectory.id), printable(trajectory.source), printable(trajectory.model), trajectory.usage,
                   replayed.requests, said, tools, rest, ours, _contexts(replayed), already)


def printable(name: str) -> str:
    """A name of a recording as a line of a table can hold it."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)


def _force(sums: Sums, outcome: Outcome, size: int) -> None:
    """One extra request for what the view left out: all of it, or a piece."""
    sums.forced += 1
    for charge, brought in ((sums.again, size), (sums.fetched, min(size, PIECE))):
        charge.read += outcome.prefix + outcome.view
        charge.output += ASKING
        charge.keep(ASKING + brought, outcome.evidence.later)


def _contexts(replayed: Replayed) -> dict[int, tuple[int, int]]:
    spoken = [0]
    for tokens, _ in replayed.said:
        spoken.append(spoken[-1] + tokens)
    found = {}
    for number in LADDER:
        if number > replayed.requests:
            break
        base = replayed.context + spoken[min(number - 1, len(spoken) - 1)]
        here: Iterable[Outcome] = [one for one in replayed.outcomes if replayed.requests - one.evidence.later <= number]
        found[number] = base + sum(one.raw for one in here), base + sum(one.view for one in here)
    return found
