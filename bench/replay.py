"""`byref replay` over many recordings: how fast tool outputs go through it, and what its processes hold while they stream.

usage: replay.py [--size MB] [--jobs N] [--only agents logs]
Two recordings of so many megabytes each (100 unless told; 1000 is a gigabyte) are made of real ones that lie beside the checkout where
this project is developed: `agents` of agents' sessions again and again under other names, outputs of a kilobyte; `logs` of sessions that
read real logs, outputs of some 30. Beside it in the same run: reading the same JSON and counting the tokens of its outputs, in one
process, and nothing else. Speed is told by the wall and by the processor, for who else computes slows the first; without what the
command takes to start, which is told apart. No model is used. Without recordings it says so and ends well.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from byref.proxy.ledger.counter import token_counter

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"
MB = 1_000_000
BAR = 8.0  # MB/s of tool output with two processes
EACH, CUT = 6, 400_000  # logs that a session reads, and how much of each at most
LOOK = 0.1  # seconds between two looks at memory
NAME = "\0NAME\0"


def agents() -> Iterator[str]:
    """Sessions of agents without end, each time under another name."""
    rows = [json.loads(line) for path in sorted(CORPUS.glob("trajectories-*.jsonl")) for line in path.open(encoding="utf-8")]
    lines = [json.dumps({**row, "id": NAME}) + "\n" for row in rows]
    random.Random(1).shuffle(lines)
    number = 0
    while lines:
        for line in lines:
            number += 1
            yield line.replace(json.dumps(NAME), json.dumps(f"session {number}"), 1)


def logs() -> Iterator[str]:
    """Sessions without end in which an agent reads real logs, and each time writes some words of what it read."""
    texts = {path.name: path.read_text(encoding="utf-8", errors="replace")[:CUT] for path in sorted((CORPUS / "logs").rglob("*"))
             if path.is_file()}
    chance, number = random.Random(2), 0
    while texts:
        turns = []
        for name in chance.sample(sorted(texts), EACH):
            lines = texts[name].splitlines() or [""]
            said = " ".join(word for line in chance.choices(lines, k=3) for word in re.findall(r"\w+", line)[:4])
            turns.append({"tool": "Bash", "args": {"command": f"cat {name}"}, "output": texts[name], "next_action": f"It says {said}."})
        number += 1
        yield json.dumps({"id": f"session {number}", "source": "logs", "task": "Find out why it failed.", "turns": turns}) + "\n"


KINDS = {"agents": agents, "logs": logs}


def write(path: Path, lines: Iterator[str], size: int) -> int:
    """Lines up to a size, in sessions."""
    number = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size and (line := next(lines, "")):
            file.write(line)
            number += 1
    return number


@dataclass
class Held:
    """Resident bytes by process: at each look, and at most."""

    looks: list[dict[int, int]] = field(default_factory=list)
    most: dict[int, int] = field(default_factory=dict)

    def look(self, main: int) -> None:
        """Looks at a process and its children. Nothing where there is no /proc."""
        found = {}
        try:
            children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        except OSError:
            return
        for pid in (main, *map(int, children)):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            now, most = (re.search(rf"^{name}:\s+(\d+) kB", status, re.M) for name in ("VmRSS", "VmHWM"))
            if now and most:
                found[pid], self.most[pid] = int(now[1]) * 1024, int(most[1]) * 1024
        self.looks.append(found)

    def said(self, main: int) -> str:
        """What was held early, in the middle and at the end of the stream, and at most."""
        streaming = [one for one in self.looks if len(one) > 1]
        if not streaming:
            return "memory was not seen"
        early, late = (max(sum(one.values()) for one in part) for part in (
            streaming[len(streaming) // 20:max(1, len(streaming) // 5)] or streaming, streaming[len(streaming) // 2:]))
        each = max(size for pid, size in self.most.items() if pid != main)
        return (f"memory of all processes {early / MB:.0f} MB in the first fifth, {late / MB:.0f} in the second half; at most "
                f"{self.most[main] / MB:.0f} the first (with the intervals at the end), {each / MB:.0f} each other")


def replayed(path: Path, jobs: int) -> tuple[float, float, Held, int, dict[str, object]]:
    """Seconds by the wall and of processors, memory by process, the first of them, and what `byref replay` says."""
    before, began, held = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), Held()
    command = [str(Path(sys.executable).with_name("byref")), "replay", str(path), "--json", "--jobs", str(jobs)]
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile() as out, subprocess.Popen(
            command, env={**os.environ, "BYREF_MODELS": empty}, stdout=out) as process:
        while process.poll() is None:
            held.look(process.pid)
            time.sleep(LOOK)
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode:
            raise SystemExit(f"byref replay ended with {process.returncode}")
        out.seek(0)
        said: dict[str, object] = json.load(out)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, held, process.pid, said


def plainly(path: Path) -> tuple[float, int, int]:
    """Processor time of reading the same JSON and counting the tokens of its outputs; how many there are, and their bytes."""
    counter, outputs, size = token_counter(), 0, 0
    counter.count([""])
    began = time.process_time()
    with path.open(encoding="utf-8") as file:
        for line in file:
            texts = [turn["output"] for turn in json.loads(line)["turns"]]
            counter.count(texts)
            outputs += len(texts)
            size += sum(map(len, texts))
    return time.process_time() - began, outputs, size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, metavar="MB")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--only", nargs="*", choices=KINDS, default=list(KINDS))
    args = parser.parse_args()
    if not CORPUS.is_dir():
        print("skipped: the recordings are not beside this checkout")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.jsonl"
        write(path, agents(), 1)
        _, start, *_ = replayed(path, args.jobs)
        print(f"byref replay --jobs {args.jobs}; to start, with one session: {start:.1f} s of a processor")
        for kind in args.only:
            sessions = write(path, KINDS[kind](), args.size * MB)
            alone, outputs, size = plainly(path)
            load = os.getloadavg()[0]
            wall, spent, held, pid, said = replayed(path, args.jobs)
            took = spent - start
            print(f"{kind}: {path.stat().st_size / MB:.0f} MB, {sessions} sessions, {outputs} outputs of {size / outputs / 1000:.1f} KB, "
                  f"{size / MB:.0f} MB of them")
            print(f"  {kind}, MB/s of tool output: {size / MB / took:.2f} a processor, {args.jobs * size / MB / took:.2f} on "
                  f"{args.jobs} free ones (bar {BAR}), {size / MB / wall:.2f} by the wall with load {load:.0f}")
            print(f"  {kind}, processor time {took:.1f} s; JSON and tokens alone {alone:.1f} s: {took / alone:.1f} times")
            print(f"  {kind}, {held.said(pid)}")
            print(f"  {said['counter']}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
