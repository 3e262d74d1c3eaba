"""Who may ask, and how a daemon offers LLM APIs beside its other routes."""
from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from llm_requests import LOG, Dialog, results

Talk = Callable[..., None]
MAKE: Any = {"command": "make -j"}


def test_with_a_token_set_everybody_brings_it_and_it_goes_no_further(talk: Talk, provider: Any) -> None:
    async def test(client: Any) -> None:
        body = Dialog("anthropic").body()
        status, _, said = await client.ask("/v1/messages", body, x_api_key="sk")
        assert status == 401 and b"Byref-Token" in said and not provider.requests
        status, _, _ = await client.ask("/v1/messages", body, x_api_key="sk", Byref_Token="secret")
        assert status == 200 and "Byref-Token" not in provider.requests[0][2] and provider.requests[0][2]["x-api-key"] == "sk"
    talk(test, provider, token="secret")


def test_pages_of_a_browser_and_other_hosts_are_refused(talk: Talk) -> None:
    async def test(client: Any) -> None:
        assert (await client.ask("/v1/models", Origin="https://example.com"))[0] == 403
        assert (await client.ask("/v1/models", Host="example.com"))[0] == 403
        assert (await client.ask("/v1/../../v1/status"))[0] in (401, 404)
        assert (await client.ask(""))[0] == 200
    talk(test)


def test_serve_offers_it_and_a_second_daemon_gives_the_same_bytes(tmp_path: Path) -> None:
    came: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

    provider = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    dialog = Dialog("anthropic")
    try:
        for n in range(2):
            dialog.turn([(f"c{n}", "Bash", {"command": f"make {n}"}, LOG)])
            daemon = subprocess.Popen(
                [sys.executable, "-m", "byref.proxy.frontends.serve", "--llm", f"mine=http://127.0.0.1:{provider.server_port}"],
                env={"BYREF_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True)
            try:
                assert daemon.stdout is not None
                url = daemon.stdout.readline().split()[2]
                request = urllib.request.Request(url + "/v1/messages", dialog.body(), {"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=60) as answer:
                    assert answer.headers["Byref-Views"] == str(n + 1) and json.load(answer) == {}
            finally:
                daemon.terminate()
                daemon.communicate(timeout=60)
    finally:
        provider.shutdown()
        provider.server_close()
    first, second = (results("anthropic", body) for body in came)
    assert first["c0"].startswith("«r") and second["c0"] == first["c0"] and second["c1"].startswith("«r")


def test_serve_says_what_is_wrong_with_a_command_line(tmp_path: Path) -> None:
    for words, said in ((["--llm", "mistral"], "say NAME=URL"), (["--stateless"], "--llm NAME"),
                        (["--llm", "openai", "--no-http"], "exclude")):
        done = subprocess.run([sys.executable, "-m", "byref.proxy.frontends.serve", *words], env={"BYREF_HOME": str(tmp_path), "HOME": "/"},
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and said in done.stderr, (done.returncode, done.stderr)
