"""Clients over HTTP get from servers behind pipes what a client over pipes gets: in both eras, each in its own session."""
from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import pytest

import byref
from byref.proxy.frontends.wrap import downstream as module
from byref.proxy.frontends.wrap import hosting
from byref.proxy.frontends.wrap.door import Door
from byref.proxy.frontends.wrap.downstream import Downstream
from byref.proxy.frontends.wrap.proxy import Options
from byref.proxy.frontends.wrap.servers import Local
from relaying import LIMIT, Talk, events, hosted
from wrapped import ENVELOPE, HELLO, SERVERS, gone

MODERN = {"Mcp_Protocol_Version": "2026-07-28"}
EVERYTHING, UNRULY = "everything_server.py", "unruly_server.py"


@contextlib.asynccontextmanager
async def served(server: str) -> AsyncIterator[tuple[Talk, Downstream]]:
    """A client of servers behind pipes."""
    door, said = Door("127.0.0.1", ""), []
    local = Local(server, sys.executable, (str(SERVERS / server),), dict(os.environ))
    with byref.open("memory:") as gateway, ThreadPoolExecutor(2) as pool:
        site = hosting.downstream(
            [local], door, lambda: gateway.session("mcp", scope="s", proven=False), pool, Options(), "byref", said.append)
        await site.open()
        try:
            async with hosted(site.handle) as origin, aiohttp.ClientSession(headers={"Content-Type": "application/json"}) as http:
                door.port = int(origin.rpartition(":")[2])
                yield Talk(origin, http, gateway, said), site
        finally:
            await site.close()


def over(server: str, test: Callable[[Talk, Downstream], Awaitable[None]]) -> None:
    async def run() -> None:
        async with served(server) as (client, site):
            await asyncio.wait_for(test(client, site), LIMIT)
    asyncio.run(run())


async def hello(client: Talk) -> str:
    """Shakes hands; the session."""
    found = await client.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
    assert found.status == 200 and found.json["result"]["serverInfo"]
    key: str = found.headers["Mcp-Session-Id"]
    told = await client.ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=key)
    assert (told.status, told.body) == (202, b"")
    return key


def call(number: Any, name: str, meta: Any = None, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_each_session_has_a_server_of_its_own_that_ends_with_it() -> None:
    async def test(client: Talk, site: Downstream) -> None:
        sessions = [await hello(client) for _ in range(2)]
        pids = [json.loads((await client.ask(call(1, "where"), Mcp_Session_Id=key)).json["result"]["content"][0]["text"])["pid"]
                for key in sessions]
        assert len({*sessions}) == len({*pids}) == 2
        assert (await client.ask(None, "DELETE", Mcp_Session_Id=sessions[0])).status == 200
        while not gone(pids[0]):
            await asyncio.sleep(0.01)
        assert not gone(pids[1])
        assert (await client.ask(call(2, "where"), Mcp_Session_Id=sessions[0])).status == 404
        assert (await client.ask(call(2, "where"))).status == 400
    over(UNRULY, test)


def test_what_a_server_says_and_asks_while_it_works_comes_before_its_answer() -> None:
    async def test(client: Talk, site: Downstream) -> None:
        key = await hello(client)
        answer = await client.ask(call("p", "test_tool_with_progress", {"progressToken": "t"}), Mcp_Session_Id=key)
        (*progress, last) = events(answer.body)
        assert [one["params"]["progress"] for one in progress if one["method"] == "notifications/progress"] == [0, 50, 100]
        assert last["id"] == "p" and last["result"]["content"]

        async with client.http.post(client.origin + "/mcp", json=call("q", "test_elicitation", message="who?"), headers={
                "Mcp-Session-Id": key, "Accept": "application/json, text/event-stream"}) as asking:
            line = b""
            while not line.startswith(b"data:"):
                line = await asking.content.readline()
            asked = json.loads(line[5:])
            assert asked["method"] == "elicitation/create"
            said = await client.ask({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}, Mcp_Session_Id=key)
            assert said.status == 202
            assert events(await asking.content.read())[-1]["id"] == "q"
    over(EVERYTHING, test)


def test_requests_without_a_session_are_answered_one_by_one_whoever_asks_under_the_same_id() -> None:
    async def test(client: Talk, site: Downstream) -> None:
        async def one(text: str) -> str:
            asked = await client.ask(call(1, "test_simple_text", ENVELOPE), Mcp_Method="tools/call", Mcp_Name="test_simple_text", **MODERN)
            assert "Mcp-Session-Id" not in asked.headers
            return f"{asked.json['id']} {asked.json['result']['content'][0]['text']}"
        found = await asyncio.gather(*(one(str(n)) for n in range(10)))
        assert found == ["1 This is a simple text response for testing."] * 10
        about = await client.ask({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": {"_meta": ENVELOPE}},
                                 Mcp_Method="server/discover", **MODERN)
        assert about.json["result"]["instructions"].count("fetch")
    over(EVERYTHING, test)


@pytest.mark.parametrize(("change", "status"), [
    ({"Mcp_Method": "tools/list"}, 400), ({"Mcp_Name": "another"}, 400), ({"Mcp_Protocol_Version": "2099-01-01"}, 400),
    ({"Accept": "text/html"}, 406), ({"Content_Type": "text/plain"}, 415), ({"Origin": "http://evil.example"}, 403)])
def test_headers_that_say_something_else_than_the_body_are_refused(change: dict[str, str], status: int) -> None:
    async def test(client: Talk, site: Downstream) -> None:
        headers = {"Mcp_Method": "tools/call", "Mcp_Name": "where", **MODERN, **change}
        assert (await client.ask(call(1, "where", ENVELOPE), **headers)).status == status
    over(UNRULY, test)


@pytest.mark.parametrize(("body", "status", "code"), [
    (b"{", 400, -32700), (b"[]", 400, -32600), (b'{"jsonrpc":"2.0","id":1}', 400, -32600), (b'"x"', 400, -32600)])
def test_what_is_no_message_is_said_to_be_none(body: bytes, status: int, code: int) -> None:
    async def test(client: Talk, site: Downstream) -> None:
        answer = await client.ask(body)
        assert (answer.status, answer.json["error"]["code"]) == (status, code)
    over(UNRULY, test)


def test_methods_and_paths_that_are_not_there_are_said_not_to_be() -> None:
    async def test(client: Talk, site: Downstream) -> None:
        assert (await client.ask(None, "PUT")).status == 405
        assert (await client.ask(None, "GET", **MODERN)).status == 405
        assert (await client.ask(None, "GET", "/other")).status == 404
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": ENVELOPE}}
        assert (await client.ask(ping, Mcp_Method="ping", **MODERN)).status == 404
    over(UNRULY, test)


def test_a_standing_stream_is_one_a_session_and_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING", 0.05)

    async def test(client: Talk, site: Downstream) -> None:
        key = await hello(client)
        headers = {"Mcp-Session-Id": key, "Accept": "text/event-stream"}
        async with client.http.get(client.origin + "/mcp", headers=headers) as answer:
            assert (await answer.content.readline()) == b": ping\n"
            assert (await client.ask(None, "GET", Mcp_Session_Id=key)).status == 409
            answer.close()
        while site._sessions[key].channel.open:
            await asyncio.sleep(0.01)
    over(UNRULY, test)


def test_a_session_that_was_left_alone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE", 5.0)

    async def test(client: Talk, site: Downstream) -> None:
        key = await hello(client)
        site._sessions[key].used -= 6
        while key in site._sessions:
            await asyncio.sleep(0.02)
        assert (await client.ask(call(1, "where"), Mcp_Session_Id=key)).status == 404
    over(UNRULY, test)


def test_a_handshake_that_the_server_refuses_begins_no_session() -> None:
    async def test(client: Talk, site: Downstream) -> None:
        answer = await client.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 5}})
        assert "error" in answer.json and "Mcp-Session-Id" not in answer.headers and not site._sessions
    over(EVERYTHING, test)


def test_more_sessions_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1)

    async def test(client: Talk, site: Downstream) -> None:
        await hello(client)
        assert (await client.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})).status == 503
    over(UNRULY, test)
