"""Intervals hold the truth as often as they say, are the same each time, and are empty where two arms are the same."""
from __future__ import annotations

import math
import random
import sys

import pytest

from byref.proxy.ledger.intervals import Draws, Interval, at_least, bootstrap, share, student


def test_an_interval_of_a_mean_is_that_of_theory() -> None:
    numbers = random.Random(1)
    rows = [(numbers.gauss(10, 2), 1.0) for _ in range(400)]
    (found,) = bootstrap(rows, lambda sums: [sums[0] / sums[1]])
    mean = sum(row[0] for row in rows) / 400
    assert found.value == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((mean - 1.96 * 2 / 20, mean + 1.96 * 2 / 20), abs=0.04)


@pytest.mark.parametrize("numpy", [True, False])
def test_the_same_rows_give_the_same_interval(monkeypatch: pytest.MonkeyPatch, numpy: bool) -> None:
    if not numpy:
        monkeypatch.setitem(sys.modules, "numpy", None)
    rows = [(float(n % 7), 1.0) for n in range(30)]
    one, two = (bootstrap(rows, lambda sums: [sums[0] / sums[1]], times=500) for _ in range(2))
    assert one == two
    assert one[0].low < one[0].value < one[0].high


def test_two_arms_that_are_the_same_differ_by_nothing_in_every_draw() -> None:
    rows = [(float(n), float(n)) for n in range(50)]
    assert bootstrap(rows, lambda sums: [sums[0] - sums[1]], times=200) == [Interval(0.0, 0.0, 0.0)]


@pytest.mark.parametrize("numpy", [True, False])
def test_figures_of_two_tables_are_of_the_same_sessions_and_those_of_each_draw(monkeypatch: pytest.MonkeyPatch, numpy: bool) -> None:
    if not numpy:
        monkeypatch.setitem(sys.modules, "numpy", None)
    rows = [(float(n % 7), float(n % 2)) for n in range(30)]
    draws = Draws(rows, [(2 * one, two) for one, two in rows], times=300)
    paired, alone, whole = draws.intervals(lambda one, two: [
        two[0] - 2 * one[0], share(one[0], at_least(3, one[1])), share(one[1], one[1] - one[1])])
    assert paired == Interval(0.0, 0.0, 0.0)
    assert alone == bootstrap(rows, lambda sums: [share(sums[0], at_least(3, sums[1]))], times=300)[0]
    assert alone.value == sum(one for one, _ in rows) / 15 and alone.low < alone.value < alone.high
    assert math.isnan(whole.value) and math.isnan(whole.low), "a share of nothing is nothing"


def test_one_session_has_a_figure_and_no_interval() -> None:
    (found,) = bootstrap([(3.0, 4.0)], lambda sums: [sums[0] / sums[1]])
    assert found.value == 0.75
    assert math.isnan(found.low) and math.isnan(found.high)
    assert bootstrap([], lambda sums: [math.nan])[0].value != 0


def test_draws_in_which_there_is_nothing_to_tell_are_left_out() -> None:
    (found,) = bootstrap([(1.0, 1.0), (0.0, 0.0)], lambda sums: [share(sums[0], sums[1])], times=200)
    assert found == Interval(1.0, 1.0, 1.0)


@pytest.mark.parametrize(("rows", "least"), [(4, 0.84), (8, 0.9), (30, 0.92)])
def test_of_few_sessions_an_interval_holds_the_truth_about_as_often_as_it_says(rows: int, least: float) -> None:
    """Plain percentiles do so for 81 of 100 of these samples of four, 86 of eight."""
    numbers, held, worlds = random.Random(7), 0, 400
    for _ in range(worlds):
        drawn = [(numbers.gauss(10, 2), 1.0) for _ in range(rows)]
        (found,) = bootstrap(drawn, lambda sums: [sums[0] / sums[1]], times=400)
        held += found.low <= 10 <= found.high
    assert least <= held / worlds <= 0.985


def test_quantiles_of_student_are_those_of_the_tables() -> None:
    assert [student(0.025, n) for n in (2, 4, 10, 60)] == pytest.approx([-4.3027, -2.7764, -2.2281, -2.0003], rel=0.01)
