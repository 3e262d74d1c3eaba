"""A miss names the call to run again in a line that an agent can run."""
from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy import text
from byref.proxy.contracts import Manifest
from byref.proxy.store import rerun as module
from byref.proxy.store.rerun import LENGTH, rerun
from byref.proxy.text import canonical_arguments


def line(tool: str, arguments: object) -> str:
    return rerun(Manifest(tool, canonical_arguments(arguments), ()))  # type: ignore[arg-type]


@pytest.mark.parametrize(("tool", "arguments", "said"), [
    ("shell", {"command": "cargo test --all"}, "cargo test --all"),
    ("Bash", {"command": "git log | head", "description": "looks at the log"}, "git log | head"),
    ("exec", {"cmd": ["ls", "-la"]}, "ls -la"),
    ("shell", ["echo", "", "it's"], "echo '' 'it'\"'\"'s'"),
    ("shell", "uname -a", "uname -a"),
    ("shell", {"command": "a\nb\r\nc"}, r"a\nb\r\nc"),
    ("Read", {"file_path": "src/lib.rs", "offset": 10}, 'Read {"file_path":"src/lib.rs","offset":10}'),
    ("search", {"command": "not a shell's"}, 'search {"command":"not a shell\'s"}'),
    ("shell", {"command": 5}, 'shell {"command":5}'),
    ("shell", None, "shell null"),
])
def test_the_call_as_one_line(tool: str, arguments: object, said: str) -> None:
    assert line(tool, arguments) == said


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20), min_size=1, max_size=4))
def test_an_argument_list_is_quoted_so_that_a_shell_reads_the_same_words(words: list[str]) -> None:
    said = line("shell", {"argv": words})
    if len(said) < LENGTH and said == said.strip() and words[0]:
        assert shlex.split(said) == words


@given(st.text(max_size=600))
def test_it_is_short_and_one_line(command: str) -> None:
    said = line("shell", {"command": command})
    assert len(said) <= LENGTH and "\n" not in said and "\r" not in said


def test_it_is_read_through_the_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.project is text.project
    monkeypatch.setattr(module, "project", lambda said: said.replace("hunter2", "«redacted»"))
    assert line("shell", {"command": "login hunter2"}) == "login «redacted»"
