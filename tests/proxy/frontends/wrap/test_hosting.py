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

import pytest

BYREF = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()", "wrap"]


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
