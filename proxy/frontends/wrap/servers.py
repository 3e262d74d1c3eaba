"""Which servers stand behind `byref wrap`: a command line, a URL, or the `mcpServers` of a JSON file."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.errors import ConfigError
from byref.proxy.frontends.wrap.endpoint import Wire

# As Claude Code expands them: https://code.claude.com/docs/en/mcp, "Environment variable expansion in .mcp.json"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_LAUNCHER = re.compile(r"python[\d.]*|node|npx|bunx?|deno|uvx?|pipx|sh|bash|env")
_HTTP = ("http", "streamable-http", "streamable_http", "streamableHttp")


@dataclass(frozen=True, slots=True)
class Local:
    """A server that we start. environ: all that it gets; folder: where it runs, None for ours."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: str | None = None

    async def connect(self) -> Wire:
        """Starts it. Raises OSError or ValueError."""
        from byref.proxy.frontends.wrap import process
        return await process.connect(process.spawn(self.command, self.args, self.environ, self.folder))


@dataclass(frozen=True, slots=True)
class Remote:
    """A server at a URL. headers: sent to it alone."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def connect(self) -> Wire:
        """Opens a session of its own with it."""
        from byref.proxy.frontends.wrap.streamable import Session
        return await Session.open(self.url, self.headers)


def from_command(words: Sequence[str], environ: Mapping[str, str]) -> Local:
    """The server that a command line starts. Raises `ConfigError`."""
    if not words:
        raise ConfigError("say which server to start: byref wrap -- COMMAND ARGUMENTS")
    name = words[0].rpartition("/")[2]
    if _LAUNCHER.fullmatch(name):  # then it is called by what that starts
        name = next((word.rpartition("/")[2] for word in words[1:] if word and not word.startswith("-")), "") or name
    return Local(name, words[0], tuple(words[1:]), dict(environ))


def from_url(url: str, headers: Sequence[str] = ()) -> Remote:
    """The server at a URL, with headers as `Name: value`. Raises `ConfigError`."""
    pairs = [header.partition(":") for header in headers]
    if any(not colon or not name.strip() for name, colon, _ in pairs):
        raise ConfigError("a header is given as 'Name: value'")
    return Remote(_host(url), url, {name.strip(): value.strip() for name, _, value in pairs})


def from_variables(headers: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Headers as `from_url` takes them, of `Name: VARIABLE` or `Name: Bearer VARIABLE`: values that no command line should show.

    One whose variable is not set is left out. Raises `ConfigError`.
    """
    found = []
    for header in headers:
        name, colon, value = header.partition(":")
        words = value.split()
        if not colon or not words:
            raise ConfigError("a header from a variable is given as 'Name: VARIABLE' or 'Name: Bearer VARIABLE'")
        if words[-1] in environ:
            found.append(f"{name}: {' '.join([*words[:-1], environ[words[-1]]])}")
    return found


def from_file(path: str, environ: Mapping[str, str]) -> list[Local | Remote]:
    """The servers that a JSON file names under `mcpServers`, or `servers` as VS Code has it. Raises `ConfigError` and OSError."""
    with open(path, "rb") as file:
        text = file.read()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ConfigError(f"{path} is no JSON: {fault}") from None
    servers = found.get("mcpServers", found.get("servers")) if isinstance(found, dict) else None
    if not isinstance(servers, dict) or not servers:
        raise ConfigError(f"{path} names no servers: it has to hold {{\"mcpServers\": {{NAME: {{...}}}}}}")
    return [_server(f"{path}: {name}", name, about, environ) for name, about in servers.items()
            if not (isinstance(about, dict) and about.get("disabled") is True)]


def _server(where: str, name: str, about: Json, environ: Mapping[str, str]) -> Local | Remote:
    if not isinstance(about, dict):
        raise ConfigError(f"{where} is no object")
    kind = about.get("type", "stdio" if "command" in about else "http")
    if kind == "stdio":
        variables = texts(where, "env", about.get("env", {}), environ)
        args = about.get("args", [])
        if not isinstance(args, list):
            raise ConfigError(f"{where}: args is a list of texts")
        folder = about.get("cwd")
        return Local(name, _text(where, "command", about.get("command"), environ),
                     tuple(_text(where, "args", arg, environ) for arg in args), {**environ, **variables},
                     None if folder is None else _text(where, "cwd", folder, environ))
    if kind in _HTTP:
        url = _text(where, "url", about.get("url"), environ)
        try:
            _host(url)
        except ConfigError as fault:
            raise ConfigError(f"{where}: {fault}") from None
        return Remote(name, url, texts(where, "headers", about.get("headers", {}), environ))
    raise ConfigError(f"{where}: no way to reach a server of type {str(kind)[:40]!r}; it is stdio or http")


def texts(where: str, key: str, value: Json, environ: Mapping[str, str]) -> dict[str, str]:
    """An object of texts, with the variables of environ that they name put in. where, key: for the message. Raises `ConfigError`."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: {key} is an object of texts")
    return {name: _text(where, key, one, environ) for name, one in value.items()}


def _text(where: str, key: str, value: Json, environ: Mapping[str, str]) -> str:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool) or value == "":
        raise ConfigError(f"{where}: {key} is a text")

    def variable(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in environ:
            return environ[name]
        if default is None:
            raise ConfigError(f"{where}: {key} needs the environment variable {name}; set it, or write ${{{name}:-a default}}")
        return default
    return _VARIABLE.sub(variable, str(value))


def _host(url: str) -> str:
    from urllib.parse import urlsplit
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise ConfigError(f"{url[:80]!r} is no URL of an MCP server; it begins with http:// or https://")
    return host
