"""A trajectory's bill, worked out by hand, with views and without."""
from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Call
from byref.proxy.ledger.bill import Bill, bill
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import ASKING, REGIMES, Prices
from byref.proxy.ledger.replay import Raw, Replayed, Shown, replay
from byref.proxy.ledger.requests import price, requests
from byref.proxy.ledger.trajectories import Trajectory, Turn

PRICES = Prices("made", read=0.1, write=1.25, output=5)
TASK = Trajectory("1", "s", "t" * 100, (
    Turn("Bash", {"command": "a"}, "renew_lease " + "x" * 988, "w" * 99),
    Turn("Bash", {"command": "b"}, "y" * 100, "renew_lease " + "v" * 87)), "f" * 100)


class Short:
    """Shows a tenth."""

    marker = re.compile(r"(?!)")

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        return lambda call, output: Shown(output[-len(output) // 10:])


def replayed(arm: Short | Raw) -> list[Replayed]:
    return list(replay([TASK], arm, token_counter("estimate")))


def test_raw_outputs_are_written_once_and_read_by_the_requests_after() -> None:
    found = bill(replayed(Raw()), PRICES)
    assert found.raw == found.view == pytest.approx(300 * (1.25 + 0.1) + 30 * 1.25) and found.extra == 0
    context, said = 30 * (1.25 + 0.2), 30 * (5 + 1.25 + 0.1) + 30 * (5 + 1.25) + 30 * 5
    assert found.rest == pytest.approx(context + said)
    assert (found.gross, found.net) == (0, 0) and found.most == pytest.approx(found.raw / (found.raw + found.rest))


def test_a_lost_string_costs_a_request_that_reads_all_so_far() -> None:
    found = bill(replayed(Short()), PRICES)
    keep = 1.25 + 0.1
    assert found.view == pytest.approx(30 * keep + 3 * 1.25)
    assert found.extra == pytest.approx(0.1 * (30 + 30 + 30) + 5 * ASKING + (ASKING + 300) * keep)
    assert found.net == pytest.approx((found.raw - found.view - found.extra) / found.raw) and found.net < found.gross
    assert found.of_bill == pytest.approx(found.net * found.most)
    assert found.break_even == pytest.approx((found.raw - found.view) / found.extra)


def test_a_fetch_brings_less_than_the_call_made_again() -> None:
    again, piece, whole = (bill(replayed(Short()), PRICES, fetched).extra for fetched in (None, 100, 10_000))
    assert again == whole and again - piece == pytest.approx(200 * 1.35)


def test_the_gross_share_is_about_what_is_saved_of_the_tokens() -> None:
    assert all(0.8 < bill(replayed(Short()), prices).gross <= 0.9 + 1e-9 for prices in REGIMES)


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(1, 200), st.booleans()), min_size=1, max_size=8), st.sampled_from(REGIMES))
def test_the_bill_of_raw_outputs_is_the_sum_over_all_requests(turns: list[tuple[int, int, bool]], prices: Prices) -> None:
    made = Trajectory("1", "s", "t" * 50, tuple(
        Turn("Bash", {"n": i}, "y" * output, "" if with_next and i + 1 < len(turns) else f"{i}" + "w" * said)
        for i, (output, said, with_next) in enumerate(turns)), "f" * 100)
    [found] = replay([made], Raw(), token_counter("estimate"))
    sent, said = [float(found.context), *[0.0] * (found.requests - 1)], [float(n) for n, _ in found.said]
    for outcome in found.outcomes:
        sent[found.requests - 1 - outcome.evidence.later] += outcome.raw
    for number, written in enumerate(said[:-1]):
        sent[number + 1] += written
    whole = bill([found], prices)
    assert whole.raw + whole.rest == pytest.approx(price(requests(sent, said), prices))


def test_nothing_has_no_shares() -> None:
    assert str(Bill().net) == str(Bill().most) == "nan"
