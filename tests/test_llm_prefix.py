"""Recorded tasks as requests through four processes, a compaction and a new version of views: no beginning ever changes."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_no_request_begins_in_other_bytes_than_before(root: Path) -> None:
    script = root / "bench" / "llm_prefix.py"
    if not script.is_file():
        pytest.skip("an sdist has no bench")
    done = subprocess.run([sys.executable, str(script), "--limit", "2"], capture_output=True, text=True, check=False)
    if done.stdout.startswith("skipped"):
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [re.findall(r"\d+", re.sub(r"bytes saved.*", "", line)) for line in done.stdout.splitlines()]
    assert len(rows) == 6
    for requests, views, _, compared, changed in rows:
        assert int(requests) > 40 and int(views) > 20 and int(compared) > 40 and changed == "0"
    assert all(int(row[2]) for row in rows[:3]), "the stateful ones are compacted"
