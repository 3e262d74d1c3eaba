"""What `byref serve --upstream` adds to an HTTP API, beside the API itself, interleaved: `.venv/bin/python bench/reverse.py [ROUNDS]`.

A server of aiohttp in a process of its own, the daemon before it with a store of its own, a plain client before both. Every answer is a
new output, stored durably before its ref goes out; the fsync line says what that costs here at least, the store line what the library
takes for it.
"""
from __future__ import annotations

import asyncio
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import byref
from byref.proxy.frontends import remote

PYTHON = sys.executable
SIZE, SMALL, LARGE = 10_000, 300, 200 << 20  # bytes of an answer
ADDED, FIRST, RATE, GROWTH = 2.0, 5.0, 500, 30  # the bars: ms beside one fsync, ms, answers a second, MB
SECONDS, CLIENTS = 4, 16
BLOCK = bytes(range(32, 127)) * 700  # text that compresses, in lines of no order


def served(port: int) -> None:
    """The API."""
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        size, number = int(request.query.get("size", SIZE)), request.query.get("n", "0")
        if request.path == "/events":
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            for event in range(3):
                await response.write(b"data: %d of %s\n\n" % (event, number.encode()))
                await asyncio.sleep(0.01)
            return response
        if size <= 1 << 20:
            rows = "".join(f'{{"id": {row}, "of": "{number}", "title": "Title {row * 7919 % 1009}"}},\n' for row in range(size // 50))
            return web.Response(body=rows.encode()[:size].ljust(size), content_type="application/json")
        response = web.StreamResponse(headers={"Content-Length": str(size), "Content-Type": "text/plain"})
        await response.prepare(request)
        while size:
            piece = BLOCK[:size]
            await response.write(piece)
            size -= len(piece)
        return response
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Line:
    """A connection to one of the two."""

    def __init__(self, port: int, prefix: str) -> None:
        self.port, self.prefix = port, prefix
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def get(self, path: str) -> tuple[float, http.client.HTTPResponse, int]:
        """ms to the last byte."""
        start = time.perf_counter()
        self.http.request("GET", self.prefix + path)
        answer = self.http.getresponse()
        size = 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        return (time.perf_counter() - start) * 1000, answer, size

    def first(self, path: str) -> float:
        """ms to the first byte of the body."""
        start = time.perf_counter()
        self.http.request("GET", self.prefix + path)
        answer = self.http.getresponse()
        answer.read(1)
        took = (time.perf_counter() - start) * 1000
        answer.read()
        return took


def fsync(folder: str) -> float:
    """One durable write of such an answer, in ms."""
    fd = os.open(os.path.join(folder, "probe"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    start = time.perf_counter()
    os.write(fd, b"x" * SIZE)
    os.fsync(fd)
    took = (time.perf_counter() - start) * 1000
    os.close(fd)
    return took


async def flood(port: int, prefix: str, mark: str) -> tuple[int, int]:
    """Answers of a few seconds to clients that ask as fast as they get, and how many had a ref."""
    until, counts = time.monotonic() + SECONDS, [0, 0]

    async def client(name: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = 0
        while time.monotonic() < until:
            number += 1
            writer.write(f"GET {prefix}/small?size={SMALL}&n={mark}-{name}-{number} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r")[0]))
            counts[0] += head.startswith(b"HTTP/1.1 200")
            counts[1] += b"Byref-Ref: r" in head
        writer.close()
    await asyncio.gather(*(client(name) for name in range(CLIENTS)))
    return counts[0], counts[1]


def held(pid: int, name: str) -> float:
    """MB that a process holds (VmRSS) or held at most (VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


def spent(pid: int) -> float:
    """Seconds of a processor that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def free() -> int:
    """A port that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def up(port: int, path: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            Line(port, path).get("/small?size=10")
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing answers at {port}")


def main(rounds: int = 200) -> int:
    with tempfile.TemporaryDirectory(prefix="byref-bench-", dir="/var/tmp") as folder:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("BYREF", "PYTHONDONTWRITEBYTECODE"))} | {"BYREF_HOME": folder}
        api, front = free(), free()
        Path(folder, "apis.toml").write_text(f'[api]\nurl = "http://127.0.0.1:{api}"\nrate = 100000\n')
        server = subprocess.Popen([PYTHON, __file__, "--serve", str(api)])
        daemon = subprocess.Popen([*remote.START, "--http", str(front), "--upstreams", f"{folder}/apis.toml"], env=environ,
                                  stdout=subprocess.DEVNULL)
        try:
            up(api, "")
            up(front, "/api")
            return measure(rounds, folder, Line(api, ""), Line(front, "/api"), daemon.pid)
        finally:
            for process in (daemon, server):
                process.terminate()
                process.wait()


def measure(rounds: int, folder: str, direct: Line, front: Line, daemon: int) -> int:
    took: dict[str, list[float]] = {"fsync": [], "store": [], "direct": [], "byref": [], "first direct": [], "first byref": []}
    refs = 0
    session = byref.open(f"file:{folder}/alone").session("bench")
    for number in range(rounds):
        took["fsync"].append(fsync(folder))
        output = f"{number}\n".encode() + b"line of it\n" * (SIZE // 11)
        start = time.perf_counter()
        session.capture(tool="api", args={"n": number}, output=output, raw=True)
        took["store"].append((time.perf_counter() - start) * 1000)
        took["direct"].append(direct.get(f"/works?n={number}")[0])
        wall, answer, _ = front.get(f"/works?n={number}")
        took["byref"].append(wall)
        refs += answer.headers["Byref-Ref"] is not None
        if number % 4 == 0:
            took["first direct"].append(direct.first(f"/events?n={number}"))
            took["first byref"].append(front.first(f"/events?n={number}"))
    for name, walls in took.items():
        print(f"{name:14} p50 {share(walls, .5):6.2f}   p99 {share(walls, .99):6.2f} ms")
    p50 = {name: share(walls, .5) for name, walls in took.items()}
    added, first = p50["byref"] - p50["direct"], p50["first byref"] - p50["first direct"]
    print(f"10 KB: added p50 {added:.2f} ms, beside one fsync {added - p50['fsync']:.2f} (bar {ADDED}), "
          f"beside a capture of the same bytes {added - p50['store']:.2f}; {refs} of {rounds} had a ref")
    print(f"first byte of an event stream: added p50 {first:.2f} ms (bar {FIRST})")
    plain = asyncio.run(flood(direct.port, direct.prefix, "d"))[0] / SECONDS
    before = spent(daemon)
    counted, named = asyncio.run(flood(front.port, front.prefix, "b"))
    each = 1000 * (spent(daemon) - before) / max(counted, 1)
    print(f"small answers a second, {CLIENTS} clients: {counted / SECONDS:.0f} (bar {RATE}), directly {plain:.0f}; "
          f"{named} of {counted} had a ref; {each:.2f} ms of a processor each, so that one that does nothing else bears {1000 / each:.0f}; "
          f"load {os.getloadavg()[0]:.1f}")
    before = held(daemon, "VmRSS")
    Path(f"/proc/{daemon}/clear_refs").write_text("5")  # the largest size counts from now on
    wall, _, size = front.get(f"/large?size={LARGE}")
    during = held(daemon, "VmHWM")
    alone = direct.get(f"/large?size={LARGE}")[0]
    time.sleep(5)  # it is stored meanwhile
    after = held(daemon, "VmHWM")
    print(f"200 MB: {size / wall / 1000:.0f} MB/s, directly {size / alone / 1000:.0f}; the daemon, of {before:.0f} MB, grew by "
          f"{during - before:.0f} while it passed, by {after - before:.0f} until it was stored (bar {GROWTH})")
    faults = Path(folder, "byref.log")
    if faults.exists():
        print(f"faults: {faults.read_text()[-300:]}")
    return 0 if refs == rounds and named == counted and size == LARGE else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        served(int(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
