"""Runs every benchmark of this folder, each in a process and with a data folder of its own.

usage: run.py [--write] [NAME ...]    --write puts what each prints, the machine and its load into docs/benchmarks.md
"""
from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
# Tables, and what others import.
NOT_A_BENCHMARK = {"run", "knobs", "inputs", "corpus", "gallery", "library", "samples", "signs", "wrap_peers", "labelled", "models"}


def main() -> int:
    there = sorted(f.stem for f in HERE.glob("*.py") if f.stem not in NOT_A_BENCHMARK)
    chosen = [word for word in sys.argv[1:] if word != "--write"] or there
    if unknown := set(chosen) - set(there):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    worst = 0
    for name in chosen:
        machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when it began"
        print(f"\n== {name}: {machine}", flush=True)
        said: list[str] = []
        command = [sys.executable, str(HERE / f"{name}.py")]
        with tempfile.TemporaryDirectory() as home, subprocess.Popen(
                command, env={**os.environ, "BYREF_HOME": home}, stdout=subprocess.PIPE, text=True) as done:
            for line in done.stdout or ():
                print(line, end="", flush=True)
                said.append(line)
        if done.returncode:
            print(f"{name} ended with {done.returncode}", file=sys.stderr)
        elif "--write" in sys.argv:
            PAGE.write_text(written(PAGE.read_text(), name, machine, "".join(said)))
        worst = max(worst, done.returncode)
    return worst


def written(page: str, name: str, machine: str, said: str) -> str:
    """The page with what a benchmark printed in its place below "## Speed", in the order of their names."""
    block = f"<!-- begin: {name} -->\n### {name}\n{machine}\n```\n{said.strip()}\n```\n<!-- end: {name} -->\n"
    head, mark, rest = page.partition("## Speed\n")
    there = {one: text for text, one in re.findall(r"(<!-- begin: (\w+) -->\n.*?<!-- end: \2 -->\n)", rest, re.S)}
    intro = rest.partition("<!-- begin: ")[0].rstrip("\n") + "\n"
    there[name] = block
    return head + (mark or "## Speed\n") + intro + "\n" + "\n".join(there[one] for one in sorted(there))


if __name__ == "__main__":
    sys.exit(main())
