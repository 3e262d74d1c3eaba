"""Our own stdin and stdout: for messages alone, whatever they are and whatever else is printed."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ECHO = """
import asyncio, os, sys
from byref.proxy.frontends.wrap.messages import Body, Message
from byref.proxy.frontends.wrap.stdio import Stdio

async def main():
    wire = await Stdio.open()
    print("a stray word")
    os.system("echo another; cat")
    while (line := await wire.receive()) is not None:
        await wire.send(Message(1, "", Body.of({"got": line.decode(), "big": "x" * int(sys.argv[1])})))
    os.write(2, (await wire.why()).encode())
    await wire.close()
asyncio.run(main())
"""


def test_stray_words_go_to_stderr_and_children_read_nothing_of_ours() -> None:
    done = subprocess.run([sys.executable, "-c", ECHO, "10"], input=b"one\ntwo\n", capture_output=True, check=True)
    assert [json.loads(line)["result"]["got"] for line in done.stdout.splitlines()] == ["one", "two"]
    assert b"a stray word" in done.stderr and b"another" in done.stderr and done.stderr.endswith(b"closed its output")


def test_the_last_answers_leave_before_we_do() -> None:
    done = subprocess.run([sys.executable, "-c", ECHO, "3000000"], input=b"one\n", capture_output=True, check=True)
    assert len(json.loads(done.stdout)["result"]["big"]) == 3_000_000


def test_files_will_do(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one\n")
    with open(tmp_path / "in", "rb") as given, open(tmp_path / "out", "wb") as taken:
        subprocess.run([sys.executable, "-c", ECHO, "10"], stdin=given, stdout=taken, stderr=subprocess.DEVNULL, check=True)
    assert json.loads((tmp_path / "out").read_bytes())["result"]["got"] == "one"
