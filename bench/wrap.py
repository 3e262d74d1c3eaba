"""What `byref wrap` adds to a call over stdio, beside a pass-through on the SDK and fastmcp's proxy, interleaved in one run.

usage: wrap.py [ROUNDS] [--fastmcp PYTHON]      the servers and the other proxies stand in wrap_peers.py

All arms ask one server of the SDK; a client of a few lines writes a request and reads its answer. Every large result is another
text, so it is stored durably and viewed each time. The view's own time and an fsync are measured in the same rounds. PYTHON has
fastmcp installed, by default ours; where it has not, that arm is left out, and that is said.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from byref.filters.render import view
from byref.proxy.contracts import Blob, Call, Part, Seen
from byref.proxy.text import digest
from inputs import log
from views import Held
from wrap_peers import HUGE, LARGE

PEERS = str(Path(__file__).with_name("wrap_peers.py"))
SERVER = [sys.executable, PEERS, "server"]
BYREF = [sys.executable, "-P", "-c", "from byref.proxy.frontends.cli import main; main()", "wrap", "--"]
PYTHON = sys.argv[sys.argv.index("--fastmcp") + 1] if "--fastmcp" in sys.argv else sys.executable
ARMS = {"direct": SERVER, "SDK pass-through": [sys.executable, PEERS, "pass", *SERVER], "byref": [*BYREF, *SERVER],
        "fastmcp proxy": [PYTHON, PEERS, "fastmcp", *SERVER]}
OURS, SDK, FASTMCP = "byref", "SDK pass-through", "fastmcp proxy"
TIMES, SHARE, READY, MEMORY, GROWTH = 1.4, 0.3, 1.0, 400.0, 8.0  # the bars: times the pass-through, of fastmcp, s, MB, MB
CALLS = 10_000


class Client:
    """A client of one server, by lines over its pipes."""

    def __init__(self, command: Sequence[str], environ: dict[str, str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ)
        self._number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.ready = time.perf_counter() - began
        self._send({"method": "notifications/initialized"})
        self.ask("tools/list", {})

    def _send(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, object]) -> bytes:
        """The line of the answer."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            if b'"method"' not in line[:64] and b'"id"' in line[:64]:
                return line
        raise SystemExit(f"{method}: the server ended with {self.process.wait()}")

    def call(self, tool: str, number: int) -> tuple[float, bytes]:
        """Milliseconds of a call, and the line of its answer."""
        began = time.perf_counter()
        line = self.ask("tools/call", {"name": tool, "arguments": {"number": number}})
        return (time.perf_counter() - began) * 1e3, line

    def memory(self, key: str) -> float:
        """VmRSS or VmHWM of the process in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(key))

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def share(values: Sequence[float], part: float = 0.5) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def once(function: object) -> float:
    assert callable(function)
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1e3


def has_fastmcp() -> bool:
    return subprocess.run([PYTHON, "-c", "import fastmcp"], capture_output=True, check=False).returncode == 0


def view_of(output: bytes) -> None:
    """The view alone: nothing stored, nothing noted."""
    part = Part("text", "text/plain", Blob(digest(output), len(output), output.count(b"\n")))
    view("raaaaaaaaaa", [(part, Held(output))], Call("large", {"number": 1}), Seen())


def latency(rounds: int, environ: dict[str, str], folder: str) -> None:
    """One call of each arm a round, in turn."""
    arms = {name: command for name, command in ARMS.items() if name != FASTMCP or has_fastmcp()}
    clients = {name: Client(command, environ) for name, command in arms.items()}
    took: dict[str, dict[str, list[float]]] = {tool: {name: [] for name in arms} for tool in ("small", "large")}
    views: list[float] = []
    syncs: list[float] = []
    shown = 0
    fd = os.open(os.path.join(folder, "sync"), os.O_RDWR | os.O_CREAT, 0o600)

    def sync() -> None:
        os.pwrite(fd, os.urandom(4096), 0)
        os.fsync(fd)

    try:
        for number in range(rounds):
            for tool, times in took.items():
                for client in clients.values():
                    client.call(tool, 7 * rounds + number) if not number else None  # what loads with the first call
                for name in [*list(clients)[number % len(clients):], *list(clients)[:number % len(clients)]]:
                    wall, line = clients[name].call(tool, number * 10 + list(clients).index(name))
                    times[name].append(wall)
                    shown += tool == "large" and name == OURS and len(line) < LARGE / 2
            output = log(LARGE, 10 * number + 9).encode()
            views.append(once(lambda output=output: view_of(output)))
            syncs.append(once(sync))
    finally:
        os.close(fd)
        for client in clients.values():
            client.close()
    viewed, synced = share(views), share(syncs)
    print(f"the view of {LARGE // 1000} KB alone p50 {viewed:.2f} ms; one fsync p50 {synced:.2f} ms; "
          f"{shown} of {rounds} large results came as views")
    if FASTMCP not in arms:
        print("fastmcp is not installed: its proxy is LEFT OUT (--fastmcp names a Python that has it)")
    for tool, times in took.items():
        direct = share(times["direct"])
        print(f"{tool} result:")
        for name, values in times.items():
            added = "" if name == "direct" else f"   added p50 {share(values) - direct:6.2f}"
            print(f"  {name:17} p50 {share(values):6.2f}   p90 {share(values, .9):6.2f} ms{added}")
        added = share(times[OURS]) - direct
        bar = TIMES * (share(times[SDK]) - direct) + synced + (viewed if tool == "large" else 0)
        print(f"  byref adds {added:.2f} ms, {'within' if added <= bar else 'OVER'} {TIMES} times the pass-through"
              f"{', the view' if tool == 'large' else ''} and one fsync: {bar:.2f} ms")
        if FASTMCP in arms and tool == "small":
            peer = share(times[FASTMCP]) - direct
            print(f"  of what fastmcp's proxy adds that is {added / peer:.2f}, {'within' if added <= SHARE * peer else 'OVER'} {SHARE}")


def ready(rounds: int, environ: dict[str, str]) -> None:
    """Seconds from the start of a process to its answer to `initialize`, which has the upstream's own start in it."""
    took: dict[str, list[float]] = {name: [] for name in ("direct", SDK, OURS)}
    for _ in range(rounds):
        for name, values in took.items():
            client = Client(ARMS[name], environ)
            values.append(client.ready)
            client.close()
    words = ", ".join(f"{name} {share(values):.2f}" for name, values in took.items())
    over = share(took[OURS]) - share(took["direct"])
    said = "within" if over <= READY else "OVER"
    print(f"ready after a start, p50 s: {words}; over the upstream's own start {over:.2f} s, {said} {READY}")


def memory(environ: dict[str, str]) -> None:
    """A result of 50 MB, and many calls."""
    client = Client(ARMS[OURS], environ)
    wall, line = client.call("huge", 1)
    peak = client.memory("VmHWM")
    print(f"a result of {HUGE / 1e6:.0f} MB: {wall / 1e3:.2f} s, {len(line) / 1e3:.0f} KB shown, peak {peak:.0f} MB, "
          f"{'within' if peak <= MEMORY else 'OVER'} {MEMORY:.0f}")
    client.close()
    client = Client(ARMS[OURS], environ)
    for number in range(CALLS // 5):
        client.call("medium" if number % 10 == 0 else "small", number)
    before = client.memory("VmRSS")
    began = time.perf_counter()
    for number in range(CALLS // 5, CALLS):
        client.call("medium" if number % 10 == 0 else "small", number)
    grown = client.memory("VmRSS") - before
    print(f"{CALLS} calls ({(time.perf_counter() - began) / CALLS * 1.25e3:.2f} ms each): memory grew by {grown:.1f} MB over the last "
          f"{CALLS * 4 // 5}, to {before + grown:.0f}; {'within' if grown <= GROWTH else 'OVER'} {GROWTH:.0f}")
    client.close()


def main(rounds: int = 100) -> int:
    with tempfile.TemporaryDirectory(prefix="byref-bench-", dir="/var/tmp") as folder:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("BYREF")}
        environ |= {"BYREF_HOME": f"{folder}/home", "BYREF_SCOPE": "bench"}
        latency(rounds, environ, folder)
        ready(5, environ)
        memory(environ)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:2] and sys.argv[1].isdigit() else 100))
