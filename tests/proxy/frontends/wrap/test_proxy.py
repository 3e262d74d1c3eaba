"""The proxy in front of one server: what passes untouched, what is changed, and what happens when the server misbehaves."""
from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import pytest

import byref
from wrapped import ENVELOPE, HELLO, Talk, gone, over, unruly


def shown(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


# what passes ------------------------------------------------------------------------------------------------

def test_what_is_not_looked_into_goes_through_byte_for_byte() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        await client.ask("tools/list")
        await client.call("raw")
    line = over(["--", *unruly()], test).lines[-1]
    assert b'{"content":[{"text":"\\u00e9","type":"text"}],"n":1.10,"big":' + b"9" * 5000 + b"}" in line


def test_the_ids_of_a_client_stay_its_own() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        for number in ("a", 7, "7-b", 2**60):
            assert (await client.ask("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, number))["id"] == number
    over(["--", *unruly()], test)


def test_unknown_methods_and_their_errors_pass_and_a_ping_is_answered() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        error = (await client.ask("tasks/dance", {"a": 1}))["error"]
        assert error == {"code": -32601, "message": "Method not found", "data": "tasks/dance"}
        assert (await client.ask("ping"))["result"] == {}
    over(["--", *unruly()], test)


def test_only_what_has_to_be_declared_is_changed() -> None:
    async def test(client: Talk) -> None:
        about = await client.hello()
        assert about["protocolVersion"] == "2025-06-18" and about["serverInfo"]["name"] == "unruly"
        assert about["instructions"].startswith("Be gentle.\n")
        assert about["capabilities"] == {"tools": {"listChanged": True}, "logging": {}, "resources": {"subscribe": True}}
        listed = (await client.ask("tools/list"))["result"]
        tools = {tool["name"]: tool for tool in listed["tools"]}
        assert listed["x-kept"] == 0 and list(tools)[-3:] == ["fetch", "search", "status"]
        assert tools["echo"]["annotations"] == {"title": "echo"} and "outputSchema" not in tools["both"]
        templates = (await client.ask("resources/templates/list"))["result"]["resourceTemplates"]
        assert [one["uriTemplate"] for one in templates] == ["unruly://{id}", "byref://{ref}"]
    over(["--", *unruly()], test)


def test_pages_of_a_listing_stay_pages_and_ours_stand_on_the_last() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        sizes, cursor = [], None
        while True:
            page = (await client.ask("tools/list", {} if cursor is None else {"cursor": cursor}))["result"]
            sizes.append([tool["name"] for tool in page["tools"]])
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        assert list(map(len, sizes)) == [4, 4, 4, 6] and sizes[-1][-3:] == ["fetch", "search", "status"]
    over(["--", *unruly("--page", "4")], test)


def test_a_long_result_comes_as_a_view_and_what_it_hides_is_one_call_away() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        result = await client.call("log", meta={"claudecode/toolUseId": "toolu_1"})
        assert len(shown(result)) < 1000 and byref.MARKER.match(shown(result))
        ref = shown(result)[1:12]
        page = await client.call("fetch", {"ref": ref, "at": "L10-11"})
        assert shown(page) == "step 9 of the build is done\nstep 10 of the build is done\n" and page["_meta"] == {"byref/final": True}
        read = (await client.ask("resources/read", {"uri": f"byref://{ref}"}))["result"]["contents"]
        assert read[0]["text"].startswith("step 0 of")
        assert (await client.ask("resources/read", {"uri": "byref://rk7f3qmab2x"}))["error"]["message"].startswith("unknown: ")
        assert (await client.ask("resources/read", {"uri": "mem://same"}))["result"]["contents"][0]["text"] == "unruly has mem://same"
    over(["--", *unruly()], test)
    with byref.open() as gateway:
        assert {event.kind for event in gateway.store.events()} >= {"captured", "fetched"}


@pytest.mark.parametrize(("name", "native"), [("claude-code", 2250), ("codex-mcp-client", 12_000), ("other", None)])
def test_the_ledger_knows_how_a_client_cuts_by_itself(name: str, native: int | None) -> None:
    async def test(client: Talk) -> None:
        await client.ask("initialize", {**HELLO, "clientInfo": {"name": name, "version": "1"}})
        await client.send({"method": "notifications/initialized"})
        assert byref.MARKER.match(shown(await client.call("log")))
        assert shown(await client.call("echo", {"text": "hi"})) == "hi"
    over(["--", *unruly()], test)
    with byref.open() as gateway:
        long, short = (event.numbers for event in gateway.store.events() if event.kind == "viewed")
        assert (long.get("native"), short.get("native")) == (native, None if native is None else -1)


def test_the_same_call_twice_gives_the_first_bytes_again() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        meta = {"claudecode/toolUseId": "toolu_1"}
        assert await client.call("log", meta=meta) == await client.call("log", meta=meta)
    over(["--", *unruly()], test)


def test_a_call_can_ask_for_the_raw_result_and_the_server_never_sees_that() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        tools = {tool["name"]: tool for tool in (await client.ask("tools/list"))["result"]["tools"]}
        assert list(tools["echo"]["inputSchema"]["properties"]) == ["text", "byref"]
        assert len(shown(await client.call("log", {"byref": "raw"}))) > 50_000
        assert shown(await client.call("echo", {"text": "hi", "byref": "what I look for"})) == "hi"
        assert json.loads(shown(await client.call("echo", {"a": [1.0, "é"], "b": None}))) == {"a": [1.0, "é"], "b": None}
    over(["--", *unruly()], test)


def test_a_call_without_its_steering_is_spelt_as_the_client_spelt_it(tmp_path: Any) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        await client.send(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"echo", "arguments":'
                          b'{"text":"x","n":1.10, "byref":"raw" ,"far":1e400}}}\n')
        await client.call("echo", {"text": "later"})
    over(["--", *unruly("--note", str(tmp_path / "heard"))], test)
    assert b'"name":"echo", "arguments":{"text":"x","n":1.10 ,"far":1e400}' in (tmp_path / "heard").read_bytes()


def test_steering_can_be_turned_off() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        tools = {tool["name"]: tool for tool in (await client.ask("tools/list"))["result"]["tools"]}
        assert list(tools["echo"]["inputSchema"]["properties"]) == ["text"]
        assert json.loads(shown(await client.call("echo", {"byref": "raw", "text": "hi"}))) == {"byref": "raw", "text": "hi"}
    over(["--no-steering", "--", *unruly()], test)


def test_a_client_that_lists_nothing_is_served_all_the_same() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        assert shown(await client.call("status")).startswith("0 outputs")
        assert "structuredContent" not in await client.call("both")
    over(["--", *unruly()], test)


def test_results_of_other_kinds_pass_as_they_are() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        for odd in (5, None, [], "text", {"content": "no list"}, {"content": [5, {"type": "new"}]}, {"task": {"taskId": "t"}}):
            assert (await client.ask("tools/call", {"name": "odd", "arguments": {"result": odd}}))["result"] == odd
    over(["--", *unruly()], test)


def test_progress_and_what_the_server_asks_reach_the_client() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        await client.call("progress", meta={"progressToken": "p-1"})
        assert [one["params"] for one in client.heard] == [{"progressToken": "p-1", "progress": i, "total": 2} for i in range(3)]
        asked: list[Any] = []

        def answer(message: dict[str, Any]) -> Any:
            asked.append(message)
            return {"action": "accept", "content": {"ok": True}}
        client.answer = answer
        for method in ("elicitation/create", "sampling/createMessage", "roots/list", "their/own"):
            assert json.loads(shown(await client.call("ask", {"method": method}))) == {"action": "accept", "content": {"ok": True}}
        assert [one["method"] for one in asked] == ["elicitation/create", "sampling/createMessage", "roots/list", "their/own"]
        assert asked[0]["params"]["_meta"] == {"progressToken": 5}
    over(["--", *unruly()], test)


def test_a_call_that_is_taken_back_is_taken_back_from_the_server_and_never_answered(tmp_path: Any) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        waiting = asyncio.ensure_future(client.ask("tools/call", {"name": "hang", "arguments": {}}, "slow one"))
        await client.hears("notifications/message")
        await client.send({"method": "notifications/cancelled", "params": {"requestId": "slow one", "reason": "changed my mind"}})
        await client.ask("ping")
        assert shown(await client.call("echo", {"text": "still here"})) == "still here"
        assert not waiting.done()
        waiting.cancel()
    over(["--", *unruly("--note", str(tmp_path / "note"))], test)
    heard = [json.loads(line) for line in (tmp_path / "note").read_text().splitlines()]
    assert {"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": "slow one", "reason": "changed my mind"}} in heard


def test_a_list_that_changes_is_told_and_read_anew() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        await client.call("change")
        await client.hears("notifications/tools/list_changed")
        assert shown(await client.call("echo", {"text": "hi", "byref": "x"})) == "hi"
    over(["--", *unruly()], test)


def test_the_era_without_a_handshake_passes_with_its_requests_for_input() -> None:
    async def test(client: Talk) -> None:
        meta = {"_meta": ENVELOPE}
        assert (await client.ask("initialize", HELLO))["error"]["code"] == -32022
        about = (await client.ask("server/discover", meta))["result"]
        assert about["supportedVersions"] == ["2026-07-28"] and about["instructions"].startswith("Be gentle.\n")
        assert (await client.ask("tools/list", meta))["result"]["resultType"] == "complete"
        wanted = await client.call("ask", meta=ENVELOPE)
        assert wanted["resultType"] == "input_required" and wanted["requestState"] == "s1"
        said = await client.call("ask", meta=ENVELOPE, inputResponses={"q": {"action": "accept"}}, requestState="s1")
        assert json.loads(shown(said)) == {"said": {"q": {"action": "accept"}}, "state": "s1"}
        status = await client.call("status", meta=ENVELOPE)
        assert status["resultType"] == "complete"
    over(["--", *unruly("--era", "modern")], test)


def test_a_client_that_probes_for_the_other_era_is_sent_to_the_handshake() -> None:
    async def test(client: Talk) -> None:
        assert (await client.ask("server/discover", {"_meta": ENVELOPE}))["error"]["code"] == -32601
        assert (await client.hello())["serverInfo"]["name"] == "unruly"
    over(["--", *unruly()], test)


def test_a_listening_request_names_the_clients_own_id() -> None:
    async def test(client: Talk) -> None:
        params = {"_meta": ENVELOPE, "notifications": {"resourceSubscriptions": ["mem://a"]}}
        waiting = asyncio.ensure_future(client.ask("subscriptions/listen", params, "listen-1"))
        updated = await client.hears("notifications/resources/updated")
        assert updated["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "listen-1"}
        waiting.cancel()
    over(["--", *unruly("--era", "modern")], test)


# faults -----------------------------------------------------------------------------------------------------

def test_a_call_in_flight_ends_in_an_error_when_the_server_dies_and_the_next_one_is_answered() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        await client.ask("logging/setLevel", {"level": "debug"})
        await client.ask("resources/subscribe", {"uri": "mem://a"})
        hanging = [asyncio.ensure_future(client.call("hang")) for _ in range(3)]
        await client.hears("notifications/message")
        pid = json.loads(shown(await client.call("where")))["pid"]
        died = await client.call("die")
        assert died["code"] == -32000 and "ended with exit code 3" in died["message"]
        assert [error["code"] for error in await asyncio.gather(*hanging)] == [-32000] * 3
        told = json.loads(shown(await client.call("level")))
        assert told["level"] == "debug" and told["subscribed"] == ["mem://a"]
        assert json.loads(shown(await client.call("where")))["pid"] != pid
        await client.hears("notifications/tools/list_changed")
        assert any("was started again" in str(one.get("params", {}).get("data")) for one in client.heard)
    over(["--", *unruly()], test)


def test_a_server_that_is_killed_is_started_again_however_often() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        pids = set()
        for _ in range(3):
            pid = json.loads(shown(await client.call("where")))["pid"]
            pids.add(pid)
            hanging = asyncio.ensure_future(client.call("hang"))
            while not any("hanging" in str(one) for one in client.heard):
                await asyncio.sleep(0.005)
            client.heard.clear()
            os.kill(pid, signal.SIGKILL)
            assert "ended by signal 9" in (await hanging)["message"]
        assert len(pids) == 3
    over(["--", *unruly()], test)


def test_what_the_server_asked_before_it_died_is_taken_back() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        client.answer = lambda message: None
        waiting = asyncio.ensure_future(client.call("ask"))
        pid = json.loads(shown(await client.call("where")))["pid"]
        os.kill(pid, signal.SIGKILL)
        assert (await waiting)["code"] == -32000
        assert (await client.hears("notifications/cancelled"))["params"]["requestId"] == 1
    over(["--", *unruly()], test)


def test_a_server_that_cannot_be_started_is_an_error_that_says_why() -> None:
    async def test(client: Talk) -> None:
        error = (await client.ask("initialize", HELLO))["error"]
        assert error["code"] == -32000 and "No such file" in error["message"]
    over(["--", "/no/such/server"], test)


def test_lines_that_are_no_messages_cost_nothing_but_themselves() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        assert shown(await client.call("garbage")) == "after all that"
    over(["--", *unruly()], test)


def test_a_flood_passes_in_order_and_the_answer_after_it() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        assert shown(await client.call("flood", {"count": 20_000})) == "flooded"
        assert [int(one["params"]["data"].split()[0]) for one in client.heard] == list(range(20_000))
    over(["--", *unruly()], test)


def test_two_hundred_calls_at_once_get_each_its_own_answer() -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        texts = await asyncio.gather(*(client.call("echo", {"text": f"call {i}"}) for i in range(200)))
        assert [shown(one) for one in texts] == [f"call {i}" for i in range(200)]
    over(["--", *unruly()], test)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_its_servers(number: signal.Signals) -> None:
    pids: list[int] = []

    async def test(client: Talk) -> None:
        await client.hello()
        pids.append(json.loads(shown(await client.call("where")))["pid"])
        client.process.send_signal(number)
        assert await client.process.wait() == 0
    over(["--", *unruly()], test)
    assert gone(pids[0])


def test_the_working_folder_and_the_environment_reach_the_server(tmp_path: Any) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        where = json.loads(shown(await client.call("where", {"byref": "raw"})))
        assert where["cwd"] == str(tmp_path) and where["env"]["WANTED"] == "by the server"
    over(["--", *unruly()], test, cwd=tmp_path, env={"WANTED": "by the server"})


def test_a_small_result_waits_for_no_disk_and_is_stored_all_the_same(tmp_path: Any) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        for number in range(20):
            assert shown(await client.call("echo", {"text": f"small {number}"})) == f"small {number}"
        assert "20 outputs" in shown(await client.call("status")), "who asks is told of all that was answered"
        await client.call("echo", {"text": "the last"})
    over(["--", *unruly()], test, env={"BYREF_HOME": str(tmp_path), "BYREF_SCOPE": "s"})
    with byref.open(f"file:{tmp_path}") as gateway:
        assert gateway.session("x", scope="s").status().outputs == 21, "what was answered last is stored before it ends"


def test_a_small_result_of_a_call_that_was_answered_by_a_view_is_that_view_again() -> None:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from byref.proxy.frontends.wrap.messages import Body, Message
    from byref.proxy.frontends.wrap.proxy import Options, Proxy
    from byref.proxy.frontends.wrap.question import Question
    from relaying import LONG

    async def run() -> None:
        with byref.open("memory:") as gateway, ThreadPoolExecutor(1) as pool:
            session = gateway.session("mcp", scope="s", proven=False)
            waits = asyncio.Event()

            async def opened() -> byref.Session:
                await waits.wait()
                return session

            async def side(message: Message) -> Body:
                return Body.of({"tools": []})
            from byref.proxy.frontends.wrap.proxy import Told
            told = Told()

            async def answered(text: str, call_id: str) -> str:
                params = {"name": "x", "arguments": {}, "_meta": {"claudecode/toolUseId": call_id}}
                question = Question(Message(1, "tools/call", Body.of(params)), side, print)
                await question.prepare(Proxy(question, opened, pool, Options(), told))
                found = await question.settle(Message(1, "", Body.of({"content": [{"type": "text", "text": text}]})))
                return "as it came" if found is None or found.body is None else shown(found.body.object)
            assert await answered("small", "a") == "as it came", "although the store is not open yet"
            waits.set()
            view = await answered(LONG, "b")
            assert await answered("small", "b") == view != "as it came"
            await told.kept()
            assert session.status().outputs == 2
    asyncio.run(asyncio.wait_for(run(), 60))
