"""Real commands through the real program, each test with a store of its own and a bound on its time."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
LIMIT = 60  # seconds, on a machine that does much else
REF = re.compile(r"«(r[a-z2-7]{10}) ")
Done = subprocess.CompletedProcess[bytes]


class Shell:
    """A user's shell in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder / "project"
        self.folder.mkdir()
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        script = bin_folder / "byref"
        script.write_text(f"#!{sys.executable}\nfrom byref.proxy.frontends.cli import main\nmain()\n")
        script.chmod(0o755)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("BYREF", "PYTHONDONTWRITEBYTECODE"))}
        self.env |= {"BYREF_HOME": str(self.home), "PATH": f"{bin_folder}:{self.env.get('PATH', '')}"}

    def __call__(self, *words: str | bytes, data: bytes = b"", **env: str) -> Done:
        return subprocess.run(
            [*PROGRAM, *words], input=data, capture_output=True, timeout=LIMIT, cwd=self.folder, env=self.env | env,
            start_new_session=True, check=False)

    def bare(self, *words: str | bytes) -> Done:
        return subprocess.run(
            words, input=b"", capture_output=True, timeout=LIMIT, cwd=self.folder, env=self.env, start_new_session=True, check=False)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """The program left running: its pid is the one that signals go to."""
        return subprocess.Popen([*PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=self.folder, env=self.env, start_new_session=True)


@pytest.fixture
def byref(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def ref() -> Callable[[bytes], str]:
    """The ref in a view's first line."""
    def find(view: bytes) -> str:
        found = REF.match(view.decode("utf-8", "surrogateescape"))
        assert found, f"no head in {view[:200]!r}"
        return found[1]
    return find
