"""Made outputs that look like real ones, the same on every run: logs, listings, code, test runs, matches, records."""
from __future__ import annotations

import json
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = [
    "session", "token", "cache", "upstream", "retry", "shard", "replica", "lease", "batch", "window", "cursor", "index", "segment",
    "merge", "flush", "commit", "snapshot", "queue", "worker", "router", "gateway", "schema", "digest", "manifest", "payload", "stream",
    "socket", "handler", "timeout", "backoff", "quota", "tenant", "region",
]
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "INFO", "INFO", "WARN")


def log_lines(seed: int) -> Iterator[str]:
    """A service's log: many repeats of few kinds of line, a rare error with its own text."""
    chance = random.Random(seed)
    kinds = [f"{chance.choice(WORDS)}.{chance.choice(WORDS)}" for _ in range(30)]
    at = 0
    while True:
        at += chance.randrange(400)
        day, second = divmod(at // 1000, 86_400)
        stamp = f"2026-03-{1 + day % 28:02d} {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},{at % 1000:03d}"
        kind, number = kinds[chance.randrange(30)], chance.randrange(100_000)
        if chance.random() < 0.0005:
            what = f"{chance.choice(WORDS)} {number:x} failed after {number % 9} attempts: {chance.choice(WORDS)} refused"
            yield f"{stamp} ERROR [{kind}] {what}"
        else:
            what = f"{WORDS[number % 31]} id={number:x} took {number % 900} ms, {WORDS[number % 13]} ok"
            yield f"{stamp} {LEVELS[number % 7]} [{kind}] {what}"


def log(size: int, seed: int = 1) -> str:
    return until(log_lines(seed), size)


def listing(lines: int, seed: int = 1) -> str:
    """What `find -type f` prints over a large tree."""
    chance = random.Random(seed)
    folders = ["/".join(chance.choices(WORDS, k=chance.randrange(1, 6))) for _ in range(max(8, lines // 40))]
    ends = ("py", "py", "go", "ts", "md", "json", "txt", "png")
    return "".join(f"./{chance.choice(folders)}/{chance.choice(WORDS)}_{i % 977}.{ends[i % 8]}\n" for i in range(lines))


def code(size: int, seed: int = 1) -> str:
    """A piece of the standard library, as a reading tool numbers it."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"), key=lambda f: -f.stat().st_size)[:60]
    lines = files[seed % 60].read_text(encoding="utf-8", errors="replace").splitlines()
    return until((f"{n:6d}\t{line}" for n, line in enumerate(lines * 9, 1)), size)


def test_run(size: int, seed: int = 1) -> str:
    """A verbose test run with two failures and a summary."""
    chance = random.Random(seed)
    failed = [f"test_{chance.choice(WORDS)}_{n}" for n in range(2)]
    names = (f"tests/test_{chance.choice(WORDS)}.py::test_{chance.choice(WORDS)}_{i}" for i in range(10**6))
    body = until((f"{name} PASSED [{i % 100:3d}%]" for i, name in enumerate(names)), size - 900)
    detail = "".join(
        f"_____ {name} _____\n    def {name}():\n>       assert lease.count == {n}\nE       AssertionError: assert {n + 1} == {n}\n"
        f"tests/test_lease.py:{n + 40}: AssertionError\n" for n, name in enumerate(failed))
    short = "".join(f"FAILED tests/test_lease.py::{name} - AssertionError\n" for name in failed)
    return f"===== test session starts =====\n{body}===== FAILURES =====\n{detail}{short}===== 2 failed, 480 passed in 9.81s =====\n"


def matches(size: int, seed: int = 1) -> str:
    """What `grep -rn` prints."""
    chance = random.Random(seed)
    return until((f"./src/{chance.choice(WORDS)}/{chance.choice(WORDS)}.go:{chance.randrange(900)}:\t{chance.choice(WORDS)}.resumeToken = "
                  f"{chance.choice(WORDS)}({chance.choice(WORDS)}, {chance.randrange(99)})" for _ in range(10**6)), size)


def records(size: int, seed: int = 1) -> str:
    """A page of an API, as one line of JSON."""
    chance = random.Random(seed)
    rows, held = [], 0
    while held < size:
        row = {"id": chance.randrange(10**12), "name": f"{chance.choice(WORDS)} {chance.choice(WORDS)}",
               "score": chance.randrange(10**6) / 10**4, "tags": chance.sample(WORDS, 3),
               "owner": {"login": chance.choice(WORDS), "admin": chance.random() < 0.1}, "note": None}
        rows.append(row)
        held += len(json.dumps(row)) + 1
    return json.dumps({"count": len(rows), "results": rows}, separators=(",", ":"))


def until(lines: Iterator[str], size: int) -> str:
    """Lines up to about so many characters."""
    out, held = [], 0
    for line in lines:
        out.append(line)
        held += len(line) + 1
        if held >= size:
            break
    return "\n".join(out) + "\n"


KINDS: dict[str, tuple[str, str, Callable[[int, int], str]]] = {
    "log": ("shell", "journalctl -u gateway --no-pager", log),
    "listing": ("shell", "find . -type f", lambda size, seed: listing(size // 34, seed)),
    "code": ("Read", "argparse.py", code),
    "test run": ("shell", "python -m pytest -v", test_run),
    "matches": ("shell", "grep -rn resumeToken .", matches),
    "records": ("shell", "curl -s http://127.0.0.1:8080/v1/leases", records),
}
