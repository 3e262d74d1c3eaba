"""`byref mcp`: an MCP server over stdio with the second calls, so that every marker of a view can be followed, and with tools of ours.

Its results are final: never filtered, never stored. Its scope is the project's folder, where the harness names it, else the
working folder. Needs the extra `mcp`, whose import takes a second: only this command loads it, and only when it runs.
"""
from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Mapping
from threading import Event
from typing import TYPE_CHECKING

import byref
from byref.proxy import config, discover
from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.frontends.command import SESSION, Command
from byref.proxy.frontends.tools.engine import Tools
from byref.proxy.frontends.tools.offered import Offered, chosen
from byref.proxy.frontends.warming import warm
from byref.proxy.frontends.wrap import own
from byref.proxy.frontends.wrap.declared import instructions
from byref.proxy.gateway import open as open_gateway
from byref.proxy.session import Session

if TYPE_CHECKING:
    from typing import TypeAlias

    from mcp.server import Server, ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
    )

    Context: TypeAlias = ServerRequestContext[Mapping[str, object]]


def server(session: Session, offered: Offered | None = None, begun: Callable[[], object] = lambda: None) -> Server[Mapping[str, object]]:
    """The server over one session. offered: tools beside the second calls. begun: is called whenever a client lists them."""
    from mcp.server import Server
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        INVALID_PARAMS,
        CallToolResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        ReadResourceResult,
        ResourceTemplate,
        Tool,
    )
    tools = [*own.TOOLS, *(offered.definitions if offered is not None else [])]
    listed = ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools])
    template = ListResourceTemplatesResult(resource_templates=[ResourceTemplate.model_validate(own.TEMPLATE)])

    async def on_list(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        begun()
        return listed

    async def on_call(context: Context, params: CallToolRequestParams) -> CallToolResult:
        given = params.arguments or {}
        if offered is None or params.name not in offered:
            return CallToolResult.model_validate(await asyncio.to_thread(own.answer, session, params.name, given))
        gone = Event()
        try:
            return CallToolResult.model_validate(await asyncio.to_thread(offered.answer, session, params.name, given, None, gone.is_set))
        finally:
            gone.set()  # a call that was cancelled: what runs here ends, too

    async def on_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[])  # what there is changes with every call: by template alone

    async def on_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return template

    async def on_read(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        try:
            return ReadResourceResult.model_validate(await asyncio.to_thread(own.read, session, str(params.uri)))
        except (ByrefError, OSError) as fault:
            raise MCPError(INVALID_PARAMS, str(fault)) from None

    return Server("byref", version=byref.__version__, instructions=instructions(None), on_list_tools=on_list, on_call_tool=on_call,
                  on_list_resources=on_resources, on_list_resource_templates=on_templates, on_read_resource=on_read)


async def _serve(session: Session, offered: Offered | None) -> None:
    from mcp.server.stdio import stdio_server
    made = server(session, offered, lambda: warm(session.gateway, session.scope, SESSION.__ne__))
    async with stdio_server() as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


def _run(args: argparse.Namespace) -> int:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise ConfigError("the MCP server needs the extra `mcp`: pip install 'byref[mcp]'") from None
    names = chosen(args.tool or [])
    folder = config.told("CLAUDE_PROJECT_DIR")
    with open_gateway() as gateway:
        scope = gateway.settings.scope or config.scope_here(folder if os.path.isdir(folder) else None)
        # The harness's own session, so that the ledger sets a fetch off against the view that it follows.
        name = config.told("CLAUDE_CODE_SESSION_ID") or "mcp"
        offered = Offered(names, Tools(config.inherited()), folder if os.path.isdir(folder) else config.folder_here()) if names else None
        try:
            asyncio.run(_serve(gateway.session(name, scope=scope, proven=False), offered))
        finally:
            if offered is not None:
                offered.close()
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tool", metavar="NAME", action="append", help="offer this tool, too; may be given again: "
                        f"{', '.join(discover.names('tools'))}, or all for those that do no harm")


MCP = Command("mcp", "serve fetch, search and status, and tools of ours, to an agent, as an MCP server over stdio", _options, _run)
