"""A session that begins has models loaded where its first search is to be expected, and nowhere else."""
from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import byref
from byref.proxy import indexing
from byref.proxy.frontends import hooks
from byref.proxy.frontends.command import SESSION
from byref.proxy.frontends.warming import LATELY, warm

TEXT = "the pool was closed by the janitor\n" * 40


@pytest.fixture
def now() -> list[float]:
    return [time.time()]


@pytest.fixture
def gateway(tmp_path: Path, now: list[float]) -> Iterator[byref.Gateway]:
    with byref.open(f"file:{tmp_path / 'store'}", clock=lambda: now[0]) as made:
        yield made


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(indexing.Indexes, "warm", lambda self, name: found.append(name))
    return found


def searched(gateway: byref.Gateway, scope: str, name: str = SESSION) -> None:
    session = gateway.session(name, scope=scope)
    session.capture(tool="Bash", args={"command": "make"}, output=TEXT)
    session.search("who closed the pool")
    gateway.indexes.build(scope)


def soon(found: list[str]) -> list[str]:
    end = time.monotonic() + 60
    while not found and time.monotonic() < end:
        time.sleep(0.01)
    return found


def quiet(found: list[str]) -> bool:
    time.sleep(0.3)
    return not found


def test_where_it_was_searched_lately(gateway: byref.Gateway, warmed: list[str]) -> None:
    searched(gateway, "one")
    warm(gateway, "one", SESSION.__eq__)
    assert soon(warmed) == ["one"]


def test_not_where_nobody_did_so_in_this_way_here_or_lately(gateway: byref.Gateway, warmed: list[str], now: list[float]) -> None:
    warm(gateway, "one", SESSION.__eq__)
    assert quiet(warmed), "no index at all"
    searched(gateway, "one", "s1")
    warm(gateway, "one", SESSION.__eq__)
    assert quiet(warmed), "by sessions that another process answers"
    searched(gateway, "one")
    warm(gateway, "other", SESSION.__eq__)
    now[0] += LATELY + 1
    warm(gateway, "one", SESSION.__eq__)
    assert quiet(warmed), "in another scope, and long ago"


def test_the_daemon_does_so_when_a_conversation_begins(gateway: byref.Gateway, warmed: list[str], tmp_path: Path) -> None:
    event = {"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": "SessionStart", "source": "startup"}
    hooks.answer(gateway, "claude-code", json.dumps(event).encode())
    assert quiet(warmed)
    scope = hooks.config.scope_here(str(tmp_path))
    searched(gateway, scope)
    hooks.answer(gateway, "claude-code", json.dumps({**event, "session_id": "s2"}).encode())
    assert soon(warmed) == [scope]


def test_a_fault_is_logged_and_nobody_waits_for_it(gateway: byref.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    searched(gateway, "one")
    told: list[str] = []
    monkeypatch.setattr(gateway.faults, "add", lambda where, fault: told.append(where))

    def broken(self: indexing.Indexes, name: str) -> None:
        raise OSError("no disk")
    monkeypatch.setattr(indexing.Indexes, "warm", broken)
    warm(gateway, "one", SESSION.__eq__)
    assert soon(told) == ["warming"]
