"""How fast the file store takes outputs in and gives lines back, beside plain references measured in the same run.

`python bench/store.py` prints a table; `make bench` takes the rows of `run`. The bars it is read against stand in BARS.
"""
from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from byref.proxy.contracts import Capture, Event, Manifest, Part, View
from byref.proxy.store import open_store
from byref.proxy.text import ref_of

MB = 1_000_000
BARS = "bars: 100 MB at >= 100 MB/s and <= 64 MB; 100 lines <= 5 ms; eight writers: no commit over 250 ms, WAL < 16 MB"
WRITERS, RATE, SECONDS = 8, 200, 10


def log_block(seed: int, size: int = 1 << 20) -> bytes:
    """About size bytes of a service's log: the same for the same seed."""
    draw = random.Random(seed)
    lines = []
    while size > 0:
        lines.append(b"2026-11-29T19:%02d:%02d.%03d INFO worker-%d request %08x path=/api/v1/items/%d status=200 dur=%dms\n" % (
            draw.randrange(60), draw.randrange(60), draw.randrange(1000), draw.randrange(16), draw.getrandbits(32),
            draw.randrange(100_000), draw.randrange(900)))
        size -= len(lines[-1])
    return b"".join(lines)


def capture_of(scope: str, session: str, part: Part, arguments: str) -> Capture:
    manifest = Manifest("shell", arguments, (part,), 0)
    ref = ref_of(manifest)
    event = Event("captured", time.time(), session, ref, "shell", "log", {"raw": part.blob.size})
    shown = bytes(64)
    return Capture(scope, session, session, None, ref, manifest, "operation/v1|shell|bench", View("", ()), shown, shown, 0.1, (event,))


def intake(folder: Path) -> list[tuple[str, str]]:
    """100 MB of log through a writer; lines from its middle. Run in a process of its own, so that its peak memory is the store's."""
    blocks = [log_block(seed) for seed in range(8)]
    store = open_store(f"file:{folder}/store", max_bytes=10 << 30, max_age=1e9, clock=time.time)
    warm = store.writer()
    warm.write(blocks[0])
    warm.finish()
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    speeds = []
    for attempt in range(3):
        start, size, writer = time.perf_counter(), 0, store.writer()
        while size < 100 * MB:
            data = b"attempt %d offset %d\n" % (attempt, size) + blocks[size // MB % 8]
            writer.write(data)
            size += len(data)
        blob = writer.finish()
        store.commit(capture_of("/bench", "bench", Part("stdout", "text/plain", blob), f'{{"command":"log {attempt}"}}'))
        speeds.append(size / MB / (time.perf_counter() - start))
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1000
    waits = []
    for attempt in range(200):
        start = time.perf_counter()
        source = store.open(blob.digest)
        first = blob.lines // 2 + attempt * 1000
        source.read(*source.lines(first, first + 99))
        waits.append(1000 * (time.perf_counter() - start))
    store.close()
    waits.sort()
    return [("take in 100 MB, best and worst of 3", f"{max(speeds):.0f}, {min(speeds):.0f} MB/s"),
            ("  extra memory for it", f"{memory:.1f} MB"),
            ("100 lines from the middle, opened and verified, p50 and p99", f"{waits[100]:.2f}, {waits[198]:.2f} ms")]


def references(folder: Path) -> list[tuple[str, str]]:
    """What the parts of a take-in cost alone: zstd, BLAKE2b, a plain write with fsync; and an fsync loop."""
    import zstandard
    blocks = [log_block(seed) for seed in range(8)]
    size = sum(map(len, blocks)) * 5 / MB

    def speed(action: object) -> str:
        assert callable(action)
        start = time.perf_counter()
        for _ in range(5):
            for block in blocks:
                action(block)
        return f"{size / (time.perf_counter() - start):.0f} MB/s"

    rows = [("  reference: zstd level 3 alone", speed(zstandard.ZstdCompressor(level=3).compress)),
            ("  reference: BLAKE2b-256 alone", speed(hashlib.blake2b(digest_size=32).update))]
    with open(folder / "plain", "wb", buffering=0) as file:
        start = time.perf_counter()
        for _ in range(13):
            for block in blocks:
                file.write(block)
        os.fsync(file.fileno())
        rows.append(("  reference: plain write and fsync", f"{13 * sum(map(len, blocks)) / MB / (time.perf_counter() - start):.0f} MB/s"))
    return [*rows, ("  reference: fsync loop of 4 KiB, p50 and longest", "{:.2f}, {:.1f} ms".format(*fsync_loop(folder, 2.0)))]


def fsync_loop(folder: Path, seconds: float) -> tuple[float, float]:
    """Milliseconds of an appended page and its fsync: the median and the longest."""
    waits, end = [], time.perf_counter() + seconds
    with open(folder / "loop", "ab", buffering=0) as file:
        while (start := time.perf_counter()) < end:
            file.write(bytes(4096))
            os.fsync(file.fileno())
            waits.append(1000 * (time.perf_counter() - start))
    waits.sort()
    return waits[len(waits) // 2], waits[-1]


def write(root: str, number: int, seconds: float) -> None:
    """One of eight writers: RATE small outputs a second, open loop; prints its commits' waits in ms."""
    store = open_store(f"file:{root}", max_bytes=10 << 30, max_age=1e9, clock=time.time)
    waits, begin, sent = [], time.perf_counter(), 0
    while (now := time.perf_counter()) < begin + seconds:
        due = begin + sent / RATE
        if now < due:
            time.sleep(due - now)
        writer = store.writer()
        writer.write(b"writer %d output %d\n" % (number, sent) * 20)
        part = Part("stdout", "text/plain", writer.finish())
        start = time.perf_counter()
        store.commit(capture_of("/bench", f"writer-{number}", part, f'{{"command":"w {number} {sent}"}}'))
        waits.append(1000 * (time.perf_counter() - start))
        sent += 1
    store.close()
    waits.sort()
    print(len(waits), waits[len(waits) // 2], waits[int(len(waits) * .99)], waits[-1])


def writers(folder: Path, seconds: float = SECONDS) -> list[tuple[str, str]]:
    """Eight processes at once; the WAL is looked at meanwhile."""
    root = folder / "shared"
    open_store(f"file:{root}", max_bytes=10 << 30, max_age=1e9, clock=time.time).close()
    commands = [[sys.executable, __file__, "write", str(root), str(number), str(seconds)] for number in range(WRITERS)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    wal = 0
    while any(process.poll() is None for process in running):
        wal = max(wal, (root / "catalog.db-wal").stat().st_size if (root / "catalog.db-wal").exists() else 0)
        time.sleep(.02)
    results = [tuple(map(float, process.communicate()[0].split())) for process in running]
    median, p99, longest = (sorted(result[i] for result in results)[-1] for i in (1, 2, 3))
    return [(f"eight writers x {RATE}/s for {seconds:.0f} s: commits a second", f"{sum(result[0] for result in results) / seconds:.0f}"),
            ("  a commit waits, worst writer's p50, p99, longest", f"{median:.1f}, {p99:.1f}, {longest:.0f} ms"),
            ("  largest WAL", f"{wal / MB:.1f} MB")]


def run() -> list[tuple[str, str]]:
    """All rows: what was measured, and the figure."""
    folder = Path(tempfile.mkdtemp(prefix="byref-bench-"))
    try:
        command = [sys.executable, __file__, "intake", str(folder)]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        rows = [(name, figure) for name, _, figure in (line.partition("\t") for line in lines)]
        return rows + references(folder) + writers(folder)
    finally:
        shutil.rmtree(folder)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["intake"]:
        print("\n".join("\t".join(row) for row in intake(Path(arguments[1]))))
    elif arguments[:1] == ["write"]:
        write(arguments[1], int(arguments[2]), float(arguments[3]))
    else:
        print(BARS)
        for name, figure in run():
            print(f"{name:<64} {figure}")


if __name__ == "__main__":
    main(sys.argv[1:])
