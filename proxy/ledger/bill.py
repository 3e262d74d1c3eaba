"""What the views of replayed trajectories cost and save at a price regime, by the formulas of `byref.proxy.ledger.economics`."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from byref.proxy.ledger.economics import Prices
from byref.proxy.ledger.replay import Replayed


@dataclass(slots=True)
class Bill:
    """Prices, in input tokens, over trajectories. raw, view: of tool outputs; extra: of the requests that the views bring about, if
    each lost string or line brings about one; rest: of all else that is sent and written.
    """

    raw: float = 0.0
    view: float = 0.0
    extra: float = 0.0
    rest: float = 0.0

    @property
    def gross(self) -> float:
        """Share of the price of tool outputs that the views save."""
        return share(self.raw - self.view, self.raw)

    @property
    def net(self) -> float:
        """The same after the extra requests."""
        return share(self.raw - self.view - self.extra, self.raw)

    @property
    def of_bill(self) -> float:
        """Net saving as a share of the whole bill."""
        return share(self.raw - self.view - self.extra, self.raw + self.rest)

    @property
    def most(self) -> float:
        """Share of the whole bill that tool outputs are: no view saves more."""
        return share(self.raw, self.raw + self.rest)

    @property
    def break_even(self) -> float:
        """Extra requests for each that `need` counts at which nothing is saved any more."""
        return share(self.raw - self.view, self.extra)


def bill(replayed: Iterable[Replayed], prices: Prices, fetched: int | None = None) -> Bill:
    """What the views cost and save at these prices.

    One extra request for each output with a used string that the data lost, and for each edit with a line in no view. fetched: tokens
    that it brings, at most those of the output; None: all of them, as where the agent makes the call again.
    """
    found = Bill()
    for each in replayed:
        found.rest += each.context * prices.keep(each.requests - 1)
        # The next request is the first to send an answer; nothing sends the last.
        found.rest += sum(n * (prices.output + (prices.keep(later - 1) if later else 0.0)) for n, later in each.said)
        sizes = {outcome.evidence.index: outcome.raw for outcome in each.outcomes}
        for outcome in each.outcomes:
            later = outcome.evidence.later
            found.raw += outcome.raw * prices.keep(later)
            found.view += outcome.view * prices.keep(later)
            wanted = [outcome.raw] if outcome.lost else []
            wanted += [sizes[outcome.unseen[0].origin]] if outcome.unseen else []
            for size in wanted:
                brought = size if fetched is None else min(size, fetched)
                found.extra += prices.extra(prefix=outcome.prefix, view=outcome.view, fetched=brought, later=later)
    return found


def share(part: float, whole: float) -> float:
    """A part of a whole; NaN of nothing."""
    return part / whole if whole else float("nan")
