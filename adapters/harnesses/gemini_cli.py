"""Gemini CLI: its lists of MCP servers, in its settings. https://geminicli.com/docs/tools/mcp-server/

`httpUrl` is streamable HTTP, `url` is SSE unless `type` says http. It expands $NAME and ${NAME} in all texts.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

PROJECT_FILES = (".gemini/settings.json",)
KEYS, TYPED = entries.Keys(url="httpUrl"), entries.Keys(kinds=("", "http"))


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The settings of a user; GEMINI_CLI_HOME names another folder that holds them."""
    return (f"{told('GEMINI_CLI_HOME') or user}/.gemini/settings.json",)


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The one list of a file."""
    return entries.table(settings, "mcpServers")


def listed(entry: Mapping[str, Json]) -> Listed:
    """What an entry starts."""
    oauth = entry.get("oauth")
    if entry.get("authProviderType") or (isinstance(oauth, dict) and oauth.get("enabled") is not False):
        return Listed(why=entries.SIGNS_IN)
    if "url" in entry and "httpUrl" not in entry and "command" not in entry and entries.kind(entry) != "http":
        return Listed(why=entries.SSE)
    return entries.listed(entry, _keys(entry))


def relisted(entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
    """What makes an entry start a server."""
    return entries.relisted(entry, server, _keys(entry))


def _keys(entry: Mapping[str, Json]) -> entries.Keys:
    return TYPED if "type" in entry and "httpUrl" not in entry else KEYS
