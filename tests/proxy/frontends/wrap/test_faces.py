"""Servers asked together: who answers counts, who is late comes later, and nobody there is an error."""
from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from byref.proxy.frontends.wrap import faces
from byref.proxy.frontends.wrap.faces import Face, together
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import RpcError


def made(*names: str) -> list[Face]:
    return [Face(SimpleNamespace(name=name), name) for name in names]  # type: ignore[arg-type]  # of a server the name alone is used here


async def work(face: Face) -> None:
    match face.prefix.partition("-")[0]:
        case "dead":
            raise RpcError.made(-32000, f"{face.prefix} is dead")
        case "gone":
            raise Gone("has ended")
        case "old":
            raise RpcError.made(-32601, "what?")
        case "slow":
            await asyncio.sleep(0.2)
        case "broken":
            raise KeyError("a fault of ours")


async def ignore(face: Face) -> None:
    pass


def test_who_answers_counts_in_the_order_of_the_servers() -> None:
    found = asyncio.run(together(made("a", "dead", "b", "gone"), work, late=ignore, hold=asyncio.ensure_future))  # type: ignore[arg-type]
    assert [face.prefix for face in found] == ["a", "b"]


def test_nobody_there_is_an_error_that_says_of_each_why() -> None:
    with pytest.raises(RpcError, match="none of the servers is there: dead is dead; gone has ended"):
        asyncio.run(together(made("dead", "gone"), work, late=ignore, hold=asyncio.ensure_future))  # type: ignore[arg-type]


def test_a_fault_of_ours_is_no_dead_server() -> None:
    with pytest.raises(KeyError):
        asyncio.run(together(made("a", "broken"), work, late=ignore, hold=asyncio.ensure_future))  # type: ignore[arg-type]


def test_a_slow_one_is_left_out_and_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "SLOW", 0.02)
    came: list[str] = []

    async def late(face: Face) -> None:
        came.append(face.prefix)

    async def run() -> list[Face]:
        held: list[Any] = []

        def hold(rest: Coroutine[None, None, None]) -> None:
            held.append(asyncio.ensure_future(rest))
        found = await together(made("slow-1", "a"), work, late=late, hold=hold)
        assert came == []
        await asyncio.gather(*held)
        return found
    assert [face.prefix for face in asyncio.run(run())] == ["a"] and came == ["slow-1"]


@pytest.mark.parametrize("other", ["old", "slow"])
def test_where_all_have_to_know_it_one_that_does_not_decides(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    monkeypatch.setattr(faces, "SLOW", 0.02)
    with pytest.raises(RpcError) as caught:
        asyncio.run(together(made("a", other), work, hold=asyncio.ensure_future))  # type: ignore[arg-type]
    assert caught.value.code == -32601


def test_capabilities_are_unknown_until_they_are_declared() -> None:
    face, = made("a")
    assert face.able("tools")
    face.found = {"capabilities": {"tools": {}}}
    assert face.able("tools") and not face.able("prompts")
