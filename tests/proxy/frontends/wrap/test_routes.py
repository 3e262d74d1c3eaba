"""The way to one server: ids and tokens of its first life pass as they are, those of later lives cannot be mistaken for them."""
from __future__ import annotations

import asyncio
from typing import Any

from byref.proxy.frontends.wrap.messages import Body, Message
from byref.proxy.frontends.wrap.routes import Single
from byref.proxy.frontends.wrap.upstream import Upstream


class Server:
    name = "s"

    async def connect(self) -> Any:
        raise OSError("not here")


class Client:
    """What is sent to the client; its answers repeat the id."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, str, Any]] = []

    async def request(self, number: Any, method: str, params: Body | None) -> Body:
        self.heard.append((number, method, params.object if params else None))
        if method == "hang":
            await asyncio.Event().wait()
        return Body.of({"for": number})

    async def notify(self, message: Message) -> None:
        self.heard.append((None, message.method, message.params))


def made() -> tuple[Single, Upstream, Client]:
    routes, client = Single([Server()], print), Client()
    routes.client = client  # type: ignore[assignment]
    return routes, routes.upstreams[0], client


def test_the_first_life_speaks_under_its_own_ids_and_later_ones_under_others() -> None:
    async def run() -> list[Any]:
        routes, upstream, client = made()
        request = Message(1, "elicitation/create", Body.of({"_meta": {"progressToken": 4}}))
        for _ in range(2):
            await routes.handler(upstream).request(request)
        return client.heard
    first, second = asyncio.run(run())
    assert first == (1, "elicitation/create", {"_meta": {"progressToken": 4}})
    assert second == ("s.2:1", "elicitation/create", {"_meta": {"progressToken": "s.2:n4"}})


def test_progress_comes_back_under_the_token_that_the_server_gave() -> None:
    async def run() -> list[Message]:
        routes, upstream, _ = made()
        told: list[Message] = []

        async def notify(message: Message) -> None:
            told.append(message)
        upstream.notify = notify  # type: ignore[method-assign]
        routes.handler(upstream)
        await routes.notify(Message(None, "notifications/progress", Body.of({"progressToken": "own", "progress": 1})))
        routes.handler(upstream)
        await routes.notify(Message(None, "notifications/progress", Body.of({"progressToken": "s.2:n4", "progress": 1})))
        await routes.notify(Message(None, "notifications/roots/list_changed", None))
        return told
    told = asyncio.run(run())
    assert [message.params.get("progressToken") for message in told] == ["own", 4, None]


def test_a_question_of_a_server_that_has_ended_is_taken_back_once() -> None:
    async def run() -> list[Any]:
        routes, upstream, client = made()
        back = routes.handler(upstream)
        for taken in (False, True):
            task = asyncio.ensure_future(back.request(Message(7, "hang", None)))
            await asyncio.sleep(0)
            if taken:
                back.cancelled(Message(None, "notifications/cancelled", Body.of({"requestId": 7, "reason": "no need"})))
            task.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
        return [params for _, method, params in client.heard if method == "notifications/cancelled"]
    assert asyncio.run(run()) == [{"requestId": 7, "reason": "s has ended"}, {"requestId": 7, "reason": "no need"}]


def test_what_the_next_life_has_to_know_is_noted() -> None:
    routes, upstream, _ = made()
    for method, params in (
            ("logging/setLevel", {"level": "a"}), ("logging/setLevel", {"level": "b"}), ("resources/subscribe", {"uri": "u"}),
            ("resources/subscribe", {"uri": "v"}), ("resources/unsubscribe", {"uri": "u"}), ("tools/call", {})):
        routes.remember(upstream, Message(1, method, Body.of(params)))
    assert [message.params for message in upstream.said.values()] == [{"level": "b"}, {"uri": "v"}]


def test_nobody_is_told_of_a_return_before_there_was_a_handshake() -> None:
    async def run() -> tuple[int, list[str]]:
        routes, upstream, client = made()
        await routes.returned(upstream, "died")
        before = len(client.heard)
        routes.hello = Body.of({})
        await routes.returned(upstream, "died")
        return before, [method for _, method, _ in client.heard]
    before, heard = asyncio.run(run())
    assert before == 0 and heard[0] == "notifications/message" and "notifications/tools/list_changed" in heard
