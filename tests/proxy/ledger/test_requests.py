"""Bills made request by request say what the closed form says, whatever the conversation."""
from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.ledger.economics import OWN, REGIMES, Prices
from byref.proxy.ledger.requests import Request, price, requests

tokens = st.integers(0, 50_000)
ALL = st.sampled_from([*REGIMES, OWN])


def conversations(prefix: int, raw: int, view: int, fetched: int, asking: int, later: list[int]) -> tuple[
        tuple[list[float], list[float]], tuple[list[float], list[float]]]:
    """The same conversation with the raw output, and with its view and one extra request: what each sends, what each writes."""
    plain: tuple[list[float], list[float]] = [prefix, raw, *later], [1, 2, *later]
    viewed: tuple[list[float], list[float]] = [prefix, view, asking + fetched, *later], [1, asking, 2, *later]
    return plain, viewed


def test_each_request_reads_what_the_one_before_it_sent() -> None:
    assert requests([100, 20, 5], [7, 8]) == [Request(0, 100, 7), Request(100, 20, 8), Request(120, 5, 0)]
    assert requests([100, 20], shared=60, lost={1}) == [Request(60, 40), Request(0, 120)] and requests([10], shared=60) == [Request(10, 0)]
    assert price(requests([100, 20], [7]), Prices("", read=0.1, write=1.25, output=5)) == 100 * 1.25 + 100 * 0.1 + 20 * 1.25 + 35


@given(ALL, tokens, tokens, tokens, tokens, st.integers(0, 300), st.lists(tokens, max_size=30))
def test_what_a_view_saves_in_closed_form_is_the_difference_of_two_bills(
        prices: Prices, prefix: int, raw: int, view: int, fetched: int, asking: int, later: list[int]) -> None:
    plain, viewed = conversations(prefix, raw, view, fetched, asking, later)
    difference = price(requests(*viewed), prices) - price(requests(*plain), prices)
    closed = prices.view(view=view, extra=1, prefix=prefix, fetched=fetched, later=len(later), asking=asking)
    assert closed - raw * prices.keep(len(later)) == pytest.approx(difference, abs=1e-3)


@given(ALL, st.integers(0, 100), tokens, tokens, tokens, tokens, st.lists(tokens, max_size=4))
def test_a_cache_that_may_have_let_go_costs_what_all_its_ways_cost_on_average(
        prices: Prices, percent: int, prefix: int, raw: int, view: int, fetched: int, later: list[int]) -> None:
    hit = percent / 100
    expected = []
    for sent, output in conversations(prefix, raw, view, fetched, 150, later):
        total = 0.0
        for kept in product((True, False), repeat=len(sent) - 1):
            weight = 1.0
            for one in kept:
                weight *= hit if one else 1 - hit
            total += weight * price(requests(sent, output, lost={i + 1 for i, one in enumerate(kept) if not one}), prices)
        expected.append(total)
    some = prices.hitting(hit)
    closed = some.view(view=view, extra=1, prefix=prefix, fetched=fetched, later=len(later)) - raw * some.keep(len(later))
    assert closed == pytest.approx(expected[1] - expected[0], abs=1e-2)


@given(ALL, st.integers(0, 2000), tokens, st.lists(tokens, max_size=20))
def test_a_definition_costs_what_the_requests_with_it_cost_more(prices: Prices, size: int, prompt: int, later: list[int]) -> None:
    more = price(requests([prompt + size, *later]), prices) - price(requests([prompt, *later]), prices)
    assert prices.definition(tokens=size, requests=len(later) + 1) == pytest.approx(more, abs=1e-3)


@given(st.integers(1, 5000), tokens, st.integers(0, 40))
def test_late_rewriting_pays_beyond_its_break_even_and_not_before(cut: int, behind: int, later: int) -> None:
    prices = REGIMES[0]
    kept = sum(prices.read * (cut + behind) for _ in range(later))
    again = sum((prices.write if i == 0 else prices.read) * behind for i in range(later))
    if later:
        assert (again < kept) == (later > prices.rewriting(rewritten=cut, behind=behind) + 1e-9)
