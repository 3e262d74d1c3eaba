"""One request has one view and one ref, whichever way it comes: as a command, over MCP, through the route, from Python."""
from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from recorded import recorded

PROGRAM = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
WORDS = "late interaction retrieval"


@contextmanager
def serving(byref, url: str) -> Iterator[int]:
    """The port of a daemon that has OpenAlex behind it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with byref.start("serve", "--http", str(port), "--upstream", f"openalex={url}") as child:
        try:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield port
        finally:
            child.terminate()
            child.communicate()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_command_the_mcp_tool_and_curl_show_the_same_view_under_the_same_ref(byref) -> None:
    from mcp import Client, StdioServerParameters
    with recorded() as api:
        byref.env["BYREF_UPSTREAMS"] = f"openalex={api.url}"
        with serving(byref, api.url) as port:
            address = f"http://127.0.0.1:{port}/openalex/works?search={WORDS.replace(' ', '+')}"
            asked = subprocess.run(["curl", "-sS", "-i", "-H", "Byref-View: auto", address], capture_output=True, check=True, timeout=60)
        head, _, by_route = asked.stdout.decode().partition("\r\n\r\n")
        by_command = byref("openalex", "works", "--search", WORDS).stdout.decode()
        server = StdioServerParameters(
            command=PROGRAM[0], args=[*PROGRAM[1:], "mcp", "--tool", "openalex"], env=byref.env, cwd=byref.folder)

        async def ask() -> str:
            async with Client(server) as client:
                text: str = (await client.call_tool("openalex_works", {"search": WORDS})).content[0].text
                return text
        by_agent = asyncio.run(ask())
    ref = by_command[1:12]
    assert by_command.rstrip("\n") == by_agent.rstrip("\n") == by_route.rstrip("\n")
    assert f"byref-ref: {ref}" in head.lower() and "25 of 25 records" in by_command
    assert byref("fetch", ref, "results[3].is_retracted").stdout == b"true"
