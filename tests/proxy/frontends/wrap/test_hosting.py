"""`byref wrap --http` says where it listens, ends in good order, and tells at once what it cannot do."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy import config
from wrapped import HELLO, config_file

MAIN = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
BYREF = [*MAIN, "wrap"]


def failed(*words: str, **variables: str) -> str:
    done = subprocess.run([*BYREF, *words], capture_output=True, text=True, env={**os.environ, **variables}, timeout=60, check=False)
    assert done.returncode == 2 and not done.stdout, done
    return done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_its_url_answers_there_and_ends_at_a_signal(number: int) -> None:
    command = [*BYREF, "--url", "http://127.0.0.1:9/mcp?key=secret", "--http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        url = running.stdout.readline().split()[-1]
        assert url.startswith("http://127.0.0.1:") and url.endswith("/mcp"), "no secret of the server's URL in it"
        with pytest.raises(urllib.request.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, b'{"jsonrpc":"2.0","id":7,"method":"ping"}'), timeout=60)
        assert caught.value.code == 502 and json.load(caught.value)["id"] == 7
        caught.value.close()
        running.send_signal(number)
        assert running.wait(60) == 0


def test_a_place_that_cannot_be_listened_on_is_told() -> None:
    assert "no place to listen" in failed("--url", "http://127.0.0.1:9/", "--http", "here")
    assert "BYREF_TOKEN" in failed("--url", "http://127.0.0.1:9/", "--http", "0.0.0.0:0")


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [*BYREF, "--url", "http://127.0.0.1:9/", "--http", str(taken.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "byref: " in done.stderr and "Traceback" not in done.stderr


def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    assert "profile" in failed("--url", "http://127.0.0.1:9/", "--http", "0", BYREF_PROFILE="none such")


def test_the_daemon_offers_the_servers_of_a_file_to_who_has_its_token(tmp_path: Path, own_home: Path) -> None:
    """Their outputs belong to the file's project, in whose folder they run, wherever the daemon was started."""
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    (project / "long.txt").write_text("".join(f"{n:04d} | {'FAILED checksum' if n == 777 else 'ok'}\n" for n in range(3000)))
    file = config_file(project, only=[sys.executable, "-c", READER])
    with subprocess.Popen([*MAIN, "serve", "--mcp", file], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        try:
            assert running.stdout is not None
            url = running.stdout.readline().split()[-1]
            token = (own_home / "byref" / "daemon.token").read_text().strip()
            with pytest.raises(urllib.request.HTTPError) as caught:
                asked(url, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, {})
            assert caught.value.code == 401
            caught.value.close()
            key = {"Authorization": f"Bearer {token}"}
            _, session = asked(url, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, key)
            found, _ = asked(url, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read", "arguments": {}}},
                             {**key, "Mcp-Session-Id": session})
            text = found["result"]["content"][0]["text"]
            assert "FAILED checksum" in text and len(text) < 2000
            with byref.open(f"file:{own_home}/byref") as gateway:
                mine = gateway.session("x", scope=config.scope_here(str(project)))
                assert mine.fetch(text.split()[0].strip("«"), "L778-778").text == "0777 | FAILED checksum\n"
            again = subprocess.run([*MAIN, "serve", "--mcp", file], capture_output=True, text=True, timeout=60, check=False)
            assert again.returncode == 1 and "--stop" in again.stderr
        finally:
            running.terminate()
            assert running.wait(60) == 0


def test_a_daemon_without_http_offers_no_servers(tmp_path: Path) -> None:
    done = subprocess.run([*MAIN, "serve", "--no-http", "--mcp", "x.json"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--mcp" in done.stderr


# A server of one tool, which reads a file of the folder that it runs in.
READER = """
import asyncio, mcp_types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server
async def tools(context, params): return t.ListToolsResult(tools=[t.Tool(name="read", input_schema={"type": "object"})])
async def call(context, params): return t.CallToolResult(content=[t.TextContent(type="text", text=open("long.txt").read())])
async def main():
    made = Server("reader", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (reads, writes): await made.run(reads, writes, made.create_initialization_options())
asyncio.run(main())
"""


def asked(url: str, message: object, headers: dict[str, str]) -> tuple[Any, str]:
    """The JSON of an answer, and the session that it names."""
    more = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(message).encode(), more), timeout=60) as answer:
        return json.load(answer), answer.headers.get("Mcp-Session-Id", "")
