"""Runs the benchmarks of this folder, each in a process and with a data folder of its own, and writes docs/benchmarks.md.

usage: run.py [--write] [--full] [--check] [--list] [NAME ...]

Without names, all that sections.py lists, and `peers` (what others publish, bench/peers) where its environment is. --write puts each into
docs/benchmarks.md as soon as it has ended; what was left out or failed keeps the section that it had. --full takes the full sizes (hours).
--check compares the figures that do not depend on the machine with those in the document before, and tells what got worse by more than
a fifth. The exit code is 1 where a benchmark failed or --check found something; a missed bar is no failure. 2 for a wrong name.
"""
from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from beside import drawn, points
from document import ROOT, Ran, bars, block, printed, told, written
from sections import BY_NAME, OTHERS, SECTIONS, Section

import byref

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "benchmarks.md"
PEERS = ROOT / ".venv-peers" / "bin" / "python"
LONGEST = 1800.0  # seconds; a benchmark that hangs takes no other with it. FULL: times that, for the full sizes
FULL = 8
WORSE = 0.2
_SKIPPED = re.compile(r"\Askipped: |\Aleft out: |\Ano .*: skipped$|\Anot measured: ", re.M)
_FAULT = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a benchmark ended: with what it said, or why there is nothing. failed: it should have."""

    ran: Ran | None
    why: str = ""
    failed: bool = False


def listed() -> dict[str, Section]:
    """All benchmarks by name, those of sections.py first; one that it does not know has the first line of its docstring for a text."""
    there = {f.stem for f in HERE.glob("*.py")} - set(OTHERS)
    found = {section.name: section for section in SECTIONS if section.name in there}
    for name in sorted(there - set(found)):
        text = re.search(r'\A"""(.*?)(?:\n\n|""")', (HERE / f"{name}.py").read_text(encoding="utf-8"), re.S)
        found[name] = Section(name, name, "Others", text[1].strip() if text else name)
    return found


def ran(section: Section, full: bool) -> Ended:
    """One benchmark, once for each of its commands."""
    commands = (section.full or section.commands) if full else section.commands
    if not commands:
        return Ended(None, "part of --full")
    load, began, said, shown, failed = os.getloadavg()[0], time.monotonic(), "", [], ""
    for words in commands:
        command = [sys.executable, str(HERE / f"{section.name}.py"), *words.split()]
        if section.name == "wrap" and PEERS.is_file():
            command += ["--fastmcp", str(PEERS)]
        shown.append(f"bench/{section.name}.py {words}".strip())
        print(f"\n== {section.name}: {' '.join(command[1:])}", flush=True)
        with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile("w+") as faults:
            limit = LONGEST * (FULL if full else 1)
            code, printed_now = _process(command, {**os.environ, "BYREF_HOME": home}, faults.fileno(), limit)
            faults.seek(0)
            fault = anywhere(faults.read())
        said += anywhere(printed_now)
        missed = code == 1 and any("**missed**" in row for row in bars(section, printed_now))
        if (code and not missed) or _FAULT in fault or not printed_now.strip():
            if match := _SKIPPED.search(fault):
                return Ended(None, fault[match.start():].splitlines()[0])
            failed = (fault.strip().splitlines() or [f"ended with {code}"])[-1][:300]
            print(fault[-3000:], file=sys.stderr, flush=True)
            break
    if failed:
        return Ended(None, f"failed: {failed}", failed=True)
    if match := _SKIPPED.search(said):
        return Ended(None, said[match.start():].splitlines()[0])
    return Ended(Ran(said, "; ".join(shown), load, time.monotonic() - began))


def anywhere(text: str) -> str:
    """A text without the folders of this machine."""
    for place, name in ((str(ROOT), "."), (str(ROOT.parent), ".."), (str(Path.home()), "~")):
        text = text.replace(place + "/", name + "/")
    return text


def _process(command: list[str], environ: dict[str, str], errors: int, limit: float) -> tuple[int, str]:
    """Its exit code, and what it printed, which is passed on as it comes. What it started ends with it."""
    said: list[str] = []
    with subprocess.Popen(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True,
                          start_new_session=True) as child:
        def ended(*_: object) -> None:
            os.killpg(child.pid, signal.SIGKILL)
        before = signal.signal(signal.SIGALRM, ended)
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            for line in child.stdout or ():
                print(line, end="", flush=True)
                said.append(line)
            return child.wait(), "".join(said)
        except KeyboardInterrupt:
            ended()
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def peers(write: bool) -> Ended:
    """The comparison with what others publish; it writes its part of the document itself."""
    if not PEERS.is_file():
        return Ended(None, f"no {PEERS.relative_to(ROOT)}: make peers sets it up")
    command = [str(PEERS), str(HERE / "peers" / "run.py"), *["--write"] * write]
    print(f"\n== peers: {' '.join(command[1:])}", flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    if done.stdout.startswith("skipped"):
        return Ended(None, anywhere(done.stdout).splitlines()[0])
    return Ended(None, "" if done.returncode == 0 else "some arms failed; the section says which", failed=done.returncode != 0)


def worse(before: dict[str, str], now: dict[str, Ran]) -> list[str]:
    """What got worse by more than a fifth of the figures that do not depend on the machine."""
    found = []
    for name, ran_now in now.items():
        for figure in BY_NAME[name].figures if name in BY_NAME and name in before else ():
            old, new = figure.seen(before[name]), figure.seen(ran_now.said)
            if figure.ratio and old is not None and new is not None and figure.worse(old, new) > WORSE:
                found.append(f"{name}: {figure.label}: {told(old)} before, {told(new)} now")
    return found


def unsound() -> str:
    """Why no view is made here, if none is: byref would pass everything raw, and figures would be of nothing."""
    with byref.open("memory:") as gateway:
        return gateway.session("bench").capture(tool="Bash", output="".join(f"{n} of 999: done\n" for n in range(999))).warning


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", metavar="NAME", help="only these")
    for option in ("write", "full", "check", "list"):
        parser.add_argument(f"--{option}", action="store_true")
    given = parser.parse_args()
    there = listed()
    if given.list:
        print("\n".join([*there, "peers"]))
        return 0
    if unknown := set(given.name) - {*there, "peers"}:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join([*there, 'peers'])}", file=sys.stderr)
        return 2
    if fault := unsound():
        print(f"nothing is measured: {fault}", file=sys.stderr)
        return 1
    chosen = given.name or [*there, "peers"]
    before = printed(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else {}
    done: dict[str, Ran] = {}
    left_out: dict[str, str] = {}
    failed: list[str] = []
    for name in chosen:
        began = time.monotonic()
        ended = peers(given.write) if name == "peers" else ran(there[name], given.full)
        if ended.why:
            left_out[name] = ended.why
            print(f"{name}: {ended.why}", file=sys.stderr, flush=True)
        failed += [name] * ended.failed
        made = {}
        if ended.ran is not None:
            done[name] = ended.ran
            made = {name: block(there[name], ended.ran)}
            print("\n".join(bars(there[name], ended.ran.said)))
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if given.write:
            whole = not given.name and name == chosen[-1]
            page = written(PAGE.read_text(encoding="utf-8"), made, left_out, whole)
            PAGE.write_text(page, encoding="utf-8")
            PAGE.with_name("beside.svg").write_text(drawn(points(printed(page))), encoding="utf-8")
    missed = [f"{name}: {row}" for name, one in done.items() for row in bars(there[name], one.said) if "**missed**" in row]
    for title, rows in (("bars missed", missed), ("failed", [f"{name}: {left_out[name]}" for name in failed]),
                        ("left out", [f"{name}: {why}" for name, why in left_out.items() if name not in failed])):
        if rows:
            print(f"\n{title}:\n  " + "\n  ".join(rows))
    got_worse = worse(before, done) if given.check else []
    if got_worse:
        print(f"\nworse by more than {WORSE:.0%} than in the document:\n  " + "\n  ".join(got_worse))
    return int(bool(failed or got_worse))


if __name__ == "__main__":
    sys.exit(main())
