"""The command line says and stores the same, byte for byte, whether the daemon answers, does not, or fails on the way."""
from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import threading

import pytest

BOTH = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo out $i; echo err $i >&2; done; exit 3"
LONG = b"".join(b"line %d: %d\n" % (n, n * 7919 % 1009) for n in range(4000))
RUNS = [
    ("run", "--", "seq", "20000"), ("run", "-c", BOTH), ("run", "--", "true"), ("run", "-c", "printf 'no line end'"),
    ("run", "--raw", "--", "seq", "20000"), ("run", "--budget", "100", "--intent", "1234", "--", "seq", "20000"),
    ("run", "--profile", "lean", "-c", BOTH), ("run", "--profile", "none", "--", "seq", "20000"), ("run", "-c", "kill -9 $$"),
    ("run", "-c", r"i=0; while [ $i -lt 900 ]; do i=$((i+1)); printf '\377 %d \000\n' $i; done"), ("run", "--", "no-such-command"),
    ("run", "--", sys.executable, "-c", "print(('x' * 99 + '\\n') * 90_000)"),  # more than goes over the socket
]
FETCHES: list[tuple[str, ...]] = [
    (), ("L5-7",), ("b0-64",), ("/err 1\\d7\\b/",), ("L99999",), ("nonsense[",), ("--all",), ("--part", "stderr"), ("--part", "none"),
    ("--base64",), ("--max-tokens", "20"), ("--max-tokens", "20", "--cursor", "54@")]


def test_every_command_says_and_stores_the_same_with_and_without_the_daemon(daemon):
    byref, apart = daemon.byref, str(daemon.byref.folder / "apart")
    daemon.start("--no-http")
    odd = byref.folder / os.fsdecode(b"caf\xe9 \xe2\x82\xac")
    odd.mkdir()

    def same(*words: str, data: bytes = b"", **env: str) -> bytes:
        by_daemon, alone = byref(*words, data=data, **env), byref(*words, data=data, **env, BYREF_HOME=apart)
        assert (by_daemon.returncode, by_daemon.stdout, by_daemon.stderr) == (alone.returncode, alone.stdout, alone.stderr), words
        return by_daemon.stdout

    refs = [found[1].decode() for words in RUNS if (found := re.match("\u00ab(r[a-z2-7]{10}) ".encode(), same(*words)))]
    assert len(refs) >= 6
    for options in (("--command", "make", "--exit", "2"), ("--raw",), ("--profile", "none"), ("--budget", "50")):
        same("pipe", *options, data=LONG)
    for options in FETCHES:
        same("fetch", refs[1], *options)
    for ref in ("rabcdefgh23", "../x"):
        same("fetch", ref)
        same("search", "line", "--ref", ref)
    same("search", "line", "--weight", "other=2")
    same("similar", refs[0], "L3", "--ref", refs[1])
    same("similar", "rabcdefgh23", "L3")
    text = ("--layer", "text")
    for words in (("line", *text), ("/e 1\\d/", "-k", "2"), ("line", "--ref", refs[0], "--json", *text),
                  ("line nowhere", "--weight", "nowhere=0", "--ref", refs[0], *text), ("nowhere", "--tool", "shell", *text), ("",)):
        assert same("search", *words)
    for name, value in (("SCOPE", "mine"), ("PROFILE", "safe"), ("MAX_AGE", "soon"), ("MAX_BYTES", "1000")):
        env = {f"BYREF_{name}": value}
        same("run", "-c", BOTH, **env)
        same("fetch", refs[0], **env)
    byref.folder = odd
    same("run", "-c", BOTH)
    for folder in (odd, odd.parent):
        byref.folder = folder
        one, other = (json.loads(byref("status", "--json", **env).stdout) for env in ({}, {"BYREF_HOME": apart}))
        assert one["store"]["url"] == f"file:{byref.home}"
        assert [each["ref"] for each in one["recent"]] == [each["ref"] for each in other["recent"]]
        assert (one["scope"], one["outputs"], one["size"]) == (other["scope"], other["outputs"], other["size"]) and one["outputs"]
    assert daemon.about()["requests"] > 30, "the daemon was asked"


def test_through_the_daemon_a_run_loads_neither_store_nor_filters(daemon):
    daemon.start("--no-http")
    script = "import sys\nfrom byref.proxy.frontends.cli import main\ncode = main(['run', '--', 'seq', '20000'])\n" \
             "sys.stderr.write(' '.join(sorted(sys.modules)))"
    done = daemon.byref.bare(sys.executable, "-c", script)
    loaded = set(done.stderr.decode().split())
    assert done.stdout.startswith("\u00abr".encode()) and {"byref.proxy.frontends.remote", "_socket"} <= loaded
    assert not loaded & {"byref.proxy.gateway", "byref.proxy.store", "byref.filters", "_sqlite3", "json", "socket", "re", "typing"}


def test_a_daemon_that_ends_while_the_command_runs_costs_nothing(daemon):
    running = daemon.start("--no-http")
    done = daemon.byref("run", "-c", f"kill -9 {running.pid}; sleep .2; seq 20000")
    assert done.stdout.startswith("\u00abr".encode()) and done.stderr == b""
    assert json.loads(daemon.byref("status", "--json").stdout)["outputs"] == 1


def test_a_daemon_that_hangs_is_given_up(daemon, monkeypatch):
    running = daemon.start("--no-http")
    os.kill(running.pid, signal.SIGSTOP)
    try:
        done = daemon.byref("run", "--", "seq", "20000")
        assert done.stdout.startswith("\u00abr".encode()) and done.stderr == b""
    finally:
        os.kill(running.pid, signal.SIGCONT)


def test_a_daemon_of_another_version_is_replaced_and_this_call_does_without(daemon):
    old = daemon.start(echo=True, version="0.0.1")
    done = daemon.byref("run", "--", "seq", "20000")
    assert done.stdout.startswith("\u00abr".encode()) and done.stderr == b"" and old.wait(60) == 0
    daemon.wait(daemon.answers)
    assert daemon.about()["pid"] != old.pid


@pytest.mark.parametrize("answer", [
    b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}\n",
    b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"parts": 3}\n', b"HTTP/1.1 500 No\r\nContent-Length: 12\r\n\r\n{\"error\": 3}"])
def test_an_answer_that_is_broken_is_none(daemon, answer):
    daemon.byref.home.mkdir(mode=0o700)
    (daemon.byref.home / "daemon.lock").touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()
        ended = threading.Event()

        def serve() -> None:
            listener.settimeout(.1)
            while not ended.is_set():
                try:
                    with listener.accept()[0] as connection:
                        connection.settimeout(60)
                        connection.recv(1 << 16)
                        connection.sendall(answer)
                except OSError:  # a probe that has gone again, or nobody yet
                    pass
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            done = daemon.byref("run", "--", "seq", "20000")
            assert done.stdout.startswith("\u00abr".encode()) and done.stderr == b""
            name = done.stdout[2:13].decode()
            assert daemon.byref("fetch", name, "L7").stdout == b"7\n"
            assert b"1 outputs" in daemon.byref("status").stdout
        finally:
            ended.set()
            thread.join()
