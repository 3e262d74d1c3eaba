"""Changes to settings files: what is put in comes out again, and nothing else moves."""
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.errors import ConfigError
from byref.proxy.frontends import edits

OURS = {"hooks": [{"command": "ours"}]}
ADDED: dict[str, Any] = {"hooks": {"Stop": [OURS], "PreToolUse": [{"matcher": "Bash", **OURS}]},
                         "permissions": {"allow": ["mcp__byref__fetch"]}}
SETTINGS = '''// my settings
{
    "model": "opus",   /* the big one */
    "permissions": {"allow": ["Bash(ls)"], "deny": []},
    "hooks": {
        "Stop": [
            {"hooks": [{"command": "say done"}]}, // keep
        ],
    },
}
'''


def ours(value: object) -> bool:
    return isinstance(value, dict) and "ours" in str(value.get("hooks"))


def test_what_is_put_in_is_there_and_all_else_stands_where_it_stood() -> None:
    text, _ = edits.merge(SETTINGS, ADDED)
    value: Any = edits.read(text).value
    assert value["hooks"]["Stop"] == [{"hooks": [{"command": "say done"}]}, {"hooks": [{"command": "ours"}]}]
    assert value["hooks"]["PreToolUse"] == ADDED["hooks"]["PreToolUse"]
    assert value["permissions"]["allow"] == ["Bash(ls)", "mcp__byref__fetch"]
    rest = iter(text)
    assert all(c in rest for c in SETTINGS), "every byte that was there is there, in its order"
    assert "/* the big one */" in text and "// keep" in text


def test_what_was_put_in_comes_out_byte_for_byte() -> None:
    for before in (SETTINGS, "{}", '{"a": 1}', '{"hooks": {}}\n', '{\n\t"a": [1, 2],\n\t"hooks": {"Stop": []}\n}\n'):
        text, made = edits.merge(before, ADDED)
        assert edits.remove(text, ADDED, ours, made) == before


def test_it_comes_out_though_others_have_changed_the_file_and_it_was_another_python_that_put_it_in() -> None:
    text, made = edits.merge(SETTINGS, ADDED)
    text = text.replace('"opus"', '"haiku"').replace('"ours"', '"ours, of an older installation"')
    assert edits.remove(text, ADDED, ours, made) == SETTINGS.replace('"opus"', '"haiku"')


def test_putting_it_in_twice_is_putting_it_in_once() -> None:
    text, _ = edits.merge(SETTINGS, ADDED)
    assert edits.merge(text, ADDED) == (text, [])


def test_what_others_set_is_not_overwritten() -> None:
    with pytest.raises(ConfigError, match=r"servers\.byref"):
        edits.merge('{"servers": {"byref": "theirs"}}', {"servers": {"byref": {"command": "ours"}}})


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "[1", "{'a': 1}", '{"a": 1} x', "nonsense", '{"a": }', "{1: 2}", "/* open"])
def test_what_is_no_json_is_told_and_not_touched(text: str) -> None:
    with pytest.raises(ConfigError):
        edits.merge(text, ADDED)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=15)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=8)  # most of the time goes into drawing them: form counts here, and not size


@given(OBJECTS, st.sampled_from([None, 1, 2, 4, "\t"]))
def test_any_settings_survive_the_way_in_and_out(held: dict[str, Any], indent: int | str | None) -> None:
    before = json.dumps(held, indent=indent, ensure_ascii=False)
    if any(not isinstance(held.get(key, {}), dict) for key in ADDED):
        return
    text, made = edits.merge(before, ADDED)
    value = edits.read(text).value
    assert value == json.loads(text) and {k: v for k, v in json.loads(text).items() if k not in ADDED} == {
        k: v for k, v in held.items() if k not in ADDED}
    assert edits.remove(text, ADDED, ours, made) == before


SERVERS = '''{
  // mine
  "servers": {
    "a": { "command": "npx", /* c */ "args": ["-y", // yes
       "x"], "env": {"T": "1" /* t */}, "off": false },
    "b": {
      "url": "http://x/mcp", // production
      "headers": {"A": "B"} // the team's
    },
  }
}
'''


def test_single_values_change_where_they_stand() -> None:
    values: dict[str, Any] = {"command": "python", "args": ["wrap", "npx", "-y", "x"], "env": {"T": "1", "H": "2"}}
    text = edits.change(SERVERS, ["servers", "a"], values)
    assert '{ "command": "python", /* c */ "args": ["wrap", "npx", "-y", // yes' in text and '{"T": "1", "H": "2" /* t */}' in text
    value: Any = edits.read(text).value
    assert value["servers"]["a"] == values | {"off": False} and value["servers"]["b"] == edits.read(SERVERS).value["servers"]["b"]  # type: ignore[index,call-overload]


def test_new_keys_take_the_places_of_those_that_go_and_their_comments() -> None:
    text = edits.change(SERVERS, ["servers", "b"], {"url": None, "headers": None, "command": "python", "args": ["w"], "env": {"H": "B"}})
    value: Any = edits.read(text).value
    assert value["servers"]["b"] == {"command": "python", "args": ["w"], "env": {"H": "B"}}
    places = [text.index(part, text.index('"b"')) for part in ('"command": "python",', '"args"', "// production", '"env"', "// the team's")]
    assert places == sorted(places)
    fewer: Any = edits.read(edits.change(SERVERS, ["servers", "b"], {"url": None, "headers": None, "command": "python"})).value
    assert fewer["servers"]["b"] == {"command": "python"}


def test_what_a_change_made_and_what_stood_there_before_lead_back() -> None:
    text = edits.change(SERVERS, ["servers", "b"], {"url": None, "command": "python"})
    new, old = edits.piece(SERVERS, text, ["servers", "b"])
    assert text.count(new) == 1 and text.replace(new, old) == SERVERS


@given(OBJECTS, OBJECTS, st.sampled_from([None, 2, "\t"]))
def test_any_values_become_any_others(before: dict[str, Any], after: dict[str, Any], indent: int | str | None) -> None:
    text = json.dumps({"a": {"b": before}, "c": [1]}, indent=indent)
    values = {**{key: None for key in before if key not in after}, **{key: value for key, value in after.items() if value is not None}}
    wanted = {key: value for key, value in (before | values).items() if value is not None or key not in values}
    got: Any = edits.read(edits.change(text, ["a", "b"], values)).value
    assert got == {"a": {"b": wanted}, "c": [1]}
