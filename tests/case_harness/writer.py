"""Run as a script: one of several writers of one store. usage: writer.py GENERATOR-FOLDER STORE-URL SESSION NUMBER

Puts fifty outputs, fetches each at once and an earlier one at random, and prints what went wrong as JSON.
"""
from __future__ import annotations

import functools
import json
import random
import sys
from pathlib import Path
from typing import Any

import byref
from case_harness.load import generator


def whole(session: Any, ref: str) -> bytes:
    data, cursor = b"", None
    while True:
        page = session.fetch(ref, cursor=cursor, max_tokens=100_000)
        data, cursor = data + page.data, page.cursor
        if not cursor:
            return data


def main() -> None:
    folder, url, name, number = sys.argv[1:]
    payload = functools.cache(generator(Path(folder))["payload"])
    chance = random.Random(number)
    wrong: list[str] = []
    put: list[tuple[str, int]] = []
    with byref.open(url) as gateway:
        session = gateway.session(name)
        for n in range(50):
            data = payload(int(number), n)
            view = session.capture(tool="mcp", args={"writer": number, "n": n}, output=data)
            if not view.ref:
                wrong.append(f"{n}: passed raw")
                continue
            put.append((view.ref, n))
            for ref, which in (put[-1], chance.choice(put)):
                try:
                    if whole(session, ref) != payload(int(number), which):
                        wrong.append(f"{which}: other bytes came back")
                except byref.ByrefError as fault:
                    wrong.append(f"{which}: {fault}")
            if n % 5 == 0 and hasattr(session, "search"):
                session.search(data.decode().split("\n")[0])
    print(json.dumps({"put": len(put), "wrong": wrong}))


main()
