"""Eight processes write to one store at once, and nothing of it may be lost.

usage: writers.py [--short]    15 seconds; without --short a minute

Each writer has a session of its own, but for two that share one and a context; each reads back what it and the others wrote.
Afterwards every output, every event and every view must be there, and the catalog sound. Prints the longest wait for a commit
and the largest WAL. Ends with 1 if anything was lost, and says what.
"""
from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from byref.proxy.contracts import Capture, Event, Manifest, Part, Store, View
from byref.proxy.store import open_store
from byref.proxy.text import ref_of

SCOPE, WRITERS, WAL_LIMIT = "/soak", 8, 16_000_000


def content(seed: int) -> bytes:
    draw = random.Random(seed)
    lines = draw.choice((1, 1, 3, 20, 20, 200, 2000))
    return b"".join(b"%d line %d: value %d\n" % (seed, number, draw.randrange(10_000)) for number in range(lines))


def open_at(folder: str) -> Store:
    return open_store(f"file:{folder}/store", max_bytes=10 << 30, max_age=1e9, clock=time.time)


def capture_of(store: Store, writer: int, seed: int, data: bytes) -> Capture:
    blob = store.writer()
    blob.write(data)
    manifest = Manifest("shell", f'{{"command":"make {seed}"}}', (Part("stdout", "text/plain", blob.finish()),), 0)
    ref, shared = ref_of(manifest), "shared" if writer < 2 else str(writer)
    event = Event("captured", time.time(), shared, ref, "shell", "text", {"raw": len(data), "seed": seed})
    view = View("head", (f"{seed}",), (), "text", False)
    context, shown = f"context-{shared}", b"%08d" % seed
    return Capture(SCOPE, f"session-{shared}", context, str(seed), ref, manifest, "make", view, shown, b"", .1, (event,))


def held(store: Store, ref: str) -> bytes:
    return b"".join(store.open(store.resolve(SCOPE, ref).manifest.parts[0].blob.digest).blocks())


def write(folder: str, writer: int, seconds: float) -> None:
    """One writer. Prints what it committed, its longest wait in seconds and its faults as JSON."""
    store, draw, refs, longest, faults = open_at(folder), random.Random(writer), {}, 0.0, []
    end, seed = time.monotonic() + seconds, writer * 1_000_000
    while time.monotonic() < end:
        seed += 1
        try:
            data = content(seed)
            capture = capture_of(store, writer, seed, data)
            start = time.monotonic()
            store.commit(capture)
            longest = max(longest, time.monotonic() - start)
            refs[capture.ref] = seed
            if held(store, capture.ref) != data:
                faults.append(f"{capture.ref} has other bytes")
            earlier = draw.choice(list(refs)) if seed % 5 == 0 else ""
            if earlier and held(store, earlier) != content(refs[earlier]):
                faults.append(f"{earlier} has other bytes later")
        except Exception as fault:
            faults.append(f"{type(fault).__name__}: {fault}")
    store.close()
    print(json.dumps({"refs": refs, "longest": longest, "faults": faults[:5]}))


def check(folder: str, refs: dict[str, int]) -> list[str]:
    """What is wrong with the store after all have ended."""
    store, wrong = open_at(folder), []
    wrong += [f"{ref} was lost or changed" for ref, seed in refs.items() if held(store, ref) != content(seed)]
    logged = sorted(event.numbers["seed"] for event in store.events(SCOPE))
    if logged != sorted(refs.values()):
        wrong.append(f"the ledger has {len(logged)} events for {len(refs)} outputs")
    for shared in ("shared", *map(str, range(2, WRITERS))):
        shown = store.shown(f"context-{shared}")
        if [tick for tick, _, _ in shown] != list(range(1, len(shown) + 1)):
            wrong.append(f"the views of context {shared} are not numbered one by one")
    usage, checked = store.usage(), store.verify()
    if usage.outputs != len(refs):
        wrong.append(f"{usage.outputs} outputs are held, {len(refs)} were acknowledged")
    wrong += [f"{name}: {problem}" for name, problem in checked.damaged]
    store.close()
    return wrong


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["write"]:
        write(arguments[1], int(arguments[2]), float(arguments[3]))
        return 0
    seconds = 15 if "--short" in arguments else 60
    folder = tempfile.mkdtemp(prefix="byref-writers-")
    running = [subprocess.Popen([sys.executable, __file__, "write", folder, str(number), str(seconds)], stdout=subprocess.PIPE, text=True)
               for number in range(WRITERS)]
    largest, wal = 0, Path(folder, "store", "catalog.db-wal")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:  # until then no pipe fills: each writer prints once, at its end
        time.sleep(.02)
        largest = max(largest, wal.stat().st_size if wal.exists() else 0)
    refs: dict[str, int] = {}
    wrong, longest = [], 0.0
    for number, process in enumerate(running):
        printed = process.communicate()[0]
        if process.returncode:
            wrong.append(f"writer {number} ended with {process.returncode}")
            continue
        result = json.loads(printed)
        refs |= result["refs"]
        longest = max(longest, result["longest"])
        wrong += [f"writer {number}: {fault}" for fault in result["faults"]]
    wrong += check(folder, refs)
    if largest > WAL_LIMIT:
        wrong.append(f"the WAL grew to {largest} bytes")
    print(f"{len(refs)} outputs of {WRITERS} processes in {seconds} s, longest commit {1000 * longest:.0f} ms, "
          f"largest WAL {largest / 1e6:.1f} MB, {len(wrong)} faults; load {os.getloadavg()[0]:.1f}")
    print("\n".join(wrong[:20]))
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
