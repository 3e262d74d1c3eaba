"""Speed of search beside plain references in the same run: text, words, the first search over a fresh output, and building.

usage: speed.py [--text MB] [--outputs N] [--only text words first build]

Text: every pattern over captured outputs, with ripgrep and with none on PATH, beside `bytes.find` and RE2 over the same bytes in memory
and `rg` over a file. Words: bm25 over so many outputs of 10 KB, beside plain bm25s over the same chunks. bench/nearest.py has the static
layer. Wall time depends on who else computes: the best of several runs stands beside the median, and CPU time where threads matter.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import NamedTuple

import byref
import inputs
from byref.layers import bm25, text, trigram
from byref.layers.chunking import chunks
from byref.layers.contract import Added, Budget, Contribution, Layer, Scope
from byref.proxy.query import parse
from byref.proxy.store.source import BytesSource
from byref.proxy.text import terms_by_line

MB = 1_000_000
PIECE = 500_000  # bytes of an output that text is looked for in
PATTERNS = (r"ERROR .*refused", "zzqqx", r"id=[0-9a-f]*beef", r"[a-z]+_[a-z]+_zz", r"(?:ab|ba|[c-z]{3})+zz[0-9]", r"took \d+ ms, [a-z]+ no")
WORDS = ("session token refused", "cache", "nothing of the kind stands here zzqqx")
ASKED = ("session token refused", "upstream retry timeout", "replica lease failed attempts", "snapshot queue", "refused", "gateway 7f3a")
SMALL = 10_000  # bytes of an output that words are looked for in
BARS = ("bars: text >= 500 MB/s through rg on any pattern, >= 350 by RE2 alone; words <= 25 ms p50 over 10,000 outputs (100 MB); "
        "first search over 10 MB <= 60 ms; static (bench/nearest.py) <= 10 ms over 200,000 chunks")


class Took(NamedTuple):
    """Seconds: the best and the median of several runs, and of CPU in the best one."""

    best: float
    middle: float
    cpu: float


def took(work: Callable[[], object], times: int = 3) -> Took:
    found = []
    for _ in range(times):
        began, cpu = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - began, time.process_time() - cpu))
    found.sort()
    return Took(found[0][0], found[len(found) // 2][0], found[0][1])


def searched(layer: Layer, query: str, scope: Scope) -> Contribution:
    return layer.search(parse(query), scope, Budget(time.monotonic() + 600, Event(), time.monotonic))


def rates(name: str, size: int, one: Took) -> str:
    return f"{name} {size / MB / one.best:5.0f} ({size / MB / one.middle:.0f})"


def halfway(seconds: list[float]) -> str:
    """Milliseconds of the one in the middle."""
    return f"{1000 * sorted(seconds)[len(seconds) // 2]:.1f}"


def through_text(size: int) -> None:
    with byref.open(profile="safe") as gateway, tempfile.TemporaryDirectory() as folder:
        session = gateway.session("text")
        held = []
        for number in range(size // PIECE):
            held.append((inputs.code if number % 2 else inputs.log)(PIECE, number).encode())
            session.capture(tool="log", output=held[-1].decode(), raw=True)
        scope = gateway.indexes.everything(session.scope)
        total = sum(map(len, held))
        file = Path(folder) / "all"
        file.write_bytes(b"".join(held))
        layer, there, path = text.layer(None), shutil.which("rg"), os.environ["PATH"]
        read = took(lambda: [scope.open(blob).read(0, one.size - 1) for blob, one in scope.held.items()])
        print(f"text over {len(held)} outputs, {total / MB:.0f} MB; MB/s of the best run (of the median); load {os.getloadavg()[0]:.1f}; "
              f"frames read and nothing else {total / MB / read.best:.0f}")
        for written in (*(f"/{pattern}/" for pattern in PATTERNS), *WORDS):
            rows = []
            for hidden in (False, True):
                if hidden or there:
                    os.environ["PATH"] = "" if hidden else path
                    one = took(lambda query=written: searched(layer, query, scope))  # type: ignore[misc]
                    rows.append(rates("without rg" if hidden else "with rg", total, one) + (f", {one.cpu / one.best:.1f} CPUs" * hidden))
            os.environ["PATH"] = path
            pattern = parse(written).compiled
            if pattern is not None:
                plain = took(lambda pattern=pattern: [sum(1 for _ in pattern.finditer(data)) for data in held], 1)  # type: ignore[misc]
                rows.append(rates("RE2 in memory", total, plain))
                if there:
                    alone = took(lambda pattern=pattern: subprocess.run(  # type: ignore[misc]
                        [there, "--no-config", "-a", "-c", pattern.pattern.decode(), str(file)], check=False, stdout=subprocess.DEVNULL))
                    rows.append(rates("rg over a file", total, alone))
            else:
                found = took(lambda query=written: [data.find(query.encode()) for data in held])  # type: ignore[misc]
                rows.append(rates("bytes.find of the whole", total, found))
            print(f"  {written:40} " + "  ".join(rows), flush=True)


def by_words(outputs: int) -> None:
    texts = [inputs.log(SMALL, number).encode() for number in range(outputs)]
    total = sum(map(len, texts))
    with byref.open(profile="safe") as gateway:
        session = gateway.session("words")
        for given in texts:
            session.capture(tool="log", output=given.decode(), raw=True)
        scope = gateway.indexes.everything(session.scope)
        layer = bm25.layer(None)
        added = [Added(blob, scope.open(blob), "log") for blob in scope.held]
        building = took(lambda: layer.apply(added, (), Event()), 1)
        for query in ASKED:
            searched(layer, query, scope)
        ours = [took(lambda query=query: searched(layer, query, scope), 9) for query in ASKED]  # type: ignore[misc]
        print(f"words over {len(scope.held)} outputs, {total / MB:.0f} MB, indexed in {building.best:.1f} s ({building.cpu:.1f} of CPU); "
              f"load {os.getloadavg()[0]:.1f}; milliseconds, p50 of the medians and of the best runs")
        print(f"  byref {halfway([one.middle for one in ours])}, best {halfway([one.best for one in ours])}, "
              f"CPU {halfway([one.cpu for one in ours])}", flush=True)
        import bm25s
        corpus = [[token.lower() for row in terms_by_line(given[start:end].decode()) for token in row]
                  for given in texts for start, end in chunks(given, "log")]
        plain = bm25s.BM25()
        plain.index(corpus, show_progress=False)
        theirs = [took(lambda query=query: plain.retrieve(  # type: ignore[misc]
            [query.split()], k=200, show_progress=False), 9) for query in ASKED]
        print(f"  plain bm25s over its {len(corpus)} chunks {halfway([one.middle for one in theirs])}, "
              f"best {halfway([one.best for one in theirs])}", flush=True)


def first() -> None:
    given = inputs.log(10 * MB, 3)
    os.environ["BYREF_MODELS"] = os.environ.get("BYREF_HOME", tempfile.gettempdir()) + "/none"  # what a model computes fills the timebox
    print(f"first search over a fresh output of 10 MB, nothing indexed; milliseconds, load {os.getloadavg()[0]:.1f}")
    with byref.open(profile="safe") as gateway:
        warm = gateway.session("warm")
        warm.capture(tool="log", output=inputs.log(3 * MB, 5), raw=True)
        for query in ASKED:
            warm.search(query, timebox_ms=5000)
        for query in (*ASKED, r"/ERROR .*refused/"):
            walls, cpus = [], []
            for number in range(3):
                session = gateway.session(f"fresh {query} {number}")
                session.capture(tool="log", output=f"{given}{query} {number}\n", raw=True)
                cpu, began = time.process_time(), time.perf_counter()
                session.search(query, timebox_ms=1000)
                walls.append(1000 * (time.perf_counter() - began))
                cpus.append(1000 * (time.process_time() - cpu))
            data = given.encode()
            plain = took(lambda data=data, query=query: data.lower().find(query.encode()))  # type: ignore[misc]
            print(f"  {query:32} wall best {min(walls):5.0f}, median {sorted(walls)[1]:5.0f}; CPU {min(cpus):4.0f}; "
                  f"lower and find in memory {1000 * plain.best:.0f}", flush=True)


def building() -> None:
    texts = [make(300_000, number).encode() for number in range(4) for make in (inputs.log, inputs.code, inputs.records)]
    total = sum(map(len, texts))
    added = [Added(f"b{number}", BytesSource(data), "log") for number, data in enumerate(texts)]
    tokens = took(lambda: [terms_by_line(data.decode()) for data in texts])
    print(f"building an index of {total / MB:.1f} MB; MB/s of CPU; tokens alone {total / MB / tokens.cpu:.1f}")
    for module in (bm25, trigram):
        one = took(lambda module=module: module.layer(None).apply(added, (), Event()))  # type: ignore[misc]
        print(f"  {module.__name__.rpartition('.')[2]:8} {total / MB / one.cpu:.1f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=int, default=100, help="megabytes that text is looked for in")
    parser.add_argument("--outputs", type=int, default=10_000, help="of 10 KB, that words are looked for in")
    parser.add_argument("--only", nargs="*", default=("text", "words", "first", "build"))
    given = parser.parse_args()
    print(BARS)
    if "text" in given.only:
        through_text(given.text * MB)
    if "words" in given.only:
        by_words(given.outputs)
    if "first" in given.only:
        first()
    if "build" in given.only:
        building()
    return 0


if __name__ == "__main__":
    sys.exit(main())
