"""What `byref serve --llm` adds to a request, beside the provider itself, interleaved: `.venv/bin/python bench/llm.py [ROUNDS]`.

A server of aiohttp in a process of its own, the daemon before it with a store of its own, a plain client before both. The request holds
200 KB of which all results are known; the same one is sent each time, as it came and through byref.
"""
from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

PYTHON = sys.executable
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from llm_requests import PATHS, Dialog  # noqa: E402

SIZE = 200_000  # bytes of a request
ADDED, FIRST = 5.0, 5.0  # the bars: ms of p50
ROUNDS = 60


def served(port: int) -> None:
    """The provider: an answer at once, or a stream whose first event comes at once."""
    import asyncio

    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if b'"stream": true' not in body[-4000:] and b'"stream": true' not in body[:4000]:
            return web.json_response({"id": "msg_1", "usage": {"input_tokens": 9, "output_tokens": 3}, "length": len(body)})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in range(3):
            await response.write(b'data: {"type": "content_block_delta", "n": %d}\n\n' % event)
            await asyncio.sleep(0.005)
        return response

    app = web.Application(client_max_size=0)
    app.router.add_post("/{path:.*}", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


def request_of(api: str) -> Dialog:
    """A conversation of 200 KB with results of all sizes, and tools as a harness has them."""
    dialog = Dialog(api, "Find out why the harbour loses parcels.", "You are an agent. " * 300)
    dialog.head["tools"] += [{**dialog.head["tools"][0], **({"name": f"tool_{n}"} if api != "chat" else {}), "note": "what it is for " * 40}
                             for n in range(20)]
    n = 0
    while len(dialog.body()) < SIZE:
        n += 1
        rows = "".join(f"{k:05d} parcel {k * 7919 % 10007} berth {(k * n) % 101} {'late' if k % 9 else 'lost'}\n"
                       for k in range(20 + n * 37 % 150))
        dialog.turn([(f"call_{n}", "Bash", {"command": f"report --day {n}"}, rows)], f"Day {n} is next.")
    return dialog


def free() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Line:
    """A connection to one of the two."""

    def __init__(self, port: int, prefix: str) -> None:
        self.prefix = prefix
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def post(self, path: str, body: bytes) -> tuple[float, float, http.client.HTTPResponse]:
        """ms to the first byte of the body, and to the last."""
        start = time.perf_counter()
        self.http.request("POST", self.prefix + path, body, {"Content-Type": "application/json", "x-api-key": "sk"})
        answer = self.http.getresponse()
        answer.read(1)
        first = (time.perf_counter() - start) * 1000
        answer.read()
        return first, (time.perf_counter() - start) * 1000, answer


def main() -> int:
    if sys.argv[1:2] == ["--serve"]:
        served(int(sys.argv[2]))
        return 0
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    far = free()
    worst = False
    with tempfile.TemporaryDirectory() as home:
        provider = subprocess.Popen([PYTHON, __file__, "--serve", str(far)])
        daemon = subprocess.Popen([PYTHON, "-m", "byref.proxy.frontends.serve", "--llm", f"mine=http://127.0.0.1:{far}"],
                                  env={**os.environ, "BYREF_HOME": home}, stdout=subprocess.PIPE, text=True)
        try:
            assert daemon.stdout is not None
            port = int(daemon.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
            for _ in range(200):
                with socket.socket() as sock:
                    if sock.connect_ex(("127.0.0.1", far)) == 0:
                        break
                time.sleep(0.05)
            for api, path in PATHS.items():
                dialog, direct, through = request_of(api), Line(far, ""), Line(port, "/llm/mine")
                items, shown = dialog.items, 0
                for end in range(2, len(items) + 1):  # as the conversation grew, so that all is known
                    dialog.items = items[:end]
                    shown = int(through.post(path, dialog.body())[2].headers.get("Byref-Views", 0))
                whole, stream = dialog.body(), dialog.body(stream=True)
                times: dict[str, list[float]] = {name: [] for name in ("direct", "through", "first direct", "first through")}
                for _ in range(rounds):
                    for name, line in (("direct", direct), ("through", through)):
                        times[name].append(line.post(path, whole)[1])
                        times[f"first {name}"].append(line.post(path, stream)[0])
                p50 = {name: median(values) for name, values in times.items()}
                added, first = p50["through"] - p50["direct"], p50["first through"] - p50["first direct"]
                print(f"{api:10} {len(whole):7} bytes, {shown:3} views: p50 {p50['direct']:6.2f} ms direct, {p50['through']:6.2f} through, "
                      f"added {added:5.2f} (bar {ADDED:g}); first streamed byte {p50['first direct']:6.2f}, {p50['first through']:6.2f}, "
                      f"added {first:5.2f} (bar {FIRST:g})", flush=True)
                worst = worst or added > ADDED or first > FIRST
        finally:
            for process in (daemon, provider):
                process.terminate()
                process.wait(60)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
