"""Figures over sessions: each is what its words say, tools add up, money is the billed share, and profiles are compared in pairs."""
from __future__ import annotations

import math

import pytest

from byref.proxy.ledger.economics import REGIMES, Prices
from byref.proxy.ledger.prices import Priced
from byref.proxy.ledger.savings import TOOLS, Savings
from byref.proxy.ledger.summary import Charge, Summary, Sums
from byref.proxy.ledger.tally import Count
from byref.proxy.ledger.trajectories import Usage

FLAT = Prices("flat", read=0, write=1, output=0)


def session(number: int, view: int, tool: str = "Bash", usage: Usage | None = None, model: str = "") -> Summary:
    """A session of one output of 1,000 tokens, read by ten requests, with 4,000 tokens of all else."""
    count = Count(outputs=1, raw=1000, view=view, used=4, lost=2, named=1, need=1, edits=2, unseen=1)
    sums = Sums(count, Charge(10_000, 1000), Charge(10 * view, view), Charge(5000, 1150, 150), Charge(5000, 650, 150), 1)
    return Summary(f"s{number}", "test", model, usage, 11, 500, {tool: sums}, Charge(40_000, 4000, 500), Charge(100, 10),
                   {1: (4000, 4000), 2: (5000, 4000 + view)})


def filled(*views: int) -> Savings:
    found = Savings()
    for number, view in enumerate(views):
        found.add(session(number, view))
    return found


def test_shares_of_tokens_and_evidence() -> None:
    found = filled(400, 600).tokens()
    assert {name: found[name].value for name in ("saved", "es", "data", "edit")} == {"saved": 0.5, "es": 0.75, "data": 0.5, "edit": 0.5}
    assert found["need"].value == 2.0, "two losses for 1,000 tokens left out"
    assert (found["saved"].low, found["saved"].high) == (0.4, pytest.approx(0.6))


def test_shares_of_the_bill_at_prices_where_they_can_be_done_by_hand() -> None:
    (found,) = filled(400, 400).regimes([FLAT])
    assert found.bill == 10_000, "two sessions, 1,000 tokens of output and 4,000 of all else, each written once"
    assert [of.value for of in (found.most, found.gross, found.fetched, found.again)] == pytest.approx(
        [0.2, 0.12, (600 - 650 - 10) / 5000, (600 - 1150 - 10) / 5000])


def test_the_bill_is_of_what_the_agent_wrote_and_of_reads_too() -> None:
    (found,) = filled(400, 400).regimes([Prices("all", read=0.1, write=1.25, output=5)])
    bill = 50_000 * 0.1 + 5000 * 1.25 + 500 * 5  # of each session
    assert found.bill == pytest.approx(2 * bill) and found.most.value == pytest.approx((10_000 * 0.1 + 1000 * 1.25) / bill)
    asked, ours = 5000 * 0.1 + 650 * 1.25 + 150 * 5, 100 * 0.1 + 10 * 1.25
    assert found.fetched.value == pytest.approx((6000 * 0.1 + 600 * 1.25 - asked - ours) / bill)


def test_tools_add_up_to_the_gross_of_the_whole_and_small_ones_stand_together() -> None:
    savings = Savings()
    for number in range(TOOLS + 3):
        savings.add(session(number, 400, f"tool{number:02}"))
    tools = savings.by_tool()
    assert [one.name for one in tools][-1] == "3 others" and len(tools) == TOOLS + 1
    assert math.fsum(one.gross.value for one in tools) == pytest.approx(savings.regimes(REGIMES[:1])[0].gross.value)


def test_money_is_the_share_of_what_was_billed() -> None:
    savings = Savings(lambda model: Priced(FLAT, 2.0, "a table") if model == "known" else None)
    savings.add(session(1, 400, usage=Usage(11, 0, 40_000, 3_000_000, 10), model="known"))
    savings.add(session(2, 400, usage=Usage(11, 0, 40_000, 3_000_000, 10), model="other"))
    (found,) = savings.money()
    assert (found.model, found.sessions, found.bill) == ("known", 1, pytest.approx(6.0))
    assert found.gross.value == pytest.approx(6.0 * 0.12)
    assert savings.unbilled == 1


def test_where_a_file_holds_only_the_beginning_of_an_answers_count_what_was_written_stands() -> None:
    priced = Priced(Prices("dear", read=0, write=1, output=5), 1.0, "a table")
    for counted, stands in ((10, 500), (800, 800)):
        savings = Savings(lambda model: priced)
        savings.add(session(1, 400, usage=Usage(11, 0, 0, 1000, counted), model="m"))
        assert savings.money()[0].bill == pytest.approx((1000 + stands * 5) / 1e6)


def test_caches_hold_what_was_written_and_turns_count_each_request() -> None:
    found = filled(400).kv(2)
    assert (found["raw"], found["saved"], found["net"]) == (2000, 1200, 2 * (600 - 650))
    assert (found["turns_raw"], found["turns_saved"]) == (22_000, 2 * 11 * 600)


def test_contexts_are_means_over_the_sessions_that_got_so_far() -> None:
    assert filled(400, 600).by_request() == [(1, 2, 4000, 4000), (2, 2, 5000, 4500)]


def test_the_same_sessions_at_another_profile_are_compared_in_pairs() -> None:
    same = filled(300, 500, 700).differences(filled(300, 500, 700))
    assert all((of.value, of.low, of.high) == (0, 0, 0) for of in same.values())
    more = filled(300, 500, 700).differences(filled(200, 400, 600))["saved"]
    assert (more.value, more.low, more.high) == pytest.approx((0.1, 0.1, 0.1)), "each saved a tenth more, so the interval has no width"


def test_nothing_gives_no_figures() -> None:
    assert (Savings().tokens(), Savings().regimes(), Savings().by_tool(), Savings().money()) == ({}, [], [], [])
