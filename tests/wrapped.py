"""A client of a few lines over `byref wrap`, and the servers that the tests put behind it."""
from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SERVERS = Path(__file__).parent / "conformance"
LIMIT = 60.0  # seconds against hanging; the machine may be busy
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
         "clientInfo": {"name": "a client of the tests", "version": "1"}}
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": HELLO["clientInfo"],
            "io.modelcontextprotocol/clientCapabilities": HELLO["capabilities"]}


def unruly(*options: str) -> list[str]:
    """The command of the made-up server."""
    return [sys.executable, str(SERVERS / "unruly_server.py"), *options]


class Talk:
    """`byref wrap` and a client that speaks lines with it. heard: its notifications; answer: what it gets when it asks."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[dict[str, Any]] = []
        self.lines: list[bytes] = []
        self.answer: Callable[[dict[str, Any]], Any] = lambda message: {"action": "decline"}
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._reading = asyncio.ensure_future(self._read())
        self._change = asyncio.Condition()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line)
            message = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 4000 else digits)
            if "method" not in message:
                if not (waiting := self._waiting.pop(message["id"], asyncio.get_running_loop().create_future())).done():
                    waiting.set_result(message)
            elif "id" in message:
                asked = self.answer(message)
                if asked is not None:
                    await self.send({"id": message["id"], "result": asked})
            else:
                async with self._change:
                    self.heard.append(message)
                    self._change.notify_all()
        for waiting in self._waiting.values():
            waiting.cancel()

    async def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self.process.stdin.drain()

    async def ask(self, method: str, params: Any = None, number: Any = None) -> dict[str, Any]:
        """The whole answer to a request."""
        if number is None:
            self._count += 1
            number = self._count
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self.send({"id": number, "method": method, **({} if params is None else {"params": params})})
        return await asyncio.wait_for(waiting, LIMIT)

    async def hello(self) -> dict[str, Any]:
        """The handshake."""
        found = await self.ask("initialize", HELLO)
        await self.send({"method": "notifications/initialized"})
        return found["result"]

    async def call(self, name: str, arguments: Any = None, meta: Any = None, **more: Any) -> dict[str, Any]:
        """The result of a tool, or the error."""
        params = {"name": name, "arguments": arguments or {}, **({} if meta is None else {"_meta": meta}), **more}
        found = await self.ask("tools/call", params)
        result: dict[str, Any] = found.get("result", found.get("error"))
        return result

    async def hears(self, method: str, number: int = 1) -> dict[str, Any]:
        """Waits for the first notification of a kind, or for a later one."""
        async def found() -> dict[str, Any]:
            async with self._change:
                await self._change.wait_for(lambda: sum(one["method"] == method for one in self.heard) >= number)
                return [one for one in self.heard if one["method"] == method][number - 1]
        return await asyncio.wait_for(found(), LIMIT)

    async def close(self) -> int:
        """Ends it as a client does; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), LIMIT)
        await self._reading
        return code


async def talk(*arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Talk:
    """Starts `byref wrap` with arguments."""
    code = "from byref.proxy.frontends.cli import main; main()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, "wrap", *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=None, env={**os.environ, **(env or {})}, limit=1 << 28, cwd=cwd)
    return Talk(process)


def over(arguments: Sequence[str], test: Callable[[Talk], Any], **more: Any) -> Talk:
    """Runs a test's coroutine over `byref wrap` with arguments, and ends it."""
    async def run() -> Talk:
        talking = await talk(*arguments, **more)
        try:
            await asyncio.wait_for(test(talking), LIMIT)
            assert await talking.close() == 0
        finally:
            if talking.process.returncode is None:
                talking.process.kill()
                await talking.process.wait()
            await asyncio.wait([talking._reading])
        return talking
    return asyncio.run(run())


def config_file(folder: Path, **servers: Any) -> str:
    """Writes the configuration of several servers into a folder; its path. A list is a command."""
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": {
        name: about if isinstance(about, dict) else {"command": about[0], "args": about[1:]} for name, about in servers.items()}}))
    return str(path)


def gone(pid: int) -> bool:
    """Whether a process is no more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
