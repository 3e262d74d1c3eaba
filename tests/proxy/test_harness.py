"""Adapters of harnesses keep to what their drivers ask of them."""
from __future__ import annotations

import inspect

import pytest

from byref.proxy import discover
from byref.proxy.harness import Harness, Listed, skill

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


@pytest.mark.parametrize("name", HOOKED)
def test_a_skill_names_the_tool_as_the_harness_does(name: str) -> None:
    module = discover.load("harnesses", name)
    assert f"`{'byref_fetch' if name == 'opencode' else 'fetch'}` with ref=REF" in module.SKILL and "BYREF=off" in module.SKILL
    assert module.SKILL.startswith("---\nname: byref\n") and module.SKILL.endswith(".\n") and "{" not in module.SKILL


def test_a_skill_speaks_of_files_where_a_tool_changes_them_unread() -> None:
    assert "`edit` works on the file itself" in skill("look", edit="edit") and "cat FILE" in skill("look", edit="edit")
    assert "cat FILE" not in skill("look") and "\n- An early word.\n- Need what" in skill("look", early="An early word.")
