"""Every adapter of a tool says what the frontends make commands, MCP tools and routes of."""
from __future__ import annotations

import re

import pytest

from byref.proxy import discover
from byref.proxy.operations import Adapter

ADAPTERS = [discover.load("tools", name).ADAPTER for name in discover.names("tools")]
KINDS = {"text", "integer", "flag", "texts"}


def test_there_are_adapters() -> None:
    assert {"grep", "shell"} <= {adapter.name for adapter in ADAPTERS}


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_a_definition_is_whole(adapter: Adapter) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]{1,15}", adapter.name)
    assert adapter.operations
    names = [operation.name for operation in adapter.operations]
    assert len(set(names)) == len(names)
    for operation in adapter.operations:
        assert re.fullmatch(r"[a-z][a-z_]{0,23}|", operation.name)
        assert (operation.request is None) != (operation.run is None), "an operation asks an API or runs here"
        assert (operation.request is None) == (adapter.base == ""), "an API has a base"
        words = [argument.name for argument in operation.arguments]
        assert len(set(words)) == len(words)
        for argument in operation.arguments:
            assert re.fullmatch(r"[a-z][a-z_]{0,23}", argument.name)
            assert argument.kind in KINDS
            assert argument.help and not argument.help.endswith(".")
        plain = [argument.kind for argument in operation.arguments if argument.plain]
        assert "texts" not in plain[:-1], "after a list no further word can be told apart"
    assert adapter.asked == "" or any(argument.name == "search" for operation in adapter.operations if operation.name == adapter.asked
                                      for argument in operation.arguments)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_its_base_is_https_and_names_no_place_below_it(adapter: Adapter) -> None:
    assert adapter.base == "" or re.fullmatch(r"https://[a-z0-9.-]+(?:/[\w.-]+)*", adapter.base)
