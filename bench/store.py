"""How fast the file store takes outputs in and gives lines back, beside plain references measured in the same run.

`python bench/store.py` prints a table, with `grown` its last rows alone; `make bench` takes the rows of `run`. The bars it is read
against stand in BARS.
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
from collections.abc import Callable
from pathlib import Path

from byref.proxy.contracts import Blob, Capture, Event, Manifest, Part, Store, View
from byref.proxy.store import open_store
from byref.proxy.store.file import FileStore
from byref.proxy.store.grouping import Job
from byref.proxy.store.records import call_values, event_values
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


def take_in(store: Store, blocks: list[bytes], attempt: int) -> tuple[Blob, float]:
    """100 MB through a writer and a commit: the blob, and MB a second."""
    start, size, writer = time.perf_counter(), 0, store.writer()
    while size < 100 * MB:
        data = b"attempt %d offset %d\n" % (attempt, size) + blocks[size // MB % len(blocks)]
        writer.write(data)
        size += len(data)
    blob = writer.finish()
    store.commit(capture_of("/bench", "bench", Part("stdout", "text/plain", blob), f'{{"command":"log {attempt}"}}'))
    return blob, size / MB / (time.perf_counter() - start)


def speed(action: Callable[[bytes], object], blocks: list[bytes]) -> float:
    start = time.perf_counter()
    for _ in range(4):
        for block in blocks:
            action(block)
    return 4 * sum(map(len, blocks)) / MB / (time.perf_counter() - start)


def plain_write(folder: Path, blocks: list[bytes]) -> float:
    start, size = time.perf_counter(), 0
    with open(folder / "plain", "wb", buffering=0) as file:
        while size < 100 * MB:
            size += file.write(blocks[size // MB % len(blocks)])
        os.fsync(file.fileno())
    return size / MB / (time.perf_counter() - start)


def intake(folder: Path) -> list[tuple[str, str]]:
    """Three take-ins, each right beside its references; then lines from the middle. In a process of its own, for its peak memory."""
    blocks = [log_block(seed) for seed in range(8)]
    store = open_store(f"file:{folder}/store", max_bytes=10 << 30, max_age=1e9, clock=time.time)
    take_in(store, [block[:2000] for block in blocks], -1)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = []
    for attempt in range(3):
        blob, taken = take_in(store, blocks, attempt)
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1000
        import zstandard
        figures.append((taken, speed(zstandard.ZstdCompressor(level=3).compress, blocks),
                        speed(hashlib.blake2b(digest_size=32).update, blocks), plain_write(folder, blocks)))
    waits = []
    for attempt in range(200):
        start = time.perf_counter()
        source = store.open(blob.digest)
        first = blob.lines // 2 + attempt * 1000
        source.read(*source.lines(first, first + 99))
        waits.append(1000 * (time.perf_counter() - start))
    store.close()
    waits.sort()
    names = ("take in 100 MB, each of 3", "  reference beside each: zstd level 3 alone", "  reference: BLAKE2b-256 alone",
             "  reference: plain write and fsync of 100 MB")
    rows = [(name, ", ".join(f"{figure[number]:.0f}" for figure in figures) + " MB/s") for number, name in enumerate(names)]
    rows.insert(1, ("  of zstd alone", ", ".join(f"{figure[0] / figure[1]:.2f}" for figure in figures)))
    return [*rows, ("  extra memory", f"{memory:.1f} MB"),
            ("100 lines from the middle, opened and verified, p50 and p99", f"{waits[100]:.2f}, {waits[198]:.2f} ms")]


def paced(action: Callable[[int], None], seconds: float) -> list[float]:
    """Does an action RATE times a second, as long as it keeps up; how long each took, in ms, sorted."""
    waits, begin = [], time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds:
        due = begin + len(waits) / RATE
        if now < due:
            time.sleep(due - now)
        start = time.perf_counter()
        action(len(waits))
        waits.append(1000 * (time.perf_counter() - start))
    return sorted(waits)


def write(root: str, number: int, seconds: float) -> list[float]:
    """One of eight writers of small outputs."""
    store = open_store(f"file:{root}", max_bytes=10 << 30, max_age=1e9, clock=time.time)

    def commit(step: int) -> None:
        writer = store.writer()
        writer.write(b"writer %d output %d\n" % (number, step) * 20)
        part = Part("stdout", "text/plain", writer.finish())
        store.commit(capture_of("/bench", f"writer-{number}", part, f'{{"command":"w {number} {step}"}}'))

    waits = paced(commit, seconds)
    store.close()
    return waits


def sync(root: str, number: int, seconds: float) -> list[float]:
    """The same pace of nothing but a page and its fsync, to a file of its own."""
    with open(f"{root}.{number}", "ab", buffering=0) as file:
        def append(_: int) -> None:
            file.write(bytes(4096))
            os.fsync(file.fileno())
        return paced(append, seconds)


def eight(kind: str, root: Path, seconds: float) -> tuple[str, str, float]:
    """Eight processes of a kind: how many a second, the worst one's p50, p99 and longest, and the largest WAL in MB."""
    wal = root / "catalog.db-wal"
    running = [subprocess.Popen([sys.executable, __file__, kind, str(root), str(number), str(seconds)], stdout=subprocess.PIPE, text=True)
               for number in range(WRITERS)]
    largest, results = 0, []
    while any(process.poll() is None for process in running):
        largest = max(largest, wal.stat().st_size if wal.exists() else 0)
        time.sleep(.02)
    for process in running:
        results.append([float(figure) for figure in process.communicate()[0].split()])
    worst = [max(result[column] for result in results) for column in (1, 2, 3)]
    return f"{sum(result[0] for result in results) / seconds:.0f}", "{:.1f}, {:.1f}, {:.0f} ms".format(*worst), largest / MB


def writers(folder: Path, seconds: float = SECONDS) -> list[tuple[str, str]]:
    open_store(f"file:{folder}/shared", max_bytes=10 << 30, max_age=1e9, clock=time.time).close()
    rate, waits, wal = eight("write", folder / "shared", seconds)
    plain_rate, plain_waits, _ = eight("sync", folder / "loops", seconds / 2)
    return [(f"eight writers x {RATE}/s for {seconds:.0f} s: commits a second", rate),
            ("  a commit takes, worst writer's p50, p99, longest", waits), ("  largest WAL", f"{wal:.1f} MB"),
            ("  reference: eight fsync loops at that pace, a second", plain_rate),
            ("  reference: an fsync takes, worst loop's p50, p99, longest", plain_waits)]


def filled(store: FileStore, numbers: range) -> None:
    """Outputs of calls in a scope of four sessions, in transactions of a thousand."""
    for begin in range(0, len(numbers), 1000):
        jobs = []
        for number in numbers[begin:begin + 1000]:
            writer = store.writer()
            writer.write(b"output %d\n" % number * 20)
            part = Part("stdout", "text/plain", writer.finish())
            made = capture_of("/bench", f"s{number % 4}", part, f'{{"command":"c {number}"}}')
            capture = Capture(made.scope, made.session, f"w{number % 40}", f"{number}", made.ref, made.manifest,
                              f"operation/v1|shell|c {number % 5000}", made.view, made.shown_lines, made.shown_terms, 0.1, made.events)
            jobs.append(Job(capture, call_values(capture), [event_values("/bench", event) for event in capture.events], time.time()))
        store._commit_all(jobs)
        for job in jobs:
            store._pending.settle(job.capture.manifest)


def median(action: Callable[[int], object], times: int = 200) -> float:
    """In ms."""
    waits = []
    for number in range(times):
        start = time.perf_counter()
        action(number)
        waits.append(1000 * (time.perf_counter() - start))
    return sorted(waits)[times // 2]


def grown(folder: Path, sizes: tuple[int, ...] = (1000, 100_000)) -> list[tuple[str, str]]:
    """What a store of many outputs takes for each call, and how many times what it took with few."""
    store = open_store(f"file:{folder}/grown", max_bytes=10 << 30, max_age=1e9, clock=time.time)
    assert isinstance(store, FileStore)
    draw, took, held = random.Random(1), dict[str, list[float]](), 0
    for size in sizes:
        filled(store, range(held, size))
        held = size
        refs = [output.ref for output in store.changes("/bench", 0, size)]
        one = range(10 * sizes[-1] + size, 11 * sizes[-1] + size)

        def commit(number: int, one: range = one) -> None:
            filled(store, one[number:number + 1])

        def fsync(_: int) -> None:
            with open(folder / "probe", "ab", buffering=0) as file:
                file.write(bytes(4096))
                os.fsync(file.fileno())

        def session(_: int) -> object:
            return store.recent("/bench", session="s1")

        def signature(_: int, size: int = size) -> object:
            number = draw.randrange(min(size, 5000))
            return store.recent("/bench", session=f"s{number % 4}", signature=f"operation/v1|shell|c {number}", limit=1)

        def first(_: int, size: int = size) -> object:
            number = draw.randrange(size)
            return store.first(f"w{number % 40}", f"{number}")
        actions: dict[str, Callable[[int], object]] = {
            "commit": commit, "  reference: an fsync": fsync,
            "resolve": lambda _, refs=refs: store.resolve("/bench", draw.choice(refs)), "first": first,
            "recent": lambda _: store.recent("/bench"), "recent of a session": session, "recent of a signature": signature,
            "changes, 20": lambda _, size=size: store.changes("/bench", draw.randrange(size - 20), 20)}
        for name, action in actions.items():
            took.setdefault(name, []).append(median(action))
    store.close()
    return [(f"{name}: with {sizes[0]} and {sizes[-1]} outputs, p50", f"{few:.2f}, {many:.2f} ms; ratio {many / few:.1f}")
            for name, (few, many) in took.items()]


def run() -> list[tuple[str, str]]:
    """All rows: what was measured, and the figure."""
    folder = Path(tempfile.mkdtemp(prefix="byref-bench-"))
    try:
        command = [sys.executable, __file__, "intake", str(folder)]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        return [(name, figure) for name, _, figure in (line.partition("\t") for line in lines)] + writers(folder) + grown(folder)
    finally:
        shutil.rmtree(folder)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["grown"]:
        with tempfile.TemporaryDirectory(prefix="byref-bench-") as folder:
            for name, figure in grown(Path(folder)):
                print(f"{name:<64} {figure}")
    elif arguments[:1] == ["intake"]:
        print("\n".join("\t".join(row) for row in intake(Path(arguments[1]))))
    elif arguments[:1] in (["write"], ["sync"]):
        waits = (write if arguments[0] == "write" else sync)(arguments[1], int(arguments[2]), float(arguments[3]))
        print(len(waits), waits[len(waits) // 2], waits[int(len(waits) * .99)], waits[-1])
    else:
        print(f"{BARS}; load {os.getloadavg()[0]:.1f}")
        for name, figure in run():
            print(f"{name:<64} {figure}")


if __name__ == "__main__":
    main(sys.argv[1:])
