"""The same recorded sessions through hooks and through the library: the same figures."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_hooks_and_library_give_the_same_figures(root: Path) -> None:
    script = root / "bench" / "hook_evidence.py"
    if not script.is_file():
        pytest.skip("an sdist has no bench")
    done = subprocess.run([sys.executable, str(script), "--limit", "25"], capture_output=True, text=True, check=False)
    if done.stdout.startswith("skipped"):
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    figures = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}
    assert float(figures["saved"][0]) > 0.1 and set(figures) == {"saved", "es", "data", "edit"}
