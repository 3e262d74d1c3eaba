"""Codex: its lists of MCP servers, in its TOML. https://developers.openai.com/codex/mcp

It expands nothing, and hands few variables on to a server: `env_vars` names more. A header's value may stand in a variable of its own.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

PROJECT_FILES = (".codex/config.toml",)
KEYS = entries.Keys(headers="http_headers")
BEARER = ("Authorization", "Bearer")


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The file of a user; CODEX_HOME names the folder."""
    return (f"{told('CODEX_HOME') or f'{user}/.codex'}/config.toml",)


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The one list of a file."""
    return entries.table(settings, "mcp_servers")


def listed(entry: Mapping[str, Json]) -> Listed:
    """What an entry starts."""
    if any(entry.get(key) for key in ("oauth", "oauth_resource", "scopes")) or entry.get("auth") == "oauth":
        return Listed(why=entries.SIGNS_IN)
    found = entries.listed(entry, KEYS)
    taken, passed, bearer = entries.texts(entry.get("env_http_headers")), entry.get("env_vars") or [], entry.get("bearer_token_env_var")
    if taken is None or not isinstance(passed, list) or not isinstance(bearer, (str, type(None))):
        return Listed(why="its variables are no texts")
    if not all(isinstance(name, str) for name in passed):
        return Listed(why="variables of another machine are passed to it")
    return Listed(found.command, found.url, found.headers,
                  (*([(*BEARER, bearer)] if bearer else []), *((name, "", variable) for name, variable in taken)),
                  found.variables, tuple(map(str, passed)), found.why)


def relisted(entry: Mapping[str, Json], server: Listed) -> Mapping[str, Json]:
    """What makes an entry start a server."""
    found = entries.relisted(entry, server, KEYS)
    bearer = next((variable for *one, variable in server.taken if tuple(one) == BEARER), None)
    rest = {name: variable for name, words, variable in server.taken if (name, words) != BEARER}
    wanted: dict[str, Json] = {"bearer_token_env_var": bearer, "env_http_headers": dict(rest), "env_vars": list(server.passed)}
    return found | {key: value or None for key, value in wanted.items() if (entry.get(key) or None) != (value or None)}
