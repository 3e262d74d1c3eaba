"""What demo.py needs beside the command line of byref: running it in a data folder of its own, and counting tokens."""
from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import byref
from byref.proxy.text import estimate

HERE = Path(__file__).resolve().parent.parent
HOME = tempfile.TemporaryDirectory(prefix="byref-demo-")  # the demo leaves nothing behind
atexit.register(HOME.cleanup)
BYREF = str(Path(sys.executable).with_name("byref"))
ENV = {**os.environ, "BYREF_HOME": HOME.name, "GIT_PAGER": "cat", "COLUMNS": "160", "BYREF": ""}


def run(*command: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a command at the root of the checkout."""
    return subprocess.run(command, capture_output=True, check=False, cwd=HERE, env=ENV, stdin=subprocess.DEVNULL)


def view_of(*command: str) -> tuple[str, str]:
    """The view that an agent gets of a command's output, and its ref: '' where the output passed whole."""
    done = run(BYREF, "run", "--", *command)
    view = (done.stdout + done.stderr).decode("utf-8", "replace")
    head = byref.MARKER.match(view)
    return view, head[0].strip("«»").split()[0] if head else ""


def raw_of(view: str, ref: str) -> bytes:
    """All that the store holds of an output, both streams."""
    if not ref:
        return view.encode()
    return b"".join(run(BYREF, "fetch", ref, "--part", part, "--all").stdout for part in ("stdout", "stderr"))


def counter() -> tuple[str, object]:
    """A name, and a function from text to its number of tokens."""
    try:
        import toktok
        return "o200k tokens", lambda text: toktok.batch_count([text], "o200k_base")[0]
    except ImportError:
        return "tokens (built-in estimate)", estimate
