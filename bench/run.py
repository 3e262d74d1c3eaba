"""Runs every benchmark of this folder, each in a process and with a data folder of its own. usage: run.py [NAME ...]"""
from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# Tables, and what others import.
NOT_A_BENCHMARK = {"run", "knobs", "inputs", "corpus", "gallery", "library", "samples", "signs", "wrap_peers", "labelled", "models"}


def main() -> int:
    there = sorted(f.stem for f in HERE.glob("*.py") if f.stem not in NOT_A_BENCHMARK)
    chosen = sys.argv[1:] or there
    if unknown := set(chosen) - set(there):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}: read ratios within a run, not figures across runs")
    worst = 0
    for name in chosen:
        print(f"\n== {name}", flush=True)
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False, env={**os.environ, "BYREF_HOME": home})
        if done.returncode:
            print(f"{name} ended with {done.returncode}", file=sys.stderr)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
