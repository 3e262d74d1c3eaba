"""Whether a request's beginning is ever sent in other bytes than before: recorded tasks as the requests of three LLM APIs.

usage: llm_prefix.py [--limit N]. Needs the recordings beside the checkout, else it says so and ends well. Every task is replayed
request by request through processes that take turns, four over one store: two of this version of views, then two of another.
Stateful, the first half of a task ends with a compaction that keeps the last turn; stateless, two processes with a store each take turns.
A request is changed where the bytes of its beginning, up to the end of what the one before it held, have another hash than there.
"""
from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import byref  # noqa: E402
from byref.proxy.ledger.trajectories import Trajectory, read  # noqa: E402
from llm_requests import FAMILIES, Dialog, recordings, replayed, results  # noqa: E402

SUMMARY = "This goes on from a conversation that was summed up: half of the work is done."


def proxy(pipe: Connection, url: str, stateless: bool, newer: bool) -> None:
    """A process that rewrites what it is given. newer: with views of another version."""
    from byref.filters import render
    from byref.proxy.frontends.llm.rewriting import Rewriter
    made = render.view

    def other(*args: Any, **more: Any) -> Any:
        found = made(*args, **more)
        texts = tuple(text.replace("\n", "\n\n", 1) for text in found.texts)
        return type(found)(found.head, texts, found.gaps, found.shape, found.passed, found.lines, found.terms)

    if newer:
        render.view = other
    with byref.open(url) as gateway:
        rewriter = Rewriter(gateway, "bench", stateless=stateless)
        while (asked := pipe.recv()) is not None:
            api, body = asked
            done = rewriter.rewrite(FAMILIES[api], body)
            pipe.send((done.body, done.replaced))


class Process:
    """A proxy at the other end of a pipe."""

    def __init__(self, url: str, stateless: bool, newer: bool = False) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=proxy, args=(far, url, stateless, newer), daemon=True)
        self.process.start()

    def rewrite(self, api: str, body: bytes) -> tuple[bytes, int]:
        self.pipe.send((api, body))
        found: tuple[bytes, int] = self.pipe.recv()
        return found

    def close(self) -> None:
        self.pipe.send(None)
        self.process.join(30)


def requests(trajectory: Trajectory, api: str, number: int, compact: bool) -> Iterator[tuple[bytes, bool, bool]]:
    """The requests of a task: body, whether it goes on from the one before it, and whether it lies in the second half.

    The second half begins with a summary, and goes on with the last turn before it.
    """
    bodies = [json.loads(body) for _, body in replayed(trajectory, api, number)]
    messages = "input" if api == "responses" else "messages"
    middle = len(bodies) // 2 if compact and len(bodies) > 3 else len(bodies)
    cut = len(bodies[middle - 2][messages]) if middle < len(bodies) else 0
    after = Dialog(api, f"{SUMMARY} It was task {number}.")
    for i, body in enumerate(bodies):
        if i < middle:
            yield written(body), i > 0, False
        else:
            yield written({**after.head, messages: [*after.items, *body[messages][cut:]]}), i > middle, True


def written(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


def beginning(body: bytes) -> bytes:
    """A request up to the end of the last message in it."""
    return body[:-2]


def replay(paths: list[Path], stateless: bool, limit: int | None) -> Counter[str]:
    """Counts by API: requests, those with views, bytes before and after, compactions, and prefixes that changed."""
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        urls = [f"file:{folder}/{name}" for name in ("ab" if stateless else "aaaa")]
        processes = [Process(url, stateless, i > 1) for i, url in enumerate(urls)]
        number = 0
        for path in paths:
            for trajectory in islice(read(path), limit):
                number += 1
                for api in FAMILIES:
                    last = b""
                    for turn, (body, follows, later) in enumerate(requests(trajectory, api, number, not stateless)):
                        sent, replaced = processes[turn % 2 + 2 * (later and not stateless)].rewrite(api, body)
                        count[f"{api} requests"] += 1
                        count[f"{api} with views"] += replaced > 0
                        count[f"{api} raw bytes"] += len(body)
                        count[f"{api} sent bytes"] += len(sent)
                        count[f"{api} compactions"] += turn > 0 and not follows
                        if follows:
                            mine, start = beginning(last), beginning(sent)[:len(last) - 2]
                            count[f"{api} changed"] += blake2b(mine).digest() != blake2b(start).digest()
                            count[f"{api} compared"] += 1
                        count[f"{api} results lost"] += len(results(api, sent)) != len(results(api, body)) if turn % 50 == 0 else 0
                        last = sent
        for process in processes:
            process.close()
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="tasks of each file")
    limit = parser.parse_args().limit
    paths = recordings(ROOT)
    if not paths:
        print("skipped: the recordings are laid beside the checkout where this project is developed")
        return 0
    changed = 0
    columns = ("requests", "with views", "compactions", "compared", "changed")
    for name, stateless in (("stateful", False), ("stateless", True)):
        count = replay(paths, stateless, limit)
        for api in FAMILIES:
            saved = 1 - count[f"{api} sent bytes"] / count[f"{api} raw bytes"]
            print(f"{name:10}{api:10}" + "".join(f"  {column} {count[f'{api} {column}']:6}" for column in columns)
                  + f"  bytes saved {saved:.3f}", flush=True)
            changed += count[f"{api} changed"] + count[f"{api} results lost"]
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
