"""What a view is worth: the price of tokens that are sent once and read again on every later request.

All amounts are in prices of one uncached input token, so they hold for every model of a price regime. With r the price of a cached
read, w of a cache write, a of an output token, R, V and F the tokens of the raw output, of its view and of what a second request
brings, P those of the prefix, T the number of later requests, o the output tokens of the second request:

    K(T) = w + r T                                    one token, sent and then read T times; without a cache 1 + T
    raw  = R K                                        view = V K + p (r (P + V) + a o + (o + F) K)
    view wins where p < p* = (R - V) K / (r (P + V) + a o + (o + F) K)

p is the expected number of extra requests, a fetch or the call made again, that the view brings about. The formulas follow from
how providers bill prompt caching: a token is written once at w, and each request reads the whole prefix at r.

Three regimes of caches go by these formulas: none (r = w = 1), a provider's (list prices of reads and writes), and one of your own
that still holds a prefix with probability h. There a later request reads at r where it hits and writes again at w where it does not,
so that its r is h r + (1 - h) w (`Prices.hitting`). `byref.proxy.ledger.requests` bills the same request by request.
"""
from __future__ import annotations

from dataclasses import dataclass

ASKING = 150  # output tokens of a request that fetches or repeats: a call and a line of text


@dataclass(frozen=True, slots=True)
class Prices:
    """A price regime. read, write, output: prices of a cached read, a cache write and an output token; an input token is 1."""

    name: str
    read: float
    write: float
    output: float

    def keep(self, later: int) -> float:
        """K: the price of one token that is sent and then read by so many later requests."""
        return self.write + self.read * later

    def hitting(self, probability: float) -> Prices:
        """The expected prices where a cache still holds the prefix with this probability; where it does not, all is written again."""
        read = probability * self.read + (1 - probability) * self.write
        return Prices(f"{self.name}, {probability:.0%} hits", read, self.write, self.output)

    def extra(self, *, prefix: int, view: int, fetched: int, later: int, asking: int = ASKING) -> float:
        """The price of one extra request: reading all so far, writing the call, keeping call and answer."""
        return self.read * (prefix + view) + self.output * asking + (asking + fetched) * self.keep(later)

    def view(self, *, view: int, extra: float, prefix: int, fetched: int, later: int, asking: int = ASKING) -> float:
        """The price of a view with `extra` expected extra requests. That of the raw output is raw x keep(later)."""
        return view * self.keep(later) + extra * self.extra(prefix=prefix, view=view, fetched=fetched, later=later, asking=asking)

    def break_even(self, *, raw: int, view: int, prefix: int, fetched: int, later: int, asking: int = ASKING) -> float:
        """p*: the expected extra requests up to which the view costs less than the raw output."""
        return (raw - view) * self.keep(later) / self.extra(prefix=prefix, view=view, fetched=fetched, later=later, asking=asking)

    def rewriting(self, *, rewritten: int, behind: int) -> float:
        """Later requests beyond which it pays to rewrite so many tokens with so many cached ones behind them: ((w - r) / r) S / x.

        All behind the change has to be written again. Infinite where reads cost nothing.
        """
        return (self.write - self.read) / self.read * behind / rewritten if self.read and rewritten else float("inf")

    def definition(self, *, tokens: int, requests: int) -> float:
        """The price of a tool's definition over so many requests: d (w + r (N - 1))."""
        return tokens * self.keep(requests - 1) if requests else 0.0


# A model of your own: what a hit does not compute again costs next to nothing, so that prices are those of computing. An output token
# takes a decode step of its own; 4 is what open models sell at where a provider serves them (DeepSeek's list price).
OWN = Prices("self-hosted", read=0, write=1, output=4)

# Multipliers of list prices as the package genai-prices 0.2.3 gives them (November 2026); the fourth lies between.
REGIMES = (
    Prices("Claude 4.x", read=0.1, write=1.25, output=5),
    Prices("GPT-5, Gemini 2.5 Pro", read=0.1, write=1, output=8),
    Prices("DeepSeek V4 Flash", read=0.02, write=1, output=4),
    Prices("half of that for reads", read=0.05, write=1.25, output=5),
    Prices("no cache", read=1, write=1, output=5),
)
