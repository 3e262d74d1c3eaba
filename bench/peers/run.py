"""The same recorded outputs through byref and through what others publish: what each saves, and what it loses of what was used later.

usage: run.py [--limit N] [--jobs N] [--write] [ARM ...]

By `make peers`, in an environment of its own. --limit: sessions of each file, spread over it; without it all of them, some six minutes on
two free cores. --write puts tables and plots into docs/benchmarks.md, docs/peers.svg and docs/peers-open.svg. Figures are those of
proxy/ledger/tally.py. Each arm runs in a process of its own, so that one that fails takes no other with it and none's settings are
another's: it is told in the document, and the exit code is 1.
Arms at matched `saved`: beside each peer stand head+tail cuts and byref at as much saved, on the straight line between two settings.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from arms import Timed, plain, version
from harnesses import harnesses
from offloading import offloading
from published import PACKAGES, published
from tables import Measured, drawn, matched, table

import byref
from byref.proxy.contracts import Call
from byref.proxy.ledger.bill import bill
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.replay import Arm, Replayed, replay
from byref.proxy.ledger.tally import Row, tally
from byref.proxy.ledger.trajectories import Trajectory, read

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
FILES = ("trajectories-local", "trajectories-open")
PAGE, PICTURE = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "peers.svg"
BEGIN, END = "<!-- begin: bench/peers/run.py --write -->", "<!-- end: bench/peers -->"
PIECE = 1500  # tokens of a fetch
ABSENT = 3  # the exit code of an arm whose package is not here
LONGEST = 1200.0  # seconds of one arm over one file


def arms() -> dict[str, Callable[[], Arm]]:
    """All there are, by name."""
    return plain() | harnesses() | published() | offloading()


def sessions(path: Path, limit: int | None) -> list[Trajectory]:
    """So many sessions of a file, spread over it."""
    found = list(read(path))
    return found if limit is None or limit >= len(found) else [found[i * len(found) // limit] for i in range(limit)]


def measured(name: str, arm: Arm, given: Sequence[Trajectory]) -> Measured:
    """One arm over the sessions. What it loads at its first output is no part of its time."""
    warm(arm, given)
    timed = Timed(arm)
    found: list[Replayed] = list(replay(given, timed, token_counter()))
    row: Row = tally(found, lambda each, outcome: ("ALL",))["ALL"]
    prices = REGIMES[0]
    return Measured(name, row.saved, row.es, row.data, row.need, row.edit, bill(found, prices, PIECE).net, bill(found, prices).net,
                    row.total.longer, 1e7 * timed.seconds / max(1, row.total.raw), row.milliseconds)


def warm(arm: Arm, given: Sequence[Trajectory]) -> None:
    """One output before the time counts."""
    for one in given:
        for turn in one.turns:
            if turn.output:
                arm.start(one)(Call(turn.tool, turn.arguments, None, turn.is_error, "", "", one.task), turn.output)
                return


def alone(name: str, path: Path, limit: int | None) -> int:
    """One arm over one file, in this process: its figures as JSON on stdout."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home  # what the others store of their own goes there
        try:
            arm = arms()[name]()
        except ImportError as fault:
            print(fault, file=sys.stderr)
            return ABSENT
        told = json.dumps(dataclasses.asdict(measured(name, arm, sessions(path, limit))))
    print(told)
    return 0


def asked(name: str, path: Path, limit: int | None) -> Measured | str:
    """The same in a process of its own; what went wrong, if it did."""
    began = time.monotonic()
    command = [sys.executable, str(Path(__file__)), "--one", str(path), name, *([] if limit is None else ["--limit", str(limit)])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"{name} was ended after {LONGEST:.0f} s"
    print(f"{path.stem} {name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1].replace(f"{ROOT}/", "")[:200]
    if done.returncode == ABSENT:
        return f"{name} is not here: {said}"
    if done.returncode:
        return f"{name} failed: {said}"
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def page(text: str) -> str:
    """docs/benchmarks.md with this between its marks; what stands around them stays."""
    held = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    before, begin, rest = held.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} lacks its marks: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arm", nargs="*", metavar="ARM", help="only these")
    parser.add_argument("--limit", type=int, help="sessions of each file, spread over it")
    parser.add_argument("--jobs", type=int, default=2, help="arms at a time")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.arm or list(arms())
    if unknown := set(names) - set(arms()):
        parser.error(f"no arm {', '.join(sorted(unknown))}; there are {', '.join(arms())}")
    if given.write and given.arm:
        parser.error("--write takes all arms: a table of some would stand in the place of the whole one")
    if given.one:
        return alone(names[0], given.one, given.limit)
    if not CORPUS.is_dir():
        print(f"skipped: no {CORPUS}; the recordings are laid beside the checkout where this project is developed")
        return 0
    load, failed = os.getloadavg()[0], False
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES if version(name))
    part = "all sessions" if given.limit is None else f"{given.limit} sessions of each file, spread over it"
    out = [f"Made by `make peers`: {part}. byref {byref.__version__}; {versions}. Tokens: {token_counter().name}. Python "
           f"{platform.python_version()}, {os.cpu_count()} cores, {given.jobs} arms at a time, load {load:.1f} when it began.", ""]
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = {(file, name): pool.submit(asked, name, CORPUS / f"{file}.jsonl", given.limit) for file in FILES for name in names}
        for file in FILES:
            found = [waiting[file, name].result() for name in names]
            rows, faults = [one for one in found if isinstance(one, Measured)], [one for one in found if isinstance(one, str)]
            failed = failed or bool(faults)
            taken = sessions(CORPUS / f"{file}.jsonl", given.limit)
            outputs = sum(bool(turn.output) for one in taken for turn in one.turns)
            out += [f"### {file}: {len(taken)} sessions, {outputs} outputs", "", *table(rows), ""]
            out += [*(line for fault in faults for line in (fault, "")), "At as much saved:", "", *matched(rows), ""]
            if given.write and rows:
                (PICTURE if file == FILES[0] else PICTURE.with_stem("peers-open")).write_text(drawn(rows, file), encoding="utf-8")
    print("\n".join(out))
    if given.write:
        PAGE.write_text(page("\n".join(out)), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
