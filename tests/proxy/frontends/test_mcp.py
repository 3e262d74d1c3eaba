"""The MCP server with the second calls, asked by the SDK's own client over stdio."""
from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy import config
from byref.proxy.errors import Invalid, Unknown
from byref.proxy.frontends import mcp

LOG = "".join(f"step {i} of the build is done\n" for i in range(3000))


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with byref.open() as gateway:
        yield gateway.session("s", scope=config.scope_here(str(tmp_path)))


def test_definitions_are_few_tokens_always_in_view_and_read_only() -> None:
    from byref.proxy.text import estimate
    tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in mcp.tools()]
    assert [tool["name"] for tool in tools] == ["fetch", "status"]
    import json
    assert sum(estimate(json.dumps(tool)) for tool in tools) + estimate(mcp.INSTRUCTIONS) <= 700
    for tool in tools:
        assert tool["_meta"] == {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": mcp.LIMIT}
        assert tool["annotations"]["readOnlyHint"] is True and "outputSchema" not in tool


def test_pages_put_together_are_the_raw_text(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "make"}, output=LOG).ref
    texts, arguments = [], {"ref": ref}
    while True:
        page = mcp.call(session, "fetch", arguments)
        texts.append(page[0])
        if len(page) == 1:
            break
        arguments = {"ref": ref, "cursor": page[1].rpartition("cursor ")[2].rstrip("]")}
    assert "".join(texts) == LOG and len(texts) > 1
    assert mcp.call(session, "fetch", {"ref": ref, "at": "L3", "part": None}) == ["step 2 of the build is done\n"]


def test_bytes_that_are_no_text_are_named_and_come_as_base64(session: byref.Session) -> None:
    import base64
    ref = session.capture(tool="Bash", args={"command": "x"}, output=b"caf\xe9 " + LOG.encode()).ref
    text, note = mcp.call(session, "fetch", {"ref": ref, "at": "L1"})
    assert text.startswith("caf\ufffd") and "base64" in note
    assert base64.b64decode(mcp.call(session, "fetch", {"ref": ref, "at": "L1", "encoding": "base64"})[0]).startswith(b"caf\xe9 ")


def test_misses_and_wrong_arguments_say_what_to_do(session: byref.Session) -> None:
    with pytest.raises(Unknown):
        mcp.call(session, "fetch", {"ref": "rk7f3qmab2x"})
    for name, arguments in (("search", {"query": "x"}), ("fetch", {"ref": 5}), ("fetch", {"ref": "r", "max_tokens": True}),
                            ("fetch", {"where": "x"}), ("fetch", {})):
        with pytest.raises(Invalid):
            mcp.call(session, name, arguments)  # type: ignore[arg-type]
    assert "0 outputs" in mcp.call(session, "status", {})[0]


def test_the_real_server_serves_the_projects_outputs_and_ends_with_its_client(
        session: byref.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
            return [[tool.name for tool in listed.tools], page, miss]

    names, page, miss = asyncio.run(ask())
    assert names == ["fetch", "status"]
    assert page.content[0].text == "".join(LOG.splitlines(True)[9:11]) and not page.is_error and page.meta[mcp.FINAL] is True
    assert miss.is_error and miss.content[0].text.startswith("unknown: ")
    with byref.open() as gateway:
        assert [event.session for event in gateway.store.events() if event.kind == "fetched"] == ["s"]
