"""Intervals of figures over sessions, by the paired bootstrap: sessions are drawn with replacement, each with all its sums.

Efron and Tibshirani, An Introduction to the Bootstrap (1993), percentile intervals. Figures of one call are taken of the same draws,
so that those of two arms, and their difference, are paired. The seed is fixed; numpy draws where it is installed, else the standard
library, whose draws are others.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

TIMES = 10_000
SEED = 20261129
LEVEL = 0.95
_AT_ONCE = 1_000_000  # numbers drawn at once by numpy: 8 MB


class Interval(NamedTuple):
    """A figure, and the bounds of its interval; both NaN where fewer than two sessions were drawn from."""

    value: float
    low: float
    high: float


def bootstrap(rows: Sequence[Sequence[float]], figures: Callable[[Sequence[float]], Sequence[float]], *, times: int = TIMES,
              seed: int = SEED, level: float = LEVEL) -> list[Interval]:
    """The interval of each figure. rows: one a session, its sums; figures: of the sums of all rows, some figures, NaN for none."""
    width = len(rows[0]) if rows else 0
    whole = [math.fsum(row[k] for row in rows) for k in range(width)]
    values = list(figures(whole))
    if len(rows) < 2:
        return [Interval(value, math.nan, math.nan) for value in values]
    drawn: list[list[float]] = [[] for _ in values]
    for sums in _draws(rows, times, seed):
        for into, value in zip(drawn, figures(sums), strict=True):
            if not math.isnan(value):
                into.append(value)
    return [_interval(value, sorted(found), level) for value, found in zip(values, drawn, strict=True)]


def _interval(value: float, drawn: Sequence[float], level: float) -> Interval:
    if not drawn:
        return Interval(value, math.nan, math.nan)
    out = (1 - level) / 2 * (len(drawn) - 1)
    return Interval(value, drawn[round(out)], drawn[len(drawn) - 1 - round(out)])


def _draws(rows: Sequence[Sequence[float]], times: int, seed: int) -> Iterator[Sequence[float]]:
    """Sums over as many rows as there are, drawn with replacement."""
    try:
        import numpy
    except ImportError:
        numbers = random.Random(seed)
        for _ in range(times):
            yield [math.fsum(column) for column in zip(*numbers.choices(rows, k=len(rows)), strict=True)]
        return
    matrix, generator, count = numpy.asarray(rows, dtype=float), numpy.random.default_rng(seed), len(rows)
    shares = numpy.full(count, 1 / count)
    done = 0
    while done < times:
        size = min(times - done, max(1, _AT_ONCE // count))
        sums: list[list[float]] = (generator.multinomial(count, shares, size=size) @ matrix).tolist()
        yield from sums
        done += size
