"""Real commands through the real program, each test with a store of its own and a bound on its time."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from byref.proxy.frontends import hook, serve

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
        self.env |= {"BYREF_HOME": str(self.home), "BYREF_MODELS": str(folder / "models"),
                     "PATH": f"{bin_folder}:{self.env.get('PATH', '')}"}

    def __call__(self, *words: str | bytes, data: bytes = b"", **env: str) -> Done:
        """A search has time enough, whatever else the machine does."""
        words += ("--timebox", "60000") if words[:1] in (("search",), ("similar",)) else ()
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


class Daemons:
    """Daemons in the home of a shell. echo: the command of one whose hooks answer what they were asked, late if the event says so.

    It says `sleep SECONDS`, or `until FILE` is there.
    """

    ECHO = """
import os, sys, time
from byref.proxy import config
from byref.proxy.frontends import hook, serve
from byref.proxy.frontends.daemon import Daemon
def answer(gateway, harness, event):
    if event.startswith(b"sleep "):
        time.sleep(float(event[6:]))
    while event.startswith(b"until ") and not os.path.exists(event[6:]):
        time.sleep(0.02)
    return b"%s of %s: %s" % (gateway.settings.profile.encode(), harness.encode(), event)
lock = serve.take_lock(config.home_folder())
sys.exit(0 if lock is None else Daemon(config.own_settings(), lock, None, 600, answer).run())
"""

    def __init__(self, byref: Shell) -> None:
        self.byref = byref
        self.home = os.fsencode(byref.home)
        self.socket = hook.socket_path(self.home)
        self.echo = [sys.executable, "-c", self.ECHO]
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, echo: bool = False, version: str = hook.VERSION) -> subprocess.Popen[bytes]:
        """One that answers by now: `byref serve` with these words, or an echo, or an echo of another version."""
        program = [*PROGRAM, "serve", *words]
        if echo:
            program = [sys.executable, "-c", self.ECHO.replace("def answer", f"hook.VERSION = {version!r}\ndef answer")]
        one = subprocess.Popen(program, stdin=subprocess.DEVNULL, cwd=self.byref.folder, env=self.byref.env, start_new_session=True)
        self._started.append(one)
        self.wait(lambda: self.answers() or one.poll() is not None)
        assert one.poll() is None, "the daemon did not come up"
        return one

    def answers(self) -> bool:
        """Whether one listens. A bare connection: what asks more would be told of another version."""
        try:
            hook.connect(self.socket, time.monotonic() + LIMIT).close()
        except (hook.Absent, OSError):
            return False
        return True

    def about(self) -> dict[str, Any]:
        """What the one that runs says of itself."""
        return dict(serve.ask(str(self.byref.home), "GET /v1/status", LIMIT)[1])

    @staticmethod
    def wait(until: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT
        while not until():
            assert time.monotonic() < end, "it did not come to pass"
            time.sleep(0.02)

    def end(self) -> None:
        """Ends those that were started, and one that a client started."""
        if self.answers():
            self.byref("serve", "--stop")
        for one in self._started:
            one.kill()
            one.wait()


@pytest.fixture
def daemon(byref: Shell) -> Iterator[Daemons]:
    daemons = Daemons(byref)
    yield daemons
    daemons.end()


@pytest.fixture
def ref() -> Callable[[bytes], str]:
    """The ref in a view's first line."""
    def find(view: bytes) -> str:
        found = REF.match(view.decode("utf-8", "surrogateescape"))
        assert found, f"no head in {view[:200]!r}"
        return found[1]
    return find
