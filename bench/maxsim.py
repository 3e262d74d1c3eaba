"""MaxSim beside the bare kernels of numpy and torch on float32 in memory; from sidecars; over a million tokens; and cut short.

usage: maxsim.py [--tokens N] [--million N]

Bars: our kernel on numbers in memory within 1.3 times the bare one; from sidecars of the default kind within 1.5 times with torch, 2
without; a million tokens in flat memory (32 MiB beside the mapped files); a cancelled scan ends within 50 ms. A bare kernel is, for blocks
of 4,096 tokens, `q @ block.T`, the maximum of each chunk, the sum over the query; of the two ways round the quicker one counts. Pools are
one thread wide for all. Times are the best of several rounds, each way taking turns.
"""
from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from byref.proxy.text import digest

try:
    import numpy as np
    from numpy.typing import NDArray

    from byref.layers import maxsim
    from byref.layers.maxsim import BF16, BLOCK, INT8, Tokens, scan, stored
    from byref.layers.pools import narrow
    from byref.layers.sidecar import Sidecar, Sidecars
except ImportError:
    print("skipped: numpy is not installed: pip install 'byref[search]'")
    raise SystemExit(0) from None

ROUNDS = 9
ASKED = 16  # tokens of a query
CHUNK = 128  # tokens of a chunk
FILE = 8192  # tokens of a sidecar, about a stretch
IN_MEMORY, WITH_TORCH, WITHOUT = 1.3, 1.5, 2.0
ANONYMOUS = 32 << 20
ABORT = 0.050
Floats = NDArray[np.float32]


def unit(count: int, width: int, seed: int) -> Floats:
    made = np.random.default_rng(seed).standard_normal((count, width), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def bare_numpy(query: Floats, rows: Floats) -> Callable[[], object]:
    starts = np.arange(0, BLOCK, CHUNK)

    def run() -> object:
        found = []
        for at in range(0, len(rows), BLOCK):
            block = rows[at:at + BLOCK]
            near = query @ block.T
            found.append(np.maximum.reduceat(near, starts[starts < len(block)], axis=1).sum(0))
        return np.concatenate(found)
    return run


def bare_numpy_rows(query: Floats, rows: Floats) -> Callable[[], object]:
    starts = np.arange(0, BLOCK, CHUNK)

    def run() -> object:
        found = []
        for at in range(0, len(rows), BLOCK):
            block = rows[at:at + BLOCK]
            found.append(np.maximum.reduceat(block @ query.T, starts[starts < len(block)], axis=0).sum(1))
        return np.concatenate(found)
    return run


def bare_torch(query: Floats, rows: Floats) -> Callable[[], object]:
    import torch
    asked, held = torch.from_numpy(query), torch.from_numpy(rows)
    lengths = torch.full((BLOCK // CHUNK,), CHUNK)

    def run() -> object:
        found = []
        for at in range(0, len(held), BLOCK):
            near = held[at:at + BLOCK] @ asked.T
            found.append(torch.segment_reduce(near, "max", lengths=lengths[:-(-len(near) // CHUNK)], axis=0).sum(1))
        return torch.cat(found)
    return run


def bare_torch_columns(query: Floats, rows: Floats) -> Callable[[], object]:
    import torch
    asked, held = torch.from_numpy(query), torch.from_numpy(rows)
    starts = np.arange(0, BLOCK, CHUNK)

    def run() -> object:
        found = []
        for at in range(0, len(held), BLOCK):
            near = (asked @ held[at:at + BLOCK].T).numpy()
            found.append(np.maximum.reduceat(near, starts[starts < near.shape[1]], axis=1).sum(0))
        return np.concatenate(found)
    return run


def parts(rows: Floats, kind: str) -> list[Tokens]:
    made = []
    for at in range(0, len(rows), FILE):
        some = rows[at:at + FILE]
        numbers, scales = stored(some, kind)
        made.append(Tokens(numbers, scales, np.append(np.arange(0, len(some), CHUNK), len(some))))
    return made


def written(folder: str, made: Sequence[Tokens]) -> Sidecars:
    index = Sidecars(folder, "bench")
    for number, one in enumerate(made):
        blob = digest(number.to_bytes(8, "little"))
        places = np.zeros((len(one.vectors), 2), np.uint32)
        index.add(Sidecar(blob, 0, FILE, FILE, one, np.zeros((len(one.bounds) - 1, 2), np.int64), places))
    return index


def from_files(index: Sidecars, query: Floats, late: Callable[[], bool] = lambda: False) -> Callable[[], object]:
    weights = np.full(len(query), 1000)

    def run() -> object:
        places = [place for blob in index.complete() for place in index.places(blob)]
        opened = (index.open(place) for place in places)
        return scan(query, weights, (one.tokens for one in opened if one is not None), late)
    return run


def timed(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Milliseconds, the best of ROUNDS."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            best[name] = min(best[name], 1000 * (time.perf_counter() - began))
    return best


def compared(library: str, tokens: int, width: int) -> bool:
    query, rows = unit(ASKED, width, 1), unit(tokens, width, 2)
    weights = np.full(ASKED, 1000)
    bare = {"bare": bare_numpy(query, rows), "bare, other way round": bare_numpy_rows(query, rows)}
    if library == "torch":
        bare = {"bare": bare_torch(query, rows), "bare, other way round": bare_torch_columns(query, rows)}
    held = {kind: parts(rows, kind) for kind in (INT8, BF16)}
    with tempfile.TemporaryDirectory() as folder, narrow():
        index = {kind: written(f"{folder}/{kind}", made) for kind, made in held.items()}
        ways = {**bare, **{f"memory {kind}": (lambda made=made: scan(query, weights, made, lambda: False)) for kind, made in held.items()},
                **{f"sidecar {kind}": from_files(index[kind], query) for kind in held}}
        times = timed(ways)
    plain = min(times[name] for name in bare)
    print(f"{library:6} {width:4} numbers, {tokens} tokens, {ASKED} asked: " + ", ".join(
        f"{name} {took:.2f} ms" for name, took in times.items()))
    bar = WITH_TORCH if library == "torch" else WITHOUT
    memory, file = times[f"memory {INT8}"] / plain, times[f"sidecar {INT8}"] / plain
    fine = memory <= IN_MEMORY and file <= bar
    print(f"       in memory {memory:.2f} (bar {IN_MEMORY}), from sidecars {file:.2f} (bar {bar}): {'ok' if fine else 'MISSED'};"
          f" bf16 {times[f'memory {BF16}'] / plain:.2f} and {times[f'sidecar {BF16}'] / plain:.2f}")
    return fine


def anonymous() -> int:
    """Bytes of this process that are no file's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    return 0


def million(tokens: int, width: int) -> bool:
    """Memory while all is scanned, and how soon a cancelled scan ends."""
    query = unit(ASKED, width, 1)
    with tempfile.TemporaryDirectory() as folder, narrow():
        index = written(folder, [])
        for at in range(0, tokens, FILE):
            blob = digest(at.to_bytes(8, "little"))
            one = parts(unit(FILE, width, at), INT8)[0]
            index.add(Sidecar(blob, 0, FILE, FILE, one, np.zeros((len(one.bounds) - 1, 2), np.int64), np.zeros((FILE, 2), np.uint32)))
        run = from_files(index, query)
        gc.collect()
        before, peak, done = anonymous(), [0], threading.Event()

        def watch() -> None:
            while not done.wait(0.002):
                peak[0] = max(peak[0], anonymous())
        watcher = threading.Thread(target=watch)
        watcher.start()
        run()
        began = time.perf_counter()
        run()
        took = time.perf_counter() - began
        done.set()
        watcher.join()
        grown = max(0, peak[0] - before)
        ends = []
        for number in range(20):
            cancel, told = threading.Event(), [0.0]

            def stop(cancel: threading.Event = cancel, told: list[float] = told) -> None:
                told[0] = time.perf_counter()
                cancel.set()
            timer = threading.Timer(took * (number + 1) / 22, stop)
            timer.start()
            from_files(index, query, cancel.is_set)()
            ended = time.perf_counter()
            timer.join()
            if ended > told[0] > 0:
                ends.append(ended - told[0])
    fine = grown <= ANONYMOUS and (not ends or max(ends) <= ABORT)
    print(f"{tokens} tokens of {width} numbers in {1000 * took:.0f} ms, {grown / 2**20:.1f} MiB beside the mapped files"
          f" (bar {ANONYMOUS >> 20}); cancelled {len(ends)} times: ended after {1000 * median(ends or [0]):.1f} ms,"
          f" at most {1000 * max(ends, default=0):.1f} (bar {1000 * ABORT:.0f}): {'ok' if fine else 'MISSED'}")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=49_152)
    parser.add_argument("--million", type=int, default=1 << 20)
    asked = parser.parse_args()
    fine = [compared("numpy", asked.tokens, width) for width in (128, 384)]
    fine.append(million(asked.million, 128))
    try:
        import torch
    except ImportError:
        print("torch is not installed: its half is skipped (pip install 'byref[late]')")
    else:
        fine += [compared("torch", asked.tokens, width) for width in (128, 384)]
        fine.append(million(asked.million, 128))
        if torch.cuda.is_available():
            print("on a GPU: the rows above are its own, through late_interaction_kernels where that is installed")
    print(f"blocks of {maxsim.BLOCK} tokens, chunks of {CHUNK}")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
