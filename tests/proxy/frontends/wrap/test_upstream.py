"""A server through its lives: started again after each end, asked when it is there, and an error when it is not."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from byref.proxy.frontends.wrap import upstream
from byref.proxy.frontends.wrap.endpoint import Endpoint, Handler, Wire
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import Body, Message, RpcError
from byref.proxy.frontends.wrap.upstream import Upstream


class Echo:
    """A server in memory: answers each request with its method; ends when it is asked `die`."""

    def __init__(self) -> None:
        self.came: asyncio.Queue[Message | None] = asyncio.Queue()
        self.sent: list[Message] = []

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message.method == "die":
            await self.came.put(None)
        elif message.id is not None and message.method != "hang":
            await self.came.put(Message(message.id, "", Body.of({"method": message.method})))

    async def receive(self) -> Message | None:
        return await self.came.get()

    async def why(self) -> str:
        return "died"

    async def close(self) -> None:
        await self.came.put(None)


class Server:
    """Starts it; fails as often as `faults` has faults."""

    name = "server"

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.started: list[Echo] = []

    async def connect(self) -> Wire:
        await asyncio.sleep(0.01)
        if self.faults:
            raise self.faults.pop(0)
        self.started.append(Echo())
        return self.started[-1]


class Owner:
    def __init__(self) -> None:
        self.events: list[str] = []

    def handler(self, one: Upstream) -> Handler:
        return self  # type: ignore[return-value]  # the servers here ask nothing

    async def welcome(self, one: Upstream, live: Endpoint) -> None:
        self.events.append("welcome")
        await live.request(one.own_id(), "hello", None)

    async def lost(self, one: Upstream, why: str) -> None:
        self.events.append(f"lost: {why}")

    async def returned(self, one: Upstream, why: str) -> None:
        self.events.append(f"returned: {why}")


def living(server: Server, test: Callable[[Upstream, Owner], Awaitable[None]]) -> list[str]:
    said: list[str] = []

    async def run() -> None:
        owner = Owner()
        one = Upstream(server, owner, said.append)
        running = asyncio.ensure_future(one.run())
        await asyncio.wait_for(test(one, owner), 30)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not one.up
    asyncio.run(run())
    return said


async def asked(one: Upstream, method: str) -> object:
    return (await one.ask(method))["method"]


def test_it_is_asked_as_soon_as_it_has_been_welcomed() -> None:
    server = Server()

    async def test(one: Upstream, owner: Owner) -> None:
        assert await asked(one, "m") == "m" and owner.events == ["welcome"]
        assert [message.method for message in server.started[0].sent] == ["hello", "m"]
    living(server, test)


def test_who_waited_gets_an_error_and_who_asks_then_waits_for_the_next_life() -> None:
    server = Server()

    async def test(one: Upstream, owner: Owner) -> None:
        await asked(one, "m")
        hanging = asyncio.ensure_future(one.request("h", "hang", None))
        await asyncio.sleep(0)
        assert one.asked("h")
        with pytest.raises(RpcError, match="server died, before it answered"):
            await one.ask("die")
        with pytest.raises(RpcError, match="died"):
            await hanging
        assert await asked(one, "m") == "m" and len(server.started) == 2
        while len(owner.events) < 4:
            await asyncio.sleep(0.001)
        assert sorted(owner.events[1:]) == ["lost: died", "returned: died", "welcome"]
    living(server, test)


def test_one_that_does_not_start_is_an_error_that_says_why_and_is_tried_again_when_asked() -> None:
    server = Server(FileNotFoundError(2, "No such file", "/no/such"), Gone("x"))

    async def test(one: Upstream, owner: Owner) -> None:
        with pytest.raises(RpcError, match="server could not be started: /no/such: No such file"):
            await one.ask("m")
        with pytest.raises(RpcError, match="could not be started: x"):
            await one.ask("m")
        assert await asked(one, "m") == "m"
    assert any("could not be started" in text for text in living(server, test))


def test_one_that_does_not_come_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "PATIENCE", 0.05)

    class Slow(Server):
        async def connect(self) -> Wire:
            await asyncio.sleep(60)
            return Echo()

    async def test(one: Upstream, owner: Owner) -> None:
        with pytest.raises(RpcError, match="not started yet"):
            await one.ask("m")
        await one.notify(Message(None, "notifications/x", None))
    living(Slow(), test)


def test_a_connection_can_be_renewed_without_a_word() -> None:
    server = Server()

    async def test(one: Upstream, owner: Owner) -> None:
        await asked(one, "m")
        await one.renew()
        assert await asked(one, "m") == "m" and len(server.started) == 2 and owner.events == ["welcome", "welcome"]
    living(server, test)
