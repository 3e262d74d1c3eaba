"""First paint of the dashboard over a large store, beside the same page over an almost empty one: dashboard.py [OUTPUTS] [--store FOLDER].

Chromium's own performance entries, fresh profile each time, rounds interleaved. `listed`: the first page of outputs stands. The store is
filled by captures, one view in a hundred reduced, in 40 sessions of 400 contexts, and searches as the ledger holds them; --store takes one
that was filled before.
"""
from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import byref
from byref.proxy.frontends.open_dashboard import entry
from byref.proxy.ledger.events import searched

OUTPUTS, FEW, ROUNDS, THREADS = 100_000, 60, 7, 16
SEARCHES = 20  # outputs for one search in the ledger
BAR = 1000.0  # milliseconds
SCOPE = "1000:/home/me/project"
LONG = "".join(f"line {n}: value {n * 7919 % 1009}\n" for n in range(400))
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]
MARKS = """JSON.stringify(Object.fromEntries([...performance.getEntriesByType('paint'), ...performance.getEntriesByName('listed')]
    .map(entry => [entry.name, entry.startTime])))"""
WHAT = ("first-paint", "first-contentful-paint", "listed", "older", "output", "times", "savings")


def fill(folder: str, outputs: int) -> None:
    """Captures, in many threads."""
    with byref.open(f"file:{folder}") as gateway:
        def work(first: int) -> None:
            for number in range(first, outputs, THREADS):
                session = gateway.session(f"agent-{number % 40}", scope=SCOPE, context=f"context-{number % 400}", proven=False)
                text = f"{LONG}run {number} of it\n" if number % 100 == 0 else f"result {number}\n" * (1 + number % 20)
                session.capture(tool=("shell", "Read", "Grep")[number % 3], args={"command": f"make target-{number}"}, output=text,
                                exit_code=int(number % 7 == 0))
        threads = [threading.Thread(target=work, args=(first,)) for first in range(THREADS)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        gateway.store.log(SCOPE, *(searched(
            at=gateway.clock(), session=f"agent-{number % 40}", tokens=900, hits=12, query=f"where is target-{number % 300}", times={
                "micros": 50_000 + number, "best": 10, "ended-bm25": 400 + number * 31 % 900, "named-bm25": 7,
                "ended-text": 900 + number * 7919 % 5000, "named-text": 3}) for number in range(outputs // SEARCHES)))


def measure(home: str, program: str) -> dict[str, float]:
    """Milliseconds of one opening, by what stands then; the last four are from the click, or from the opening, to what it brings."""
    import json

    from playwright.sync_api import sync_playwright
    url = entry(home, patience=60)
    with sync_playwright() as play, tempfile.TemporaryDirectory() as profile:
        browser = play.chromium.launch_persistent_context(profile, executable_path=program, args=FLAGS)
        browser.set_default_timeout(600_000)
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(url)
        page.locator("#list li:nth-child(50)").wait_for()
        found: dict[str, float] = json.loads(page.evaluate(MARKS))
        found["older"] = timed(lambda: page.locator("#older").click(), lambda: page.locator("#list li:nth-child(60)").wait_for())
        found["output"] = timed(lambda: page.locator("#list button").first.click(), lambda: page.locator("#detail h2").wait_for())
        found["times"] = timed(lambda: page.locator("#tab-time").click(), lambda: page.locator("#many canvas").wait_for())
        page.locator("#unit", has_text="calls").wait_for()
        found["savings"] = 1000 * (time.perf_counter() - began)
        browser.close()
        return found


def timed(act: object, until: object) -> float:
    began = time.perf_counter()
    for step in (act, until):
        assert callable(step)
        step()
    return 1000 * (time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("outputs", nargs="?", type=int, default=OUTPUTS)
    parser.add_argument("--store", metavar="FOLDER")
    given = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        import playwright  # noqa: F401
    except ImportError:
        program = None
    if program is None:
        print("left out: needs Chromium and Playwright (pip install 'byref[browser]')")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        homes = {"large": given.store or str(Path(folder) / "large"), "small": str(Path(folder) / "small")}
        began = time.perf_counter()
        if not given.store:
            fill(homes["large"], given.outputs)
        fill(homes["small"], FEW)
        with byref.open(f"file:{homes['large']}") as gateway:
            held = gateway.store.usage().outputs
        filled = "" if given.store else f" (filled in {time.perf_counter() - began:.0f} s)"
        print(f"{held} outputs{filled} and {FEW}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in homes}
        try:
            for home in homes.values():
                subprocess.run([sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()", "dashboard", "--print"],
                               env={**os.environ, "BYREF_HOME": home}, check=True, capture_output=True)
            for _ in range(ROUNDS):
                for name, home in homes.items():
                    runs[name].append(measure(home, program))
        finally:
            for home in homes.values():
                subprocess.run([sys.executable, "-m", "byref.proxy.frontends.serve", "--stop"], env={**os.environ, "BYREF_HOME": home},
                               check=False, capture_output=True)
    print(f"ms, median of {ROUNDS} (worst); load {os.getloadavg()[0]:.1f}")
    print(f"{'':24}{'large':>16}{'small':>16}{'ratio':>8}")
    for what in WHAT:
        large, small = ([run[what] for run in runs[name]] for name in homes)
        middle = statistics.median(large), statistics.median(small)
        print(f"{what:24}{middle[0]:8.0f} ({max(large):5.0f}){middle[1]:8.0f} ({max(small):5.0f}){middle[0] / middle[1]:8.2f}")
    met = statistics.median(run["first-paint"] for run in runs["large"]) <= BAR
    print(f"first paint within {BAR:.0f} ms: {'yes' if met else 'NO'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
