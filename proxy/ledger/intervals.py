"""Intervals of figures over sessions, by the paired bootstrap: sessions are drawn with replacement, each with all its sums.

Efron and Tibshirani, An Introduction to the Bootstrap (1993), percentile intervals. Figures of one call are taken of the same draws,
so that those of two arms, and their difference, are paired. The seed is fixed; numpy draws where it is installed, else the standard
library, whose draws are others.

Percentiles of few rows are too close: draws vary less than samples do. So they are taken further out, by Student's quantile and the
bias of a sample's deviation (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015: expanded
percentiles). Where a few sessions make up most of a bill, intervals of fewer than some 50 are too narrow all the same.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
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
    tail = _tail((1 - level) / 2, len(rows))
    return [_interval(value, sorted(found), tail) for value, found in zip(values, drawn, strict=True)]


def _tail(share: float, rows: int) -> float:
    """The share of draws to leave out at an end, so that this share of samples of so many rows lies beyond."""
    normal = NormalDist()
    return normal.cdf(student(share, rows - 1) * math.sqrt(rows / (rows - 1)))


def student(share: float, freedom: int) -> float:
    """The quantile of Student's t, by the series of Abramowitz and Stegun, 26.7.5: within 1 % of it from two degrees of freedom on."""
    z = NormalDist().inv_cdf(share)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
             (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160)
    return z + math.fsum(term / float(freedom)**power for power, term in enumerate(terms, 1))


def _interval(value: float, drawn: Sequence[float], tail: float) -> Interval:
    if not drawn:
        return Interval(value, math.nan, math.nan)
    out = tail * (len(drawn) - 1)
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
