"""What a call itself says of the output it wants: its command, and whether the caller narrowed it."""
from __future__ import annotations

import re

from byref.filters.patterns import any_of
from byref.proxy.contracts import Call

_NARROW = any_of(r"\|\s*(?:head|tail|grep|egrep|rg|sed|awk|cut|jq|wc|sort|uniq)\b", r"\bsed -n\b", r"^\s*(?:head|tail)\b", r"\bawk\b",
                 r"\bgrep\b.*-[ABCm] ?\d")
_COMMAND = ("command", "cmd", "script", "code", "input")


def command(call: Call) -> str:
    """The command line of a shell call, else nothing."""
    arguments = call.arguments
    if isinstance(arguments, dict):
        for key in _COMMAND:
            value = arguments.get(key)
            if isinstance(value, str):
                return value
            if isinstance(value, (list, tuple)):
                return " ".join(map(str, value))
    return arguments if isinstance(arguments, str) else ""


def narrowed(call: Call) -> bool:
    """Whether the caller asked for a part already: a line range, a filter, a limit, one file to search."""
    arguments = call.arguments
    if isinstance(arguments, dict) and (arguments.get("offset") is not None or arguments.get("limit") is not None
                                        or arguments.get("view_range") is not None or arguments.get("head_limit") is not None):
        return True
    return bool(_NARROW.search(command(call)))


def program(call: Call) -> str:
    """The name of the program that a shell call runs, or of the tool: the last command of a line, without its folder."""
    line = command(call)
    for part in reversed(re.split(r"&&|\|\||;|\n", line)):
        words = part.split("|")[0].split()
        while words and (words[0] in _WRAPPERS or "=" in words[0] or words[0].startswith("-") or words[0].isdigit()):
            words.pop(0)
        if len(words) > 2 and _PYTHON.fullmatch(words[0].rsplit("/", 1)[-1]) and words[1] == "-m":
            words = words[2:]
        if words:
            name = words[0].rsplit("/", 1)[-1]
            if re.fullmatch(r"[\w.+-]{1,24}", name) and name not in _BUILTINS:
                return name
    return call.tool if re.fullmatch(r"[\w.+/-]{1,24}", call.tool) else "output"


_WRAPPERS = frozenset({"sudo", "env", "time", "nohup", "timeout", "nice", "exec", "command", "uv", "run", "poetry", "npx", "xargs"})
_BUILTINS = frozenset({"cd", "exit", "export", "false", "set", "source", "true", "wait"})
_PYTHON = re.compile(r"python[\d.]*")
