"""ctxtual as an arm of a replay: results past its threshold are stored, and a notice with a preview, an outline and its tools is shown.

Its middleware for MCP stands in a server of fastmcp, as `ctxtual wrap` sets it, with its defaults; each output is the result of a call.
"""
from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from arms import Plain

from byref.proxy.contracts import Call
from byref.proxy.ledger.replay import Arm

_NOTICE = r'"(?:result_id|tool|chars|items|how_to_explore)": (?:"(?:[^"\\]|\\.)*"|\d+),?|"(?:preview|outline|fields)":'


def ctxtual() -> Arm:
    """A notice in the place of each text of more than 20,000 characters; line ends in its JSON as such, so that lines are found in it."""
    logging.disable(logging.WARNING)
    from ctxtual.mcp import Offload
    from fastmcp import Client, FastMCP
    from fastmcp.tools.base import ToolResult
    from mcp_types import TextContent
    given = [""]
    server: Any = FastMCP("tools", middleware=[Offload()])

    @server.tool
    def call() -> Any:  # fastmcp reads annotations, where they stand for names of this module
        return ToolResult(content=[TextContent(type="text", text=given[0])])

    client: Any = Client(server)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(client.__aenter__())  # open as long as the arm is: its process ends with it

    def view(_: Call, output: str) -> str:
        given[0] = output.encode("utf-8", "replace").decode()  # JSON carries no lone surrogates
        text = "".join(block.text for block in loop.run_until_complete(client.call_tool("call", {})).content)
        return text if text == given[0] else text.replace("\\n", "\n")
    return Plain(view, _NOTICE)


def offloading() -> dict[str, Callable[[], Arm]]:
    """By name."""
    return {"ctxtual": ctxtual}
