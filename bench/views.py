"""How long a view takes, and how much memory, beside plain ways to look at the same bytes in the same run.

usage: views.py [--rounds N]      one line an input: time of the view, of head+tail, of one Python loop, of zstd alone

Times are those of the processor, which are what the clock shows where nothing else runs; only the log of 100 MB goes by the clock.
"""
from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

import inputs
from byref.filters.render import view
from byref.proxy.contracts import Blob, Call, Part, Seen
from byref.proxy.text import digest, estimate

PAGE = 35_000  # characters: about 10,000 tokens


class Held:
    """Bytes in memory with the interface of a stored part."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        return self.data[start:self.size if end is None else end]

    def blocks(self) -> Iterator[bytes]:
        for at in range(0, self.size, 1 << 20):
            yield self.data[at:at + (1 << 20)]

    def lines(self, first: int, last: int) -> tuple[int, int]:
        raise NotImplementedError("a view reads, it does not look lines up")


def call_of(kind: str) -> Call:
    tool, command, _ = inputs.KINDS[kind]
    name = {"Read": "file_path", "WebFetch": "url"}.get(tool, "command")
    return Call(tool, {name: command}, exit_code=int(kind in ("test run", "findings", "build")))


def make(data: bytes, call: Call) -> tuple[float, int]:
    """Milliseconds of one view, and its size in characters."""
    part = Part("output", "text/plain", Blob(digest(data), len(data), data.count(b"\n")))
    started = time.thread_time()
    found = view("raaaaaaaaaa", [(part, Held(data))], call, Seen())
    return 1e3 * (time.thread_time() - started), len(found.head) + sum(map(len, found.texts))


def plain(data: bytes) -> dict[str, Callable[[], object]]:
    """What it is measured against."""
    def loop() -> int:
        return sum("error" in line.lower() for line in data.decode("utf-8", "replace").split("\n"))
    return {"head+tail": lambda: data[:4000].decode("utf-8", "replace") + data[-4000:].decode("utf-8", "replace"), "loop": loop,
            "zstd": lambda: zstandard.ZstdCompressor(level=3).compress(data)}


def timed(function: Callable[[], object]) -> float:
    started = time.thread_time()
    function()
    return 1e3 * (time.thread_time() - started)


def row(name: str, size: int, times: list[float], shown: float, others: dict[str, list[float]], bar: str) -> None:
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    rest = "".join(f"{statistics.median(others[key]):>11.2f}" for key in ("head+tail", "loop", "zstd"))
    print(f"{name:26}{size / 1000:>10.0f}{shown:>8.1%}{statistics.median(times):>10.2f}{p99:>10.2f}{rest}   {bar}", flush=True)


def pages(rounds: int) -> None:
    """35 KB of each kind: every round another text, as in a session, whose words recur."""
    every: list[float] = []
    shares: list[float] = []
    references: dict[str, list[float]] = {"head+tail": [], "loop": [], "zstd": []}
    for kind, (_, _, writer) in inputs.KINDS.items():
        call = call_of(kind)
        make(writer(PAGE, 999).encode(), call)
        times, sizes, others = [], [], {key: [] for key in references}
        for seed in range(rounds):
            data = writer(PAGE, seed).encode()
            milliseconds, size = make(data, call)
            times.append(milliseconds)
            sizes.append(size / len(data))
            for key, function in plain(data).items():
                others[key].append(timed(function))
        row(kind, PAGE, times, statistics.mean(sizes), others, "")
        every += times
        shares += sizes
        for key, values in others.items():
            references[key] += values
    row("all kinds, 10k tokens", PAGE, every, statistics.mean(shares), references, "bar: p50 5, p99 15")
    text = inputs.log(PAGE)
    print(f"  (35 KB of log are {estimate(text)} tokens by the built-in estimate)")


def rules(rounds: int) -> None:
    """35 KB of what each rule is for, most of it failures: more of them than any real output holds."""
    times: dict[str, list[float]] = {}
    sizes: list[float] = []
    references: dict[str, list[float]] = {"head+tail": [], "loop": [], "zstd": []}
    for seed in range(rounds):
        for name, command, code, text in inputs.ruled(PAGE, seed):
            data = text.encode()
            milliseconds, size = make(data, Call("shell", {"command": command}, exit_code=code))
            if seed:  # the first compiles its patterns
                times.setdefault(name, []).append(milliseconds)
                sizes.append(size / len(data))
                for key, function in plain(data).items():
                    references[key].append(timed(function))
    slowest = max(times, key=lambda name: statistics.median(times[name]))
    row(f"{len(times)} rules, 10k tokens", PAGE, [ms for each in times.values() for ms in each], statistics.mean(sizes), references,
        f"slowest: {slowest}, p50 {statistics.median(times[slowest]):.2f}")


def large(rounds: int) -> None:
    for name, kind, text, bar in (
        ("listing, 100,000 lines", "listing", inputs.listing(100_000), "bar: 150"),
        ("one line of 5 MB", "records", inputs.records(5_000_000), "bar: 300"),
    ):
        data = text.encode()
        done = [make(data, call_of(kind)) for _ in range(rounds)]
        others = {key: [timed(function) for _ in range(3)] for key, function in plain(data).items()}
        row(name, len(data), [ms for ms, _ in done], done[0][1] / len(data), others, bar)


def huge() -> None:
    """A 100 MB log out of a file store, in a process of its own, so that its peak of memory is its own too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        with path.open("w") as file:
            held = 0
            for line in inputs.log_lines(7):
                held += file.write(line + "\n")
                if held >= 100_000_000:
                    break
        done = subprocess.run([sys.executable, __file__, "--huge", folder], capture_output=True, text=True, check=False)
        if done.returncode:
            print("log of 100 MB: " + done.stderr.strip().splitlines()[-1])
            return
        ms, megabytes, shown = map(float, done.stdout.split())
        data = path.read_bytes()
        others = {key: [timed(function)] for key, function in plain(data).items()}
        row("log of 100 MB", len(data), [ms], shown, others, f"bar: 2000; memory {megabytes:.0f} MB beyond its own, bar: 150")


def huge_alone(folder: Path) -> None:
    """Prints milliseconds, megabytes beyond the interpreter with its imports, and the share shown."""
    import byref
    with byref.open(f"file:{folder}/store") as gateway, (folder / "log").open("rb") as file:
        session = gateway.session("bench")
        kept = session.capture(tool="shell", output=file, raw=True)
        blob = gateway.store.resolve(session.scope, kept.ref).manifest.parts[0].blob
    code = (f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import views; "
            f"views.huge_view({str(folder)!r}, {blob.digest!r}, {blob.size}, {blob.lines})")
    sys.exit(subprocess.run([sys.executable, "-c", code], check=False).returncode)


def huge_view(folder: str, name: str, size: int, lines: int) -> None:
    import byref
    with byref.open(f"file:{folder}/store") as gateway:
        make(inputs.log(PAGE).encode(), call_of("log"))
        source = gateway.store.open(name)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        found = view("raaaaaaaaaa", [(Part("output", "text/plain", Blob(name, size, lines)), source)], call_of("log"), Seen())
        took = 1e3 * (time.perf_counter() - started)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(took, (peak - before) / 1024, (len(found.head) + sum(map(len, found.texts))) / size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--huge", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.huge:
        huge_alone(given.huge)
        return
    print(f"{'views, milliseconds':26}{'kB':>10}{'shown':>8}{'p50':>10}{'p99':>10}{'head+tail':>11}{'loop':>11}{'zstd':>11}")
    pages(given.rounds)
    rules(max(2, given.rounds // 8))
    large(5)
    huge()


if __name__ == "__main__":
    main()
