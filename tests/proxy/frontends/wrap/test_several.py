"""Several servers behind one proxy: one list of each kind, each in its own era, and none that takes the others down."""
from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from wrapped import ENVELOPE, HELLO, Talk, config_file, over, unruly


def shown(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def test_tools_bear_their_servers_name_and_reach_it(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        about = await client.hello()
        assert about["serverInfo"]["name"] == "byref" and about["protocolVersion"] == "2025-06-18"
        assert about["instructions"].startswith("one: Be gentle.\n\ntwo_more: Be gentle.\n")
        assert about["capabilities"]["resources"] == {"subscribe": True}
        names = [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]]
        assert names[:2] == ["one__echo", "one__log"] and "two_more__echo" in names and names[-3:] == ["fetch", "search", "status"]
        assert shown(await client.call("two_more__echo", {"text": "hi"})) == "hi"
        places = {json.loads(shown(await client.call(f"{name}__where", {"byref": "raw"})))["pid"] for name in ("one", "two_more")}
        assert len(places) == 2
        assert (await client.call("three__echo"))["code"] == -32602
    over(["--config", config_file(tmp_path, one=unruly("--page", "3"), **{"two more": unruly()})], test)


def test_what_is_stored_names_the_server_too(tmp_path: Path) -> None:
    import byref

    async def test(client: Talk) -> None:
        await client.hello()
        await client.call("one__log")
    over(["--config", config_file(tmp_path, one=unruly(), two=unruly())], test)
    with byref.open() as gateway:
        assert {event.tool for event in gateway.store.events() if event.kind == "captured"} == {"one__log"}


def test_resources_are_found_by_their_uri_and_those_of_one_uri_stay_apart(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        listed = [one["uri"] for one in (await client.ask("resources/list"))["result"]["resources"]]
        assert listed == ["mem://same", "mem://a", "two+mem://same", "mem://b"]

        async def read(uri: str) -> str:
            return str((await client.ask("resources/read", {"uri": uri}))["result"]["contents"][0]["text"])
        assert await read("mem://same") == "a has mem://same" and await read("two+mem://same") == "b has mem://same"
        assert await read("mem://b") == "b has mem://b" and await read("b://7") == "b has b://7"
        assert "result" in await client.ask("resources/subscribe", {"uri": "mem://b"})
        assert json.loads(shown(await client.call("two__level")))["subscribed"] == ["mem://b"]
        assert json.loads(shown(await client.call("one__level")))["subscribed"] == []
    over(["--config", config_file(tmp_path, one=unruly("--name", "a"), two=unruly("--name", "b"))], test)


def test_what_two_servers_ask_at_once_gets_each_its_own_answer(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        ids: list[Any] = []

        def answer(message: dict[str, Any]) -> Any:
            ids.append((message["id"], message["params"]["_meta"]["progressToken"]))
            return {"action": "accept", "content": {"for": message["id"]}}
        client.answer = answer
        said = await asyncio.gather(client.call("one__ask"), client.call("two__ask"))
        assert ids[0][0] != ids[1][0] and ids[0][1] != ids[1][1]
        assert {json.loads(shown(one))["content"]["for"] for one in said} == {ids[0][0], ids[1][0]}
    over(["--config", config_file(tmp_path, one=unruly(), two=unruly())], test)


def test_a_dead_server_is_left_out_and_its_return_is_told(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        names = [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]]
        assert [name for name in names if name.startswith("dead__")] == [] and "one__echo" in names
        assert shown(await client.call("one__echo", {"text": "hi"})) == "hi"
        pid = json.loads(shown(await client.call("two__where", {"byref": "raw"})))["pid"]
        os.kill(pid, signal.SIGKILL)
        await client.hears("notifications/message")
        again = [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]]
        assert again == names
        assert json.loads(shown(await client.call("two__where", {"byref": "raw"})))["pid"] != pid
    over(["--config", config_file(tmp_path, dead=["/no/such/server"], one=unruly(), two=unruly())], test)


def test_all_dead_is_an_error_and_says_of_each_why(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        error = (await client.ask("initialize", HELLO))["error"]
        assert "one could not be started" in error["message"] and "two could not be started" in error["message"]
        assert "error" in await client.ask("tools/list") and "error" in await client.ask("server/discover", {"_meta": ENVELOPE})
    over(["--config", config_file(tmp_path, one=["/no/such/server"], two=["/nor/this"])], test)


def test_servers_of_one_era_each_are_served_to_a_client_of_the_handshake(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        assert (await client.ask("server/discover", {"_meta": ENVELOPE}))["error"]["code"] == -32601
        about = await client.hello()
        assert about["instructions"].startswith("old: Be gentle.\n\nnew: Be gentle.")
        client.answer = lambda message: {"action": "accept", "content": {"name": "Ann"}}
        said = json.loads(shown(await client.call("new__ask")))
        assert said == {"said": {"q": {"action": "accept", "content": {"name": "Ann"}}}, "state": "s1"}
        assert json.loads(shown(await client.call("old__ask"))) == {"action": "accept", "content": {"name": "Ann"}}
        await client.ask("resources/subscribe", {"uri": "mem://new"})
        assert (await client.hears("notifications/resources/updated"))["params"] == {"uri": "mem://new"}
        assert "result" in await client.ask("logging/setLevel", {"level": "debug"})
    over(["--config", config_file(tmp_path, old=unruly("--name", "old"), new=unruly("--name", "new", "--era", "modern"))], test)


def test_servers_of_the_newer_era_are_served_as_such(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        about = (await client.ask("server/discover", {"_meta": ENVELOPE}))["result"]
        assert about["supportedVersions"] == ["2026-07-28"] and about["resultType"] == "complete"
        listed = (await client.ask("tools/list", {"_meta": ENVELOPE}))["result"]
        assert listed["ttlMs"] == 0 and {"one__echo", "two__echo"} <= {tool["name"] for tool in listed["tools"]}
        assert (await client.call("two__ask", meta=ENVELOPE))["resultType"] == "input_required"
        params = {"_meta": ENVELOPE, "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["mem://one", "mem://two"]}}
        waiting = asyncio.ensure_future(client.ask("subscriptions/listen", params, 77))
        ready = await client.hears("notifications/subscriptions/acknowledged")
        assert ready["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 77}
        assert sorted(ready["params"]["notifications"]["resourceSubscriptions"]) == ["mem://one", "mem://two"]
        await client.hears("notifications/resources/updated", 2)
        updated = [one["params"]["uri"] for one in client.heard if one["method"] == "notifications/resources/updated"]
        assert sorted(updated) == ["mem://one", "mem://two"]
        assert client.heard[0] == ready and len([one for one in client.heard if "acknowledged" in one["method"]]) == 1
        waiting.cancel()
    servers = {name: unruly("--era", "modern", "--name", name) for name in ("one", "two")}
    over(["--config", config_file(tmp_path, **servers)], test)


def test_names_are_short_enough_for_the_name_that_the_client_gives_us(tmp_path: Path) -> None:
    async def test(client: Talk) -> None:
        await client.hello()
        names = [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]]
        assert all(len(f"mcp__my_tools__{name}") <= 64 for name in names) and len(set(names)) == len(names)
        long = next(name for name in names if "offspr" in name)
        assert len(shown(await client.call(long))) > 0
    servers = {"a-server-with-a-name-of-fifty-characters-and-more": unruly(), "two": unruly()}
    over(["--client-name", "my_tools", "--config", config_file(tmp_path, **servers)], test)
