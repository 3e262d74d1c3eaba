"""Fuzz of the views: any bytes, taken for an output of any shape, keep what every view promises; coverage leads where atheris is installed.

    python tests/soak/shapes.py [--short] [--seconds N] [--seed N]

Without atheris (the extra `fuzz`) made texts of all kinds are drawn at random. A fault ends the run and leaves its bytes in a file.
"""
from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
COMMANDS = (None, "cat f", "pytest -q", "git log -p", "grep -rn x .", "ls -lR", "make | tail", "kubectl get pods", "curl http://x",
            "journalctl")
PROFILES = ("safe", "auto", "lean")
BUDGETS = (None, None, 60, 400)
MOST = 20_000  # bytes of a text: what goes wrong in long ones does so in short ones that are repeated


def one(data: bytes) -> None:
    """The first five bytes choose shape, profile, command, how often the rest is repeated, and what was shown before."""
    from byref.proxy.contracts import Seen
    from conformance.shapes import NAMES, look_as
    shape, profile, command, times, past = data[:5].ljust(5, b"\0")
    raw = (data[5:] * (1 + times % 40))[:MOST]
    lines = raw.decode("utf-8", "surrogateescape").split("\n")
    seen = Seen(frozenset(line.strip() for line in lines[::past % 4]), frozenset(), past % 8 < 4) if past % 4 else Seen()
    made: dict[str, Any] = {"profile": PROFILES[profile % 3], "budget": BUDGETS[profile // 3 % 4], "seen": seen,
                            "exit_code": profile // 12 % 2}
    first = look_as(NAMES[shape % len(NAMES)], raw, COMMANDS[command % len(COMMANDS)], **made)
    again = look_as(NAMES[shape % len(NAMES)], raw, COMMANDS[command % len(COMMANDS)], **made)
    assert first.view == again.view, "the same bytes, two views"


def drawn(seed: int) -> bytes:
    """A made text with a choice before it."""
    from conformance.outputs import made
    draw = random.Random(seed)
    text = bytearray(made(seed, 60).encode("utf-8", "surrogateescape"))
    for _ in range(draw.choice((0, 0, 1, 9))):
        if text:
            text[draw.randrange(len(text))] = draw.randrange(256)
    return draw.randbytes(3) + bytes((draw.choice((0, 0, 3, 30)), draw.randrange(8))) + bytes(text)


def at_random(seconds: float, seed: int) -> int:
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        data = drawn(seed + count)
        try:
            one(data)
        except Exception:
            left = Path(tempfile.mkdtemp(prefix="byref-shapes-"), "input")
            left.write_bytes(data)
            print(f"fault at text {count} of seed {seed}; its bytes lie in {left}\n{traceback.format_exc()[-3000:]}")
            return 1
        count += 1
    print(f"shapes: {count} texts at random, seed {seed}: every view held")
    return 0


def instrumented() -> bool:
    """Whether atheris is installed; then the filters are imported so that it sees where a text leads."""
    try:
        import atheris
    except ImportError:
        return False
    with atheris.instrument_imports(include=["byref"]):
        from conformance.shapes import NAMES, shape
        for name in NAMES:
            shape(name)
    return True


def led(seconds: float, seed: int) -> None:
    """By coverage of the filters. Ends the process."""
    import atheris
    corpus = Path(tempfile.mkdtemp(prefix="byref-shapes-"))
    for k in range(150):
        (corpus / f"{k}").write_bytes(drawn(seed + k))
    options = [f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", f"-max_len={MOST}", "-timeout=60", "-print_final_stats=1",
               f"-artifact_prefix={corpus}/fault-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else 1 if given.short else random.SystemRandom().randrange(10**6)
    seconds = given.seconds or (45 if given.short else 900)
    if not instrumented():
        return at_random(seconds, seed)
    if at_random(seconds / 3, seed):
        return 1
    led(seconds * 2 / 3, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
