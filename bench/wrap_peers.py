"""What wrap.py measures with: a server on the SDK, a pass-through on the SDK, and fastmcp's proxy.

usage: wrap_peers.py server | pass COMMAND ... | fastmcp COMMAND ...
"""
from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

LARGE, MEDIUM, HUGE = 100_000, 10_000, 50_000_000
SIZES = {"small": 0, "medium": MEDIUM, "large": LARGE, "huge": HUGE}


async def server() -> None:
    """A text of the size that the tool's name says, another one for each number."""
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.stdio import stdio_server

    from inputs import log
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    pieces = log(HUGE // 50, 3)

    async def on_list(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in SIZES])

    async def on_call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        number = (params.arguments or {}).get("number", 0)
        size = SIZES[params.name]
        text = f"the answer to {number}" if not size else pieces * 50 if params.name == "huge" else log(size, number)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    made: Any = Server("bench", on_list_tools=on_list, on_call_tool=on_call)
    async with stdio_server() as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


async def passing(command: Sequence[str]) -> None:
    """The least that a proxy on the SDK's low level does: connect, list, forward."""
    import os

    import mcp_types as types
    from mcp import Client, StdioServerParameters
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    upstream = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))
    async with Client(upstream, mode="legacy", cache=None) as client:

        async def on_list(context: Any, params: Any) -> Any:
            return await client.session.send_request(types.ListToolsRequest(params=params), types.ListToolsResult)

        async def on_call(context: Any, params: types.CallToolRequestParams) -> Any:
            return await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)

        made: Any = Server("pass", on_list_tools=on_list, on_call_tool=on_call)
        async with stdio_server() as (reads, writes):
            await made.run(reads, writes, made.create_initialization_options())


def fastmcp(command: Sequence[str]) -> None:
    """fastmcp's own proxy, as its documentation sets it up."""
    from fastmcp.server import create_proxy
    create_proxy({"mcpServers": {"bench": {"command": command[0], "args": list(command[1:])}}}, name="proxy").run(show_banner=False)


if __name__ == "__main__":
    if sys.argv[1] == "fastmcp":
        fastmcp(sys.argv[2:])
    else:
        asyncio.run(server() if sys.argv[1] == "server" else passing(sys.argv[2:]))
