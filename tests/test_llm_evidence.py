"""The same recorded tasks as requests to an LLM and through the library: the same figures."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_requests_and_library_give_the_same_figures(root: Path) -> None:
    script = root / "bench" / "llm_evidence.py"
    if not script.is_file():
        pytest.skip("an sdist has no bench")
    done = subprocess.run([sys.executable, str(script), "--limit", "3", "chat"], capture_output=True, text=True, check=False)
    if done.stdout.startswith("skipped"):
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert [row[-5] for row in rows] == ["library", "chat"] * 2 and any(float(row[-4]) > 0.1 for row in rows)
