"""Servers over streamable HTTP: a real one in both eras, and one that notes what headers it gets."""
from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from byref.proxy.frontends.wrap.endpoint import Endpoint
from byref.proxy.frontends.wrap.lines import Gone
from byref.proxy.frontends.wrap.messages import Body, Message, RpcError
from byref.proxy.frontends.wrap.streamable import Session
from wrapped import ENVELOPE, HELLO, SERVERS, Talk, config_file, over, talk


@pytest.fixture(scope="module")
def everything() -> Iterator[str]:
    """The URL of a real server with everything."""
    running = subprocess.Popen([sys.executable, str(SERVERS / "everything_server.py"), "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        yield running.stdout.readline().strip()
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


def test_a_client_of_the_handshake_gets_progress_logs_and_questions(everything: str) -> None:
    async def test(client: Talk) -> None:
        about = await client.hello()
        assert about["serverInfo"]["name"] == "byref-everything-server"
        client.answer = lambda message: {"action": "accept", "content": {"response": "yes"}}
        said = await client.call("test_elicitation", {"message": "?"})
        assert "yes" in said["content"][0]["text"]
        await client.call("test_tool_with_progress", meta={"progressToken": "t"})
        assert [one["params"]["progress"] for one in client.heard if one["method"] == "notifications/progress"] == [0, 50, 100]
        await client.call("test_tool_with_logging")
        await client.hears("notifications/message")
        await client.call("test_trigger_tool_change")
        await client.hears("notifications/tools/list_changed")
        assert (await client.ask("no/such"))["error"]["code"] == -32601
        assert (await client.ask("resources/read", {"uri": "test://template/5/data"}))["result"]["contents"][0]["uri"]
    over(["--url", everything], test)


def test_a_client_of_the_newer_era_gets_headers_from_its_arguments_and_a_stream_of_changes(everything: str) -> None:
    async def test(client: Talk) -> None:
        meta = {"_meta": ENVELOPE}
        assert (await client.ask("server/discover", meta))["result"]["supportedVersions"]
        assert (await client.call("test_header_parameter", {"region": "eu wést"}, ENVELOPE))["content"][0]["text"] == "seen"
        wanted = await client.call("test_input_required_result_elicitation", meta=ENVELOPE)
        assert wanted["resultType"] == "input_required"
        waiting = asyncio.ensure_future(client.ask("subscriptions/listen", {**meta, "notifications": {"toolsListChanged": True}}, "s"))
        await client.hears("notifications/subscriptions/acknowledged")
        await client.call("test_trigger_tool_change", meta=ENVELOPE)
        changed = await client.hears("notifications/tools/list_changed")
        assert changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"
        waiting.cancel()
    over(["--url", everything], test)


class Noting:
    """A made-up server that notes the headers of each request, answers in JSON, and forgets its sessions when told to."""

    def __init__(self, name: str) -> None:
        self.name, self.headers, self.session = name, [], 0
        self.headers: list[dict[str, str]]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if request.method != "POST":
            return web.Response(status=405)
        message = json.loads(await request.read())
        if "id" not in message:
            return web.Response(status=202)
        given = request.headers.get("Mcp-Session-Id")
        if given is not None and given != f"{self.name}-{self.session}":
            return web.Response(status=404)
        answers: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": self.name, "version": "1"}},
            "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": self.name}]}}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]},
                                 headers={"Mcp-Session-Id": f"{self.name}-{self.session}"})


async def serving(*servers: Noting) -> tuple[list[str], web.AppRunner]:
    app = web.Application()
    for server in servers:
        app.router.add_route("*", f"/{server.name}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    return [f"http://127.0.0.1:{port}/{server.name}" for server in servers], runner


def test_no_headers_of_one_server_reach_another(tmp_path: Path) -> None:
    one, two = Noting("one"), Noting("two")

    async def run() -> None:
        urls, runner = await serving(one, two)
        try:
            client = await talk("--config", config_file(tmp_path, **{
                name: {"type": "http", "url": url, "headers": {"Authorization": f"Bearer secret of {name}"}}
                for name, url in zip(("one", "two"), urls, strict=True)}))
            await client.hello()
            assert (await client.call("one__t"))["content"][0]["text"] == "one"
            assert (await client.call("two__t"))["content"][0]["text"] == "two"
            assert await client.close() == 0
        finally:
            await runner.cleanup()
    asyncio.run(run())
    for server, other in ((one, "two"), (two, "one")):
        assert {seen["authorization"] for seen in server.headers} == {f"Bearer secret of {server.name}"}
        assert not any(other in value for seen in server.headers for value in seen.values())
        assert server.headers[-1]["mcp-protocol-version"] == "2025-06-18"


def test_a_session_that_the_server_forgot_is_opened_anew() -> None:
    noting = Noting("one")

    async def run() -> None:
        (url,), runner = await serving(noting)
        try:
            client = await talk("--url", url)
            await client.hello()
            await client.call("t")
            noting.session = 1
            assert (await client.call("t"))["message"]
            assert (await client.call("t"))["content"][0]["text"] == "one"
            assert await client.close() == 0
        finally:
            await runner.cleanup()
    asyncio.run(run())
    assert noting.headers[-2]["mcp-session-id"] == "one-1"


def test_a_server_that_is_not_there_is_an_error_at_once() -> None:
    class Nothing:
        async def request(self, message: Message) -> Body:
            raise RpcError.made(-1, "")

        async def notification(self, message: Message) -> None:
            pass

        def cancelled(self, message: Message) -> None:
            pass

    async def run() -> None:
        session = await Session.open("http://127.0.0.1:9/mcp", {})
        point = Endpoint(session, Nothing(), print)
        running = asyncio.ensure_future(point.run())
        with pytest.raises(Gone, match="could not be reached"):
            await asyncio.wait_for(point.request(1, "initialize", Body.of(HELLO)), 30)
        assert (await running).startswith("could not be reached")
        with pytest.raises(Gone):
            await session.send(Message(2, "ping", None))
        await session.close()
    asyncio.run(run())
