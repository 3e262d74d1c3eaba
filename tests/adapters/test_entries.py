"""Entries of MCP servers: what they start is read, and what makes them start something else changes no other key."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.adapters import entries
from byref.proxy.harness import Listed

LOCAL = Listed(("uvx", "git", "--all"), variables=(("A", "b"),))
REMOTE = Listed(url="https://x.example.com/mcp", headers=(("Authorization", "Bearer t"),))
ONE_LIST = entries.Keys(args="", variables="environment", kinds=("local", "remote"))


def applied(entry: dict[str, Any], values: Any) -> dict[str, Any]:
    return {key: value for key, value in {**entry, **values}.items() if value is not None}


def test_a_command_and_a_url_are_read_with_what_belongs_to_them() -> None:
    assert entries.listed({"command": "uvx", "args": ["git", "--all"], "env": {"A": "b"}, "url": 1, "other": 2}) == LOCAL
    assert entries.listed({"url": REMOTE.url, "headers": {"Authorization": "Bearer t"}}) == REMOTE
    assert entries.listed({"command": ["uvx", "git", "--all"], "environment": {"A": "b"}}, ONE_LIST) == LOCAL


@pytest.mark.parametrize("entry", [
    {}, {"command": 3}, {"command": ["npx"]}, {"command": "npx", "args": "x"}, {"command": "npx", "args": [1]}, {"url": ""}, {"url": 7},
    {"command": "npx", "env": {"PORT": 8080}}, {"url": "http://x", "headers": ["A: b"]}])
def test_what_cannot_be_read_says_why_and_starts_nothing(entry: dict[str, Any]) -> None:
    found = entries.listed(entry)
    assert found.why and not found.command and not found.url


@pytest.mark.parametrize("keys", [entries.USUAL, ONE_LIST], ids=["usual", "one list"])
@pytest.mark.parametrize("first", [LOCAL, REMOTE], ids=["local", "remote"])
@pytest.mark.parametrize("second", [LOCAL, REMOTE, Listed(("bare",))], ids=["to local", "to remote", "to bare"])
def test_what_is_listed_anew_starts_just_that_and_keeps_all_else(keys: entries.Keys, first: Listed, second: Listed) -> None:
    entry: dict[str, Any] = {"type": keys.kinds[bool(first.url)], "timeout": 3}
    entry = applied(entry, entries.relisted(entry, first, keys))
    changed = applied(entry, entries.relisted(entry, second, keys))
    assert entries.listed(changed, keys) == second and changed["timeout"] == 3
    assert entries.kind(changed) == ("http" if second.url else "stdio")
    assert entries.relisted(changed, second, keys) == {}, "nothing is left to change"


@given(st.lists(st.text(), min_size=1).map(tuple), st.dictionaries(st.text(), st.text()))
def test_any_command_survives(words: tuple[str, ...], variables: dict[str, str]) -> None:
    server = Listed(words, variables=tuple(variables.items()))
    assert entries.listed(applied({}, entries.relisted({}, server))) == server


def test_transports_have_one_spelling_and_an_entry_without_a_type_gets_none() -> None:
    kinds = [entries.kind({"type": one}) for one in ("stdio", "local", "http", "remote", "streamable-http", "streamableHttp", "sse", None)]
    assert kinds == ["stdio", "stdio", "http", "http", "http", "http", "sse", ""]
    assert "type" not in entries.relisted({"url": "http://x"}, LOCAL)


def test_a_table_is_one_that_has_members() -> None:
    assert entries.table({"a": {"b": {"c": {}}}}, "a", "b") == (("a", "b"),)
    assert [entries.table(one, "a", "b") for one in ({}, [], None, {"a": 1}, {"a": {"b": {}}}, {"a": {"b": []}})] == [()] * 6
