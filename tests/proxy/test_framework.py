"""Adapters of frameworks are given what they are promised."""
from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import byref
from byref.proxy import discover
from byref.proxy.framework import Offered, Sessions
from byref.proxy.frontends.frameworks import Conversations

PROMISED = [name for name, _ in inspect.getmembers(Sessions, inspect.isfunction) if not name.startswith("_")]


def taken(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", PROMISED)
def test_the_sessions_of_an_application_have_all_that_adapters_call(name: str) -> None:
    assert taken(getattr(Conversations, name)) == taken(getattr(Sessions, name))


def test_three_tools_are_offered_under_names_of_ours() -> None:
    with byref.open("memory:") as gateway:
        tools = Conversations(gateway, "any", "scope").tools
    assert [tool.name for tool in tools] == ["byref_fetch", "byref_search", "byref_status"]
    assert all(isinstance(tool, Offered) and tool.schema["type"] == "object" and tool.description for tool in tools)


def test_an_adapter_of_a_framework_says_what_to_install() -> None:
    frameworks = [module for name in discover.names("harnesses") if hasattr(module := discover.load("harnesses", name), "middleware")]
    assert len(frameworks) >= 5 and all(taken(module.middleware) == ["sessions"] and ">=" in module.PACKAGE for module in frameworks)
