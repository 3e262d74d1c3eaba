"""Simulated bills of recorded trajectories beside what the provider billed: is the cost model true of real conversations?

usage: billed.py
Two constants, fitted on every second trajectory that carries billed usage: SCALE, tokens of the provider's own tokenizer and of what
the harness puts around texts, for one token of o200k in what is added to a conversation; and SHARED, tokens of the first prompt that
the cache holds from other conversations. The other half is held out. Of each trajectory its texts are known, and the size of its first
prompt as billed. Needs the recordings that are laid beside the checkout where this project is developed, else it says so.
"""
from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from byref.proxy.ledger.counter import TokenCounter, token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.requests import requests
from byref.proxy.ledger.trajectories import Trajectory, parse

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus" / "trajectories-local.jsonl"
PARTS = ("fresh", "read", "write")
PRICES = REGIMES[0]
WEIGHTS = {"fresh": 1.0, "read": PRICES.read, "write": PRICES.write}
SUM, EACH = 0.03, 0.10  # what is asked: of the sums, and of each trajectory at the median


@dataclass(frozen=True, slots=True)
class Billed:
    """A trajectory: tokens of its first prompt as billed, what each later request added in o200k, and what was billed in all."""

    first: int
    added: tuple[int, ...]
    bill: dict[str, float]

    def simulated(self, scale: float, shared: float) -> dict[str, float]:
        """The same by the cost model. Nothing is fresh: what is new is written to the cache."""
        made = requests([self.first, *(scale * n for n in self.added)], shared=shared)
        return {"fresh": 0.0, "read": sum(one.read for one in made), "write": sum(one.written for one in made)}


def billed(path: Path, counter: TokenCounter) -> list[Billed]:
    """The trajectories of a file that carry usage."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        usage = (json.loads(line).get("meta") or {}).get("usage")
        if usage:
            bill = {"fresh": usage["sum_input"], "read": usage["sum_cache_read"], "write": usage["sum_cache_write"]}
            found.append(Billed(usage["first_context"], added(parse(line, f"{path.name}:{number}"), counter), bill))
    return found


def added(trajectory: Trajectory, counter: TokenCounter) -> tuple[int, ...]:
    """Tokens that each request after the first adds: what the agent wrote before it, and the outputs of the calls in that."""
    numbers, turns = trajectory.requests(), trajectory.turns
    outputs, said = counter.count([turn.output for turn in turns]), counter.count([turn.said for turn in turns])
    new = [0] * (numbers[-1] if numbers else 0)
    for i, number in enumerate(numbers):
        new[number - 1] += outputs[i]
        if (i + 1 == len(numbers) or numbers[i + 1] != number) and number < len(new):
            new[number] += said[i]
    if new:
        new[0] += counter.count([trajectory.first_action])[0]
    return tuple(new)


def fit(known: Sequence[Billed]) -> tuple[float, float]:
    """SCALE so that the sum of all that was sent is as billed; SHARED as the median trajectory wrote it.

    The median, since a prefix that the cache let go in the middle is written twice and says nothing of what was shared at the start.
    """
    sent = sum(sum(one.bill.values()) - one.first * (len(one.added) + 1) for one in known)
    scale = sent / sum(sum(n * (len(one.added) - i) for i, n in enumerate(one.added)) for one in known)
    return scale, statistics.median(one.first + scale * sum(one.added) - one.bill["write"] for one in known)


def errors(held: Sequence[Billed], simulated: Callable[[Billed], dict[str, float]]) -> list[tuple[str, float, float, float, float]]:
    """By part and for the whole price: as billed, simulated, the error of the sum, the median error of one trajectory."""
    pairs = [(one.bill, simulated(one)) for one in held]
    rows = []
    for name in (*PARTS, "price"):
        def amount(bill: dict[str, float], name: str = name) -> float:
            return bill[name] if name in bill else sum(bill[part] * weight for part, weight in WEIGHTS.items())
        true, made = sum(amount(bill) for bill, _ in pairs), sum(amount(bill) for _, bill in pairs)
        rows.append((name, true, made, made / true - 1, statistics.median(abs(amount(b) / amount(a) - 1) for a, b in pairs)))
    return rows


def table(rows: Sequence[tuple[str, float, float, float, float]]) -> list[str]:
    """As Markdown."""
    out = ["| | billed | simulated | sum off by | median trajectory off by |", "|---|---:|---:|---:|---:|"]
    for name, true, made, whole, each in rows:
        missed = " !" if abs(whole) > SUM or each > EACH else ""
        out.append(f"| {name} | {true:,.0f} | {made:,.0f} | {whole:+.2%} | {each:.2%}{missed} |")
    return out


def main() -> int:
    if not CORPUS.is_file():
        print(f"skipped: no {CORPUS}; the recordings are laid beside the checkout where this project is developed")
        return 0
    counter = token_counter()
    every = billed(CORPUS, counter)
    fitted, held = every[::2], every[1::2]
    scale, shared = fit(fitted)
    print(f"Tokens: {counter.name}. {len(fitted)} trajectories fitted, {len(held)} held out. SCALE {scale:.3f}, SHARED {shared:,.0f}.\n")
    print("\n".join(table(errors(held, lambda one: one.simulated(scale, shared)))))
    print(f"\nPrice: in input tokens at {PRICES.read:g} a read and {PRICES.write:g} a write ({PRICES.name}), without output, which these "
          f"recordings bill only in part (streams). `!`: beyond {SUM:.0%} in sum or {EACH:.0%} at the median.")
    rate = sum(one.bill["fresh"] for one in fitted) / sum(len(one.added) + 1 for one in fitted)
    fresh = sum(one.bill["fresh"] for one in held) / sum(sum(one.bill[part] * w for part, w in WEIGHTS.items()) for one in held)
    third = errors(held, lambda one: one.simulated(scale, shared) | {"fresh": rate * (len(one.added) + 1)})[0]
    print(f"\nFresh tokens are {fresh:.2%} of the price: no constant is spent on them. A third one, {rate:.1f} a request, would leave "
          f"{third[3]:+.0%} in sum and {third[4]:.0%} at the median: a few messages that go uncached make them up, not the texts.")
    scale, shared = fit(held)
    print(f"\nThe halves exchanged: SCALE {scale:.3f}, SHARED {shared:,.0f}.\n")
    print("\n".join(table(errors(fitted, lambda one: one.simulated(scale, shared)))))
    lost = [sum(one.bill["write"] > 1.1 * (one.first + scale * sum(one.added) - shared) for one in half) for half in (fitted, held)]
    print(f"\nWritten at least a tenth more than the cost model says, as where the cache let a prefix go: {lost[0]} of the first half, "
          f"{lost[1]} of the second.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
