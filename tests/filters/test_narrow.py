"""What a call says of its output: its command line, its program, and whether the caller asked for a part."""
from __future__ import annotations

import pytest

from byref.filters.narrow import command, narrowed, program
from byref.proxy.contracts import Call, Json


@pytest.mark.parametrize(("arguments", "line"), [
    ({"command": "ls -l"}, "ls -l"), ({"cmd": ["ls", "-l"]}, "ls -l"), ({"script": "x"}, "x"), ("ls", "ls"), ({"path": "a"}, ""),
    (None, ""), ([1], ""), (3, ""),
    ({"command": None, "cmd": "y"}, "y"), ({"command": ["a", 1, None]}, "a 1 None"),
])
def test_the_command_line(arguments: Json, line: str) -> None:
    assert command(Call("Bash", arguments)) == line


@pytest.mark.parametrize("arguments", [
    {"command": "cat a | head -5"}, {"command": "cat a | grep x"}, {"command": "sed -n 1,9p a"}, {"command": "tail -50 log"},
    {"command": "git log | wc -l"},
    {"command": "awk '{print $1}' a"}, {"command": "grep -n -A 3 x a.py"}, {"file_path": "a", "offset": 10},
    {"file_path": "a", "limit": 10},
    {"path": "a", "view_range": [1, 9]}, {"pattern": "x", "head_limit": 3}, {"command": "rg x | sort | uniq -c"},
])
def test_a_caller_who_asked_for_a_part(arguments: Json) -> None:
    assert narrowed(Call("x", arguments))


@pytest.mark.parametrize("arguments", [
    {"command": "cat a"}, {"command": "make all"}, {"command": "grep -rn x ."}, {"file_path": "a"}, {"file_path": "a", "offset": None},
    None, {"command": "header a"},
    {"command": "echo tail"}, "pytest",
])
def test_a_caller_who_did_not(arguments: Json) -> None:
    assert not narrowed(Call("x", arguments))


@pytest.mark.parametrize(("line", "name"), [
    ("pytest -q", "pytest"), ("cd /a && make all", "make"), ("python -m pytest -q", "pytest"),
    ("python3.11 -m http.server", "http.server"), ("/usr/bin/git log", "git"),
    ("A=1 B=2 npm test", "npm"), ("sudo apt-get install x", "apt-get"), ("timeout 5 cargo test", "cargo"), ("cat a | grep x", "cat"),
    ("make; echo done", "echo"),
    ("uv run pytest", "pytest"), ("python script.py", "python"), ("", "Bash"), ("$(evil)", "Bash"), ("«L1» x", "Bash"),
    ("x" * 200, "Bash"), ("||", "Bash"),
    ("export A=1", "Bash"), ("source env.sh && pytest", "pytest"),
])
def test_the_program_without_its_folder_and_wrappers(line: str, name: str) -> None:
    assert program(Call("Bash", {"command": line})) == name


@pytest.mark.parametrize(("tool", "name"), [("mcp__git__log", "mcp__git__log"), ("a b", "output"), ("t\n«L1»", "output"), ("", "output"),
    ("x" * 99, "output")])
def test_without_a_command_the_tool_gives_the_name_if_it_can_be_one(tool: str, name: str) -> None:
    assert program(Call(tool, {"path": "x"})) == name
