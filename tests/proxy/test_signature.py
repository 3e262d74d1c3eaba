"""The same command again has the same signature; another command never has."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.signature import command_line, signature, tool_kind

ROOT, HOME = "/srv/me/project", "/srv/me"


def sign(command: str, tool: str = "Bash") -> str:
    return signature(tool, {"command": command}, root=ROOT, home=HOME)


def test_it_names_the_operation_the_tool_and_the_command() -> None:
    assert sign("cargo build") == "operation/v1|shell|cargo build"


@pytest.mark.parametrize(("once", "again"), [
    ("cargo  build \n", "cargo build"),
    (f"cd {ROOT} && cargo build", "cargo build"),
    (f"cat {ROOT}/src/a.py", "cat src/a.py"),
    (f"ls {HOME}/x", "ls ~/x"),
    ("diff /tmp/tmp8a2/x a", "diff /tmp/tmp9b3/x a"),
    ("curl localhost:38211/health", "curl localhost:41007/health"),
    ("report --since 2026-11-29T10:00:00", "report --since 2026-11-30T11:30:00"),
    ("trace 1764400000123", "trace 1764400999999"),
    ("at 10:30:45.123 x", "at 23:01:02 x"),
    ("get 0f8fad5b-d9cb-469f-a165-70867728950e", "get 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
])
def test_what_changes_from_run_to_run_does_not_change_it(once: str, again: str) -> None:
    assert sign(once) == sign(again)


@pytest.mark.parametrize(("one", "other"), [
    ("sed -n 1,50p a.py", "sed -n 51,100p a.py"),
    ("git show " + "a1" * 20, "git show " + "b2" * 20),
    ("curl localhost:8080/a", "curl localhost:8080/b"),
    ("pytest tests/test_a.py", "pytest tests/test_b.py"),
    ("head -n 100 x", "head -n 200 x"),
    ("docker run -p 80:80 x", "docker run -p 81:80 x"),
    ("pip install x==1.2.3", "pip install x==1.2.4"),
    ("kubectl logs web-1", "kubectl logs web-2"),
])
def test_what_asks_for_something_else_has_another_one(one: str, other: str) -> None:
    assert sign(one) != sign(other)


def test_one_tool_by_many_names_is_one_tool() -> None:
    assert {tool_kind(name) for name in ("Bash", "shell", "run_command", "execute-command", "Run Terminal Cmd")} == {"shell"}
    assert sign("ls", "Bash") == sign("ls", "execute_command") == signature("exec", ["ls"]) == signature("shell", "ls")
    assert tool_kind("mcp__git__log") == "mcp__git__log"
    assert signature("Read", {"file_path": f"{ROOT}/a.py", "timeout": 3}, root=ROOT) == signature("read_file", {"file_path": "a.py"})


def test_a_whole_file_as_an_argument_stays_short_and_tells_files_apart() -> None:
    first, second = (signature("Write", {"content": "word " * 5000 + end}) for end in "ab")
    assert first != second and len(first) < 1000


def test_a_call_without_arguments_has_one_too() -> None:
    assert signature("list", None) == "operation/v1|list|"
    assert command_line({"cmd": ["git", "log"]}) == "git log"
    assert command_line({"path": "x"}) is None and command_line(["a", 1]) is None


@given(st.lists(st.sampled_from(["0", "12", "2026-11-29", "10:30:45", "ab", "F", "-", ":", ".", "/", "=", "[", " ", "²", "x", "0f8fad5b-"]),
                max_size=12).map("".join))
def test_a_word_beside_them_changes_nothing_in_what_is_masked(words: str) -> None:
    assert sign(f"x {words} é") == sign(f"x {words}") + " é"


def test_arguments_that_are_written_already_are_taken_as_they_are() -> None:
    arguments = {"path": "a.py", "timeout": 5}
    assert signature("Read", arguments) == signature("Read", arguments, written='{"path":"a.py"}')
    assert signature("Bash", {"command": "ls"}) == signature("Bash", {"command": "ls"}, written='{"command":"ls"}')
