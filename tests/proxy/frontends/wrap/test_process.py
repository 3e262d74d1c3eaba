"""A server as a child: it ends with its stdin, with TERM, with KILL, and with us, whatever we end by."""
from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

from byref.proxy.frontends.wrap import process
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import Body, Message, parse
from wrapped import gone, talk, unruly


async def started(*words: str) -> process.Process:
    return await process.connect(process.spawn(words[0], words[1:], os.environ, None))


async def asked(server: process.Process, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
    params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
    await server.send(Message(1, "tools/call", Body.of(params)))
    line = await asyncio.wait_for(server.receive(), 60)
    assert line is not None
    body = parse(line)[0].body
    assert body is not None
    return body.object["content"][0]["text"]  # type: ignore[index, call-overload]


def until(true: Any) -> None:
    for _ in range(6000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


def test_it_is_asked_and_ends_with_its_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 60.0)

    async def run() -> None:
        server = await started(*unruly())
        assert await asked(server, "echo", {"text": "hi"}) == "hi"
        await server.close()
        assert gone(server.pid) and await server.receive() is None and await server.why() == "ended with exit code 0"
        with pytest.raises(Gone):
            await server.send(Message(1, "ping", None))
    asyncio.run(run())


def test_its_end_is_noticed_even_where_its_offspring_holds_the_pipe_and_that_ends_too() -> None:
    async def run() -> int:
        server = await started(*unruly())
        child = int(await asked(server, "offspring"))
        os.kill(server.pid, signal.SIGKILL)
        assert await asyncio.wait_for(server.receive(), 60) is None and await server.why() == "ended by signal 9"
        assert not gone(child)
        await server.close()
        return child
    child = asyncio.run(run())
    until(lambda: gone(child))


def test_one_that_hears_neither_its_stdin_nor_term_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)

    async def run() -> None:
        server = await started(*unruly("--deaf"))
        await asked(server, "echo")
        await server.close()
        assert gone(server.pid)
    asyncio.run(run())


def test_the_last_words_of_one_that_ends_are_heard() -> None:
    async def run() -> None:
        server = await started("/bin/sh", "-c", 'echo \'{"id":1,"result":{}}\'; exit 4')
        assert await server.receive() == b'{"id":1,"result":{}}'
        assert await server.receive() is None and await server.why() == "ended with exit code 4"
        await server.close()
    asyncio.run(run())


def test_what_cannot_be_started_says_why() -> None:
    for command in ("/no/such/server", "/", "a\0b"):
        with pytest.raises((OSError, ValueError)):
            process.spawn(command, (), {}, None)


@pytest.mark.parametrize("deaf", [False, True])
def test_when_we_are_killed_the_server_and_all_that_it_started_end(deaf: bool) -> None:
    async def run() -> tuple[int, int]:
        client = await talk("--", *unruly(*(["--deaf"] if deaf else [])))
        await client.hello()
        pid = json.loads((await client.call("where", {"byref": "raw"}))["content"][0]["text"])["pid"]
        child = int((await client.call("offspring"))["content"][0]["text"])
        client.process.kill()
        await client.process.wait()
        await client._reading
        return pid, child
    for pid in asyncio.run(run()):
        until(lambda pid=pid: gone(pid))


def test_no_guard_is_left_behind() -> None:
    async def run() -> int:
        server = await started(*unruly())
        assert server._guard is not None
        guard = server._guard.pid
        await server.close()
        return guard
    assert gone(asyncio.run(run()))
    held = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False).stdout
    assert sys.executable not in held or "unruly" not in held
