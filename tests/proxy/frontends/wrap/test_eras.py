"""A server of the newer era for a client of the handshake: envelopes, rounds of input, one stream of changes."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from byref.proxy.frontends.wrap.eras import ACKNOWLEDGED, LISTEN, ROUNDS, SUBSCRIPTION_KEY, Translated, envelope, told
from byref.proxy.frontends.wrap.messages import VERSION_KEY, Body, Message, RpcError

HELLO: Mapping[str, Any] = {"clientInfo": {"name": "c"}, "capabilities": {"roots": {}}}


class Server:
    """Asks for a name until it has two answers; listens for ever."""

    name = "new"

    def __init__(self, rounds: int = 2) -> None:
        self.rounds, self.asked, self.told = rounds, [], []
        self.asked: list[tuple[Any, str, dict[str, Any]]]
        self.told: list[Message]

    def own_id(self) -> str:
        return f"own-{len(self.asked)}"

    async def request(self, number: Any, method: str, params: Body) -> Body:
        self.asked.append((number, method, params.object))
        if method in (LISTEN, "hang"):
            await asyncio.Event().wait()
        state = int(params.object.get("requestState", 0))  # type: ignore[arg-type, call-overload]
        if state < self.rounds:
            wanted = {"name": {"method": "elicitation/create", "params": {"message": f"name {state}"}}}
            return Body.of({"resultType": "input_required", "inputRequests": wanted, "requestState": str(state + 1)})
        return Body.of({"resultType": "complete", "content": []})

    async def notify(self, message: Message) -> None:
        self.told.append(message)


async def client(number: Any, method: str, body: Body | None) -> Body:
    return Body.of({"to": body.object if body else None, "method": method})


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not seen():
            await asyncio.sleep(0.001)


def translated(server: Server) -> Translated:
    return Translated(server, "2026-07-28", HELLO, client)  # type: ignore[arg-type]


def test_the_client_is_asked_and_the_request_goes_out_again_with_its_answers() -> None:
    server = Server()

    async def run() -> Body:
        return await translated(server).request(Message(5, "tools/call", Body.of({"name": "x", "_meta": {"progressToken": 1}})))
    assert asyncio.run(run()).object == {"resultType": "complete", "content": []}
    assert [number for number, _, _ in server.asked] == [5, "own-1", "own-2"]
    last = server.asked[-1][2]
    assert last["inputResponses"] == {"name": {"to": {"message": "name 1"}, "method": "elicitation/create"}} and last["requestState"] == "2"
    assert last["_meta"] == {"progressToken": 1, **envelope("2026-07-28", HELLO)} and last["name"] == "x"


def test_one_that_asks_without_end_is_an_error() -> None:
    with pytest.raises(RpcError, match=f"{ROUNDS} times"):
        asyncio.run(translated(Server(1000)).request(Message(5, "tools/call", Body.of({"name": "x"}))))


def test_levels_and_subscriptions_of_the_handshake_become_what_the_newer_era_has() -> None:
    server = Server(0)

    async def run() -> None:
        new = translated(server)
        await new.request(Message(1, "logging/setLevel", Body.of({"level": "debug"})))
        await new.request(Message(2, "resources/subscribe", Body.of({"uri": "a"})))
        await new.request(Message(3, "resources/subscribe", Body.of({"uri": "b"})))
        await asyncio.sleep(0)
        await new.request(Message(4, "resources/unsubscribe", Body.of({"uri": "a"})))
        await until(lambda: server.asked[-1][2]["notifications"].get("resourceSubscriptions") == ["b"])
        heard = len(server.told)
        new.close()
        await until(lambda: len(server.told) > heard)
    asyncio.run(run())
    assert server.asked[-1][1] == LISTEN and server.asked[-1][2]["notifications"]["resourceSubscriptions"] == ["b"]
    assert server.asked[-1][2]["_meta"]["io.modelcontextprotocol/logLevel"] == "debug"
    assert server.told[-1].method == "notifications/cancelled"


def test_a_later_round_that_is_taken_back_is_taken_back_under_its_own_id() -> None:
    server = Server()

    async def run() -> None:
        new = translated(server)
        server.request = _hang_after(server)  # type: ignore[method-assign]
        task = asyncio.ensure_future(new.request(Message(5, "tools/call", Body.of({}))))
        await until(lambda: len(server.asked) == 2)
        task.cancel()
        await until(lambda: bool(server.told))
    asyncio.run(run())
    assert [message.params for message in server.told] == [{"requestId": "own-1"}]


def _hang_after(server: Server) -> Any:
    first = Server.request

    async def request(number: Any, method: str, params: Body) -> Body:
        return await first(server, number, "hang" if server.asked else method, params)
    return request


def test_notifications_lose_what_only_the_newer_era_knows() -> None:
    stamped = {SUBSCRIPTION_KEY: 3}
    assert told(Message(None, ACKNOWLEDGED, Body.of({"_meta": stamped}))) is None
    changed = told(Message(None, "notifications/tools/list_changed", Body.of({"_meta": stamped})))
    assert changed is not None and changed.body is None
    updated = told(Message(None, "notifications/resources/updated", Body.of({"uri": "a", "_meta": {**stamped, "k": 1}})))
    assert updated is not None and updated.params == {"uri": "a", "_meta": {"k": 1}}
    plain = Message(None, "notifications/message", Body.of({"data": 1}))
    assert told(plain) is plain and VERSION_KEY in envelope("v", HELLO)
