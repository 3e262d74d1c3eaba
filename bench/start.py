"""What `byref run` adds to a command, beside Python's own start, interleaved in one run: `.venv/bin/python bench/start.py [ROUNDS]`.

Medians of wall time in ms, and of processor time, which a busy machine disturbs less. `byref run` includes a durable
commit; the fsync line says what such a commit costs here at least.
"""
from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time

PYTHON = sys.executable
BYREF = os.path.join(os.path.dirname(PYTHON), "byref")
CASES = {
    "python -c pass": [PYTHON, "-c", "pass"],
    "true": ["true"],
    "byref run -- true": [BYREF, "run", "--", "true"],
    "seq 2000": ["seq", "2000"],
    "byref run -- seq 2000": [BYREF, "run", "--", "seq", "2000"],
    "BYREF=off byref run -- true": [BYREF, "run", "--", "true"],
}
BAR = 3.0


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def once(argv: list[str], environ: dict[str, str], null: int) -> tuple[float, float]:
    """Wall and processor time of one process and all its children, in ms."""
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)])
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(argv)} ended with status {status}")
    return wall * 1000, (used.ru_utime + used.ru_stime) * 1000


def fsync(folder: str) -> float:
    """One small durable write, in ms."""
    fd = os.open(os.path.join(folder, "probe"), os.O_CREAT | os.O_WRONLY)
    start = time.perf_counter()
    os.write(fd, b"x" * 4096)
    os.fsync(fd)
    os.close(fd)
    return (time.perf_counter() - start) * 1000


def main(rounds: int = 40) -> None:
    folder = tempfile.mkdtemp(prefix="byref-bench-", dir="/var/tmp")
    null = os.open(os.devnull, os.O_RDWR)
    # An installed package has its bytecode; a shell that forbids writing it would have every start compile all sources.
    dropped = ("BYREF", "PYTHONDONTWRITEBYTECODE")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(dropped)} | {"BYREF_HOME": folder}
    walls: dict[str, list[float]] = {name: [] for name in CASES}
    used: dict[str, list[float]] = {name: [] for name in CASES}
    syncs: list[float] = []
    try:
        once(CASES["byref run -- true"], environ, null)  # the store is made once, not at every start
        for _ in range(rounds):
            syncs.append(fsync(folder))
            for name, argv in CASES.items():
                wall, cpu = once(argv, environ | {"BYREF": "off"} if name.startswith("BYREF=off") else environ, null)
                walls[name].append(wall)
                used[name].append(cpu)
    finally:
        shutil.rmtree(folder)
    for name in CASES:
        print(f"{name:28} wall {median(walls[name]):7.1f} ms   processor {median(used[name]):7.1f} ms")
    print(f"{'write and fsync of 4 KiB':28} wall {median(syncs):7.1f} ms")
    python = "python -c pass"
    for bare in ("true", "seq 2000"):
        wrapped = f"byref run -- {bare}"
        wall, cpu = (median([a - b for a, b in zip(m[wrapped], m[bare], strict=True)]) / median(m[python]) for m in (walls, used))
        bar = f" (bar {BAR})" if bare == "true" else ""
        print(f"{wrapped} over the bare command: {wall:.2f} times {python} in wall time{bar}, {cpu:.2f} in processor time")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
