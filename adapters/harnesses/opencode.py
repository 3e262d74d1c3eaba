"""OpenCode: its lists of MCP servers, in its configuration. https://opencode.ai/docs/mcp-servers

Version 2 lists them under `mcp.servers`, version 1 right under `mcp`. A local one's command is one list. {env:NAME} and {file:PATH} are
expanded in all texts, so a header's value works as the value of a variable too.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

NAMES = ("opencode.json", "opencode.jsonc")
PROJECT_FILES = (*NAMES, *(f".opencode/{name}" for name in NAMES))
KEYS = entries.Keys(args="", variables="environment", kinds=("local", "remote"))


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The files of a user; OPENCODE_CONFIG and OPENCODE_CONFIG_DIR name further ones. ~/.config on every platform, unless XDG says so."""
    folders = [told("XDG_CONFIG_HOME") or f"{user}/.config"]
    found = [f"{folder}/opencode/{name}" for folder in folders for name in NAMES]
    found += [f"{told('OPENCODE_CONFIG_DIR')}/{name}" for name in NAMES if told("OPENCODE_CONFIG_DIR")]
    return (*found, *([told("OPENCODE_CONFIG")] if told("OPENCODE_CONFIG") else []))


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The list of version 2, else that of version 1."""
    held = settings.get("mcp") if isinstance(settings, dict) else None
    servers = held.get("servers") if isinstance(held, dict) else None
    if isinstance(servers, dict) and "type" not in servers and "command" not in servers:
        return entries.table(settings, "mcp", "servers")
    return entries.table(settings, "mcp")


def listed(entry: Mapping[str, Json]) -> Listed:
    """What an entry starts. One that only turns a server of another file on or off starts nothing."""
    return Listed(why=entries.SIGNS_IN) if entry.get("oauth") else entries.listed(entry, KEYS)


def relisted(entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
    """What makes an entry start a server."""
    return entries.relisted(entry, server, KEYS)
