"""Static layer over 200,000 chunks: the nearest 200, from mapped files, beside the bare products and float32 held in memory."""
from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from byref.layers.embedding import quantised
from byref.layers.vectors import Segment, Stretch, Vectors, nearest

CHUNKS, WIDTH, BLOB = 200_000, 256, 20  # BLOB: chunks of one
TIMES = 60
BAR = 10.0  # milliseconds


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """The median and the best of milliseconds."""
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - began))
    return sorted(found)[TIMES // 2], min(found)


def main() -> int:
    chance = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        index = Vectors(folder, "bench", WIDTH)
        spans = np.array([(100 * row, 100 * row + 100) for row in range(BLOB)], np.int64)
        for number in range(4):
            count = CHUNKS // 4
            vectors, lengths = quantised(chance.integers(-1000, 1000, (count, WIDTH)))
            stretches = tuple(Stretch(f"b2:{number}-{blob}", 0, 100 * BLOB, 100 * BLOB, BLOB * blob, BLOB) for blob in range(count // BLOB))
            index.add(Segment(stretches, np.tile(spans, (count // BLOB, 1)), lengths, vectors))
        query, length = quantised(chance.integers(-1000, 1000, (1, WIDTH)))
        wanted = {f"b2:{number}-{blob}" for number in range(4) for blob in range(CHUNKS // 4 // BLOB)}
        half = set(sorted(wanted)[::2])
        segments = [part.segment for part in index.parts().parts]
        floats = np.concatenate([segment.vectors for segment in segments]).astype(np.float32)
        asked = query[0].astype(np.float32)
        rows: list[tuple[str, Callable[[], object]]] = [
            ("all", lambda: nearest(index.parts().parts, query[0], int(length[0]), wanted, 200, lambda: False)),
            ("half of the blobs", lambda: nearest(index.parts().parts, query[0], int(length[0]), half, 200, lambda: False)),
            ("float32 in memory, products alone", lambda: floats @ asked)]
        try:
            from simsimd import cdist
            rows.append(("simsimd, products alone", lambda: [cdist(query, segment.vectors, "dot") for segment in segments]))
        except ImportError:
            print("simsimd is not installed: products through float32 blocks")
        print(f"nearest of {CHUNKS:,} chunks, {WIDTH} wide, load {os.getloadavg()[0]:.1f}; bar {BAR} ms (p50, idle)")
        for name, work in rows:
            middle, best = timed(work)
            print(f"  {name:36} p50 {middle:6.1f} ms  best {best:6.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
