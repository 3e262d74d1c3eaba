"""Changes to TOML: the lines that are meant change, and no other."""
from __future__ import annotations

import tomllib
from typing import Any

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.frontends import toml_edits

TEXT = '''# mine
model = "o3"      # the large one

[servers.a]       # first
command = "npx"   # run
args = [
  "-y",           # no questions
  "x",
]
[servers.a.env]
T = "1"           # secret

[servers."b c"]
url = "https://x" # production
n = 1
'''


def changed(path: list[str], values: dict[str, Any], text: str = TEXT) -> tuple[str, Any]:
    after = toml_edits.change(text, path, values)
    value: Any = tomllib.loads(after)
    for key in path:
        value = value[key]
    return after, value


def test_values_are_set_where_they_stand_and_comments_stay_beside_them() -> None:
    after, value = changed(["servers", "a"], {"command": "python", "args": ["wrap", "--", "npx", "-y", "x"], "env": {"T": "1", "H": "2"}})
    assert value == {"command": "python", "args": ["wrap", "--", "npx", "-y", "x"], "env": {"T": "1", "H": "2"}}
    for comment in ("# mine", "# the large one", "# first", "# run", "# no questions", "# secret", "# production"):
        assert comment in after
    unchanged = ['model = "o3"      # the large one', "[servers.a]       # first", '  "-y",           # no questions', "[servers.a.env]"]
    assert all(line in after.splitlines() for line in unchanged)


def test_a_key_that_takes_another_s_place_takes_its_comment() -> None:
    after, value = changed(["servers", "b c"], {"url": None, "command": "python", "args": ["wrap"]})
    assert value == {"n": 1, "command": "python", "args": ["wrap"]} and 'command = "python" # production' in after


@pytest.mark.parametrize("text", [
    '[servers]\nb = { url = "u", n = 1 } # inline\n', 'servers.b.url = "u"\nservers.b.n = 1\n', '[servers.b]\nurl = "u"\nn = 1',
    '[servers.a]\nx = 1\n[other]\n[servers.b]\nurl = "u"\nn = 1\n', '[servers.b]\r\nurl = "u"\r\nn = 1\r\n'])
def test_every_way_to_write_a_table_is_changed_or_told(text: str) -> None:
    try:
        after = toml_edits.change(text, ["servers", "b"], {"url": None, "command": "python", "args": ["wrap"]})
    except ConfigError:
        return
    before = tomllib.loads(text)
    before["servers"]["b"] = {"n": 1, "command": "python", "args": ["wrap"]}
    assert tomllib.loads(after) == before


@pytest.mark.parametrize("values", [
    {"command": "python", "args": ["w", "-y", "x"]}, {"args": None}, {"env": None}, {"new": {"a": "b"}}, {"env": {"T": "2", "U": "3"}}])
def test_the_lines_that_changed_and_those_before_lead_back(values: dict[str, Any]) -> None:
    after = toml_edits.change(TEXT, ["servers", "a"], values)
    new, old = toml_edits.piece(TEXT, after, ["servers", "a"])
    assert after.replace(new, old, 1) == TEXT if new else after != TEXT
    assert new.count("\n") < 12, "only what changed"


@pytest.mark.parametrize("text", ["a = ", "[a", "a = 1\na = 2\n", "{}", "\ufeffa = 1"])
def test_what_is_no_toml_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="not TOML"):
        toml_edits.change(text, [], {"b": 1})


TABLE = {"servers": {"byref": {"command": "/p/python", "args": ["-c", "a \"b\" \\ é", "mcp"]}}}


@pytest.mark.parametrize("text", ["", "a = 1\n", "a = 1", TEXT, TEXT + "[x]\n", "servers.a.n = 1\n"])
def test_a_table_comes_at_the_end_and_goes_again(text: str) -> None:
    after, made = toml_edits.merge(text, TABLE)
    assert after.startswith(text) and made == [] and tomllib.loads(after)["servers"]["byref"] == TABLE["servers"]["byref"]
    assert toml_edits.merge(after, TABLE)[0] == after, "twice is once"
    more = after + "\n[theirs]\nn = 2\n"
    left = toml_edits.remove(more, TABLE, lambda value: False)
    assert left.startswith(text) and left[len(text):].lstrip("\n") == "[theirs]\nn = 2\n"


def test_one_of_another_installation_goes_too_and_somebody_else_s_stays() -> None:
    after = toml_edits.merge(TEXT, TABLE)[0]
    for changed in (after.replace("/p/python", "/old"), after.replace('command = "/p', '# note\ncommand  =  "/p')):
        assert "byref" not in toml_edits.remove(changed, TABLE, lambda value: True)
        assert toml_edits.remove(changed, TABLE, lambda value: True).startswith(TEXT)
    theirs = after.replace("/p/python", "/theirs")
    assert toml_edits.remove(theirs, TABLE, lambda value: False) == theirs
    with pytest.raises(ConfigError, match="already"):
        toml_edits.merge(theirs, TABLE)
    with pytest.raises(ConfigError, match="not TOML"):
        toml_edits.merge("servers = { a = { n = 1 } }\n", TABLE)
