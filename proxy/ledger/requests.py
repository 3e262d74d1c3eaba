"""A conversation's bill, request by request: what a prefix cache reads, what is written to it, what the model writes.

The plain way to the sums that `byref.proxy.ledger.economics` has in closed form; tests hold the one against the other, and
`bench/billed.py` holds it against what a provider billed.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from byref.proxy.ledger.economics import Prices


@dataclass(frozen=True, slots=True)
class Request:
    """Tokens of one request. read: of the prefix that the cache still holds; written: the rest of what is sent; output: what comes back."""

    read: float
    written: float
    output: float = 0.0

    @property
    def context(self) -> float:
        """All that is sent."""
        return self.read + self.written


def requests(sent: Sequence[float], output: Sequence[float] = (), *, shared: float = 0.0, lost: Collection[int] = ()) -> list[Request]:
    """The requests of a conversation whose contexts only grow.

    sent: what is new in each request, in tokens, the first one's whole prompt first: earlier answers and the outputs of their calls.
    output: what the model writes in each, which is to stand in `sent` of the next one as well. shared: tokens of the first prompt that
    another conversation left in the cache. lost: numbers of the requests before which the cache let go of the whole prefix.
    """
    found: list[Request] = []
    held = 0.0
    for number, new in enumerate(sent):
        cached = min(shared, new) if number == 0 else held
        read = 0.0 if number in lost else cached
        whole = held + new
        found.append(Request(read, whole - read, output[number] if number < len(output) else 0.0))
        held = whole
    return found


def price(of: Iterable[Request], prices: Prices) -> float:
    """The price of requests, in input tokens."""
    return sum(one.read * prices.read + one.written * prices.write + one.output * prices.output for one in of)
