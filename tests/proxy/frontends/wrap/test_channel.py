"""Each message finds the answer that it belongs to, and clients whose ids are alike never get one another's."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from byref.proxy.frontends.wrap.channel import BACKLOG, HELD, Channel, Stream
from byref.proxy.frontends.wrap.messages import Body, Message

LIMIT = 60.0
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), LIMIT))


def message(number: Any, method: str, params: Any = None) -> Message:
    return Message(number, method, None if params is None else Body.of(params))


async def asked(channel: Channel, number: Any, method: str = "tools/call", token: Any = None) -> Stream:
    params = {} if token is None else {"_meta": {"progressToken": token}}
    stream = await channel.ask(message(number, method, params))
    assert stream is not None
    return stream


async def got(stream: Stream) -> tuple[Any, str]:
    found = await stream.next(0.05)
    return (None, "") if found is None else (found.id, found.method)


def test_answers_and_progress_go_where_their_request_came_from() -> None:
    async def test() -> None:
        channel = Channel(False)
        first, second = await asked(channel, 1, token="a"), await asked(channel, "1x", token="b")
        assert [(await channel.receive()).id for _ in range(2)] == [1, "1x"]  # type: ignore[union-attr]
        await channel.send(message(None, "notifications/progress", {"progressToken": "a", "progress": 1}))
        await channel.send(message("1x", ""))
        assert await got(first) == (None, "notifications/progress") and await got(second) == ("1x", "")
        assert await got(first) == (None, "") and first.done is False and second.done is True
        assert await channel.ask(message(1, "tools/call")) is None, "an id that is in use"
    run(test)


def test_clients_that_share_a_wire_keep_their_ids_and_tokens_apart() -> None:
    async def test() -> None:
        channel = Channel(True)
        streams = [await asked(channel, 1, token=7) for _ in range(2)]
        sent: list[Any] = [await channel.receive() for _ in range(2)]
        assert sent[0].id != sent[1].id and sent[0].meta["progressToken"] == sent[0].id
        await channel.send(message(None, "notifications/progress", {"progressToken": sent[1].id, "progress": 1}))
        await channel.send(message(sent[0].id, "", {"x": 1}))
        progress = await streams[1].next(1)
        assert progress is not None and progress.params == {"progressToken": 7, "progress": 1}
        assert await got(streams[0]) == (1, "") and await got(streams[1]) == (None, "")
    run(test)


def test_what_a_client_listens_for_goes_to_its_own_stream_under_its_own_id() -> None:
    async def test() -> None:
        channel = Channel(True)
        streams = [await asked(channel, "s", "subscriptions/listen") for _ in range(2)]
        sent: list[Any] = [await channel.receive() for _ in range(2)]
        await channel.send(message(None, "notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: sent[1].id}}))
        heard = await streams[1].next(1)
        assert heard is not None and heard.meta == {SUBSCRIPTION: "s"} and await got(streams[0]) == (None, "")
        await channel.send(message(None, "notifications/message", {"level": "info"}))
        assert await got(streams[0]) == await got(streams[1]) == (None, ""), "nobody listens for that"
    run(test)


def test_the_end_of_a_shared_answer_takes_its_request_back_and_that_of_a_session_does_not() -> None:
    async def test() -> None:
        for mapped in (True, False):
            channel = Channel(mapped)
            first, second = await asked(channel, 1), await asked(channel, 2)
            keys = [(await channel.receive()).id for _ in range(2)]  # type: ignore[union-attr]
            await channel.send(message(keys[1], ""))
            await channel.leave(second)
            await channel.leave(first)
            assert not channel.open
            await channel.put(message(None, "notifications/x"))
            following = await channel.receive()
            assert following is not None
            assert (following.method, following.params) == (
                ("notifications/cancelled", {"requestId": keys[0]}) if mapped else ("notifications/x", {}))
    run(test)


def test_what_a_server_asks_goes_to_the_request_it_works_on_else_to_the_standing_stream_or_waits_for_it() -> None:
    async def test() -> None:
        channel = Channel(False)
        for number in range(BACKLOG + 5):
            await channel.send(message(number, "elicitation/create"))
        standing = await channel.stand()
        assert standing is not None and await channel.stand() is None
        assert [(await got(standing))[0] for _ in range(BACKLOG)] == list(range(5, BACKLOG + 5)), "the oldest were dropped"
        working = await asked(channel, "c")
        await channel.send(message(1, "sampling/createMessage"))
        await channel.send(message(None, "notifications/resources/updated"))
        assert await got(working) == (1, "sampling/createMessage") and await got(standing) == (None, "notifications/resources/updated")
        await channel.leave(standing)
        assert await channel.stand() is not None
    run(test)


def test_who_sends_faster_than_a_client_reads_waits_and_is_let_go_when_the_client_leaves() -> None:
    async def test() -> None:
        channel = Channel(False)
        stream = await asked(channel, 1)

        async def flood() -> None:
            for _ in range(HELD + 10):
                await channel.send(message(None, "notifications/message"))
        flooding = asyncio.ensure_future(flood())
        await asyncio.sleep(0.05)
        assert not flooding.done()
        await channel.leave(stream)
        await flooding
    run(test)


def test_a_channel_that_is_closed_ends_the_wire() -> None:
    async def test() -> None:
        channel = Channel(False)
        reading = asyncio.ensure_future(channel.receive())
        await asyncio.sleep(0)
        await channel.close()
        assert await reading is None and await channel.receive() is None and await channel.why() == "the session is closed"
    run(test)


@pytest.mark.parametrize("mapped", [True, False])
def test_a_late_answer_is_nobodys(mapped: bool) -> None:
    async def test() -> None:
        channel = Channel(mapped)
        stream = await asked(channel, 1)
        await channel.leave(stream)
        await channel.send(message(stream.key, ""))
        assert await got(stream) == (None, "")
    run(test)
