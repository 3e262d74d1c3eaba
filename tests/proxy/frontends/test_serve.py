"""`byref serve`: one daemon a user and home, however it is started; it ends when idle, when asked, and with all answered."""
from __future__ import annotations

import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from byref.proxy.frontends import hook, remote, serve

LIMIT = 60


def test_two_starts_at_once_give_one(daemon):
    one = subprocess.Popen([*remote.START, "--no-http"], cwd=daemon.byref.folder, env=daemon.byref.env, start_new_session=True)
    other = subprocess.Popen([*remote.START, "--no-http"], cwd=daemon.byref.folder, env=daemon.byref.env, start_new_session=True)
    daemon.wait(lambda: one.poll() is not None or other.poll() is not None)
    loser, winner = (one, other) if one.poll() is not None else (other, one)
    assert loser.returncode == 0 and winner.poll() is None
    assert daemon.about()["pid"] == winner.pid
    stopped = daemon.byref("serve", "--stop")
    assert (stopped.returncode, stopped.stdout) == (0, b"stopped\n") and winner.wait(LIMIT) == 0
    assert not os.path.exists(daemon.socket)


def test_one_more_start_leaves_the_one_that_runs_as_it_is(daemon):
    running = daemon.start("--no-http")
    before = os.stat(daemon.socket).st_ino
    done = daemon.byref("serve", "--no-http")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert os.stat(daemon.socket).st_ino == before and daemon.about()["pid"] == running.pid


def test_it_ends_when_idle(daemon):
    done = daemon.byref("serve", "--no-http", "--idle", "0.3")  # nobody looks whether it is up: that might come too late
    assert done.returncode == 0 and not os.path.exists(daemon.socket)
    assert os.stat(daemon.byref.home / "daemon.lock").st_mtime == 0, "it came up"


def test_what_is_in_flight_is_answered_before_it_ends(daemon):
    running = daemon.start(echo=True)
    answers = []
    go = daemon.byref.folder / "go"
    event = b"until " + os.fsencode(go)
    call = threading.Thread(target=lambda: answers.append(hook.call(daemon.socket, "POST /hooks/x", event, time.monotonic() + LIMIT)))
    call.start()
    daemon.wait(lambda: daemon.about()["in_flight"] == 2)
    running.send_signal(signal.SIGTERM)
    daemon.wait(lambda: not os.path.exists(daemon.socket))
    assert running.poll() is None and answers == []
    go.touch()
    call.join()
    assert answers == [(200, b"auto of x: " + event)] and running.wait(LIMIT) == 0 and not os.path.exists(daemon.socket)


def test_what_a_killed_one_left_is_in_nobodys_way(daemon):
    daemon.start("--no-http").kill()
    daemon.wait(lambda: not daemon.answers())
    assert os.path.exists(daemon.socket)
    assert daemon.start("--no-http").pid == daemon.about()["pid"]


def test_it_ends_when_its_folder_is_gone(daemon):
    running = daemon.start("--no-http", "--idle", "6")  # which is looked at every second and a half
    os.unlink(daemon.socket)
    assert running.wait(LIMIT) == 0


def test_all_it_makes_is_its_users_alone(daemon):
    daemon.start()
    made = {name: stat.S_IMODE(os.lstat(daemon.byref.home / name).st_mode) for name in os.listdir(daemon.byref.home)}
    assert {"daemon.sock", "daemon.lock", "daemon.token"} <= made.keys() and set(made.values()) <= {0o600, 0o700}
    assert stat.S_IMODE(daemon.byref.home.stat().st_mode) == 0o700


def test_a_home_too_deep_for_a_socket_is_served_all_the_same(daemon):
    deep = daemon.byref.folder / ("deep" * 30)
    daemon.byref.env["BYREF_HOME"] = str(deep)
    daemon.byref.home, daemon.socket = deep, hook.socket_path(os.fsencode(deep))
    daemon.start("--no-http")
    assert stat.S_IMODE(os.stat(os.path.dirname(daemon.socket)).st_mode) == 0o700
    assert daemon.about()["home"] == str(deep)


def test_without_aiohttp_it_says_what_to_install(byref):
    broken = byref.folder / "broken"
    (broken / "aiohttp").mkdir(parents=True)
    (broken / "aiohttp" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'aiohttp'\", name='aiohttp')")
    done = byref("serve", PYTHONPATH=str(broken))
    assert done.returncode == 1 and b"pip install 'byref[serve]'" in done.stderr and done.stderr.count(b"\n") == 1
    assert byref("run", "--", "echo", "x", PYTHONPATH=str(broken)).stdout == b"x\n"


def test_a_port_that_is_taken_is_an_error(daemon):
    daemon.start()
    port = daemon.about()["http"].rpartition(":")[2]
    done = daemon.byref("serve", "--http", port, BYREF_HOME=str(daemon.byref.folder / "other"))
    assert done.returncode == 1 and b"byref: the daemon cannot serve: " in done.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "99999", "x", "0.0.0.0:8700", "[::1]:8700", "²", ""])
def test_what_is_no_port_is_told(byref, port):
    done = byref("serve", f"--http={port}")
    assert done.returncode == 2 and b"is no port" in done.stderr and b"Traceback" not in done.stderr


def test_with_nobody_there_stop_and_status_say_so(byref):
    stopped, status = byref("serve", "--stop"), byref("serve", "--status")
    assert (stopped.returncode, stopped.stdout) == (0, b"no daemon runs\n")
    assert (status.returncode, status.stdout) == (1, b"no daemon runs\n")


def test_one_that_holds_the_lock_and_does_not_answer_is_told_of(tmp_path):
    lock = serve.take_lock(str(tmp_path))
    assert lock is not None
    with pytest.raises(TimeoutError, match=r"daemon\.lock"):
        serve.take_lock(str(tmp_path), 0.1)
    os.close(lock)


def test_what_whoever_started_it_has_set_for_itself_is_forgotten(byref):
    script = "import os; from byref.proxy import config; s = config.own_settings(); " \
             "print(s.scope, s.profile, s.off, [n for n in os.environ if n.startswith('BYREF')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=byref.env | {
        "BYREF": "off", "BYREF_SCOPE": "x", "BYREF_PROFILE": "lean", "BYREF_INSIDE": "/tmp/byref-1-2"})
    assert done.stdout == b"None auto False ['BYREF_HOME', 'BYREF_MODELS']\n"


def test_an_api_behind_it_answers_curl_as_it_would_itself_and_the_answer_can_be_fetched(daemon, tmp_path):
    (tmp_path / "works.json").write_text(json.dumps([{"id": n, "title": f"Title {n}", "note": "lorem ipsum " * 20} for n in range(200)]))
    api = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    threading.Thread(target=api.serve_forever).start()
    try:
        daemon.start("--upstream", f"files=http://127.0.0.1:{api.server_port}", "--max-age", "1h")
        url = f"{daemon.about()['http']}/files/works.json"
        raw, view = [subprocess.run(["curl", "-sSf", *more, url], capture_output=True, check=True).stdout
                     for more in ([], ["-H", "Byref-View: auto"])]
    finally:
        api.shutdown()
        api.server_close()
    assert raw == (tmp_path / "works.json").read_bytes() and len(view) < len(raw) / 2
    ref = view.decode()[1:12]
    assert daemon.byref("fetch", ref, "--max-tokens", "1000000").stdout == raw, "in the scope of the folder where it was started"


def test_upstreams_are_no_surprise(daemon):
    for words, said in ((("--upstream", "api"), b"say NAME=URL"), (("--max-age", "1h"), b"are for upstreams"),
                        (("--upstreams", "none.toml"), b"none.toml cannot be read"), (("--upstream", "v1=http://h"), b"byref's own")):
        done = daemon.byref("serve", *words)
        assert done.returncode != 0 and said in done.stderr, done.stderr
    daemon.start("--no-http")
    done = daemon.byref("serve", "--upstream", "api=http://127.0.0.1:9")
    assert done.returncode == 1 and b"runs already, without these upstreams" in done.stderr


def test_whoever_starts_it_at_a_terminal_is_told_where_it_serves(daemon):
    leader, follower = pty.openpty()
    one = subprocess.Popen(remote.START, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, cwd=daemon.byref.folder,
                           env=daemon.byref.env, start_new_session=True)
    daemon.wait(daemon.answers)
    port = serve.ask(str(daemon.byref.home), "GET /v1/status", LIMIT)[1]["http"]
    assert f"byref: {port}; `byref dashboard` opens its page".encode() in os.read(leader, 4096)
    again = subprocess.run(remote.START, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, cwd=daemon.byref.folder,
                           env=daemon.byref.env, start_new_session=True, timeout=LIMIT, check=False)
    assert again.returncode == 0 and b"a daemon runs already: `byref serve --status`" in os.read(leader, 4096)
    daemon.byref("serve", "--stop")
    assert one.wait(LIMIT) == 0
    os.close(leader)
    os.close(follower)


@pytest.mark.parametrize("sent", [
    b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -4\r\n\r\n"])
def test_what_is_no_http_is_told_so_and_fills_no_log(daemon, sent):
    one = daemon.byref.start("serve")
    daemon.wait(daemon.answers)
    port = int(str(daemon.about()["http"]).rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), LIMIT) as client:
        client.sendall(sent)
        assert client.recv(100).startswith(b"HTTP/1.0 400 ")
    daemon.byref("serve", "--stop")
    assert one.communicate(timeout=LIMIT) == (b"", b"")
