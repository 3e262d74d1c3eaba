"""The life of the daemon: its token, its socket, and who ends it."""
from __future__ import annotations

import asyncio
import os
import socket
import threading
import time

import pytest
from aiohttp import web

from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.frontends import daemon as module
from byref.proxy.frontends import hook, serve
from byref.proxy.frontends.daemon import Daemon, token


def test_the_token_stays_the_same_from_start_to_start(tmp_path):
    first = token(str(tmp_path))
    assert len(first) >= 32 and token(str(tmp_path)) == first
    assert (tmp_path / "daemon.token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spoil", [
    lambda path: path.chmod(0o644), lambda path: path.write_text("short\n"), lambda path: path.write_text("")])
def test_a_token_that_others_may_have_read_or_guess_is_replaced(tmp_path, spoil):
    first = token(str(tmp_path))
    spoil(tmp_path / "daemon.token")
    second = token(str(tmp_path))
    assert second != first and len(second) >= 32 and (tmp_path / "daemon.token").stat().st_mode & 0o777 == 0o600


def test_a_token_elsewhere_is_not_followed(tmp_path):
    (tmp_path / "other").write_text("x" * 40)
    (tmp_path / "daemon.token").symlink_to(tmp_path / "other")
    with pytest.raises(ConfigError):
        token(str(tmp_path))


def test_the_port_is_that_of_the_daemon_before_while_it_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    home = tmp_path / "home"

    async def once() -> int:
        home.mkdir(exist_ok=True)
        one = Daemon(config.load(environ={"BYREF_HOME": str(home)}), -1, 0, 600)
        runner = web.AppRunner(web.Application())
        await runner.setup()
        try:
            return await one._bind(runner, 0)
        finally:
            await runner.cleanup()
    first = asyncio.run(once())
    assert asyncio.run(once()) == first == module.remembered(str(home / "daemon.port"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", first))
        other.listen()
        second = asyncio.run(once())
    assert second != first and asyncio.run(once()) == second
    for odd in ("", "x", "-1", "80", "999999", "1" * 99):
        (home / "daemon.port").write_text(odd)
        assert module.remembered(str(home / "daemon.port")) == 0 and asyncio.run(once()) >= 1024


def test_a_folder_of_another_user_holds_no_socket(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    daemon = Daemon(config.load(url=f"file:{tmp_path}", environ={"BYREF_HOME": str(tmp_path)}), -1, None, 1)
    with pytest.raises(ConfigError, match="another user"):
        daemon._listen()


def test_one_that_leaves_makes_room_before_it_has_ended(tmp_path):
    """The socket is gone and the lock is free while an answer is still on its way."""
    home = str(tmp_path / "home")
    lock = serve.take_lock(home)
    assert lock is not None
    begun, go = threading.Event(), threading.Event()

    def answer(gateway, harness, event):
        begun.set()
        go.wait(60)
        return event

    daemon = Daemon(config.load(environ={"BYREF_HOME": home}), lock, None, 600, answer)
    answers = []

    def client() -> None:
        until = time.monotonic() + 60
        while True:
            try:
                answers.append(hook.call(daemon.path, "POST /hooks/x", b"event", until))
                return
            except hook.Absent:
                time.sleep(0.02)

    async def scenario() -> None:
        serving = asyncio.ensure_future(daemon._serve())
        asking = threading.Thread(target=client)
        asking.start()
        await asyncio.to_thread(begun.wait, 60)
        daemon.leave("a test")
        assert not os.path.exists(daemon.path)
        next_lock = serve.take_lock(home, 0.1)
        assert next_lock is not None and not answers
        os.close(next_lock)
        go.set()
        assert await serving == 0
        await asyncio.to_thread(asking.join)

    asyncio.run(scenario())
    assert answers == [(200, b"event")]


def test_it_leaves_the_socket_of_another_one_alone(tmp_path):
    daemon = Daemon(config.load(environ={"BYREF_HOME": str(tmp_path)}), -1, None, 1)
    daemon._listen().close()
    other = Daemon(config.load(environ={"BYREF_HOME": str(tmp_path)}), -1, None, 1)
    listener = other._listen()
    daemon.leave("a test")
    assert os.path.exists(other.path) and not daemon._listed() and other._listed()
    listener.close()
