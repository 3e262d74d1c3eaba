"""Harnesses of npm, as users have them, in the checkout's cache. `tests/soak/harnesses.py` puts them there: they are a gigabyte."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

VERSIONS = {"codex": "0.171.0", "opencode": "1.18.33"}
PACKAGES = {"codex": "@openai/codex", "opencode": "opencode-ai"}
LIMIT = 300  # seconds for one run on a machine that does much else
HEAD = re.compile(r"«(r[a-z2-7]{10}) ")


def place(root: Path, name: str) -> Path:
    """Where a program lies, or would lie."""
    return root / ".cache" / f"{name}-{VERSIONS[name]}" / "node_modules" / ".bin" / name


def program(root: Path, name: str) -> Path:
    """The program itself; a test without it is skipped."""
    found = place(root, name)
    if not found.exists():
        pytest.skip(f"{name} {VERSIONS[name]} is not here: `python tests/soak/harnesses.py` gets it with npm (400 MB), as `make soak` does")
    told = subprocess.run([str(found), "--version"], capture_output=True, text=True, timeout=LIMIT, check=False)
    if VERSIONS[name] not in told.stdout:
        pytest.skip(f"{name} {VERSIONS[name]} does not run here: {told.stdout}{told.stderr}"[:300])
    return found


class Bench:
    """A fresh home with a project in it, and byref in that home."""

    def __init__(self, folder: Path, left_out: tuple[str, ...]) -> None:
        self.home, self.project, self.data = folder / "home", folder / "project", folder / "byref"
        for path in (self.home, self.project):
            path.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        self.env = {k: v for k, v in os.environ.items() if not k.upper().startswith(("BYREF", "XDG", *left_out))} | {
            "HOME": str(self.home), "BYREF_HOME": str(self.data), "PWD": str(self.project),
            "BYREF_HOOK_WAIT": "5",  # a machine that does much else is no fault of the hooks'
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def byref(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()", *words], env=self.env,
                              cwd=self.project, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def kill(self) -> None:
        """Ends the daemon at once, as a crash would."""
        pid = re.search(r"^pid: *(\d+)", self.byref("serve", "--status"), re.M)
        assert pid, "no daemon runs"
        os.kill(int(pid[1]), signal.SIGKILL)

    def stop(self) -> None:
        subprocess.run([sys.executable, "-m", "byref.proxy.frontends.serve", "--stop"], env=self.env, capture_output=True, check=False)


def rows(view: str) -> set[str]:
    """The lines of a view that are no markers."""
    return {line for line in view.splitlines() if line and "«" not in line}


def ref_in(text: str) -> str:
    found = HEAD.search(text)
    assert found, f"no view: {text[:300]}"
    return found[1]


@pytest.fixture
def ended() -> Iterator[list[Any]]:
    """What is closed at the end, the last first."""
    made: list[Any] = []
    yield made
    for one in reversed(made):
        one.close()
