"""`byref report` over the ledger of 100,000 outputs: report.py [OUTPUTS].

Beside it in the same run: reading the same rows with sqlite3 and parsing their numbers, and nothing else. In processor time of one
thread, since the machine may be busy; the least of some rounds. The ledger is made of events alone, one view in a hundred reduced, in 40
sessions; then each output has its two counts, as after a first report that counts tokens.
"""
from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable

import byref
from byref.proxy.gateway import Gateway
from byref.proxy.ledger import events
from byref.proxy.ledger.recount import raw_key, view_key

OUTPUTS, ROUNDS, AT_ONCE = 100_000, 5, 5_000
BAR = 1.5  # seconds


def least(work: Callable[[], object]) -> float:
    """Seconds of a processor, the least of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def fill(gateway: Gateway, outputs: int, counts: bool) -> None:
    """The events of so many outputs, or of their counts."""
    made = []
    for number in range(outputs):
        reduced = number % 100 == 0
        viewed = events.captured(
            at=1e9 + number, session=f"agent-{number % 40}", ref=f"r{number:010}", tool=("shell", "Read", "Grep")[number % 3],
            shape=("log", "code", "matches")[number % 3], size=300 if not reduced else 9000, raw=90 if not reduced else 2700,
            view=90 if not reduced else 300, parts=1, gaps=int(reduced), text=f"view {number}" if reduced else "")
        if counts:
            keys = dict.fromkeys((raw_key(viewed[-1]), view_key(viewed[-1])))
            made += [events.counted(at=2e9, key=key, method="made", tokens=100) for key in keys]
        else:
            made += viewed
        if len(made) >= AT_ONCE:
            gateway.store.log("" if counts else "1000:/home/me/project", *made)
            made.clear()
    gateway.store.log("" if counts else "1000:/home/me/project", *made)


def plain(folder: str) -> int:
    """The sum of all numbers `raw`, as the standard library reads them."""
    with sqlite3.connect(f"file:{folder}/catalog.db?mode=ro", uri=True) as db:
        rows = db.execute("SELECT kind, at, session, ref, tool, shape, numbers FROM events ORDER BY id").fetchall()
    db.close()
    return sum(json.loads(row[6]).get("raw", 0) for row in rows)


def main() -> int:
    outputs = int(sys.argv[1]) if len(sys.argv) > 1 else OUTPUTS
    missed = False
    with tempfile.TemporaryDirectory() as folder, byref.open(f"file:{folder}") as gateway:
        for counts in (False, True):
            fill(gateway, outputs, counts)
            ours, bare = least(gateway.report), least(lambda: plain(folder))
            missed |= not counts and ours > BAR
            found = gateway.report()
            assert found.total.calls == outputs and found.total.counted == outputs * counts
            print(f"{outputs} outputs, {'all' if counts else 'none'} counted: report {ours:.2f} s of a processor"
                  f"{'' if counts else f' (bar {BAR:g})'}; its rows read and parsed alone {bare:.2f} s: {ours / bare:.1f} times")
    return int(missed and outputs == OUTPUTS)


if __name__ == "__main__":
    sys.exit(main())
