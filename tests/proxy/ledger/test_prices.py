"""Prices come from a table with its version and date, and from multipliers where there is none; nothing is fetched."""
from __future__ import annotations

import socket
import sys
from datetime import date

import pytest

from byref.proxy.errors import Invalid
from byref.proxy.ledger.economics import OWN, REGIMES, Prices
from byref.proxy.ledger.prices import priced, usual


def test_a_models_list_price_comes_with_the_tables_version_and_day(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("genai_prices", reason="the extra `report` is not installed")

    def refused(*_: object) -> None:
        raise AssertionError("a price was asked of the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    found = priced("claude-sonnet-4-5", date(2026, 11, 30))
    assert found.prices == Prices("claude-sonnet-4-5", read=0.1, write=1.25, output=5) and found.dollars == 3
    assert found.money(2_000_000) == 6 and "genai-prices 0." in found.source and found.source.endswith("as it prices 2026-11-30")
    assert priced("gpt-5").prices.write == 1, "a provider that has no price of writes bills them as input"


def test_a_regime_has_multipliers_and_no_dollars() -> None:
    assert [priced(regime.name).prices for regime in (*REGIMES, OWN)] == [*REGIMES, OWN]
    assert priced("no cache").money(5) is None and "$" not in priced("no cache").text


def test_without_the_table_a_model_is_refused_with_what_there_is_and_the_multipliers_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(Invalid, match=r"pip install 'byref\[report\]'.*'Claude 4.x'"):
        priced("gpt-5")
    assert usual().prices == REGIMES[0] and usual().dollars is None


def test_an_unknown_model_says_how_models_are_named() -> None:
    pytest.importorskip("genai_prices", reason="the extra `report` is not installed")
    with pytest.raises(Invalid, match="knows no model 'nonesuch'"):
        priced("nonesuch")
