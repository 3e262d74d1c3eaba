"""Which tools of a request are ours, and which calls are not to be touched: a second call is final (invariant 7)."""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from byref.proxy import config
from byref.proxy.errors import ConfigError
from byref.proxy.frontends.hooks import switched_off
from byref.proxy.frontends.llm.conversation import Calling
from byref.proxy.frontends.nested import starts_byref
from byref.proxy.frontends.wrap.own import TOOLS
from byref.proxy.signature import command_line, tool_kind

# As harnesses name the tools of an MCP server `byref`: mcp__byref__fetch, mcp__plugin_byref_byref__fetch, byref_fetch, byref-fetch.
_NAMED = re.compile(r"(?:.*[^A-Za-z0-9])?byref[_.\-/]+(fetch|search|status)")
_DESCRIBED = {str(tool["description"]): str(tool["name"]) for tool in TOOLS}


def which(name: str, description: str = "") -> str:
    """Which of our tools has this name, or this description: fetch, search or status; empty for another's."""
    found = _NAMED.fullmatch(name)
    return found[1] if found else _DESCRIBED.get(description, "")


def reachable(tools: Mapping[str, str]) -> bool:
    """Whether a request offers our fetch, so that a marker can be followed (invariant 9)."""
    return any(which(name, description) == "fetch" for name, description in tools.items())


class Exceptions:
    """What the user switched off: the table `[off]` of config.toml, as for hooks. Read again when the file changes."""

    def __init__(self, home: str) -> None:
        self._home, self._path = home, os.path.join(home, "config.toml")
        self._age, self._off = -1, config.Off()

    def cover(self, calling: Calling, tools: Mapping[str, str], scope: str) -> bool:
        """Whether the result of a call passes untouched and unstored."""
        if which(calling.tool, tools.get(calling.tool, "")):
            return True
        off = self._now()
        command = command_line(calling.arguments) if tool_kind(calling.tool) == "shell" or isinstance(calling.arguments, dict) else None
        if command is not None and (("byref" in command and starts_byref(command)) or ("BYREF" in command and switched_off(command))):
            return True
        folder = scope.partition(":")[2]
        return (any(fnmatchcase(calling.tool, pattern) for pattern in off.tools)
                or (command is not None and any(fnmatchcase(command, pattern) for pattern in off.commands))
                or any(folder == project or folder.startswith(project + "/") for project in off.projects))

    def _now(self) -> config.Off:
        try:
            age = os.stat(self._path).st_mtime_ns
        except OSError:
            age = 0
        if age != self._age:
            self._age = age
            try:
                self._off = config.exceptions(self._home)
            except ConfigError:  # every command says what is wrong with it
                self._off = config.Off()
        return self._off
