"""Throws outputs of every bad kind at the public API for a while and checks what a user relies on.

usage: fuzz.py [--short] [--seconds N] [--seed N]     a minute with --short, else twenty
A short run has a seed of its own, so that it says the same twice; a long one draws a new seed, and --seed repeats it.

Checked of every output: all bytes come back, whole, in pages and in ranges; the view is not longer; where it passes it is the
raw text; every gap's address fetches; its own marks carry its own ref alone; another process's store gives the same view; what
is asked wrongly gets a declared miss. Ends with 1 at the first fault and leaves the output beside the report.
"""
from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import byref

WORDS = ("error", "warning", "failed", "ok", "passed", "session", "token", "café", "東京", "🚀", "path/to/file.py", "x=1", "0.1",
         "9007199254740993", "null", "«r2345672345", "L1-2»", "```")
PIECES: tuple[bytes, ...] = (
    b"", b"\n", b"\r\n", b"\r", b"\0", b"\t", b"   \n\n\n", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3",
    b"\x1b[31mred\x1b[0m", b"\x1b[2K\rprogress 10%\rprogress 90%",
    "«raaaaaaaaaa 3 of 9 lines»".encode(), "«L1-2»".encode(), "«".encode(),
    b"Traceback (most recent call last):\n", b"E       assert 1 == 2\n", b"==== 2 failed, 3 passed in 0.1s ====\n",
    b"src/a.py:10: error: no\n",
    b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n", b"  12\tdef f(x):\n",
    b'{"a": 1, "a": 1.0E+2}', b'{"broken": [1, 2', b"[{}]\n", b"| a | b |\n|---|---|\n| 1 | 2 |\n",
)
TOOLS = ("shell", "Bash", "Read", "grep", "mcp__x__y", "curl", "", "t" * 300)
COMMANDS = ("pytest -q", "grep -rn x .", "cat a.json", "sed -n 1,20p a.py", "git diff", "ls -lR", "make", "x" * 5000, "a\0b", "東京")
ADDRESSES = ("L1-2", "L0-1", "L9-3", "L99999999-", "b0-1", "b5-2", "b-1-3", "$.a[0]", "results[1:3].x", "/erro(r|/", "/(a+)+$/±2", "/./",
             "", "L", "../../etc", "'; DROP TABLE outputs; --", "L1-2" * 50, "stdout:L1-2", "b99999999999999999999-1")


def line(draw: random.Random) -> bytes:
    return (" ".join(draw.choices(WORDS, k=draw.randrange(1, 14))) + "\n").encode()


def content(draw: random.Random) -> bytes:
    """One part: random bytes, lines of one kind or of all, JSON whole or cut, a very long line."""
    kind = draw.randrange(8)
    if kind == 0:
        return draw.randbytes(draw.choice((0, 1, 399, 401, 5000, 70_000)))
    if kind == 1:
        return b"".join(draw.choice(PIECES) for _ in range(draw.randrange(200)))
    if kind == 2:
        rows = [{"id": draw.randrange(10**17), "name": draw.choice(WORDS), "v": [draw.random(), None, "\u0000\n"]}
                for _ in range(draw.randrange(300))]
        text = json.dumps({"count": len(rows), "rows": rows}, ensure_ascii=draw.random() < 0.5, indent=draw.choice((None, 2))).encode()
        return text[:draw.randrange(len(text) + 1)] if draw.random() < 0.3 else text
    if kind == 3:
        return b"y" * draw.randrange(200_000) + draw.choice(PIECES)
    if kind == 4:
        same = line(draw)
        return b"".join(same if draw.random() < 0.9 else line(draw) for _ in range(draw.randrange(3000)))
    if kind == 5:
        return "".join(f"2026-01-01 00:00:{i % 60:02d} INFO step {i} {draw.choice(WORDS)}\n" for i in range(draw.randrange(4000))).encode()
    if kind == 6:
        return b"".join(line(draw) + draw.choice(PIECES) for _ in range(draw.randrange(400))).replace(b"\n", draw.choice((b"\n", b"\r\n")))
    return "".join(f"{i:6d}\t{'    ' * draw.randrange(4)}def {draw.choice(WORDS)}(): pass\n" for i in range(draw.randrange(800))).encode()


def call(draw: random.Random) -> dict[str, Any]:
    parts = {name: content(draw) for name in draw.sample(("stdout", "stderr", "0", "structuredContent"), draw.randrange(1, 4))}
    arguments = ({"command": draw.choice(COMMANDS)}, None, {"file_path": "a.py", "n": 1e300}, ["x"], "text")
    made: dict[str, Any] = {
        "tool": draw.choice(TOOLS[:6]) if draw.random() < 0.9 else draw.choice(TOOLS), "args": draw.choice(arguments),
        "output": parts if draw.random() < 0.4 else content(draw), "exit_code": draw.choice((None, 0, 1, 137))}
    if draw.random() < 0.3:
        made["intent"] = draw.choice(WORDS)
    if draw.random() < 0.2:
        made["budget"] = draw.randrange(1, 3000)
    return made


ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
NUMBER = re.compile(r"^\s*\d+(?:→|\t|:|-|\|)")


def lost(data: bytes, view: str) -> list[str]:
    """Lines of a part that do not stand in a view without gaps, which may leave out no more than escape codes, overwritten text,
    line numbers, trailing blanks and repeats, and writes a forged mark's opening sign as `<`."""
    shown = view.replace("«", "<")
    rows = [ESCAPE.sub("", row).rstrip().rpartition("\r")[2] for row in data.decode("utf-8", "replace").replace("«", "<").split("\n")]
    return [row for row in rows if row.isprintable() and "\ufffd" not in row and NUMBER.sub("", row).strip() not in shown]


def whole(session: Any, ref: str, part: str | None, size: int) -> bytes:
    data, cursor = b"", None
    while True:
        page = session.fetch(ref, part=part, max_tokens=size, cursor=cursor)
        data, cursor = data + page.data, page.cursor
        if cursor is None:
            return data


def check(made: dict[str, Any], session: Any, other: Any, draw: random.Random) -> int:
    """One output, all statements. Returns its size in bytes."""
    view = session.capture(**made)
    parts: dict[str, bytes] = made["output"] if isinstance(made["output"], dict) else {"": made["output"]}
    size = sum(map(len, parts.values()))
    assert not view.warning and view.ref, f"passed with a warning: {view.warning}"
    assert len(view.data) <= size, f"the view has {len(view.data)} bytes, the output {size}"
    if view.passed:
        assert view.data == b"".join(parts.values()) and not view.gaps, "a passing view is the raw bytes"
    else:
        heads = [m[0] for m in byref.MARKER.finditer(view.text) if m[0].startswith("«r") and len(m[0]) > 11]
        assert heads and all(view.ref in head for head in heads), f"a mark of another output stands in the view: {heads}"
        if not view.gaps:  # JSON is written anew, as rows
            told = [data for data in parts.values() if not data.lstrip().startswith((b"{", b"["))]
            assert not any(lost(data, view.text) for data in told), "lines are missing, and no gap"
    for name, data in parts.items():
        named = name or None
        page = draw.choice((50, 3000, 10**7)) if len(data) < 20_000 else 10**7
        assert whole(session, view.ref, named, page) == data, "other bytes came back"
        if data:
            start = draw.randrange(len(data))
            end = draw.randrange(start, min(len(data), start + 2000) + 1)
            assert session.fetch(view.ref, at=f"b{start}-{end}", part=named, max_tokens=10**7).data == data[start:end]
            lines = data.split(b"\n")
            first = draw.randrange(1, len(lines) + 1)
            if first < len(lines) or lines[-1]:
                wanted = b"".join(row + b"\n" for row in lines[first - 1:first + 2])
                got = session.fetch(view.ref, at=f"L{first}-{first + 2}", part=named, max_tokens=10**7).data
                assert got == wanted or got == wanted[:-1], f"lines {first}-{first + 2}"
    for gap in draw.sample(list(view.gaps), min(3, len(view.gaps))):
        assert session.fetch(view.ref, at=gap.address, part=gap.part, max_tokens=500).data, f"the gap {gap.address} holds nothing"
    wrong = draw.choice(ADDRESSES)
    try:
        session.fetch(view.ref, at=wrong, part=next(iter(parts)) or None, max_tokens=100)
    except byref.errors.Miss:
        pass
    again = other.session("fuzz").capture(**made)
    assert (again.text, again.ref) == (view.text, view.ref), "two stores, two views"
    return size


def run(seconds: float, seed: int, told: Callable[[str], None]) -> int:
    until, count, held = time.monotonic() + seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder, byref.open(f"file:{folder}/byref") as kept, byref.open("memory:") as memory:
        while time.monotonic() < until:
            draw = random.Random(f"{seed}-{count}")
            made = call(draw)
            try:
                held += check(made, kept.session("fuzz"), memory, draw)
            except Exception:
                left = Path(tempfile.mkdtemp(prefix="byref-fuzz-"))
                (left / "call.txt").write_text(repr(made))
                told(f"fault at output {count} of seed {seed}; the call lies in {left / 'call.txt'}\n{traceback.format_exc()[-3000:]}")
                return 1
            count += 1
    told(f"fuzz: {count} outputs, {held / 1e6:.0f} MB, seed {seed}: every byte came back")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else 1 if given.short else random.SystemRandom().randrange(10**6)
    return run(given.seconds or (60 if given.short else 1200), seed, print)


if __name__ == "__main__":
    sys.exit(main())
