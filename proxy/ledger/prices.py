"""List prices of models, from the package genai-prices (`pip install 'byref[report]'`), and the multipliers without it.

Multipliers are what lasts: prices of a cached read, a cache write and an output token in input tokens. Dollars stand beside them with
the version of the table they come from. Nothing is fetched: the package carries its table.
"""
from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from datetime import UTC, date, datetime

from byref.proxy.errors import Invalid
from byref.proxy.ledger.economics import OWN, REGIMES, Prices

EXTRA = "pip install 'byref[report]'"
DEFAULT = "claude-sonnet-4-5"  # what is assumed where no model is named
OURS = "multipliers of byref, November 2026"


@dataclass(frozen=True, slots=True)
class Priced:
    """What a model's tokens cost. dollars: of a million input tokens, None where only multipliers are known.

    source: where the figures stand, with its date.
    """

    prices: Prices
    dollars: float | None
    source: str

    def money(self, tokens: float) -> float | None:
        """US dollars of an amount in input tokens."""
        return None if self.dollars is None else tokens * self.dollars / 1e6

    @property
    def text(self) -> str:
        """The multipliers, then what an input token costs, and where that stands."""
        of = self.prices
        dollars = "" if self.dollars is None else f", ${self.dollars:g} a million input tokens"
        return (f"{of.name}: a cached read {of.read:g}, a cache write {of.write:g}, an output token {of.output:g} of an input token"
                f"{dollars} ({self.source})")


def priced(model: str, day: date | None = None) -> Priced:
    """The prices of a model, or of a regime of `economics.REGIMES` or `self-hosted` by name. Raises `Invalid` for what is neither.

    day: whose prices hold, today's without. Of the lowest tier, where a model's price has tiers by length. A cached read or write of
    which the table says nothing costs what an input token does: that is how a provider without that price bills it.
    """
    for regime in (*REGIMES, OWN):
        if model.lower() == regime.name.lower():
            return Priced(regime, None, OURS)
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        names = ", ".join(repr(regime.name) for regime in (*REGIMES, OWN))
        raise Invalid(f"the price of {model[:60]!r} is in the package genai-prices: {EXTRA}. Without it there are {names}") from None
    when = datetime.combine(day, datetime.min.time(), UTC) if day else datetime.now(UTC)
    usage = {"input": Usage(input_tokens=1), "read": Usage(input_tokens=1, cache_read_tokens=1),
             "write": Usage(input_tokens=1, cache_write_tokens=1), "output": Usage(output_tokens=1)}
    table = f"genai-prices {importlib.metadata.version('genai-prices')}"
    try:
        found = {name: calc_price(one, model_ref=model, genai_request_timestamp=when) for name, one in usage.items()}
    except LookupError:
        raise Invalid(f"{table} knows no model {model[:60]!r}; names are as providers write them: {DEFAULT}, gpt-5") from None
    cost = {name: float(one.total_price) for name, one in found.items()}
    if not cost["input"]:
        raise Invalid(f"{table} has no price of input tokens for {model[:60]!r}")
    read, write, output = (_rounded((cost[part] or missing) / cost["input"]) for part, missing in (
        ("read", cost["input"]), ("write", cost["input"]), ("output", 0.0)))
    source = f"{table}, as it prices {when:%Y-%m-%d}"
    return Priced(Prices(found["input"].model.id, read, write, output), _rounded(cost["input"] * 1e6), source)


def usual() -> Priced:
    """The prices of `DEFAULT`, or the first regime where no table is installed."""
    try:
        return priced(DEFAULT)
    except Invalid:
        return Priced(REGIMES[0], None, OURS)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
