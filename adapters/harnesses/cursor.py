"""Cursor: its lists of MCP servers. https://cursor.com/docs/context/mcp

It expands ${env:NAME} and its like in all fields, so a header's value works as the value of a variable too.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

PROJECT_FILES = (".cursor/mcp.json",)


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The file of a user."""
    return (f"{user}/.cursor/mcp.json",)


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The one list of a file."""
    return entries.table(settings, "mcpServers")


def listed(entry: Mapping[str, Json]) -> Listed:
    """What an entry starts. `auth` holds what Cursor signs in with."""
    if entry.get("auth"):
        return Listed(why=entries.SIGNS_IN)
    return Listed(why=entries.SSE) if entries.kind(entry) == "sse" else entries.listed(entry)


def relisted(entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
    """What makes an entry start a server."""
    return entries.relisted(entry, server)
