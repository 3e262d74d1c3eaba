"""Several servers asked at once: each as the client knows it, and what to make of those that do not answer."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap.endpoint import Endpoint
from byref.proxy.frontends.wrap.eras import Translated
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import GONE, METHOD_NOT_FOUND, RpcError
from byref.proxy.frontends.wrap.upstream import Upstream

SLOW = 8.0  # seconds for a server to answer what all are asked; a slower one is left out, and comes later


@dataclass(slots=True)
class Face:
    """One server, as the client knows it.

    live: the connection on which it was introduced. found: what it said of itself then. translated: it, where it is of
    another era than the client. lists: what it listed last, by the key of the list.
    """

    upstream: Upstream
    prefix: str
    live: Endpoint | None = None
    found: Mapping[str, Json] = field(default_factory=dict)
    translated: Translated | None = None
    lists: dict[str, list[Mapping[str, Json]]] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def able(self, kind: str) -> bool:
        """Whether it declares a capability; before it has declared any, it may have each."""
        able = self.found.get("capabilities")
        return not isinstance(able, dict) or kind in able


Work = Callable[[Face], Coroutine[None, None, None]]


async def together(faces: Sequence[Face], work: Work, *, late: Callable[[Face], Awaitable[None]] | None = None,
                   hold: Callable[[Coroutine[None, None, None]], None]) -> list[Face]:
    """Does the same with each server; returns those with which it succeeded, in their order. Raises `RpcError` where there is none.

    late: what is done with a server that succeeds only after `SLOW`; hold keeps that going. Without it, one server that
    does not know what is asked, or has not answered by then, decides for all.
    """
    tasks = {asyncio.create_task(work(face)): face for face in faces}
    pending = set(tasks)
    faults: list[str] = []
    found: list[Face] = []
    try:
        _, pending = await asyncio.wait(tasks, timeout=SLOW)
        for task, face in tasks.items():
            fault = None if task in pending else task.exception()
            if late is None and (task in pending or (isinstance(fault, RpcError) and fault.code == METHOD_NOT_FOUND)):
                raise RpcError.made(METHOD_NOT_FOUND, f"{face.upstream.name} does not know this")
            if task in pending:
                faults.append(f"{face.upstream.name} has not answered in {SLOW:.0f} s")
            elif fault is None:
                found.append(face)
            elif isinstance(fault, RpcError):
                faults.append(str(fault))
            elif isinstance(fault, Gone):
                faults.append(f"{face.upstream.name} {fault}")
            else:
                raise fault
    except BaseException:
        for task in pending:
            task.cancel()
        raise
    if late is not None:
        for task in pending:
            hold(_later(task, tasks[task], late))
    if not found:
        raise RpcError.made(GONE, f"none of the servers is there: {'; '.join(faults)}")
    return found


async def _later(task: asyncio.Task[None], face: Face, late: Callable[[Face], Awaitable[None]]) -> None:
    try:
        await task
    except (RpcError, Gone):
        return
    await late(face)
