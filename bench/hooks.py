"""What a hook costs a harness, beside Python's own start, interleaved in one run: `.venv/bin/python bench/hooks.py [ROUNDS]`.

One daemon with a store of its own answers as in real use: each event of 100 KB is a new output of a Bash command, stored
durably before its view goes out. Wall time in ms; what the hook's own client costs is the difference to Python's start.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from byref.proxy.frontends import hook, remote, serve
from inputs import log

PYTHON = sys.executable
CLIENT = [PYTHON, "-I", "-S", hook.__file__, "claude-code", "--wait", "5"]
CASES = {"python -c pass": [PYTHON, "-c", "pass"], "python -I -S -c pass": [PYTHON, "-I", "-S", "-c", "pass"],
         "hook, empty event": CLIENT, "hook, 100 KB of Bash": CLIENT}
SIZE = 100_000
P50, P99, TIMES, MEMORY = 60.0, 150.0, 2.0, 30.0  # the bars: ms at 100 KB, times `python -c pass`, MB


def event(number: int) -> bytes:
    """What Claude Code tells its hook after a Bash command."""
    response = {"stdout": log(SIZE, number), "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    return json.dumps({
        "session_id": "bench", "cwd": "/tmp", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": f"toolu_{number}",
        "tool_input": {"command": f"./serve --shard {number}"}, "tool_response": response}).encode()


def once(argv: list[str], data: bytes, environ: dict[str, str]) -> tuple[float, bytes]:
    """Wall time of a process in ms, from its start to its end, and what it printed."""
    start = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        printed, _ = process.communicate(data)
    return (time.perf_counter() - start) * 1000, printed


def memory(data: bytes, environ: dict[str, str]) -> float:
    """The largest resident size of the client in MB, as the system counted it."""
    script = f"import sys; hook = {{'__name__': 'hook'}}; exec(compile(open({hook.__file__!r}).read(), 'hook', 'exec'), hook)\n" \
             "hook['main'](['claude-code', '--wait', '5'])\n" \
             "sys.stderr.write(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    done = subprocess.run([PYTHON, "-I", "-S", "-c", script], input=data, capture_output=True, env=environ, check=True)
    return int(done.stderr.split()[1]) / 1000


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def main(rounds: int = 60) -> int:
    with tempfile.TemporaryDirectory(prefix="byref-bench-", dir="/var/tmp") as folder:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("BYREF", "PYTHONDONTWRITEBYTECODE"))} | {"BYREF_HOME": folder}
        daemon = subprocess.Popen([*remote.START, "--no-http"], env=environ)
        try:
            return measure(rounds, folder, environ, daemon.pid)
        finally:
            daemon.terminate()
            daemon.wait()


def measure(rounds: int, folder: str, environ: dict[str, str], daemon: int) -> int:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            serve.ask(folder, "GET /healthz")
            break
        except (hook.Absent, OSError):
            time.sleep(0.05)
    events = [event(number) for number in range(rounds)]
    sizes = dict.fromkeys(CASES, b"") | {"hook, empty event": b"{}"}
    took: dict[str, list[float]] = {name: [] for name in CASES}
    views = 0
    for number in range(rounds):
        for name, argv in CASES.items():
            wall, printed = once(argv, events[number] if name.startswith("hook, 100") else sizes[name], environ)
            took[name].append(wall)
            views += b"updatedToolOutput" in printed
    for name, walls in took.items():
        print(f"{name:22} p50 {share(walls, .5):6.1f}   p99 {share(walls, .99):6.1f} ms")
    python, large = share(took["python -c pass"], .5), took["hook, 100 KB of Bash"]
    print(f"hook over an empty call: {share(took['hook, empty event'], .5) / python:.2f} times python -c pass (bar {TIMES}); "
          f"at 100 KB p50 {share(large, .5):.0f} ms (bar {P50:.0f}), p99 {share(large, .99):.0f} ms (bar {P99:.0f}); "
          f"{views} of {rounds} outputs came back as views")
    status = Path(f"/proc/{daemon}/status")
    if status.exists():
        held = next(int(line.split()[1]) / 1000 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        print(f"memory of the client {memory(event(rounds), environ):.0f} MB (bar {MEMORY:.0f}); of the daemon {held:.0f} MB")
    faults = Path(folder, "byref.log")
    if faults.exists():
        print(f"faults: {faults.read_text()[-300:]}")
    return 0 if views == rounds else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60))
