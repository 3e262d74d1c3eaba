"""The hook's own program: the daemon's answer and nothing else, and on any fault nothing at all."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import byref
from byref.proxy import config
from byref.proxy.frontends import hook

LIMIT = 60


@pytest.fixture
def run(daemon):
    """One hook, as a harness starts it; it waits for long, unless a test says otherwise, since this machine may be busy.

    patient: it waits for a daemon that it starts; a hook with the time that a harness gives it does not.
    """
    def start(event: bytes, *words: str, wait: str = "30", patient: bool = True, **env: str) -> subprocess.CompletedProcess[bytes]:
        waits = ["--wait", wait] if patient else []
        return subprocess.run([sys.executable, "-I", "-S", hook.__file__, "claude-code", *waits, *words], input=event,
                              capture_output=True, timeout=LIMIT, env=daemon.byref.env | {"BYREF_HOOK_WAIT": wait} | env, check=False)
    return start


def log(daemon) -> list[str]:
    path = daemon.byref.home / "byref.log"
    return path.read_text().splitlines() if path.exists() else []


def said_nothing(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_it_prints_what_the_daemon_answers(daemon, run):
    daemon.start(echo=True)
    for event in (b"", b'{"tool": "Bash"}', os.urandom(3 << 20)):
        done = run(event)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"auto of claude-code: " + event, b"")
    assert run(b"x", BYREF_PROFILE="lean").stdout == b"lean of claude-code: x"
    assert log(daemon) == []


def test_without_a_daemon_it_says_nothing_and_logs_one_line(daemon, run):
    assert said_nothing(run(b"x"))
    line, = log(daemon)
    assert "hook claude-code: Absent: No such file or directory" in line
    assert oct((daemon.byref.home / "byref.log").stat().st_mode) == "0o100600"


def test_off_asks_nobody(daemon, run):
    daemon.start(echo=True)
    assert said_nothing(run(b"x", BYREF="off")) and daemon.about()["requests"] == 1


def test_it_starts_the_daemon_that_is_absent_and_the_next_one_is_answered(daemon, run):
    assert said_nothing(run(b"first", "--start", *daemon.echo, patient=False))
    assert run(b"next", "--start", *daemon.echo).stdout == b"auto of claude-code: next"
    assert [line.partition("claude-code: ")[2].split(":")[0] for line in log(daemon)] == ["Absent"]


def test_with_patience_it_waits_for_the_daemon_that_it_starts(daemon, run):
    assert run(b"first", "--start", *daemon.echo).stdout == b"auto of claude-code: first"


def test_many_at_once_start_one_daemon(daemon, run):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(run(b"x", "--start", *daemon.echo).stdout)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b"auto of claude-code: x"] * 6


def test_a_daemon_that_cannot_be_started_costs_a_line_and_no_more(daemon, run):
    assert said_nothing(run(b"x", "--start", "/nonexistent/python", patient=False))
    assert len(log(daemon)) == 1 and "FileNotFoundError" in log(daemon)[0]


def test_when_the_daemon_is_killed_in_the_middle_the_raw_output_stands_and_the_next_call_recovers(daemon, run):
    running = daemon.start(echo=True)
    hooks = threading.Thread(target=lambda: done.append(run(b"sleep 30")))
    done: list[subprocess.CompletedProcess[bytes]] = []
    hooks.start()
    daemon.wait(lambda: daemon.about()["in_flight"] == 2)  # that one, and the question itself
    running.kill()
    hooks.join()
    assert said_nothing(done[0])
    assert os.path.exists(daemon.socket), "a killed daemon leaves its socket behind"
    assert run(b"again", "--start", *daemon.echo).stdout == b"auto of claude-code: again"


def test_a_daemon_that_hangs_is_not_waited_for(daemon, run):
    running = daemon.start(echo=True)
    os.kill(running.pid, signal.SIGSTOP)
    assert said_nothing(run(b"x", "--start", *daemon.echo, wait="0.15"))
    assert "TimeoutError: " in log(daemon)[0]
    os.kill(running.pid, signal.SIGCONT)


def test_a_daemon_of_another_version_ends_and_the_next_one_is_ours(daemon, run):
    old = daemon.start(echo=True, version="0.0.1")
    assert said_nothing(run(b"x"))
    assert old.wait(LIMIT) == 0 and "another version" in log(daemon)[0]
    daemon.start(echo=True, version="0.0.1")
    assert run(b"x", "--start", *daemon.echo).stdout == b"auto of claude-code: x"


def test_a_daemon_opened_with_other_settings_ends(daemon, run):
    old = daemon.start(echo=True)
    (daemon.byref.home / "config.toml").write_text('profile = "safe"\n')
    assert run(b"x", "--start", *daemon.echo).stdout == b"safe of claude-code: x" and old.wait(LIMIT) == 0


@pytest.mark.parametrize("answer", [
    b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno",
    b"\xff" * 99 + b"\r\n\r\n"])
def test_an_answer_that_is_broken_or_bad_is_none(daemon, run, answer):
    daemon.byref.home.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(daemon.socket)
        listener.listen()

        def serve() -> None:
            with listener.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(answer)
        thread = threading.Thread(target=serve)
        thread.start()
        assert said_nothing(run(b"x")) and len(log(daemon)) == 1
        thread.join()


@pytest.mark.parametrize(("said", "waits"), [("5", 5.0), ("0.5", 0.5), ("0", 0.0), ("", hook.WAIT)])
def test_the_environment_says_how_long_a_view_is_waited_for(said, waits):
    assert hook.patience({b"BYREF_HOOK_WAIT": said.encode()}) == waits and hook.patience({}) == hook.WAIT


def test_a_daemon_that_hangs_is_waited_for_as_long_as_the_environment_says(daemon, run):
    daemon.start(echo=True)
    pid = daemon.about()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert said_nothing(run(b"x", patient=False, wait="0.2"))
        threading.Timer(0.5, os.kill, (pid, signal.SIGCONT)).start()
        assert run(b"x", patient=False, wait="30").stdout == b"auto of claude-code: x"
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("said", ["soon", "-1", "nan", "61", "0,5"])
def test_a_wait_that_is_none_is_said_in_the_log(daemon, run, said):
    daemon.start(echo=True)
    assert said_nothing(run(b"x", patient=False, BYREF_HOOK_WAIT=said))
    assert len(log(daemon)) == 1 and "number of seconds from 0 to 60, such as 0.5" in log(daemon)[0]


@pytest.mark.parametrize("words", [[], ["claude-code", "--wait"], ["claude-code", "--wait", "long"]])
def test_wrong_use_is_a_fault_like_any_other(daemon, words):
    done = subprocess.run([sys.executable, "-I", "-S", hook.__file__, *words], input=b"x", capture_output=True, timeout=LIMIT,
                          env=daemon.byref.env, check=False)
    assert said_nothing(done) and len(log(daemon)) == 1


def test_it_loads_nothing_of_byref_and_no_package(daemon):
    daemon.start(echo=True)
    script = f"import sys, runpy; before = set(sys.modules)\nsys.argv = ['hook.py', 'claude-code', '--wait', '30']\n" \
             f"hook = {{}}; exec(open({hook.__file__!r}).read(), hook)\nhook['main'](sys.argv[1:])\n" \
             "sys.stderr.write(' '.join(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script.replace(", runpy", "")], input=b"x", capture_output=True,
                          timeout=LIMIT, env=daemon.byref.env, check=False)
    assert done.stdout == b"auto of claude-code: x" and done.stderr.decode().split() == ["_socket"]


@pytest.mark.parametrize("environ", [
    {"BYREF_HOME": "/data/byref"}, {"BYREF_HOME": "relative/../byref"}, {"BYREF_HOME": "/data//byref/./x/"}, {"HOME": "/home/me"},
    {"XDG_DATA_HOME": "/data", "HOME": "/home/me"}, {"XDG_DATA_HOME": "data", "HOME": "/home/me"}, {}])
def test_it_finds_the_same_home_as_byref(environ, monkeypatch):
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
    assert hook.home_folder(encoded) == os.fsencode(config.home_folder(environ))


@pytest.mark.parametrize("value", ["", "off", "OFF", "0", "false", "no", "on", "1"])
def test_it_is_switched_off_by_the_same_words_as_byref(value):
    assert hook.switched_off({b"BYREF": value.encode()}) == config.switched_off({"BYREF": value})


def test_it_says_what_the_environment_sets_in_the_words_of_byref():
    environ = {name.decode(): "x" for name in hook.SETTINGS} | {"HOME": "y", "BYREF": "on"}
    assert {name.decode(): "x" for name in hook.SETTINGS} == config.given(environ)
    assert byref.__version__ == hook.VERSION


def test_a_home_too_deep_for_a_socket_has_it_elsewhere():
    deep = b"/home/me/" + b"deep/" * 30
    path = hook.socket_path(deep)
    assert path.startswith(b"/tmp/byref-%d/" % os.getuid()) and len(path) < 100 and path != hook.socket_path(deep + b"x")
    assert hook.socket_path(b"/home/me") == b"/home/me/daemon.sock"


def test_a_log_that_grew_too_long_makes_room(tmp_path):
    home = os.fsencode(tmp_path / "home")
    hook.log(home, "first")
    (tmp_path / "home" / "byref.log").write_bytes(b"x" * (hook.LOG_LIMIT + 1))
    hook.log(home, "second\nline")
    hook.log(home, "third")
    assert (tmp_path / "home" / "byref.log").read_text().endswith("third\n")
    assert "second line" in (tmp_path / "home" / "byref.log.1").read_text()
    hook.log(b"/proc/none", "nowhere to write it")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can listen as another user")
def test_nothing_is_told_to_another_users_daemon(tmp_path):
    script = "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o666); " \
             "os.setuid(65534); s.listen(); print(flush=True); c = s.accept()[0]; print(c.recv(100))"
    path = str(tmp_path / "daemon.sock")
    with subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"\n"
        with pytest.raises(PermissionError):
            hook.call(os.fsencode(path), "POST /hooks/x", b"secret", time.monotonic() + 60)
        assert other.stdout.read() == b"b''\n"


def test_time_runs_out_for_good():
    with pytest.raises(TimeoutError):
        hook.call(b"/nonexistent", "GET /", b"", time.monotonic() - 1)
