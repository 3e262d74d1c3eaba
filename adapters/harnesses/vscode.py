"""VS Code: its lists of MCP servers. https://code.visualstudio.com/docs/copilot/reference/mcp-configuration

It expands ${input:NAME}, ${env:NAME} and its like in all fields, so a header's value works as the value of a variable too.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

PROJECT_FILES = (".vscode/mcp.json",)


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The file of the default profile. Other profiles and builds have a file of their own."""
    return (f"{user}/Library/Application Support/Code/User/mcp.json" if platform == "darwin" else f"{settings}/Code/User/mcp.json",)


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The one list of a file."""
    return entries.table(settings, "servers")


def listed(entry: Mapping[str, Json]) -> Listed:
    """What an entry starts."""
    if entry.get("oauth"):
        return Listed(why=entries.SIGNS_IN)
    if entry.get("sandboxEnabled"):
        return Listed(why="it runs in a sandbox, from which no store can be reached")
    if isinstance(dev := entry.get("dev"), dict) and dev.get("debug"):
        return Listed(why="a debugger is tied to its command")
    if str(entry.get("url", "")).startswith(("unix:", "pipe:")):
        return Listed(why="it is reached by a socket")
    return Listed(why=entries.SSE) if entries.kind(entry) == "sse" else entries.listed(entry)


def relisted(entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
    """What makes an entry start a server."""
    return entries.relisted(entry, server)
