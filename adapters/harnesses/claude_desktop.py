"""Claude Desktop: its list of MCP servers. https://modelcontextprotocol.io/docs/develop/connect-local-servers

It starts commands alone; servers at a URL are added in the program and stand in no file.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

PROJECT_FILES: tuple[str, ...] = ()
FILE = "Claude/claude_desktop_config.json"


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The file of a user. The builds for Linux keep it where other programs keep their settings."""
    return (f"{user}/Library/Application Support/{FILE}" if platform == "darwin" else f"{settings}/{FILE}",)


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The one list of a file."""
    return entries.table(settings, "mcpServers")


def listed(entry: Mapping[str, Json]) -> Listed:
    """What an entry starts."""
    return entries.listed(entry)


def relisted(entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
    """What makes an entry start a server."""
    return entries.relisted(entry, server)
