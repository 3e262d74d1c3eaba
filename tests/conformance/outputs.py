"""Outputs to try filters on: those of real commands over what every machine that runs the tests has, and made ones of all kinds."""
from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
STDLIB = sysconfig.get_path("stdlib")
PY = sys.executable
_FAILING = '''
import logging
import pytest

@pytest.mark.parametrize("n", range({passing}))
def test_add(n):
    assert n + 1 > n

def test_expiry():
    logging.getLogger("auth").warning("token is old")
    lifetime = 3600
    assert lifetime == 0, "never expires"

def test_lookup():
    return {{}}["missing"]
'''


@dataclass(frozen=True)
class Output:
    """What one call returned."""

    tool: str
    arguments: Any
    parts: dict[str, bytes] = field(repr=False)
    exit_code: int | None = 0

    @property
    def call(self) -> dict[str, Any]:
        """As `look` takes it."""
        return {"tool": self.tool, "arguments": self.arguments, "exit_code": self.exit_code}


COMMANDS: dict[str, tuple[str, list[str]]] = {
    "history": ("Bash", ["git", "-C", str(ROOT), "log", "--stat", "-n", "60"]),
    "patch": ("Bash", ["git", "-C", str(ROOT), "log", "-p", "-n", "6"]),
    "listing": ("Bash", ["ls", "-lR", f"{STDLIB}/email", f"{STDLIB}/json", f"{STDLIB}/asyncio"]),
    "search": ("Grep", ["grep", "-rn", "raise", f"{STDLIB}/json", f"{STDLIB}/email"]),
    "context": ("Bash", ["grep", "-rn", "-A2", "raise", f"{STDLIB}/json"]),
    "read": ("Read", ["cat", "-n", f"{STDLIB}/json/decoder.py"]),
    "source": ("Bash", ["cat", f"{STDLIB}/heapq.py"]),
    "imports": ("Bash", [PY, "-X", "importtime", "-c", "import asyncio, json"]),
    "packages": ("Bash", [PY, "-m", "pip", "list", "--format", "json"]),
    "doctest": ("Bash", [PY, "-m", "doctest", "-v", f"{STDLIB}/heapq.py"]),
    "trace": ("Bash", [PY, "-c", "import json; [print('step', i, i * i) for i in range(900)]; json.loads('{bad')"]),
    "binary": ("Bash", ["head", "-c", "30000", os.path.realpath(PY)]),
    "sizes": ("Bash", ["du", "-a", f"{STDLIB}/asyncio"]),
    "pytest": ("Bash", []),
}


@functools.cache
def real(name: str) -> Output:
    """The output of a real command; of pytest, on a project with two tests that fail."""
    tool, argv = COMMANDS[name]
    if name == "pytest":
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_auth.py").write_text(_FAILING.format(passing=150))
            argv = [PY, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", folder, "-c", os.devnull, folder]
            done = subprocess.run(argv, capture_output=True, check=False, cwd=folder)
    else:
        done = subprocess.run(argv, capture_output=True, check=False)
    return Output(tool, {"command": " ".join(argv)}, {"stdout": done.stdout, "stderr": done.stderr}, done.returncode)


def shared(place: str, *, most: int = 300_000) -> list[Path]:
    """The files of a folder beside the checkout, none where it is absent."""
    return sorted(f for f in SHARED.glob(place) if f.is_file() and f.stat().st_size <= most)


def turns(name: str, limit: int) -> Iterator[list[dict[str, Any]]]:
    """The turns of recorded trajectories: tool, args, output and what came next."""
    file = SHARED / "corpus" / name
    with file.open(encoding="utf-8", errors="surrogateescape") as rows:
        for row, _ in zip(rows, range(limit), strict=False):
            yield json.loads(row)["turns"]


# -- made ones: a line of each kind, by its number ---------------------------------------------------

MARKS = ("«rk7f3qmab2x 3 of 9 lines»", "«L1-20 hidden»", "«stderr»", "«×9 to L4»", "«b0-44»", "«$.x[1:3]»",
         "«out:L4»", "««L1»", "a «L5-9» b", "«mot» dit")
_CODE = ("def f(x):", "    return x + 1", "", "class Foo:", "    def bar(self):", "        pass")
_PATCH = ("diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,3 +1,3 @@", " context", "-old {}", "+new {}")
Draw = random.Random
KINDS: dict[str, Callable[[Draw, int], str]] = {
    "log": lambda r, i: f"2026-11-0{1 + i % 9} 12:{i % 60:02}:{r.randrange(60):02} INFO worker-{i % 5} took {i} in {r.randrange(900)} ms",
    "error": lambda r, i: f"ERROR: order={i} could not be written: disk quota exceeded",
    "passed": lambda r, i: f"tests/test_{i % 7}.py::test_case_{i} PASSED [ {i % 100:2}%]",
    "failed": lambda r, i: f"FAILED tests/test_{i % 7}.py::test_case_{i} - AssertionError: {i} != {i + 1}",
    "match": lambda r, i: f"src/mod_{i // 4}.py:{i * 3 + 1}:    value = compute(alpha_{i}, beta)",
    "context": lambda r, i: f"src/mod_{i // 4}.py-{i * 3 + 1}-    return gamma",
    "dashes": lambda r, i: "--",
    "tab": lambda r, i: f"{i + 1:6}\tdef function_{i}(self, argument):",
    "arrow": lambda r, i: f"{i + 1:6}→    self.value_{i} = {i}",
    "colon": lambda r, i: f"{i + 1}: some text of line with word_{i % 11}",
    "time": lambda r, i: f"{i // 9 % 24}:{i % 60:02}:00 something happened to thing_{i}",
    "size": lambda r, i: f"{r.randrange(9000)}\t./path/of/file_{i}.txt",
    "code": lambda r, i: _CODE[i % len(_CODE)],
    "prose": lambda r, i: f"The quick brown fox number {i} jumps over the lazy dog. It was seen near river_{i}.",
    "blank": lambda r, i: "",
    "spaces": lambda r, i: "   \t ",
    "mark": lambda r, i: MARKS[i % len(MARKS)],
    "ansi": lambda r, i: f"\x1b[32m ok \x1b[0m step \x1b[1;31m{i}\x1b[0m\x1b]0;title {i}\x07 done",
    "overwritten": lambda r, i: f"fetch {i}%\rfetch {i + 5}%\rfetch {i} finished",
    "crlf": lambda r, i: f"windows line {i} of text\r",
    "long": lambda r, i: ", ".join(f"{r.randrange(60)}: item_{r.randrange(500)} value" for _ in range(r.randrange(20, 80))),
    "long mark": lambda r, i: ("x" * r.randrange(280, 310) + "«L5-9 gone» and so on «stdout» ") * 3,
    "long overwritten": lambda r, i: "abc " * r.randrange(60, 130) + "\r" + "def, " * r.randrange(20, 120),
    "long ansi": lambda r, i: "".join(f"\x1b[{r.randrange(30, 48)}mword{r.randrange(99)}\x1b[0m" for _ in range(60)),
    "long wide": lambda r, i: "日本語のログ、" * r.randrange(30, 70) + "é" * r.randrange(100),
    "broken": lambda r, i: f"\udcff\udcfe broken \udce2\udc82 bytes {i}",
    "broken mark": lambda r, i: "\udcc2\x1b[0m\udcabL1-5 gone» tail",
    "escape": lambda r, i: "lone \x1b and \x1b[ and \x1b] end\x1b",
    "patch": lambda r, i: _PATCH[i % len(_PATCH)].format(i),
    "json": lambda r, i: f'{{"id": {i}, "name": "n{i}"}}',
    "numbers": lambda r, i: f"{i}",
    "control": lambda r, i: "\x00\x01\x02bin\x7f",
    "table": lambda r, i: f"pod-{i:<6} {i % 3}/3   {('Running', 'CrashLoopBackOff', 'Pending')[i % 3]:<18} {r.randrange(9)}   {i}d",
    "csv": lambda r, i: f'{i},name_{i % 13},"a, ""quoted"" value {r.randrange(99)}",{r.random():.3f},',
    "psql": lambda r, i: f" {i:>6} | name_{i % 7:<9} | {r.randrange(99):>5} " if i % 40 else "--------+----------------+-------",
    "ls": lambda r, i: f"-rw-r--r--  1 root root {r.randrange(99999):>7} Nov {1 + i % 28:>2} 10:{i % 60:02} file_{i}.txt",
    "tree": lambda r, i: f"{'│   ' * (i % 3)}{'├──' if i % 5 else '└──'} dir_{i % 9}/mod_{i}.py",
    "path": lambda r, i: f"./src/pkg_{i % 6}/mod_{i}.py",
    "html": lambda r, i: f'<div class="c{i % 4}"><a href="/p/{i}">Item {i}</a> &amp; <b>w_{i % 9}</b></div>',
    "tag": lambda r, i: r.choice(["<ul>", "<li>", "</li>", "</ul>", "<!-- c -->", "<br", "<pre>", "# Head"]),
    "frame": lambda r, i: (f'  File "/m{i % 3}.py", line {i}, in f', f"\tat a.b.C{i % 4}.run(C.java:{i})", f"    at f{i} (/x/a.js:{i}:9)",
                           f"#{i % 30}  0x00007f{i:06x} in main () at a.c:{i}", "Traceback (most recent call last):", "KeyError: 1")[i % 6],
    "hunks": lambda r, i: ("@@@ -1,2 -1,2 +1,3 @@@", "++new", " -old", "Index: a", "diff -r a/x b/x", "1,2c3,4", "< x", "---")[i % 8],
    "separators": lambda r, i: f"a\x0bb\x0cc\x1cd\x85e\u2028f {i}",
}


def made(seed: int, most: int = 300) -> str:
    """A text of up to five stretches, each of lines of up to three kinds."""
    draw, out = random.Random(seed), []
    for _ in range(draw.randrange(1, 6)):
        kinds = draw.sample(sorted(KINDS), draw.randrange(1, 4))
        for _ in range(min(most, draw.choice([1, 2, 3, 10, 40, 120, 300]))):
            out.append(KINDS[kinds[0] if draw.random() < .7 else draw.choice(kinds)](draw, len(out)))
    return "\n".join(out) + ("\n" if draw.random() < .8 else "")
