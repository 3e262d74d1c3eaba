"""Names of tools of several servers: told apart, stable, and never too long."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.wrap.names import LONGEST, Register, prefixed, prefixes


def test_each_server_gets_a_prefix_of_its_own_in_characters_that_models_take() -> None:
    assert prefixes(["git", "my server!", "git", "git", "ü"]) == ["git", "my_server", "git2", "git3", "server"]
    assert prefixes(["context7", "a__b"]) == ["context7", "a_b"]


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_names_fit_and_stay_apart(one: str, other: str) -> None:
    names = [prefixed("server", name, "byref") for name in (one, other)]
    assert all(len(f"mcp__byref__{name}") <= LONGEST for name in names)
    assert (names[0] == names[1]) == (one == other)


def test_a_name_that_fits_is_not_touched() -> None:
    assert prefixed("git", "git_log", "byref") == "git__git_log"
    assert prefixed("git", "x" * 60, "byref") == prefixed("git", "x" * 60, "byref") != prefixed("git", "x" * 61, "byref")


def test_what_was_shown_is_known_again() -> None:
    register = Register(["a", "b"], "byref")
    assert register.show("tools", [[{"name": "x", "k": 1}], [{"name": "x"}]]) == [{"name": "a__x", "k": 1}, {"name": "b__x"}]
    assert register.meant("tools", "b__x") == (1, "x") and register.meant("tools", "c__x") is None
    assert register.show("resources", [[{"uri": "f://1"}], [{"uri": "f://1"}, {"uri": "f://2"}]]) == [
        {"uri": "f://1"}, {"uri": "b+f://1"}, {"uri": "f://2"}]
    assert register.meant("resources", "b+f://1") == (1, "f://1") and register.shown("resources", 1, "f://1") == "b+f://1"
    assert register.shown("resources", 0, "f://9") == "f://9"
