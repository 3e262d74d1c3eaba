"""Behind the HTTP proxy a client meets its server: all that it says and hears is theirs, but for what byref is there for."""
from __future__ import annotations

import asyncio
import gzip
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import brotli
import pytest
from aiohttp import web

import byref
from byref.proxy.frontends.wrap.proxy import Options
from relaying import LIMIT, LONG, TOOLS, Talk, calling, event, events, fronted, hosted, result, talking

EVERYTHING = Path(__file__).parents[3] / "conformance" / "everything_server.py"


def ref_of(text: str) -> str:
    found = byref.MARKER.search(text)
    assert found, text[:200]
    return found[0].strip("«»").split()[0]


async def stream(request: web.Request, *pieces: bytes, **headers: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **headers})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    return response


async def answers(request: web.Request) -> web.StreamResponse:
    """A server with one tool of a long result."""
    asked = await request.json()
    return web.json_response(result(asked["id"], isError=False)) if asked["method"] == "tools/call" else web.json_response(
        {"jsonrpc": "2.0", "id": asked.get("id"), "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                                             "serverInfo": {"name": "x", "version": "1"}, "instructions": "Theirs."}})


def test_a_long_result_comes_as_a_view_and_whole_by_our_own_fetch_which_asks_the_server_nothing() -> None:
    seen = []

    async def server(request: web.Request) -> web.StreamResponse:
        seen.append((await request.json())["params"].get("name"))
        return await answers(request)

    async def test(client: Talk) -> None:
        text = (await client.call("report"))["content"][0]["text"]
        assert "FAILED checksum" in text and len(text) < len(LONG) / 4
        cursor, whole = "", ""
        while not whole or cursor:
            page = await client.call("fetch", ref=ref_of(text), **({"cursor": cursor} if cursor else {}))
            whole += page["content"][0]["text"]
            cursor = page["content"][1]["text"].split("cursor ")[1].rstrip("]") if len(page["content"]) > 1 else ""
        assert whole == LONG and seen == ["report"]
    talking(server, test)


def test_the_client_is_told_of_the_servers_tools_without_schemas_of_results_and_of_ours() -> None:
    async def test(client: Talk) -> None:
        found = (await client.ask({"jsonrpc": "2.0", "id": 5, "method": "tools/list"})).json
        names = [tool["name"] for tool in found["result"]["tools"]]
        assert found["id"] == 5 and names == ["report", "fetch", "search", "status"]
        assert "outputSchema" not in found["result"]["tools"][0] and "byref" in found["result"]["tools"][0]["inputSchema"]["properties"]
        hello = (await client.ask({"jsonrpc": "2.0", "id": 6, "method": "initialize", "params": {}})).json["result"]
        assert hello["instructions"].startswith("Theirs.\n\n") and {"tools", "resources"} <= hello["capabilities"].keys()
    talking(answers, test)


def test_what_a_call_says_to_byref_does_not_reach_the_server() -> None:
    bodies = []

    async def server(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.read())
        return await answers(request)

    async def test(client: Talk) -> None:
        assert (await client.call("report", byref="raw", day=1.0))["content"][0]["text"] == LONG
        assert json.loads(bodies[0])["params"]["arguments"] == {"day": 1.0}
        untouched = b'{ "method":"tools/call", "params":{"arguments":{"n":1.10},"name":"report"},"id":"a\\u00e9", "jsonrpc":"2.0" }'
        await client.ask(untouched)
        assert bodies[1] == untouched, "byte for byte"
    talking(server, test)


def test_headers_go_both_ways_but_for_those_of_one_connection() -> None:
    seen: list[Any] = []

    async def server(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.copy())
        return web.Response(status=202, headers={
            "X-Theirs": "yes", "Mcp-Session-Id": "s-1", "Keep-Alive": "timeout=5", "Set-Cookie": "a=b"})

    async def test(client: Talk) -> None:
        answer = await client.ask(
            {"jsonrpc": "2.0", "method": "notifications/initialized"}, Authorization="Bearer theirs", Mcp_Session_Id="s-1",
            Mcp_Protocol_Version="2025-11-25", Last_Event_ID="4", Accept_Encoding="gzip, compress", Connection="X-Hop", X_Hop="1",
            TE="trailers", Cookie="c=d")
        assert (answer.status, answer.body, answer.headers["X-Theirs"], answer.headers["Mcp-Session-Id"]) == (202, b"", "yes", "s-1")
        assert answer.headers["Set-Cookie"] == "a=b" and "Keep-Alive" not in answer.headers
        (got,) = seen
        assert [got[name] for name in ("Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID", "Cookie")] == [
            "Bearer theirs", "s-1", "2025-11-25", "4", "c=d"]
        assert got["Accept-Encoding"] == "gzip" and got["Host"] != client.origin.removeprefix("http://")
        assert not {"X-Hop", "TE", "User-Agent", "Content-Type", "Byref-Token"} & {*got}
    talking(server, test)


def test_a_token_of_ours_goes_no_further_and_one_that_is_configured_takes_the_place_of_the_clients() -> None:
    seen = []

    async def server(request: web.Request) -> web.StreamResponse:
        seen.append((request.headers.get("Authorization"), request.headers.get("Byref-Token")))
        return web.Response(status=202)

    async def test(client: Talk) -> None:
        for headers in ({"Authorization": "Bearer secret"}, {"Byref_Token": "secret", "Authorization": "Bearer theirs"}):
            assert (await client.ask({"jsonrpc": "2.0", "method": "notifications/x"}, **headers)).status == 202
        assert (await client.ask({}, Authorization="Bearer theirs")).status == 401
    talking(server, test, token="secret")
    assert seen == [(None, None), ("Bearer theirs", None)]

    async def again(client: Talk) -> None:
        await client.ask({"jsonrpc": "2.0", "method": "notifications/x"}, Authorization="Bearer the client's")
    talking(server, again, Authorization="Bearer configured")
    assert seen[2:] == [("Bearer configured", None)]


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_pages_of_a_browser_elsewhere_reach_nothing(headers: dict[str, str]) -> None:
    async def test(client: Talk) -> None:
        answer = await client.ask(calling("report"), **headers)
        assert answer.status == 403 and answer.json["error"]["code"] == -32000
    talking(answers, test)


@pytest.mark.parametrize(("name", "pack", "unpack"), [("gzip", gzip.compress, gzip.decompress), ("br", brotli.compress, brotli.decompress)])
def test_a_body_in_which_nothing_changes_passes_in_the_bytes_it_came_in(name: str, pack: Any, unpack: Any) -> None:
    short = pack(b'{ "id":1.0, "jsonrpc":"2.0","result":{"content":[ {"text":"short","type":"text"}]} }')
    long = pack(json.dumps(result()).encode())

    async def server(request: web.Request) -> web.StreamResponse:
        data = short if (await request.json())["params"]["arguments"] else long
        return web.Response(body=data, headers={"Content-Type": "application/json; charset=utf-8", "Content-Encoding": name, "ETag": '"1"'})

    async def test(client: Talk) -> None:
        kept = await client.ask(calling("report", 1, short=True), Accept_Encoding=name)
        assert kept.body == short and kept.headers["Content-Encoding"] == name and kept.headers["ETag"] == '"1"'
        changed = await client.ask(calling("report"), Accept_Encoding=name)
        assert "FAILED checksum" in changed.json["result"]["content"][0]["text"]
        assert not {"Content-Encoding", "ETag"} & {*changed.headers} and int(changed.headers["Content-Length"]) == len(changed.body)
    talking(server, test)


def test_events_pass_as_they_come_and_only_the_result_is_another() -> None:
    gate = asyncio.Event()
    before = b': hello\r\nid: 1\r\nevent: message\r\ndata: {"jsonrpc":"2.0",\r\ndata:  "method":"notifications/x"}\r\n\r\nretry: 10\n\n'
    after = event({"jsonrpc": "2.0", "method": "notifications/after"})

    async def server(request: web.Request) -> web.StreamResponse:
        response = await stream(request, before)
        await gate.wait()
        await response.write(event(result()).replace(b"\n\n", b"\nid: 2\n\n"))
        await response.write(after)
        return response

    async def test(client: Talk) -> None:
        async with client.http.post(client.origin + "/mcp", json=calling("report")) as answer:
            assert await answer.content.readexactly(len(before)) == before
            gate.set()
            rest = await answer.content.read()
        assert rest.endswith(after) and b"\nid: 2\n" in rest and len(rest) < len(LONG) / 4
        assert "FAILED checksum" in events(rest)[0]["result"]["content"][0]["text"]
    talking(server, test)


def test_statuses_errors_and_what_they_say_pass() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        number = (await request.json())["id"]
        if number == 1:
            return web.Response(status=401, text="who?", headers={"WWW-Authenticate": "Bearer x"})
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": "no", "data": 1.50}}
        return web.Response(status=400, body=json.dumps(error, indent=1).encode(), content_type="application/json")

    async def test(client: Talk) -> None:
        refused = await client.ask(calling("report", 1))
        assert (refused.status, refused.body, refused.headers["WWW-Authenticate"]) == (401, b"who?", "Bearer x")
        failed = await client.ask(calling("report", 2))
        assert failed.status == 400 and failed.json["error"]["data"] == 1.5 and failed.body.startswith(b"{\n")
    talking(server, test)


def test_a_server_that_is_not_there_is_a_502_that_answers_the_request() -> None:
    async def test() -> None:
        async with fronted(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp") as client:
            answer = await asyncio.wait_for(client.ask(calling("report", "n-1")), LIMIT)
            assert answer.status == 502 and answer.json["id"] == "n-1" and answer.json["error"]["code"] == -32000
            assert "upstream could not be reached" in answer.json["error"]["message"]
    with socket.socket() as taken:  # by nobody who listens
        taken.bind(("127.0.0.1", 0))
        asyncio.run(test())


def test_a_stream_that_breaks_off_ends_in_an_error_for_the_request() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        response = await stream(request, event({"jsonrpc": "2.0", "method": "notifications/x"}), b"data: {")
        assert request.transport is not None
        request.transport.abort()
        return response

    async def test(client: Talk) -> None:
        first, last = events((await client.ask(calling("report", 9))).body)
        assert first["method"] == "notifications/x" and last["id"] == 9 and last["error"]["code"] == -32000
        assert "broke off before it answered" in last["error"]["message"]
    talking(server, test)


def test_a_stream_with_ids_can_be_taken_up_again_and_its_result_is_still_a_view() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            assert request.headers["Last-Event-ID"] == "1"
            return await stream(request, event(result("q"), 2))
        return await stream(request, event({"jsonrpc": "2.0", "method": "notifications/x"}, 1))

    async def test(client: Talk) -> None:
        begun = await client.ask(calling("report", "q"), Mcp_Session_Id="s-1")
        assert len(events(begun.body)) == 1
        for _ in range(2):  # a client may lose it once more
            (found,) = events((await client.ask(None, "GET", Mcp_Session_Id="s-1", Last_Event_ID="1")).body)
            assert "FAILED checksum" in found["result"]["content"][0]["text"] and len(str(found)) < len(LONG) / 4
        (other,) = events((await client.ask(None, "GET", Mcp_Session_Id="s-2", Last_Event_ID="1")).body)
        assert other["result"]["content"][0]["text"] == LONG, "what another session asked is not known here"
    talking(server, test)


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_client_that_goes_away_takes_its_request_with_it(method: str) -> None:
    left = asyncio.Event()

    async def server(request: web.Request) -> web.StreamResponse:
        response = await stream(request, event({"jsonrpc": "2.0", "method": "notifications/x"}))
        try:
            await asyncio.sleep(LIMIT)
        finally:
            left.set()
        return response

    async def test(client: Talk) -> None:
        async with client.http.request(method, client.origin + "/mcp", json=calling("report") if method == "POST" else None) as answer:
            await answer.content.readany()
            answer.close()
        await asyncio.wait_for(left.wait(), LIMIT)
        assert client.session.status().outputs == 0
    talking(server, test)


def test_several_messages_in_one_body_are_each_treated_as_one() -> None:
    bodies = []

    async def server(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        asked = [one for one in bodies[-1] if "id" in one]
        return web.json_response([result(one["id"]) if one["method"] == "tools/call" else {"jsonrpc": "2.0", "id": one["id"], "result": {}}
                                  for one in asked])

    async def test(client: Talk) -> None:
        answer = await client.ask([
            calling("report", 1, byref="checksum"), calling("status", 2), {"jsonrpc": "2.0", "id": 3, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/x"}])
        found = {one["id"]: one["result"] for one in answer.json}
        assert "FAILED checksum" in found[1]["content"][0]["text"] and len(found[1]["content"][0]["text"]) < len(LONG) / 4
        assert found[2]["_meta"] == {"byref/final": True} and found[3] == {}
        assert [(one["method"], one.get("id")) for one in bodies[0]] == [("tools/call", 1), ("ping", 3), ("notifications/x", None)]
        assert bodies[0][0]["params"]["arguments"] == {}
        assert [one["id"] for one in (await client.ask([calling("status", 4)])).json] == [4]
    talking(server, test)


def test_tools_that_change_are_looked_at_again() -> None:
    listed = [TOOLS]

    async def server(request: web.Request) -> web.StreamResponse:
        asked = await request.json() if request.method == "POST" else {}
        if asked.get("method") == "tools/list":
            return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": listed[-1]}})
        if not asked:
            return await stream(request, event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        return web.json_response(result(asked["id"], f"the server's own {asked['params']['name']}"))

    async def test() -> None:
        async with hosted(server) as origin, fronted(origin + "/mcp") as client:
            assert "byref/final" in (await client.call("status"))["_meta"]
            listed.append([{**TOOLS[0], "name": "status"}])
            await client.ask(None, "GET")
            assert (await client.call("status"))["content"][0]["text"] == "the server's own status"
            assert "byref/final" in (await client.call("byref_status"))["_meta"]
    asyncio.run(asyncio.wait_for(test(), LIMIT))


def test_other_paths_and_redirects_lead_where_they_led() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        if request.path == "/mcp":
            raise web.HTTPTemporaryRedirect(f"http://{request.host}/mcp/?{request.query_string}")
        return web.Response(text=f"{request.method} {request.raw_path} {await request.text()}", headers={"X-Kept": "1"})

    async def test(client: Talk) -> None:
        other = await client.ask(b"body", "PUT", "/.well-known/x%2Fy?a=b%20c")
        assert (other.status, other.body, other.headers["X-Kept"]) == (200, b"PUT /.well-known/x%2Fy?a=b%20c body", "1")
        moved = await client.ask({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert moved.status == 307 and moved.headers["Location"] == "/mcp/?key=of+the+url"
    talking(server, test, path="/mcp?key=of+the+url")


def test_what_is_no_message_is_for_the_server_to_judge() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        return web.Response(status=400, body=b"not " + await request.read())

    async def test(client: Talk) -> None:
        answer = await client.ask(b'{"tools/call": ')
        assert (answer.status, answer.body) == (400, b'not {"tools/call": ')
    talking(server, test)


def test_an_answer_in_an_encoding_that_nobody_asked_for_passes() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"\x1f\x9dpacked", headers={"Content-Type": "application/json", "Content-Encoding": "compress"})

    async def test(client: Talk) -> None:
        answer = await client.ask(calling("report"))
        assert (answer.body, answer.headers["Content-Encoding"]) == (b"\x1f\x9dpacked", "compress")
    talking(server, test)


def test_where_the_server_does_not_list_its_tools_results_are_still_views() -> None:
    async def server(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        return web.json_response(result(asked["id"])) if asked["method"] == "tools/call" else web.Response(status=500)

    async def test() -> None:
        async with hosted(server) as origin, fronted(origin + "/mcp", options=Options(steering=False)) as client:
            assert "FAILED checksum" in (await client.call("report"))["content"][0]["text"]
    asyncio.run(asyncio.wait_for(test(), LIMIT))


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_sdks_client_gets_the_same_answers_from_the_sdks_server_as_directly(mode: str) -> None:
    import mcp
    command = [sys.executable, str(EVERYTHING), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        try:
            url = child.stdout.readline().split()[-1]

            async def heard(there: str) -> list[Any]:
                async with mcp.Client(there, mode=mode, cache=None) as client:  # type: ignore[arg-type]
                    names = [tool.name for tool in (await client.list_tools()).tools if tool.name not in ("fetch", "search", "status")]
                    return [names, [(await client.call_tool(name, {})).model_dump(by_alias=True) for name in names if name in (
                        "test_simple_text", "test_image_content", "test_multiple_content_types", "test_error_handling")],
                        [resource.uri for resource in (await client.list_resources()).resources],
                        (await client.list_prompts()).model_dump(by_alias=True), (await client.read_resource("test://static-text")).contents]

            async def test() -> None:
                async with fronted(url) as client:
                    path = url[url.index("/", 8):]
                    assert await heard(client.origin + path) == await heard(url)
            asyncio.run(asyncio.wait_for(test(), LIMIT))
        finally:
            child.terminate()
