"""`byref mcp`: an MCP server over stdio with the second calls, so that every marker of a view can be followed.

Its results are final: never filtered, never stored. Its scope is the project's folder, where the harness names it, else the
working folder. Needs the extra `mcp`, whose import takes a second: only this command loads it, and only when it runs.
"""
from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import byref
from byref.proxy import config
from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError, ConfigError, Invalid
from byref.proxy.frontends.command import Command
from byref.proxy.gateway import open as open_gateway
from byref.proxy.session import Session

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool

FINAL = "byref/final"  # in `_meta`: no proxy of ours may touch this result
MAX_TOKENS = 8000  # of a page by default: below what Claude Code (50,000 characters) and Codex (12k) show of one result
LIMIT = 100_000  # characters of a page that a caller asks for
INSTRUCTIONS = ("Tool outputs may be views: a first line «REF ...» and markers like «L120-931 ...» where lines are left out. "
                "fetch gives what a marker names, exactly.")
FETCH = {
    "type": "object", "required": ["ref"], "properties": {
        "ref": {"type": "string", "description": "from a view's first line, as rk7f3qmab2x"},
        "at": {"type": "string", "description": "a marker's address (L120-180, b0-4096, results[3].title), or /regex/±2; "
                                                "nothing for all"},
        "part": {"type": "string", "description": "stdout, stderr, ..."},
        "max_tokens": {"type": "integer", "description": f"of a page ({MAX_TOKENS})"},
        "cursor": {"type": "string", "description": "the next page, as the last one named it"},
        "encoding": {"type": "string", "enum": ["base64"], "description": "for bytes that are no text"}}}
STATUS: Mapping[str, Json] = {"type": "object", "properties": {}}


def tools() -> list[Tool]:
    """The definitions, below 700 tokens together. They are always in view, since a marker is of no use without them."""
    from mcp_types import Tool, ToolAnnotations
    read_only = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    meta = {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": LIMIT}
    return [
        Tool(name="fetch", description="The exact text behind a marker «...» in a view of a tool output.", input_schema=dict(FETCH),
             annotations=read_only, _meta=dict(meta)),
        Tool(name="status", description="What outputs are held here, the newest first, with their refs.", input_schema=dict(STATUS),
             annotations=read_only, _meta=dict(meta))]


def server(session: Session) -> Server[Mapping[str, object]]:
    """The server over one session."""
    from mcp.server import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent
    listed = ListToolsResult(tools=tools())

    async def on_list(context: ServerRequestContext[Mapping[str, object]], params: PaginatedRequestParams | None) -> ListToolsResult:
        return listed

    async def on_call(context: ServerRequestContext[Mapping[str, object]], params: CallToolRequestParams) -> CallToolResult:
        try:
            texts = await asyncio.to_thread(call, session, params.name, params.arguments or {})
            failed = False
        except (ByrefError, OSError) as fault:
            texts, failed = [str(fault)], True
        return CallToolResult(content=[TextContent(text=text) for text in texts], is_error=failed, _meta={FINAL: True})

    return Server("byref", version=byref.__version__, instructions=INSTRUCTIONS, on_list_tools=on_list, on_call_tool=on_call)


def call(session: Session, name: str, arguments: Mapping[str, Json]) -> list[str]:
    """One second call: the text of a page as it was stored, and, where there is something to say beside it, a second text.

    Raises `Invalid` for another tool or arguments of another kind, and what `Session.fetch` raises.
    """
    if name == "status":
        return [session.status().text]
    if name != "fetch":
        raise Invalid(f"there is no tool {name[:40]!r} here; there are fetch and status")
    known = {key: value for key, value in arguments.items() if value is not None}
    for key, value in known.items():
        wanted = int if key == "max_tokens" else str
        if key not in FETCH["properties"] or not isinstance(value, wanted) or isinstance(value, bool):
            raise Invalid(f"fetch takes ref, at, part, max_tokens, cursor and encoding, not {key[:40]}={str(value)[:40]!r}")
    text = {key: str(value) for key, value in known.items()}
    size = known.get("max_tokens", MAX_TOKENS)
    page = session.fetch(text.get("ref", ""), text.get("at"), part=text.get("part"), cursor=text.get("cursor"),
                         encoding=text.get("encoding"), max_tokens=size if isinstance(size, int) else MAX_TOKENS)
    shown = page.data if not page.binary else page.text.encode()
    clean = shown.decode("utf-8", "replace") if text.get("encoding") is None else page.text
    notes = [page.note] if page.note else []
    if not page.binary and text.get("encoding") is None and clean.encode() != shown:
        notes.append("bytes that are not UTF-8 stand as \ufffd; encoding base64 gives them exactly")
    if page.cursor:
        notes.append(f"more follows: cursor {page.cursor}")
    return [clean, f"[{'; '.join(notes)}]"] if notes else [clean]


async def _serve(session: Session) -> None:
    from mcp.server.stdio import stdio_server
    made = server(session)
    async with stdio_server() as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


def _run(args: argparse.Namespace) -> int:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise ConfigError("the MCP server needs the extra `mcp`: pip install 'byref[mcp]'") from None
    folder = config.told("CLAUDE_PROJECT_DIR")
    with open_gateway() as gateway:
        scope = gateway.settings.scope or config.scope_here(folder if os.path.isdir(folder) else None)
        # The harness's own session, so that the ledger sets a fetch off against the view that it follows.
        name = config.told("CLAUDE_CODE_SESSION_ID") or "mcp"
        asyncio.run(_serve(gateway.session(name, scope=scope, proven=False)))
    return 0


MCP = Command("mcp", "serve fetch and status to an agent, as an MCP server over stdio", lambda parser: None, _run)
