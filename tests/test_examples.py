"""The examples run as they are printed, and stay short enough to be read at a glance."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from byref.proxy.config import models_folder

EXAMPLES = Path(__file__).parent.parent / "examples"
MODELS = models_folder()  # as it is for whoever runs the tests; tests themselves see none
FILES = sorted(EXAMPLES.glob("*.py"))
DEMO = {"demo.py", "demo_tools.py"}  # `make demo` runs these: whole test runs are too long to be a test
TESTED = {"mcp_server.py", "steered_search.py"}  # below, and once is enough of what takes seconds


def run(file: Path, **variables: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", str(file)], capture_output=True, text=True, check=False, cwd=EXAMPLES,
                          env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_is_under_fifty_lines(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) < 50


@pytest.mark.parametrize("file", [file for file in FILES if file.name not in DEMO | TESTED], ids=lambda file: file.stem)
def test_an_example_runs(file: Path) -> None:
    assert run(file)


def test_the_agent_sees_the_error_and_little_else() -> None:
    said = run(EXAMPLES / "capture_and_fetch.py")
    assert "ERROR request 1777: shard 4 refused the lease" in said
    assert said.rstrip().endswith("all pages together are the raw bytes")


def test_a_wrong_ref_is_told_to_the_agent_as_a_line() -> None:
    assert "unknown: no output raaaaaaaaaa here" in run(EXAMPLES / "tool_wrapper.py")


def test_both_streams_come_with_what_the_command_said_when_it_failed() -> None:
    assert "no such table: leases" in run(EXAMPLES / "asynchronous.py")


def test_a_real_server_wrapped_gives_the_bytes_of_a_direct_call() -> None:
    said = run(EXAMPLES / "mcp_server.py")
    if "no git repository of byref here" in said:
        pytest.skip("no git repository of byref here, so mcp-server-git has nothing to serve")
    assert "equal to those of the direct call" in said
    assert re.search(r"^git_show +1 ", said, re.M), "the report counts the call"


def test_weights_widen_and_narrow_a_search() -> None:
    said = run(EXAMPLES / "steered_search.py", BYREF_MODELS=str(MODELS))
    if said.startswith("late: "):
        pytest.skip(said.strip())
    assert "without 'request timed out': ['login']\n" in said and "password raised: ['login', 'api'" in said


def test_without_a_model_a_steered_search_says_what_is_missing() -> None:
    assert "make models" in run(EXAMPLES / "steered_search.py")
