"""What a view is worth by price regime, against figures worked out by hand."""
from __future__ import annotations

import pytest

from byref.proxy.ledger.economics import REGIMES, Prices

CHEAP = Prices("cheap reads", read=0.05, write=1.25, output=5)


def test_a_token_is_written_once_and_read_on_every_later_request() -> None:
    assert CHEAP.keep(0) == 1.25 and CHEAP.keep(20) == pytest.approx(2.25)
    assert Prices("no cache", read=1, write=1, output=5).keep(20) == 21


@pytest.mark.parametrize(("name", "price"), [
    ("Claude 4.x", 3.25), ("GPT-5, Gemini 2.5 Pro", 3.0), ("DeepSeek V4 Flash", 1.4), ("half of that for reads", 2.25), ("no cache", 21.0)])
def test_a_token_that_twenty_requests_read_again_costs_by_regime(name: str, price: float) -> None:
    one = next(prices for prices in REGIMES if prices.name == name)
    assert one.keep(20) == pytest.approx(price)
    assert one.hitting(1).keep(20) == pytest.approx(price) and one.hitting(0).keep(20) == pytest.approx(21 * one.write)


def test_the_view_and_the_raw_output_cost_the_same_at_break_even() -> None:
    sizes = {"view": 800, "prefix": 40_000, "fetched": 1500, "later": 20}
    even = CHEAP.break_even(raw=8000, **sizes)
    assert CHEAP.view(extra=even, **sizes) == pytest.approx(8000 * CHEAP.keep(20))


def test_break_even_of_a_long_output_and_of_a_short_one_on_a_long_prefix() -> None:
    long = {"raw": 8000, "view": 800, "prefix": 40_000, "later": 20}
    assert round(CHEAP.break_even(fetched=1500, **long), 1) == 2.5
    assert round(CHEAP.break_even(fetched=8000, **long), 2) == 0.77
    assert CHEAP.break_even(raw=500, view=50, prefix=150_000, fetched=1500, later=20) < 0.1


def test_late_rewriting_pays_later_the_cheaper_reads_are() -> None:
    late = [Prices("", read=r, write=1.25, output=5).rewriting(rewritten=100, behind=100) for r in (0.1, 0.05, 0.025)]
    assert late == pytest.approx([11.5, 24, 49])
    assert CHEAP.rewriting(rewritten=50, behind=100) == pytest.approx(48)
    assert Prices("free reads", read=0, write=1, output=5).rewriting(rewritten=1, behind=1) == float("inf")


def test_a_definition_is_read_by_every_request_after_the_first() -> None:
    assert CHEAP.definition(tokens=700, requests=21) == pytest.approx(700 * 2.25) and CHEAP.definition(tokens=700, requests=0) == 0


def test_the_regimes_have_names_of_their_own() -> None:
    assert len({prices.name for prices in REGIMES}) == len(REGIMES) and all(p.read <= p.write for p in REGIMES)
