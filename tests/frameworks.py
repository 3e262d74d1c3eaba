"""What the tests of all frameworks share: a tool's output, a checkout's examples, and what was stored."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from byref.proxy.gateway import Gateway

CODE = "".join(f"def function_{i}(value: int) -> int:\n    return value * {i} + offset_{i}\n" for i in range(60))
LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(2000))
LINES = LOG.splitlines(keepends=True)
SCOPE = "frameworks"
HOW = "make test-frameworks makes an environment that holds it"


def example(root: Path, name: str) -> str:
    """What an example of this checkout prints."""
    done = subprocess.run([sys.executable, str(root / "examples" / name)], capture_output=True, text=True, check=False, cwd=root,
                          env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def stored(gateway: Gateway) -> list[tuple[str, str, bool]]:
    """Tool, canonical arguments and error flag of what was captured, oldest first."""
    outputs = gateway.store.changes(SCOPE, 0)
    return [(output.manifest.tool, output.manifest.arguments, output.manifest.is_error) for output in outputs]


def held(gateway: Gateway, tool: str) -> bytes:
    """The bytes of the newest output of a tool."""
    session = gateway.session("reader", scope=SCOPE)
    ref = next(output.ref for output in gateway.store.recent(SCOPE) if output.manifest.tool == tool)
    return b"".join(session.blocks(ref))
