"""What layers are given: a budget that ends, and spans as the one coordinate."""
from __future__ import annotations

from threading import Event

import pytest

from byref.layers.contract import Budget, Hit, LayerStatus, Span


def test_a_budget_ends_with_its_time_or_when_nobody_waits_any_more() -> None:
    now = [0.0]
    budget = Budget(1.0, Event(), lambda: now[0])
    assert not budget.late()
    now[0] = 1.0
    assert budget.late()
    now[0] = 0.0
    budget.cancel.set()
    assert budget.late()


def test_records_are_frozen() -> None:
    for record in (Budget(1.0, Event(), lambda: 0.0), LayerStatus("a", "1", "generate", "", "", 0, "", 0)):
        with pytest.raises(AttributeError):
            record.until = 2.0  # type: ignore[union-attr, misc]
    with pytest.raises(AttributeError):
        Hit(Span("b2:0", 0, 1), 1, "text").score = 2  # type: ignore[misc]
