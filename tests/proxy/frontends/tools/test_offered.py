"""Tools on MCP: offered where their user asked for them, called by the SDK's own client, their results never touched again."""
from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import byref
from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.frontends.tools.engine import Tools
from byref.proxy.frontends.tools.offered import Offered, chosen
from byref.proxy.frontends.wrap.own import FINAL
from byref.proxy.frontends.wrap.results import Asked, rewrite
from recorded import Recorded, recorded


@pytest.fixture
def server() -> Iterator[Recorded]:
    with recorded() as found:
        yield found


def test_an_agent_lists_and_calls_them_beside_the_second_calls(server: Recorded, tmp_path: Path) -> None:
    from mcp import Client, StdioServerParameters
    (tmp_path / "a.py").write_text("def found(): ...\n" * 3)
    started = StdioServerParameters(
        command=sys.executable, cwd="/",
        args=["-c", "from byref.proxy.frontends.cli import main; main()", "mcp", "--tool", "openalex", "--tool", "grep"],
        env={"BYREF_HOME": config.home_folder(), "CLAUDE_PROJECT_DIR": str(tmp_path), "BYREF_UPSTREAMS": f"openalex={server.url}",
             "PATH": "/usr/bin:/bin"})

    async def ask() -> None:
        async with Client(started) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[:3] == ["fetch", "search", "status"] and {"openalex_works", "grep"} < set(names) and "shell" not in names
            works = await client.call_tool("openalex_works", {"search": "late interaction retrieval"})
            text = works.content[0].text
            assert not works.is_error and works.meta[FINAL] is True and "W4400000024|On " in text
            ref = text[1:12]
            page = await client.call_tool("fetch", {"ref": ref, "at": "results[7].title"})
            assert page.content[0].text == '"On late interaction retrieval, part 7"'
            found = await client.call_tool("grep", {"pattern": "def found"})
            assert found.content[0].text == "".join(f"a.py:{i}:def found(): ...\n" for i in (1, 2, 3))
            wrong = await client.call_tool("openalex_works", {"colour": "red"})
            assert wrong.is_error and "takes search" in wrong.content[0].text
    asyncio.run(ask())


def test_what_can_do_harm_is_offered_by_name_alone() -> None:
    assert "shell" not in chosen(["all"]) and {"grep", "openalex", "exa", "context7"} <= set(chosen(["all"]))
    assert chosen(["shell", "all", "grep"])[0] == "shell"
    with pytest.raises(ConfigError, match="openalex"):
        chosen(["openalexx"])


def test_an_agent_is_told_what_changes_something() -> None:
    made = Offered(["shell", "grep", "exa"], Tools({}, {}), "/")
    hints = {str(tool["name"]): tool["annotations"] for tool in made.definitions}
    assert hints["shell"] == {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}
    assert hints["grep"] == {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert hints["exa_search"]["openWorldHint"] is True and hints["exa_search"]["idempotentHint"] is False  # type: ignore[index, call-overload]


def test_a_fault_is_a_result_that_says_what_to_do(tmp_path: Path) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        made = Offered(["exa", "shell"], Tools({"PATH": "/usr/bin:/bin"}, {}), str(tmp_path))
        found = made.answer(session, "exa_search", {"search": "a"})
        assert found["isError"] is True and "EXA_API_KEY" in str(found["content"])
        found = made.answer(session, "shell", {"command": "exit 3"})
        assert found["isError"] is False, "a command that fails is no fault of the tool"
        made.close()


def test_a_proxy_of_ours_leaves_their_results_as_they_are(server: Recorded) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        made = Offered(["openalex"], Tools({}, {"openalex": server.url}), "/")
        result = made.answer(session, "openalex_works", {"search": "a"})
        made.close()
        rewritten = rewrite(session, Asked("x", {}), result)
        assert rewritten is None or (rewritten.result, rewritten.ref) == (result, "")
