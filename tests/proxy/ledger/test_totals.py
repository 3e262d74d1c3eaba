"""Totals: following turns, and what was saved at prices, against sums by hand."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Event
from byref.proxy.ledger import events
from byref.proxy.ledger.economics import ASKING, REGIMES, Prices
from byref.proxy.ledger.report import report
from byref.proxy.ledger.requests import price, requests
from byref.proxy.ledger.totals import Conversation, Report, Row

PRICES = Prices("made", read=0.1, write=1.25, output=5)
tokens = st.integers(0, 5000)


def viewed(ref: str, raw: int, view: int, session: str = "s") -> tuple[Event, ...]:
    return events.captured(at=1.0, session=session, ref=ref, tool="Bash", shape="log", size=raw, raw=raw, view=view, parts=1, gaps=1)


def test_turns_follow_the_calls_and_are_as_many_as_were_billed() -> None:
    guessed, billed = Conversation("s", calls=4, so_far=1), Conversation("s", calls=4, so_far=1, messages={1, 2, 3})
    assert (guessed.requests, guessed.later) == (5, 3) and (billed.requests, billed.later) == (3, 3 * 3 / 5)


def test_no_request_after_a_compaction_reads_what_stood_before_it() -> None:
    calls = [viewed(f"r{n}", 1000, 100) for n in range(4)]
    gone = events.compacted(at=1.0, session="s")
    whole = report([event for call in calls for event in call])
    parted = report([*calls[0], *calls[1], gone, gone, *calls[2], *calls[3]])
    assert (whole.total.turns, whole.carried) == (3 + 2 + 1, 900 * 6)
    assert (parted.total.turns, parted.carried) == (1 + 1, 900 * 2) and parted.net == whole.net
    page = events.fetched(at=1.0, session="s", ref="r1", tool="Bash", shape="log", tokens=300, size=900)
    assert report([*calls[0], *calls[1], gone, page, *calls[2], *calls[3]]).carried == 900 * 2 - 300 * 2, "fetched after it, it is read on"


def test_a_session_that_many_conversations_share_has_no_turns() -> None:
    found = report([event for n in range(9) for event in viewed(f"r{n}", 1000, 100, "cli")])
    assert found.net == 8100 and found.carried == 0 and found.total.turns == 0


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=9), st.sampled_from(REGIMES), st.integers(0, 400))
def test_the_saving_is_the_difference_of_two_bills(sizes: list[tuple[int, int]], prices: Prices, definition: int) -> None:
    found = report([event for n, (raw, view) in enumerate(sizes) for event in viewed(f"r{n}", raw, view)], definition=definition)
    plain = price(requests([100.0, *(float(raw) for raw, _ in sizes)]), prices)
    ours = price(requests([100.0 + definition, *(float(view) for _, view in sizes)]), prices)
    assert found.saving(prices) == pytest.approx(plain - ours, abs=1e-3)


def test_a_call_that_was_made_again_because_of_us_is_no_part_of_the_bill_without_us() -> None:
    bill = [events.usage(at=1.0, session="s", ref="", tool="", message=f"m{n}", numbers={"read": 9000, "written": 900}) for n in range(3)]
    again = events.captured(at=1.0, session="s", ref="r1", tool="Bash", shape="log", size=9000, raw=9000, view=100, parts=1, gaps=1,
                            repeats="r1")
    found = report([*viewed("r1", 9000, 100), *again, *bill])
    assert found.total.repeats == 1
    results, saved = found.of_bill(PRICES) or (0.0, 0.0)
    without = (found.bill(PRICES) or 0.0) + found.saving(PRICES)
    assert results == pytest.approx((9000 * PRICES.write + 9000 * 1 * PRICES.read) / without) and saved < results < 1


def test_a_fetch_costs_a_request_that_reads_the_context_as_it_was_billed() -> None:
    fetched = events.fetched(at=1.0, session="s", ref="r1", tool="Bash", shape="log", tokens=300, size=900)
    bill = [events.usage(at=1.0, session="s", ref="", tool="", message=f"m{n}", numbers={"read": 900, "written": 100}) for n in range(3)]
    ledger = [*viewed("r1", 1000, 100), fetched, *viewed("r2", 50, 50), *bill]
    found = report(ledger)
    later = 1 * 3 / 3  # of two calls and three requests, the first output has one request after it
    asking = PRICES.read * 1000 + ASKING * (PRICES.output + PRICES.write) + ASKING * PRICES.read * later
    assert found.saving(PRICES) == pytest.approx((900 - 300) * PRICES.write + (900 - 300) * later * PRICES.read - asking)
    without = report([event for event in ledger if event.kind != "usage"])
    assert without.saving(PRICES) > found.saving(PRICES), "a context of which little is known costs less than it did"


def test_rows_add_up() -> None:
    one = Row(calls=1, raw=10, view=4, fetched=1, repeated=2, turns=1.5)
    one.add(Row(calls=2, raw=5, view=5, turns=0.5))
    assert (one.calls, one.gross, one.net, one.saved, one.turns) == (3, 6, 3, 0.2, 2.0) and Row().saved == 0


def test_tool_results_are_all_that_was_written_and_read_of_them_in_the_bill_as_it_would_have_been() -> None:
    bill = [events.usage(at=1.0, session="s", ref="", tool="", message=f"m{n}", numbers={"read": 9000, "written": 1000}) for n in range(3)]
    found = report([*viewed("r1", 1000, 100), *viewed("r2", 500, 500), *bill])
    saved = 900 * PRICES.write + 900 * PRICES.read
    would = 3 * (9000 * PRICES.read + 1000 * PRICES.write) + saved
    assert found.of_bill(PRICES) == pytest.approx(((1500 * PRICES.write + 1000 * PRICES.read) / would, saved / would))


def test_nothing_has_no_shares_of_a_bill() -> None:
    assert Report().of_bill(PRICES) is None and Report().bill(PRICES) is None and Report().saving(PRICES) == 0 and Report().asked == 0


def test_prompts_that_views_made_too_short_for_the_cache_are_told_and_cost_what_input_does() -> None:
    ledger = [*viewed("r1", 1000, 100)]
    short = [events.uncached(at=1.0, session="s", tokens=size, minimum=least) for size, least in ((900, 1024), (800, 1024), (3000, 4096))]
    found, without = report([*ledger, *short]), report(ledger)
    assert found.as_dict()["uncached"] == {"prompts": 3, "tokens": 4700, "minimums": {"1024": 2, "4096": 1}}
    assert found.saving(PRICES) == pytest.approx(without.saving(PRICES) - 4700 * 0.9), "what was not read from the cache at .1 cost 1"
    assert "3 prompts were sent uncached" in found.text and "shorter than the 1024 or 4096 tokens" in found.text
    assert "uncached" not in without.text and without.as_dict()["uncached"] == {"prompts": 0, "tokens": 0, "minimums": {}}
