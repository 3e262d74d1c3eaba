"""The entry of an MCP server as most harnesses write it: a command with its arguments and variables, or a URL with headers."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byref.proxy.contracts import Json
from byref.proxy.harness import Listed

SIGNS_IN = "it signs in by OAuth, which only its own client can do"
SSE = "it speaks the older SSE transport, which is not served"
NEITHER = "it starts no command and no URL"


@dataclass(frozen=True, slots=True)
class Keys:
    """What the keys of an entry are called. args: empty where the command is one list. kinds: the type of a local and of a remote one."""

    command: str = "command"
    args: str = "args"
    variables: str = "env"
    url: str = "url"
    headers: str = "headers"
    kinds: tuple[str, str] = ("stdio", "http")


USUAL = Keys()


def listed(entry: Mapping[str, Json], keys: Keys = USUAL) -> Listed:
    """What an entry starts."""
    command, args, url = entry.get(keys.command), entry.get(keys.args, []) if keys.args else [], entry.get(keys.url)
    variables, headers = texts(entry.get(keys.variables)), texts(entry.get(keys.headers))
    if variables is None or headers is None:
        return Listed(why=f"{keys.variables if variables is None else keys.headers} is no object of texts")
    words = [command, *(args if isinstance(args, list) else [None])] if keys.args else command
    if command is not None:
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            return Listed(why="its command is no list of texts")
        return Listed(tuple(map(str, words)), variables=variables)
    if not isinstance(url, str) or not url:
        return Listed(why=NEITHER)
    return Listed(url=url, headers=headers, variables=variables)


def relisted(entry: Mapping[str, Json], server: Listed, keys: Keys = USUAL) -> dict[str, Json]:
    """What makes an entry start a server, by key; None for a key that goes."""
    words, local = list(server.command), bool(server.command)
    wanted: dict[str, Json] = {keys.command: (words[0] if keys.args else [*words]) if local else None}
    if keys.args:
        wanted[keys.args] = [*words[1:]] or None if local else None
    wanted |= {keys.url: None if local else server.url, keys.variables: dict(server.variables) or None,
               keys.headers: None if local else dict(server.headers) or None}
    if entry.get("type") is not None:
        wanted["type"] = keys.kinds[0 if local else 1] or None
        if kind(entry) == kind({"type": wanted["type"]}):
            del wanted["type"]
    return {key: value for key, value in wanted.items() if (entry.get(key) or None) != value}


def kind(entry: Mapping[str, Json]) -> str:
    """The transport that an entry names, in one spelling: stdio, http, sse, or what else it says; empty where it says nothing."""
    name = str(entry.get("type") or "")
    return "stdio" if name == "local" else "http" if name == "remote" or name.lower().startswith("streamable") else name


def texts(value: Json) -> tuple[tuple[str, str], ...] | None:
    """The members of an object of texts; none for one that is not there, None for what is no such object."""
    if value is None:
        return ()
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        return None
    return tuple((key, str(one)) for key, one in value.items())


def table(settings: Json, *path: str) -> tuple[tuple[str, ...], ...]:
    """The path, in a tuple of its own, if it leads to an object that has members."""
    for key in path:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return (path,) if isinstance(settings, dict) and settings else ()
