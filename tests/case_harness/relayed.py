"""The case whose output comes over HTTP: its upstream behind `byref wrap --http`, a client before it, and the words that speak of both."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp

import byref
from case_harness.checks import check
from case_harness.load import Part, generator
from case_harness.run import Run

BYREF = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "report", "arguments": {}}}
LIMIT = 60.0  # seconds against hanging


class Heard:
    """One answer: status, headers, the events' ids and messages, the seconds to the first of them, and the bytes of the whole."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        self.status, self.headers = status, headers
        self.events: list[dict[str, Any]] = []
        self.first, self.body = 0.0, b""

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = next(event["message"]["result"] for event in self.events if "result" in event["message"])
        return found

    @property
    def text(self) -> str:
        text: str = self.result["content"][0]["text"]
        return text


def events(body: bytes) -> Iterator[dict[str, Any]]:
    """The whole events of a body, by their fields. A second reading of the standard, for the tests alone."""
    for block in body.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n\n")[:-1]:
        fields = [line.partition(":")[::2] for line in block.split("\n") if line and not line.startswith(":")]
        data = "\n".join(value.removeprefix(" ") for name, value in fields if name == "data")
        if data:
            yield {"id": dict(fields).get("id", "").strip(), "message": json.loads(data)}


def posted(url: str, headers: Mapping[str, str], message: Any = CALL, leave: int = 0) -> Heard:
    """What a client gets, which undoes the encoding that the headers name. leave: the number of events after which it goes away."""
    async def ask() -> Heard:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(LIMIT)) as client:
            began = time.monotonic()
            async with client.post(url, json=message, headers=headers, skip_auto_headers=("Accept-Encoding",)) as answer:
                heard = Heard(answer.status, answer.headers)
                async for piece in answer.content.iter_any():
                    heard.first = heard.first or time.monotonic() - began
                    heard.body += piece
                    if leave and heard.body.count(b"data:") > leave:
                        answer.close()
                        return heard
        heard.events = list(events(heard.body))
        return heard
    return asyncio.run(ask())


@contextlib.contextmanager
def generated(folder: Path) -> Iterator[str]:
    """The URL of the case's own upstream."""
    with socket.socket() as place, contextlib.ExitStack() as stack:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))  # nobody else is given this port until the upstream listens there
        port = place.getsockname()[1]
        running = stack.enter_context(subprocess.Popen([sys.executable, "-B", str(folder / "gen.py"), "serve", str(port)]))
        try:
            until = time.monotonic() + LIMIT
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < until and running.poll() is None
                    time.sleep(0.02)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            running.terminate()


@contextlib.contextmanager
def relayed(url: str, home: Path, *options: str, **variables: str) -> Iterator[str]:
    """The URL of `byref wrap --http` before the server at url."""
    environ = {**os.environ, "BYREF_HOME": str(home), "BYREF_SCOPE": "case", **variables}
    command = [*BYREF, "wrap", "--url", url, "--http", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as running:
        try:
            assert running.stdout is not None
            line = running.stdout.readline().split()
            assert line, "it did not start"
            yield line[-1]
        finally:
            running.terminate()


class Slow:
    """An upstream that sends the case's stream with pauses. left: set once it notices that nobody reads any more."""

    def __init__(self, chunks: Callable[[], Iterator[bytes]]) -> None:
        self.left = left = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                called = b"tools/call" in self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200 if called else 404)
                for name, value in (("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")):
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for number, chunk in enumerate(chunks() if called else ()):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                        time.sleep(0.02 if number > 40 else 0)
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    left.set()

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class RelayRun(Run):
    """The case's upstream, a proxy and its store, for as long as the tests run. The view is the text of the result."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self._stack = contextlib.ExitStack()
        self.home = Path(self._stack.enter_context(tempfile.TemporaryDirectory()), "byref")
        self.upstream = self._stack.enter_context(generated(part.folder))
        self.url = self._stack.enter_context(relayed(self.upstream, self.home))
        self.headers: dict[str, str] = part.arguments["headers"]
        self.whole = next(event["message"]["result"] for event in events(generator(part.folder)["events"]().encode())
                          if "result" in event["message"])["content"][0]["text"]
        self.raw = {"output": self.whole.encode()}
        self.heard = self.post()
        self.gateway = self._stack.enter_context(byref.open(f"file:{self.home}"))
        self.session = self.gateway.session("mcp", scope="case")
        found = byref.MARKER.search(self.heard.text)
        assert found, self.heard.text[:500]
        self.view = SimpleNamespace(text=self.heard.text, ref=found[0].strip("«»").split()[0])

    @functools.cached_property
    def all_pages(self) -> list[Any]:
        return self.pages("text")

    def post(self, encoding: str = "", **more: Any) -> Heard:
        return posted(self.url, {**self.headers, **({"Accept-Encoding": encoding} if encoding else {})}, **more)

    def close(self) -> None:
        self._stack.close()


@check
def client_decodes_body(value: bool, entry: Mapping[str, Any], on: RelayRun) -> None:
    assert on.heard.status == 200 and on.heard.body.decode("utf-8").startswith("event: message\n")


@check
def response_header_consistent(value: list[str], entry: Mapping[str, Any], on: RelayRun) -> None:
    """That the client could read it says that encoding and length are true; and only one of them may tell where the body ends."""
    headers = {name.lower() for name in on.heard.headers}
    assert ("content-length" in headers) + ("transfer-encoding" in headers) == 1
    assert on.heard.headers.get("Content-Encoding", "identity") in ("identity", "gzip", "deflate")


@check
def header_kept(value: str, entry: Mapping[str, Any], on: RelayRun) -> None:
    name, _, text = value.partition(": ")
    assert on.heard.headers[name] == text


@check
def sse_events_before_result(value: int, entry: Mapping[str, Any], on: RelayRun) -> None:
    sent = [event for event in events(generator(on.part.folder)["events"]().encode())]
    assert on.heard.events[:value] == sent[:value], "in order, each as it was"
    assert len(on.heard.events) == value + 1 and on.heard.events[value]["id"] == sent[value]["id"]
    slow = Slow(generator(on.part.folder)["chunks"])
    try:
        with tempfile.TemporaryDirectory() as home, relayed(slow.url, Path(home, "byref")) as url:
            assert posted(url, on.headers, leave=1).first < entry["first_event_within_seconds"], "while the rest is still to come"
    finally:
        slow.close()


@check
def text_has_no_replacement_char(value: str, entry: Mapping[str, Any], on: RelayRun) -> None:
    assert value not in on.heard.body.decode("utf-8")


@check
def repeat_with(value: list[str], entry: Mapping[str, Any], on: RelayRun) -> None:
    for words in value:
        heard = on.post(words.split()[0])
        assert heard.text == on.text and heard.headers.get("Content-Encoding", words.split()[0]) == words.split()[0]


@check
def client_closes_early(value: str, entry: Mapping[str, Any], on: RelayRun) -> None:
    slow = Slow(generator(on.part.folder)["chunks"])
    try:
        with tempfile.TemporaryDirectory() as home, relayed(slow.url, Path(home, "byref")) as url:
            heard = posted(url, on.headers, leave=int(value.split()[-1]))
            assert b'"result"' not in heard.body
            assert slow.left.wait(LIMIT), "the request to the upstream goes on"
            with byref.open(f"file:{home}/byref") as gateway:
                assert gateway.session("mcp", scope="case").status().outputs == 0
    finally:
        slow.close()
