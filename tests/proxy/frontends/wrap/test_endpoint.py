"""One side of a conversation: answers find who asked, what is taken back is not answered, and an end reaches everybody."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from byref.proxy.frontends.wrap import endpoint
from byref.proxy.frontends.wrap.endpoint import Endpoint
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import Body, Message, RpcError


class Wire:
    """A wire in memory: what is sent lies in `sent`, what is put into `came` is read."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.came: asyncio.Queue[bytes | Message | None] = asyncio.Queue()

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def receive(self) -> bytes | Message | None:
        return await self.came.get()

    async def why(self) -> str:
        return "closed"

    async def close(self) -> None:
        await self.came.put(None)


class Handler:
    """Answers `slow` never, `fail` with an error, `break` by a fault, all else with its parameters."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.taken: list[str] = []

    async def request(self, message: Message) -> Body:
        if message.method == "slow":
            await asyncio.Event().wait()
        if message.method == "fail":
            raise RpcError.made(-5, "no")
        if message.method == "break":
            raise KeyError("x")
        return message.body or Body.of({})

    async def notification(self, message: Message) -> None:
        self.told.append(message.method)

    def cancelled(self, message: Message) -> None:
        self.taken.append(str(message.params["requestId"]))


def conversing(test: Callable[[Endpoint, Wire, Handler], Awaitable[None]]) -> list[str]:
    said: list[str] = []

    async def run() -> None:
        wire, handler = Wire(), Handler()
        point = Endpoint(wire, handler, said.append)
        running = asyncio.ensure_future(point.run())
        await asyncio.wait_for(test(point, wire, handler), 30)
        await wire.close()
        assert await running == "closed"
    asyncio.run(run())
    return said


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_answers_find_who_asked_in_whatever_order_they_come() -> None:
    async def test(point: Endpoint, wire: Wire, handler: Handler) -> None:
        asked = [asyncio.ensure_future(point.request(i, "m", None)) for i in (1, "b", 3)]
        await settle()
        assert point.asks("b") and not point.asks("9")
        for line in (b'{"id":3,"result":{"n":3}}', b'{"id":9,"result":{}}', b'{"id":"b","error":{"code":-1,"message":"no"}}',
                     b'{"id":1,"result":{"n":1}}', b'{"id":1,"result":{"n":2}}'):
            await wire.came.put(line)
        assert (await asked[0]).object == {"n": 1} and (await asked[2]).object == {"n": 3}
        with pytest.raises(RpcError, match="no"):
            await asked[1]
    conversing(test)


def test_the_end_of_the_wire_ends_all_that_waits() -> None:
    async def test(point: Endpoint, wire: Wire, handler: Handler) -> None:
        asked = [asyncio.ensure_future(point.request(i, "m", None)) for i in range(3)]
        await settle()
        await wire.came.put(None)
        for one in asked:
            with pytest.raises(Gone, match="closed"):
                await one
        with pytest.raises(Gone):
            await point.request(7, "m", None)
    conversing(test)


def test_requests_are_answered_errors_and_faults_too() -> None:
    async def test(point: Endpoint, wire: Wire, handler: Handler) -> None:
        for line in (b'{"id":1,"method":"echo","params":{"a":1.0}}', b'{"id":2,"method":"fail"}', b'{"id":3,"method":"break"}',
                     b'not a message', b'{"method":"told"}'):
            await wire.came.put(line)
        await settle()
        answers = {message.id: (message.failed, message.body and message.body.object) for message in wire.sent}
        assert answers == {1: (False, {"a": 1.0}), 2: (True, {"code": -5, "message": "no"}),
                           3: (True, {"code": -32603, "message": "byref: KeyError"})}
        assert handler.told == ["told"]
    said = conversing(test)
    assert len(said) == 2 and "no message" in said[1] + said[0]


def test_what_is_taken_back_is_not_answered() -> None:
    async def test(point: Endpoint, wire: Wire, handler: Handler) -> None:
        await wire.came.put(b'{"id":"s","method":"slow"}')
        await settle()
        await wire.came.put(b'{"method":"notifications/cancelled","params":{"requestId":"s"}}')
        await wire.came.put(b'{"method":"notifications/cancelled","params":{"requestId":"late"}}')
        await settle()
        assert wire.sent == [] and handler.taken == ["s"] and handler.told == ["notifications/cancelled"]
    conversing(test)


def test_too_many_requests_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST", 3)

    async def test(point: Endpoint, wire: Wire, handler: Handler) -> None:
        for number in range(4):
            await wire.came.put(b'{"id":%d,"method":"slow"}' % number)
        await settle()
        assert [message.id for message in wire.sent] == [3] and wire.sent[0].failed
    conversing(test)


def test_a_second_request_under_an_id_that_waits_is_an_error() -> None:
    async def test(point: Endpoint, wire: Wire, handler: Handler) -> None:
        first = asyncio.ensure_future(point.request(1, "m", None))
        await settle()
        with pytest.raises(RpcError, match="in use"):
            await point.request(1, "m", None)
        await wire.came.put(b'{"id":1,"result":{}}')
        await first
    conversing(test)


def test_answers_under_way_are_given_although_no_more_is_asked() -> None:
    async def run() -> list[Message]:
        wire = Wire()
        point = Endpoint(wire, Handler(), print, 0.05)
        for line in (b'{"id":1,"method":"echo"}', b'{"id":2,"method":"slow"}', None):
            await wire.came.put(line)
        await point.run()
        return wire.sent
    assert [message.id for message in asyncio.run(run())] == [1]
