"""`byref dashboard` says a URL that lets one page in, and starts the daemon where none runs."""
from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from byref.proxy.errors import StoreError
from byref.proxy.frontends import open_dashboard


def enter(url: str) -> int:
    place, _, code = url.partition("#")
    request = urllib.request.Request(f"{place}api/enter", json.dumps({"code": code}).encode())
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as fault:
        fault.close()
        return fault.code


def test_it_starts_the_daemon_and_its_url_works_once(daemon):
    done = daemon.byref("dashboard", "--print")
    url = done.stdout.decode().strip()
    assert done.returncode == 0 and url.startswith("http://127.0.0.1:") and "/web/#" in url and "?" not in url
    with urllib.request.urlopen(url.partition("#")[0], timeout=60) as page:
        assert b"<title>byref</title>" in page.read()
    assert (enter(url), enter(url)) == (200, 401)
    other = daemon.byref("dashboard", "--print").stdout.decode().strip()
    assert other != url and other.partition("#")[0] == url.partition("#")[0], "the same daemon, another code"


def test_a_daemon_without_a_port_is_named_as_the_reason(daemon):
    daemon.start("--no-http")
    done = daemon.byref("dashboard", "--print")
    assert done.returncode == 7 and b"listens on no port" in done.stderr and done.stdout == b""


def test_a_daemon_of_another_version_makes_way(daemon):
    daemon.start(echo=True, version="0.0.1")
    url = daemon.byref("dashboard", "--print").stdout.decode().strip()
    assert enter(url) == 200


def test_what_does_not_come_up_is_not_waited_for_for_ever(tmp_path):
    with pytest.raises(StoreError, match="no daemon came up within 0 s"):
        open_dashboard.entry(str(tmp_path), ["/bin/true"], patience=0.2)
