"""Intervals of figures over sessions, by the paired bootstrap: sessions are drawn with replacement, each with all its sums.

Efron and Tibshirani, An Introduction to the Bootstrap (1993), percentile intervals. All figures of some `Draws` are taken of the same
draws, so that those of two arms, and their difference, are paired. The seed is fixed; numpy draws where it is installed, else the
standard library, whose draws are others.

Percentiles of few rows are too close: draws vary less than samples do. So they are taken further out, by Student's quantile and the
bias of a sample's deviation (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015: expanded
percentiles). Where a few sessions make up most of a bill, intervals of fewer than some 50 are too narrow all the same.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

TIMES = 10_000
SEED = 20261129
LEVEL = 0.95
_AT_ONCE = 1_000_000  # numbers drawn at once by numpy: 8 MB
Table = Sequence[Sequence[float]]


class Interval(NamedTuple):
    """A figure, and the bounds of its interval; both NaN where fewer than two sessions were drawn from."""

    value: float
    low: float
    high: float


def share(part: float, whole: float) -> float:
    """A part of a whole; NaN of nothing. Of two columns of draws, each draw's."""
    if isinstance(whole, (int, float)):
        return part / whole if whole else math.nan
    import numpy
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return cast("float", numpy.where(whole == 0, math.nan, part / whole))


def at_least(least: float, value: float) -> float:
    """The larger of the two. Of a column of draws, each draw's."""
    if isinstance(value, (int, float)):
        return max(least, value)
    import numpy
    return cast("float", numpy.maximum(least, value))


class Draws:
    """Sums over as many sessions as there are, drawn with replacement. tables: of one row a session, its sums, all in the same order;
    the same sessions are drawn from each.
    """

    def __init__(self, *tables: Table, times: int = TIMES, seed: int = SEED) -> None:
        self.rows = len(tables[0])
        self._whole = [[math.fsum(column) for column in zip(*table, strict=True)] for table in tables]
        self._columns: list[NDArray[float64]] | None = None  # of each table, a row a sum: what it is in each draw
        self._each: list[list[list[float]]] = []  # without numpy: of each draw, the sums of each table
        if self.rows < 2:
            return
        try:
            self._columns = _columns(tables, times, seed)
        except ImportError:
            numbers = random.Random(seed)
            draws = [numbers.choices(range(self.rows), k=self.rows) for _ in range(times)]
            self._each = [[[math.fsum(column) for column in zip(*map(table.__getitem__, drawn), strict=True)] for table in tables]
                          for drawn in draws]

    def intervals(self, figures: Callable[..., Sequence[float]], level: float = LEVEL) -> list[Interval]:
        """The interval of each figure. figures: of the sums of each table, some figures, NaN for none, by plain arithmetic, `share` and
        `at_least` alone: numpy gives it a column of all draws for each sum.
        """
        values = list(figures(*self._whole))
        if self.rows < 2:
            return [Interval(value, math.nan, math.nan) for value in values]
        tail = _tail((1 - level) / 2, self.rows)
        return [_interval(value, drawn, tail) for value, drawn in zip(values, self._drawn(figures), strict=True)]

    def _drawn(self, figures: Callable[..., Sequence[float]]) -> list[list[float]]:
        """Each figure in each draw that has it, in order of size."""
        if self._columns is None:
            return [sorted(value for value in found if not math.isnan(value))
                    for found in zip(*(figures(*sums) for sums in self._each), strict=True)]
        import numpy
        columns = [numpy.asarray(found, dtype=float) for found in figures(*map(list, self._columns))]
        return [numpy.sort(found[~numpy.isnan(found)]).tolist() for found in columns]


def bootstrap(rows: Table, figures: Callable[[Sequence[float]], Sequence[float]], *, times: int = TIMES, seed: int = SEED,
              level: float = LEVEL) -> list[Interval]:
    """The intervals of figures of one table; see `Draws`."""
    return Draws(rows, times=times, seed=seed).intervals(figures, level)


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


def _columns(tables: Sequence[Table], times: int, seed: int) -> list[NDArray[float64]]:
    import numpy
    matrices, generator, count = [numpy.asarray(table, dtype=float) for table in tables], numpy.random.default_rng(seed), len(tables[0])
    shares, sums, done = numpy.full(count, 1 / count), [numpy.empty((times, matrix.shape[1])) for matrix in matrices], 0
    while done < times:
        size = min(times - done, max(1, _AT_ONCE // count))
        drawn = generator.multinomial(count, shares, size=size)
        for into, matrix in zip(sums, matrices, strict=True):
            into[done:done + size] = drawn @ matrix
        done += size
    return [numpy.ascontiguousarray(found.T) for found in sums]
