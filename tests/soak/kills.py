"""Kills writing processes at random moments, and then asks the store for everything it had acknowledged.

usage: kills.py [--short]    200 kills, about a minute and a half; without --short 4,000

Two writers at a time are killed with SIGKILL. Two of three rounds write to a store that keeps all, where every acknowledged
output has to come back to the byte; the others to one with a small quota that is also purged and gc'ed, where each has to be
held or to be `evicted`. Ends with 1 if anything was lost, and says what.
"""
from __future__ import annotations

import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from byref.proxy.contracts import Capture, Event, Manifest, Part, Store, View
from byref.proxy.errors import ByrefError, Evicted, Unknown
from byref.proxy.store import open_store
from byref.proxy.text import ref_of

SCOPE, QUOTA = "/soak", 3_000_000
REMEMBERED = 250  # tombstones at least that such a quota has room for; a tenth of it is theirs


def content(seed: int) -> bytes:
    """The bytes of an output: small ones, files, and now and then a large one."""
    draw = random.Random(seed)
    size = draw.choice((0, 30, 400, 8192, 8193, 40_000, 150_000, 700_000))
    if draw.random() < .5:
        return draw.randbytes(size)
    return (b"%d " % seed + b"warning: unused variable `x` in src/lib.rs:%d\n" % draw.randrange(999)) * (size // 50)


def open_at(folder: Path, tight: bool) -> Store:
    return open_store(f"file:{folder}/{'tight' if tight else 'all'}", max_bytes=QUOTA if tight else 10 << 30, max_age=1e9, clock=time.time)


def write(folder: Path, tight: bool, seeds: range, acknowledge: int) -> None:
    """Writes one output after the other, and says so on a pipe once each is committed. Runs until it is killed."""
    store, draw = open_at(folder, tight), random.Random(seeds.start)
    for seed in seeds:
        data, writer = content(seed), store.writer()
        for start in range(0, len(data), 100_000):
            writer.write(data[start:start + 100_000])
        manifest = Manifest("shell", f'{{"command":"make {seed}"}}', (Part("stdout", "text/plain", writer.finish()),), 0)
        ref = ref_of(manifest)
        event = Event("captured", time.time(), "soak", ref, "shell", "text", {"raw": len(data)})
        view = View("head", (data[:200].decode("latin-1"),), (), "text", False)
        context = f"context-{seeds.start}"
        store.commit(Capture(SCOPE, "soak", context, str(seed), ref, manifest, "make", view, b"8 bytes.", b"", .1, (event,)))
        os.write(acknowledge, b"%d %s\n" % (seed, ref.encode()))
        if tight and draw.random() < .1:
            store.gc()
        if tight and draw.random() < .1:
            store.purge(SCOPE, ref)


def spawn(folder: Path, tight: bool, seeds: range) -> tuple[int, int]:
    """Forks a writer: its pid, and the pipe it acknowledges on."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            write(folder, tight, seeds, writing)
        except BaseException as fault:
            os.write(writing, f"fault {type(fault).__name__}: {fault}".replace("\n", " ")[:900].encode() + b"\n")
        finally:
            os._exit(1)
    os.close(writing)
    return pid, reading


def drain(reading: int) -> bytes:
    pieces = []
    while piece := os.read(reading, 65_536):
        pieces.append(piece)
    os.close(reading)
    return b"".join(pieces)


def check(store: Store, refs: dict[str, int], tight: bool, forgettable: set[str]) -> list[str]:
    """What is wrong with these acknowledged outputs. A small quota remembers the last ones it let go, not all."""
    wrong = []
    for ref, seed in refs.items():
        try:
            output = store.resolve(SCOPE, ref)
            if b"".join(store.open(output.manifest.parts[0].blob.digest).blocks()) != content(seed):
                wrong.append(f"{ref} (seed {seed}) has other bytes")
        except Evicted:
            if not tight:
                wrong.append(f"{ref} (seed {seed}) was evicted without a need")
        except Unknown:
            if ref not in forgettable:
                wrong.append(f"{ref} (seed {seed}) was acknowledged, and is unknown")
        except ByrefError as fault:
            wrong.append(f"{ref} (seed {seed}): {fault}")
    return wrong


def old_of(refs: dict[str, int]) -> set[str]:
    return set(list(refs)[:-REMEMBERED])


def round_of(folder: Path, number: int, draw: random.Random, acknowledged: dict[bool, dict[str, int]]) -> list[str]:
    """Two writers, killed, and the store looked at."""
    tight = number % 3 == 2
    writers = [spawn(folder, tight, range((2 * number + each) * 100_000, (2 * number + each + 1) * 100_000)) for each in range(2)]
    wrong, refs = [], {}
    for pid, reading in writers:
        # From within the opening of the store to a good many outputs later; now and then right after an acknowledgement.
        time.sleep(draw.choice((.004, .03, .2, .6)) * draw.random())
        if draw.random() < .2:
            select.select([reading], [], [], .2)
        os.kill(pid, signal.SIGKILL)
    for pid, reading in writers:
        os.waitpid(pid, 0)
        for line in drain(reading).splitlines():
            if line.startswith(b"fault"):
                wrong.append(line.decode())
            else:
                seed, ref = line.split()
                refs[ref.decode()] = int(seed)
    store = open_at(folder, tight)
    older = acknowledged[tight]
    sample = draw.sample(sorted(older), min(10, len(older)))
    older.update(refs)
    wrong += check(store, refs | {ref: older[ref] for ref in sample}, tight, old_of(older) if tight else set())
    store.close()
    return wrong


def main(arguments: list[str]) -> int:
    kills = 200 if "--short" in arguments else 4000
    seed = int.from_bytes(os.urandom(4), "big")
    folder = Path(tempfile.mkdtemp(prefix="byref-kills-"))
    draw, wrong = random.Random(seed), []
    acknowledged: dict[bool, dict[str, int]] = {False: {}, True: {}}
    start = time.monotonic()
    for number in range((kills + 1) // 2):
        wrong += round_of(folder, number, draw, acknowledged)
        if wrong:
            break
    for tight in (False, True):
        store = open_at(folder, tight)
        wrong += check(store, acknowledged[tight], tight, old_of(acknowledged[tight]) if tight else set())
        usage, checked = store.gc(), store.verify()
        wrong += [f"{name}: {problem}" for name, problem in checked.damaged]
        left = [path for path in (folder / ("tight" if tight else "all") / "tmp").glob("*")]
        wrong += [f"{path.name} was left behind" for path in left]
        files = sum(path.stat().st_size for path in folder.rglob("*.zst") if ("tight" in path.parts) == tight)
        if tight and usage.bytes_held > 1.1 * QUOTA:
            wrong.append(f"the quota of {QUOTA} is broken: {usage.bytes_held}")
        print(f"{'small quota' if tight else 'keeps all'}: {len(acknowledged[tight])} acknowledged, {usage.outputs} held, "
              f"{usage.blobs} blobs, {files / 1e6:.1f} MB of blob files")
        store.close()
    print(f"{2 * (number + 1)} kills in {time.monotonic() - start:.0f} s, {len(wrong)} faults (seed {seed})")
    print("\n".join(wrong[:20]))
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
