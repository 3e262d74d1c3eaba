"""`byref pipe`: what comes on stdin is stored and viewed as if the command had been run through byref."""
from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

NUMBERS = b"".join(b"%d\n" % n for n in range(1, 20001))


def test_stdin_becomes_a_view_and_every_byte_can_be_fetched(byref, ref):
    done = byref("pipe", "--command", "make all", "--exit", "2", data=NUMBERS)
    assert (done.returncode, done.stderr) == (0, b"") and len(done.stdout) < len(NUMBERS) / 4
    assert b"exit 2" in done.stdout.partition(b"\n")[0]
    assert byref("fetch", ref(done.stdout), "--all").stdout == NUMBERS
    assert json.loads(byref("status", "--json").stdout)["recent"][0]["command"] == "make all"


def test_small_binary_and_empty_inputs_pass_exactly(byref):
    for data in (b"", b"x", bytes(range(256)), b"no line end", b"crlf\r\n"):
        done = byref("pipe", data=data)
        assert (done.returncode, done.stdout, done.stderr) == (0, data, b"")


def test_raw_passes_and_stores(byref):
    assert byref("pipe", "--raw", "--tool", "other", data=NUMBERS).stdout == NUMBERS
    assert json.loads(byref("status", "--json").stdout)["recent"][0]["tool"] == "other"


def test_what_a_second_call_said_goes_through_untouched(byref):
    done = byref("pipe", "--command", "cd x && byref fetch rk7f3qmab2x --all", data=NUMBERS)
    assert (done.stdout, done.stderr) == (NUMBERS, b"")
    assert json.loads(byref("status", "--json").stdout)["outputs"] == 0


def test_when_byref_cannot_store_the_raw_input_goes_through_with_one_line(byref):
    for fault in ({"BYREF_MAX_BYTES": "1000"}, {"BYREF_HOME": "/proc/none"}, {"BYREF_MAX_AGE": "soon"}, {"BYREF_RUN_LIMIT": "5kB"}):
        done = byref("pipe", data=NUMBERS, **fault)
        assert (done.returncode, done.stdout) == (0, NUMBERS)
        assert done.stderr.startswith(b"byref: ") and done.stderr.count(b"\n") == 1


def handles(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return bool(int(next(line for line in lines if line.startswith("SigCgt")).split()[1], 16) >> (number - 1) & 1)


def test_an_interrupt_shows_what_came(byref):
    process = subprocess.Popen(["byref", "pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=byref.folder,
                               env=byref.env, start_new_session=True, executable=byref.env["PATH"].partition(":")[0] + "/byref")
    process.stdin.write(b"came so far\n")
    process.stdin.flush()
    while not handles(process.pid, signal.SIGTERM):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)  # it may come before the line was read
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (143, b"came so far\n", b"")
