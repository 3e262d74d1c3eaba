"""What passes the MCP conformance suite directly passes it through byref, in both eras.

usage: mcp_conformance.py [--short] [--direct]    --short changes nothing: it takes half a minute; --direct: without byref

The suite is npm's `@modelcontextprotocol/conformance`, run by Node 22, against tests/conformance/everything_server.py. Both come from
npm into the environment's own folder, once. Where npm is missing or gives nothing, it says so and ends well: nothing was tested. A
check that fails through byref is run once more, since some of the suite's checks have time limits of their own. Ends with 1 if one
fails that passes directly, and says which.
"""
from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

SUITE, NODE = "@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22"
ERAS = ("2025-11-25", "2026-07-28")
LEAST = {"2025-11-25": 84, "2026-07-28": 152}  # checks that the fixture passes directly: fewer, and the fixture or the suite is broken
SERVER = Path(__file__).parents[1] / "conformance" / "everything_server.py"
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")  # the end of the name of a folder of results
LIMIT = 300  # seconds for one run of the suite, against hanging
BYREF = [sys.executable, "-P", "-c", "from byref.proxy.frontends.cli import main; main()"]
Checks = Counter[tuple[str, str, str]]  # (scenario, check, status): how often; the suite uses the name of a check several times


def programs(*packages: str, of: str, limit: float = 900) -> Path | None:
    """The folder of programs of npm packages, installed in the environment's own folder `of` if they have to be.

    None where they cannot be had. Raises `subprocess.TimeoutExpired` where npm takes longer than the limit, in seconds.
    """
    folder = Path(sys.prefix) / of
    found = folder / "node_modules" / ".bin"
    if (found / "node").exists() and (folder / "ready").exists():
        return found
    if not shutil.which("npm"):
        return None
    folder.mkdir(exist_ok=True)
    install = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), NODE, *packages]
    done = subprocess.run(install, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode or not (found / "node").exists():
        print(done.stderr[-2000:])
        return None
    (folder / "ready").touch()
    return found


def suite() -> list[str] | None:
    """The command line of the suite. None where it cannot be had."""
    found = programs(SUITE, of="conformance")
    return found and [str(found / "node"), str(found / "conformance")]


@contextlib.contextmanager
def started(command: Sequence[str], home: Path, *, quiet: bool = False) -> Iterator[str]:
    """A server's URL, from the first line that it prints. quiet: what it says of the suite's malformed requests is left out."""
    errors, environment = subprocess.DEVNULL if quiet else None, {**os.environ, "BYREF_HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as child:
        try:
            assert child.stdout is not None
            line = child.stdout.readline().split()
            if not line:
                raise SystemExit(f"{command}: it said no URL")
            yield line[-1]
        finally:
            child.terminate()


def run(command: Sequence[str], url: str, era: str, scenario: str | None = None) -> Checks:
    """The checks of one run of the suite, or of one of its scenarios."""
    with tempfile.TemporaryDirectory(prefix="byref-conformance-") as out:
        what = ["--scenario", scenario] if scenario else ["--suite", "all"]
        words = [*command, "server", "--url", url, *what, "--spec-version", era, "--output-dir", out]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False, cwd=out)
        found: Checks = Counter()
        for file in sorted(Path(out).rglob("checks.json")):
            name = STAMP.sub("", file.parent.name).removeprefix("server-")
            found.update((name, str(check["id"]), str(check["status"])) for check in json.loads(file.read_text()))
        if not found:
            raise SystemExit(f"the suite ran no check: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        return found


def passed(checks: Checks) -> Checks:
    return Counter({key: count for key, count in checks.items() if key[2] == "SUCCESS"})


def lost(command: Sequence[str], url: str, era: str, direct: Checks, through: Checks) -> Checks:
    """The checks that pass directly and not through byref, not even when their scenario is run once more."""
    once = passed(through)
    again: Checks = Counter()
    for scenario in sorted({key[0] for key in passed(direct) - once}):
        again |= passed(run(command, url, era, scenario))
    return passed(direct) - (once | again)


def said(checks: Checks) -> str:
    total: Counter[str] = Counter()
    for (_, _, status), count in checks.items():
        total[status] += count
    return f"{total['SUCCESS']} passed, {total['FAILURE']} failed, {total['WARNING']} warnings"


def main(words: Sequence[str]) -> int:
    command = suite()
    if command is None:
        print("SKIPPED: the MCP conformance suite needs npm (Node.js), with which it could not be had; NOTHING of it was tested")
        return 0
    failed = 0
    home = Path(tempfile.mkdtemp(prefix="byref-conformance-home-"))
    try:
        with started([sys.executable, str(SERVER), "--port", "0"], home, quiet=True) as upstream:
            for era in ERAS:
                direct = run(command, upstream, era)
                print(f"{era} direct: {said(direct)}", flush=True)
                if passed(direct).total() < LEAST[era]:
                    print(f"  the fixture should pass {LEAST[era]}")
                    failed = 1
                if "--direct" in words:
                    continue
                with started([*BYREF, "wrap", "--url", upstream, "--http", "0"], home) as url:
                    through = run(command, url, era)
                    print(f"{era} through byref wrap --url: {said(through)}", flush=True)
                    for (scenario, check, _), count in sorted(lost(command, url, era, direct, through).items()):
                        print(f"  lost: {scenario}: {check}" + (f" ({count} times)" if count > 1 else ""))
                        failed = 1
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
