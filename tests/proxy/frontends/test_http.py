"""The daemon's routes say what the Python API says, to its user alone."""
from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import byref
from byref.proxy import config, errors
from byref.proxy.errors import Miss
from byref.proxy.frontends import frame, hook, hooks
from byref.proxy.frontends.http import Service, application

SCOPE, TOKEN = "1000:/home/me/project", "t" * 40
LONG = "".join(f"line {n}: value {n * 7919 % 1009}\n" for n in range(3000))
BINARY = bytes(range(256)) * 40


class Server:
    """The routes over a store of their own, on a socket and on loopback."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self.home, self.left = home, []
        self.go = threading.Event()  # until then no hook about a tool's output is answered
        self.go.set()
        self.path = os.fsencode(home / "daemon.sock")
        self.service = Service(config.load(environ={"BYREF_HOME": str(home)}), TOKEN, self.answer, self.left.append)
        self._up, self._done = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        self._up.wait()

    def answer(self, gateway: byref.Gateway, harness: str, event: bytes) -> bytes:
        if b"tool_use_id" in event:
            found = hooks.answer(gateway, harness, event)
            self.go.wait(60)
            return found
        if event == b"fault":
            raise RuntimeError("secret output")
        return f"{harness} {gateway.settings.profile} {gateway.settings.scope}".encode()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        runner = web.AppRunner(application(self.service), handle_signals=False)
        await runner.setup()
        await web.UnixSite(runner, os.fsdecode(self.path)).start()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.service.port = runner.addresses[1][1]
        self._up.set()
        await self._done.wait()
        await runner.cleanup()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()
        self.service.close()

    def ask(self, request: str, body: bytes = b"", headers: str = "") -> tuple[int, bytes]:
        return hook.call(self.path, request, body, time.monotonic() + 60, headers)

    def json(self, request: str, given: object = None, headers: str = "") -> tuple[int, Any]:
        status, body = self.ask(request, b"" if given is None else json.dumps(given).encode(), headers)
        return status, json.loads(body)

    def tcp(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    one = Server(tmp_path / "daemon")
    yield one
    one.close()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[byref.Session]:
    with byref.open(f"file:{tmp_path}/library") as gateway:
        yield gateway.session("s", scope=SCOPE, proven=False)


CAPTURES: list[dict[str, Any]] = [
    {"tool": "shell", "args": {"command": "make"}, "output": LONG, "exit_code": 2},
    {"tool": "shell", "args": {"command": "ls"}, "output": "a\nb\n"},
    {"tool": "Read", "args": {"file_path": "/x"}, "output": LONG, "intent": "line 1500"},
    {"tool": "mcp", "args": None, "output": {"text": LONG, "structuredContent": json.dumps([{"n": n, "v": "x" * n} for n in range(99)])}},
    {"tool": "shell", "args": {"command": "x"}, "output": {"stdout": LONG, "stderr": "caf\udce9 " * 900}, "is_error": True, "budget": 200},
    {"tool": "shell", "args": {"command": "x"}, "output": LONG, "raw": True},
]


@pytest.mark.parametrize("call", CAPTURES)
def test_a_capture_is_what_the_library_makes_of_it(server, library, call):
    status, found = server.json("POST /v1/capture", call | {"scope": SCOPE})
    shown = library.capture(**call)
    assert status == 200
    assert {name: value for name, value in found.items() if name != "gaps"} == {name: getattr(shown, name) for name in (
        "ref", "text", "texts", "head", "passed", "shape", "stored", "warning", "exit_code", "is_error")}
    assert found["gaps"] == [{"part": g.part, "address": g.address, "count": g.count, "unit": g.unit} for g in shown.gaps]


@pytest.mark.parametrize("parts", [
    {"stdout": LONG.encode(), "stderr": b""}, {"stdout": BINARY}, {}, {"stdout": b"\xff\n" * 5000, "stderr": LONG.encode()}])
def test_a_framed_capture_is_what_the_library_makes_of_the_same_bytes(server, library, parts):
    head = {"scope": SCOPE, "tool": "shell", "args": {"command": "x"}, "exit_code": 0,
            "parts": [{"name": name, "size": len(data)} for name, data in parts.items()]}
    headers = f"Content-Type: {frame.MEDIA}\r\nAccept: {frame.MEDIA}\r\n"
    status, body = server.ask("POST /v1/capture", frame.encode(head, parts.values()), headers)
    found, data = frame.decode(body)
    shown = library.capture(tool="shell", args={"command": "x"}, exit_code=0, output=parts)
    assert (status, found["ref"], found["head"], found["passed"]) == (200, shown.ref, shown.head, shown.passed)
    assert frame.cut(data, [part["size"] for part in found["parts"]]) == [b"".join(shown.blocks(name)) for name in parts]
    quiet = frame.decode(server.ask("POST /v1/capture", frame.encode(head | {"echo": False}, parts.values()), headers)[1])
    assert bool(quiet[0]["parts"]) == bool(parts and not shown.passed)


def test_a_large_capture_streams_into_the_store_and_every_byte_comes_back(server):
    data = os.urandom(1 << 20) * 24
    parts = [{"name": "stdout", "size": len(data) - 5}, {"name": "stderr", "size": 5}]
    head = {"scope": SCOPE, "tool": "shell", "args": {"command": "x"}, "parts": parts}
    status, body = server.ask("POST /v1/capture", frame.encode(head, (data,)), f"Content-Type: {frame.MEDIA}\r\n")
    ref = json.loads(body)["ref"]
    assert status == 200 and ref
    with byref.open(f"file:{server.home}") as gateway:
        assert b"".join(gateway.session("s", scope=SCOPE).blocks(ref)) == data


def test_a_body_that_breaks_off_is_not_stored_as_if_it_were_whole(server):
    head = {"scope": SCOPE, "tool": "shell", "args": {}, "parts": [{"name": "stdout", "size": 20 << 20}]}
    whole = frame.encode(head, (b"x" * (20 << 20),))
    connection = hook.connect(server.path, time.monotonic() + 60)
    connection.sendall(f"POST /v1/capture HTTP/1.1\r\nHost: byref\r\nContent-Type: {frame.MEDIA}\r\n"
                       f"Content-Length: {len(whole)}\r\n\r\n".encode())
    connection.sendall(whole[:9 << 20])
    connection.close()
    until = time.monotonic() + 60
    while server.service.in_flight and time.monotonic() < until:
        time.sleep(0.02)
    assert server.json(f"GET /v1/status?scope={SCOPE}")[1]["outputs"] == 0


FETCHES: list[dict[str, Any]] = [
    {}, {"at": "L5-9"}, {"at": "stdout:b0-100"}, {"max_tokens": 50}, {"part": "stderr"}, {"part": "stderr", "encoding": "base64"},
    {"at": "/value 7\\b/"}]


@pytest.mark.parametrize("call", FETCHES)
def test_a_page_is_what_the_library_gives(server, library, call):
    output = {"stdout": LONG.encode(), "stderr": BINARY}
    ref = library.capture(tool="shell", output=output).ref
    with byref.open(f"file:{server.home}") as gateway:
        assert gateway.session("s", scope=SCOPE).capture(tool="shell", output=output).ref == ref
    page = library.fetch(ref, **call)
    status, found = server.json("POST /v1/fetch", call | {"scope": SCOPE, "ref": ref})
    assert status == 200 and found == {name: getattr(page, name) for name in (
        "ref", "address", "text", "cursor", "note", "total", "tokens", "binary", "tool", "shape")}
    head, body = frame.decode(server.ask("POST /v1/fetch", json.dumps(call | {"scope": SCOPE, "ref": ref}).encode(),
                                         f"Accept: {frame.MEDIA}\r\n")[1])
    assert bytes(body) == page.data and head["cursor"] == page.cursor


@pytest.mark.parametrize("call", [
    {"query": "value 77", "layers": ["text", "names"]}, {"query": "/value 7\\b/", "k": 1}, {"query": "", "max_tokens": 200},
    {"query": "value", "refs": ["REF"], "layers": ["text"], "emphasis": "precision"},
    {"query": "value lines", "weights": {"lines": 0}, "layers": ["text"]},
    {"like": "REF L77", "layers": ["text"]}, {"query": "value 77", "layers": ["text"], "explain": True},
    {"query": "which value is 77", "profile": "rrf", "explain": True, "layers": ["text"]},
    {"query": "nowhere", "tool": "shell", "outcome": "success", "of_session": "s", "layers": ["text"]}])
def test_a_search_is_what_the_library_gives(server, library, call):
    ref = library.capture(tool="shell", output=LONG).ref
    with byref.open(f"file:{server.home}") as gateway:
        gateway.session("s", scope=SCOPE).capture(tool="shell", output=LONG)
    call |= {"refs": [ref]} if "refs" in call else {"like": f"{ref} L77"} if "like" in call else {}
    own = {("session" if name == "of_session" else name): value for name, value in call.items()}
    wanted = library.search(**{"query": ""} | own)
    status, found = server.json("POST /v1/search", call | {"scope": SCOPE, "timebox_ms": 60_000})
    assert status == 200 and found["text"] == wanted.text and len(found["hits"]) == len(wanted.hits)
    assert [hit["address"] for hit in found["hits"]] == [hit.address for hit in wanted.hits]
    assert found.get("explanation", {}).get("hits") == (wanted.explanation or {}).get("hits")
    assert server.json("POST /v1/search", call | {"scope": SCOPE, "refs": "x"})[0] == 400
    assert server.json("POST /v1/search", {"query": "x", "scope": SCOPE, "refs": ["runknown234"]})[0] == 404
    assert server.json("POST /v1/search", {"like": "runknown234 L1", "scope": SCOPE})[0] == 404


@pytest.mark.parametrize(("wanted", "status", "reason"), [
    ({"ref": "rabcdefgh23"}, 404, "unknown"), ({"ref": "../x"}, 400, "invalid"), ({"ref": "REF", "at": "L9999"}, 400, "invalid"),
    ({"ref": "REF", "scope": "another"}, 404, "unknown"), ({"ref": "OLD"}, 410, "evicted"), ({"ref": "BAD"}, 500, "corrupt")])
def test_a_miss_says_which_in_the_words_of_the_library(server, wanted, status, reason):
    with byref.open(f"file:{server.home}") as gateway:
        session = gateway.session("s", scope=SCOPE)
        refs = {"REF": session.capture(tool="shell", output=LONG).ref, "OLD": session.capture(tool="shell", output="old").ref,
                "BAD": session.capture(tool="shell", output=os.urandom(1 << 20)).ref}
        session.purge(refs["OLD"])
        for blob in server.home.glob("blobs/*/*"):
            if blob.stat().st_size > 1 << 19:
                blob.write_bytes(b"x" * blob.stat().st_size)
        call = {"scope": SCOPE} | wanted | {"ref": refs.get(wanted["ref"], wanted["ref"])}
        found = server.json("POST /v1/fetch", call)
        with pytest.raises(Miss) as miss:
            gateway.session("s", scope=call["scope"]).fetch(call["ref"], call.get("at"))
    assert found == (status, {"error": {"reason": reason, "message": str(miss.value)}})


CALL = {"scope": SCOPE, "tool": "shell", "output": "x"}


@pytest.mark.parametrize(("path", "given"), [
    *(("capture", {k: v for k, v in CALL.items() if k != missing}) for missing in CALL),
    *(("capture", CALL | wrong) for wrong in ({"output": 3}, {"nonsense": 1}, {"tool": 3}, {"exit_code": "1"}, {"output": {"a b": "x"}},
                                              {"raw": 1}, {"elapsed": "1"}, {"context": 5})),
    ("search", {"scope": SCOPE, "query": "x", "profile": "best"}), ("search", {"scope": SCOPE, "query": "x", "explain": 1}),
    *(("search", {"scope": SCOPE, "query": "x", "weights": wrong}) for wrong in (3, ["x"], {"x": "2"}, {"x": True}, {"x": -1}, {"y": 1})),
    ("fetch", {"scope": SCOPE}), ("fetch", [1]), ("fetch", "x")])
def test_what_is_asked_wrongly_is_told_what_is_wrong(server, path, given):
    status, found = server.json(f"POST /v1/{path}", given)
    assert status == 400 and found["error"]["message"]


def test_the_status_is_what_the_library_says(server):
    server.json("POST /v1/capture", CAPTURES[0] | {"scope": SCOPE})
    with byref.open(f"file:{server.home}") as gateway:
        found = gateway.session("s", scope=SCOPE).status()
    for status, given in (server.json(f"GET /v1/status?scope={SCOPE}"), server.json("POST /v1/status", {"scope": SCOPE})):
        assert status == 200 and (given["outputs"], given["size"], given["recent"][0]["ref"]) == (1, len(LONG), found.recent[0].ref)
        told = {one["name"]: one for one in given["layers"]}
        for one in found.layers:
            assert {name: told[one.name][name] for name in ("role", "origin", "granularity", "accepts", "missing")} == {
                "role": one.role, "origin": one.origin, "granularity": one.granularity, "accepts": one.accepts, "missing": one.missing}
            assert 0 <= told[one.name]["coverage"] <= 10_000 and told[one.name]["latency_ms"] > 0
    assert server.json("GET /v1/status")[1]["pid"] == os.getpid()


def test_a_named_context_collapses_what_it_was_shown_only_where_it_is_proven(server):
    call = {"scope": SCOPE, "tool": "Read", "args": {"file_path": "errors.py"}, "output": Path(errors.__file__).read_text()}

    def size(**more: object) -> int:
        return len(server.json("POST /v1/capture", call | more)[1]["text"])
    first = size(context="c")
    assert first > 1000 and size(context="c") == first
    assert size(context="d", proven=True) > 1000 and size(context="d", proven=True) < 500
    assert size(context="e", proven=True) > 1000


def test_hooks_get_the_profile_and_the_scope_of_their_call(server):
    assert server.ask("POST /hooks/claude-code", b"{}") == (200, b"claude-code auto None")
    settings = hook.settings_header({"BYREF_PROFILE": "lean", "BYREF_SCOPE": "caf\u00e9", "BYREF_MAX_BYTES": "1GB"})
    assert server.ask("POST /hooks/codex", b"{}", settings) == (200, "codex lean caf\u00e9".encode())


def test_a_hook_that_does_not_wait_for_its_view_is_noted(server, tmp_path):
    response = {"stdout": LONG, "stderr": "", "interrupted": False}
    event = {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": str(tmp_path), "transcript_path": "", "tool_name": "Bash",
             "tool_input": {"command": "make"}, "tool_use_id": "t1", "tool_response": response}

    def kinds() -> list[str]:
        return [one.kind for one in server.service.own.store.events() if one.ref]

    def wait(until: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end, kinds()
            time.sleep(0.02)
    assert server.ask("POST /hooks/claude-code", json.dumps(event).encode())[0] == 200
    assert kinds() == ["captured", "viewed"]
    server.go.clear()
    body = json.dumps({**event, "tool_use_id": "t2"}).encode()
    connection = hook.connect(server.path, time.monotonic() + 60)
    connection.sendall(b"POST /hooks/claude-code HTTP/1.1\r\nHost: byref\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    wait(lambda: kinds().count("viewed") == 2)
    connection.close()  # the hook has waited long enough
    server.go.set()
    wait(lambda: kinds()[-1] == "unheard")


def test_a_fault_of_a_hook_is_logged_without_what_it_was_about(server):
    status, body = server.ask("POST /hooks/x", b"fault")
    assert status == 500 and b"RuntimeError" in body and b"secret" not in body
    assert "secret" not in (server.home / "byref.log").read_text()


def test_a_call_that_would_open_another_store_is_sent_away(server):
    call = {"scope": SCOPE, "tool": "shell", "output": "x"}
    for settings in ({"BYREF_MAX_BYTES": "1000"}, {"BYREF_MAX_AGE": "1h"}, {"BYREF_PROFILE": "none"}, {"BYREF_MAX_AGE": "soon"}):
        assert server.json("POST /v1/capture", call, hook.settings_header(settings))[0] == 412
    assert server.json("POST /v1/capture", call, "Byref-Settings: {\r\n")[0] == 412


def test_a_client_of_another_version_makes_it_leave(server):
    assert server.tcp("POST", "/v1/fetch", b"{}", Byref_Version="9.9", Authorization=f"Bearer {TOKEN}")[0] == 409
    assert len(server.left) == 1 and "9.9" in server.left[0]


def test_metrics_are_for_whoever_has_the_token(server):
    status, body = server.tcp("GET", "/metrics", Authorization=f"Bearer {TOKEN}")
    assert status == 200 and b"# TYPE byref_tokens_total counter" in body and server.tcp("GET", "/metrics")[0] == 401


def test_over_loopback_the_token_the_host_and_the_origin_count(server):
    own = f"127.0.0.1:{server.service.port}"
    assert server.tcp("GET", "/v1/status", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert server.tcp("GET", "/v1/status", Authorization=f"Bearer {TOKEN}", Origin=f"http://{own}")[0] == 200
    assert server.tcp("GET", "/healthz") == (200, b"ok\n")
    assert server.tcp("GET", "/v1/status")[0] == 401
    assert server.tcp("GET", "/v1/status", Authorization="Bearer " + "u" * 40)[0] == 401
    for foreign in ({"Host": "evil.example"}, {"Host": f"evil.example:{server.service.port}"}, {"Origin": "https://evil.example"},
                    {"Origin": "null"}, {"Host": "127.0.0.1:1"}):
        assert server.tcp("GET", "/v1/status", Authorization=f"Bearer {TOKEN}", **foreign)[0] == 403
    assert server.tcp("POST", "/v1/stop", Authorization=f"Bearer {TOKEN}")[0] == 403 and server.left == []
    assert server.ask("POST /v1/stop")[0] == 200 and server.left == ["asked to"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_even_where_the_folders_let_him_in(tmp_path):
    script = """import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    s.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: byref\\r\\nConnection: close\\r\\n\\r\\n")
    sys.stdout.write(s.recv(100).decode())
"""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        server = Server(Path(folder, "home"))
        try:
            for open_to_all in (folder, server.home, server.path):
                os.chmod(open_to_all, 0o777)
            done = subprocess.run([sys.executable, "-c", script, os.fsdecode(server.path)], capture_output=True, timeout=60, check=True)
        finally:
            server.close()
    assert done.stdout.startswith(b"HTTP/1.1 403")


def test_a_body_beyond_its_bound_is_refused_before_it_is_read(server):
    connection = hook.connect(server.path, time.monotonic() + 60)
    connection.sendall(b"POST /hooks/x HTTP/1.1\r\nHost: byref\r\nContent-Length: 67108865\r\n\r\n")
    assert connection.recv(100).startswith(b"HTTP/1.1 413")
    connection.close()


def test_what_there_is_not_is_404(server):
    assert server.json("GET /v2/nothing")[0] == 404 and server.json("GET /v1/capture")[0] == 405
