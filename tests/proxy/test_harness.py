"""Adapters of harnesses keep to what their drivers ask of them."""
from __future__ import annotations

import inspect

import pytest

from byref.proxy import discover
from byref.proxy.harness import Harness, Listed

HOOKED = [name for name in discover.names("harnesses") if hasattr(discover.load("harnesses", name), "rewritten")]


@pytest.mark.parametrize("name", HOOKED)
def test_an_adapter_with_hooks_has_all_that_the_driver_calls(name: str) -> None:
    module = discover.load("harnesses", name)
    for wanted, declared in inspect.getmembers(Harness, inspect.isfunction):
        if wanted.startswith("_"):
            continue
        taken = list(inspect.signature(getattr(module, wanted)).parameters)
        assert taken == list(inspect.signature(declared).parameters)[1:], wanted


def test_some_adapter_has_hooks() -> None:
    assert "claude_code" in HOOKED


def test_an_entry_that_has_to_stay_says_why() -> None:
    assert Listed().why == "" and Listed(why="it signs in").command == ()
