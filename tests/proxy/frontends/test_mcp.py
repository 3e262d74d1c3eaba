"""The MCP server with the second calls, asked by the SDK's own client over stdio."""
from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy import config
from byref.proxy.frontends.wrap import own

LOG = "".join(f"step {i} of the build is done\n" for i in range(3000))


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with byref.open() as gateway:
        yield gateway.session("s", scope=config.scope_here(str(tmp_path)))


def test_the_real_server_serves_the_projects_outputs_and_ends_with_its_client(session: byref.Session, tmp_path: Path) -> None:
    from mcp import Client, StdioServerParameters
    ref = session.capture(tool="Bash", args={"command": "make"}, output=LOG).ref
    server = StdioServerParameters(
        command=sys.executable, args=["-c", "from byref.proxy.frontends.cli import main; main()", "mcp"], cwd="/",
        env={"BYREF_HOME": config.home_folder(), "CLAUDE_PROJECT_DIR": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "s"})

    async def ask() -> list[Any]:
        async with Client(server) as client:
            listed = await client.list_tools()
            page = await client.call_tool("fetch", {"ref": ref, "at": "L10-11"})
            miss = await client.call_tool("fetch", {"ref": "rk7f3qmab2x"})
            found = await client.call_tool("search", {"query": "step 2718"})
            resource = await client.read_resource(f"byref://{ref}")
            templates = await client.list_resource_templates()
            with pytest.raises(Exception, match="unknown: "):
                await client.read_resource("byref://rk7f3qmab2x")
            return [[tool.name for tool in listed.tools], page, miss, found, resource, templates]

    names, page, miss, found, resource, templates = asyncio.run(ask())
    assert names == ["fetch", "search", "status"]
    assert page.content[0].text == "".join(LOG.splitlines(True)[9:11]) and not page.is_error and page.meta[own.FINAL] is True
    assert miss.is_error and miss.content[0].text.startswith("unknown: ")
    assert found.content[0].text.startswith(f"«{ref} L") and "step 2718" in found.content[0].text
    assert LOG.startswith(resource.contents[0].text[:40_000]) and [one.uri_template for one in templates.resource_templates] == ["byref://{ref}"]
    with byref.open() as gateway:
        assert {event.session for event in gateway.store.events() if event.kind in ("fetched", "searched")} == {"s"}
