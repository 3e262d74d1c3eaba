"""Simulated bills of recorded trajectories beside what the provider billed: is the cost model true of real conversations?

usage: billed.py
Two constants, fitted on every second trajectory that carries billed usage: SCALE, tokens of the provider's own tokenizer and of what
the harness puts around texts, for one token of o200k in what is added to a conversation; and SHARED, tokens of the first prompt that
the cache holds from other conversations, less what it lets go in the middle. Each makes a sum over the fitted half exact. The other half
is held out; then the halves are exchanged, and 20 halves are drawn. Of each trajectory its texts are known, and the size of its first
prompt as billed. Needs the recordings that are laid beside the checkout where this project is developed, else it says so.
"""
from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from byref.proxy.ledger.counter import TokenCounter, token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.requests import requests
from byref.proxy.ledger.trajectories import Trajectory, parse

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus" / "trajectories-local.jsonl"
PARTS = ("fresh", "read", "write")
PRICES = REGIMES[0]
WEIGHTS = {"fresh": 1.0, "read": PRICES.read, "write": PRICES.write}
DRAWN = 20  # halves
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


def fit(known: Sequence[Billed], middle: Callable[[list[float]], float] = statistics.fmean) -> tuple[float, float]:
    """SCALE so that the sum of all that was sent is as billed; SHARED so that the sum of what was written is.

    middle: the mean, for that. It takes in what the cache lets go in the middle of a conversation and has to be written twice, as often as
    it happens in what is known; a median leaves that out, and foretells a twentieth too little.
    """
    sent = sum(sum(one.bill.values()) - one.first * (len(one.added) + 1) for one in known)
    scale = sent / sum(sum(n * (len(one.added) - i) for i, n in enumerate(one.added)) for one in known)
    return scale, middle([one.first + scale * sum(one.added) - one.bill["write"] for one in known])


def amount(bill: dict[str, float], name: str) -> float:
    """Tokens of a part, or the price of the whole."""
    return bill[name] if name in bill else sum(bill[part] * weight for part, weight in WEIGHTS.items())


def errors(held: Sequence[Billed], simulated: Callable[[Billed], dict[str, float]]) -> list[tuple[str, float, float, float, float]]:
    """By part and for the whole price: as billed, simulated, the error of the sum, the median error of one trajectory."""
    pairs = [(one.bill, simulated(one)) for one in held]
    rows = []
    for name in (*PARTS, "price"):
        true, made = sum(amount(bill, name) for bill, _ in pairs), sum(amount(bill, name) for _, bill in pairs)
        rows.append((name, true, made, made / true - 1, statistics.median(abs(amount(b, name) / amount(a, name) - 1) for a, b in pairs)))
    return rows


def table(rows: Sequence[tuple[str, float, float, float, float]]) -> list[str]:
    """As Markdown."""
    out = ["| | billed | simulated | sum off by | median trajectory off by |", "|---|---:|---:|---:|---:|"]
    for name, true, made, whole, each in rows:
        missed = " !" if abs(whole) > SUM or each > EACH else ""
        out.append(f"| {name} | {true:,.0f} | {made:,.0f} | {whole:+.2%} | {each:.2%}{missed} |")
    return out


def drawn(every: Sequence[Billed], middle: Callable[[list[float]], float]) -> list[str]:
    """As Markdown: errors of halves that were drawn, each held out from the fit of the other."""
    found: dict[str, list[tuple[float, float]]] = {part: [] for part in ("read", "write", "price")}
    for seed in range(DRAWN):
        order = random.Random(seed).sample(every, len(every))
        constants = fit(order[::2], middle)
        for name, _, _, whole, each in errors(order[1::2], partial(Billed.simulated, scale=constants[0], shared=constants[1])):
            if name in found:
                found[name].append((whole, each))
    names = {"read": "all read", "write": "all written", "price": "whole price"}
    out = ["| of halves drawn | sum off by, mean | from | to | median trajectory off by | halves within both |",
           "|---|---:|---:|---:|---:|---:|"]
    for name, of in found.items():
        wholes, eaches = [whole for whole, _ in of], [each for _, each in of]
        met = sum(abs(whole) <= SUM and each <= EACH for whole, each in of)
        out.append(f"| {names[name]} | {statistics.fmean(wholes):+.2%} | {min(wholes):+.2%} | {max(wholes):+.2%} | {min(eaches):.1%} to "
                   f"{max(eaches):.1%} | {met} of {len(of)} |")
    return out


def rewritten(every: Sequence[Billed]) -> str:
    """How much of the writes no text foretells."""
    scale, shared = fit(every)
    off = [one.bill["write"] - one.simulated(scale, shared)["write"] for one in every]
    typical = fit(every, statistics.median)
    twice = sorted(one.bill["write"] - one.simulated(*typical)["write"] for one in every)[-8:]
    mean = statistics.fmean(one.bill["write"] for one in every)
    half = len(every) // 2
    spread = statistics.pstdev(off) / mean
    return (f"Eight conversations wrote {sum(twice) / mean / len(every):.1%} of all on top of what the typical one would have: a cache "
            f"that let a prefix go. One conversation is off by {spread:.0%} of the mean (standard deviation), so a half of {half} by "
            f"{spread * (2 / half) ** 0.5:.1%} from what the other half says, whatever the two constants are.")


def fresh(every: Sequence[Billed]) -> list[str]:
    """Fresh tokens by one constant a unit that is known, fitted on the very conversations that it is held against."""
    total = sum(one.bill["fresh"] for one in every)
    most = sum(sorted(one.bill["fresh"] for one in every)[-5:]) / total
    share = total / sum(amount(one.bill, "price") for one in every)
    out = [f"Fresh tokens are {share:.2%} of the price, and five of {len(every)} conversations hold {most:.0%} of them. A third constant, "
           "fitted on all and held against the same, would leave at best:", "",
           "| a constant for each | sum exact: median conversation off by | median at its best | sum then off by |", "|---|---:|---:|---:|"]
    units: dict[str, Callable[[Billed], float]] = {"conversation": lambda one: 1, "request": lambda one: len(one.added) + 1,
                                                    "token that was added": lambda one: sum(one.added)}
    for name, unit in units.items():
        exact = total / sum(map(unit, every))
        medians = {part: statistics.median(abs(part * exact * unit(one) / one.bill["fresh"] - 1) for one in every)
                   for part in (n / 200 for n in range(60, 300))}
        best = min(medians, key=medians.__getitem__)
        out.append(f"| {name} | {medians[1.0]:.0%} | {medians[best]:.0%} | {best - 1:+.0%} |")
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
    print("\n".join(table(errors(held, partial(Billed.simulated, scale=scale, shared=shared)))))
    print(f"\nPrice: in input tokens at {PRICES.read:g} a read and {PRICES.write:g} a write ({PRICES.name}), without output, which these "
          f"recordings bill only in part (streams). `!`: beyond {SUM:.0%} in sum or {EACH:.0%} at the median.\n")
    scale, shared = fit(held)
    print(f"The halves exchanged: SCALE {scale:.3f}, SHARED {shared:,.0f}.\n")
    print("\n".join(table(errors(fitted, partial(Billed.simulated, scale=scale, shared=shared)))))
    print(f"\n{DRAWN} halves drawn, each held out from what the other says:\n")
    print("\n".join(drawn(every, statistics.fmean)))
    print("\nThe same with the median conversation's SHARED instead of the mean:\n")
    print("\n".join(drawn(every, statistics.median)))
    print(f"\n{rewritten(every)}\n")
    print("\n".join(fresh(every)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
