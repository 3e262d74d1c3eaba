"""OpenCode: its plugin's events, views in the place of outputs, and its lists of MCP servers. https://opencode.ai/docs/plugins

Found by running 1.18.33 with a plugin that logs and rewrites. The plugin, opencode.js, runs inside the program: it tells the daemon of
each call over its socket, and puts what comes back into the output. It also adds the MCP server, so that no file of settings changes.

| tool                | part            | what the model sees, and what carries the view                                  |
|---------------------|-----------------|---------------------------------------------------------------------------------|
| bash                | stdout          | both streams in one, no exit code; past 50 KB the end of a file with the whole   |
| read                | text            | numbered lines between tags, which stay round a view                            |
| MCP tools           | text, text2, …  | text blocks                                                                     |
| edit, write, …      | text            | one line: it is noted and never replaced                                        |
| skill, todowrite, … |                 | passes                                                                          |
| all others          | text            | their text; past 50 KB a part of it and the path of a file with the whole        |

A tool that failed gets no event of its own and stands raw; its error comes with the state of the message.

Version 2 lists MCP servers under `mcp.servers`, version 1 right under `mcp`. A local one's command is one list. {env:NAME} and
{file:PATH} are expanded in all texts, so a header's value works as the value of a variable too.
"""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Hook, Listed, Returned, Spent, skill

OWN = "byref_"  # before the names of the tools of the server that the plugin adds
FOLDER, PROJECT_FOLDER, VARIABLE = ".config/opencode", ".opencode", "OPENCODE_CONFIG_DIR"
PLUGIN = "plugins/byref.js"
SKILL = skill("byref_fetch", edit="edit")

_KINDS = {"asked": "asked", "began": "began", "returned": "returned", "failed": "failed", "compacted": "forgot", "billed": "billed",
          "closed": "closed"}
STAND = ("edit", "multiedit", "write", "patch", "apply_patch")
_PASSING = ("skill", "todowrite", "todoread", "question", "plan_enter", "plan_exit", "invalid")
_AFTER = "\n\n<shell_metadata>"
_BEFORE, _BEHIND = "<content>\n", "\n\n("

Object = Mapping[str, Json]


def parse(event: bytes) -> Hook:
    """An event as opencode.js sends it. Raises ValueError."""
    found = json.loads(event)
    if not isinstance(found, dict):
        raise ValueError("an event is a JSON object")
    kind, tool = _KINDS.get(_text(found, "type"), "other"), _text(found, "tool")
    text = json.dumps({key: found.get(key) for key in ("info", "calls")}) if kind == "billed" else _text(
        found, "error" if kind == "failed" else "text")
    response = {key: found.get(key) for key in ("output", "content", "exit", "spilled", "size")} if kind == "returned" else None
    return Hook(kind, _text(found, "session"), "", _text(found, "call"), tool, found.get("args"), _text(found, "folder"), "", text,
                response, own=tool.startswith(OWN), said=_text(found, "said"))


def returned(hook: Hook) -> Returned | None:
    """The texts that the model would see of a response or of a failure, by part."""
    if hook.kind == "failed":
        return Returned({"text": hook.text}, is_error=True) if hook.text else None
    response, parts = _object(hook.response), _parts(hook)
    if not any(parts.values()) or hook.tool in _PASSING:
        return None
    code, path, size = response.get("exit"), _text(response, "spilled"), response.get("size")
    exit_code = code if isinstance(code, int) else None
    if path and isinstance(size, int) and size and len(parts) == 1:
        return Returned(parts, (next(iter(parts)), path, size), len(_text(response, "output")), exit_code)
    return Returned(parts, exit_code=exit_code)


def rewritten(hook: Hook, head: str, views: Mapping[str, str]) -> bytes:
    """What the plugin puts in the place of the response's texts; what stands round the text of a tool stays there."""
    if hook.kind != "returned" or hook.tool in STAND:
        return b""
    response, parts = _object(hook.response), _parts(hook)
    first = next((name for name in parts if views.get(name)), "")
    texts = [(head if name == first else "") + views.get(name, text) for name, text in parts.items()]
    if isinstance(response.get("content"), list):
        return json.dumps({"texts": texts}).encode()
    before, _, after = _cut(hook.tool, _text(response, "output"))
    return json.dumps({"output": before + texts[0] + after}).encode()


def conversation(hook: Hook) -> str:
    """None: it keeps conversations in a database, and the plugin tells what has to be known of them."""
    return ""


def task(start: bytes) -> tuple[str, str]:
    """Nothing, see `conversation`."""
    return "", ""


def said(end: bytes, call_id: str) -> str:
    """Nothing, see `conversation`."""
    return ""


def spent(lines: bytes) -> Sequence[Spent]:
    """Usage of a message, as an event told it. What it counts as input lacks what was read from a cache or written into it."""
    found = _object(json.loads(lines))
    info, calls = _object(found.get("info")), found.get("calls")
    tokens, name = _object(info.get("tokens")), _text(info, "id")
    cache = _object(tokens.get("cache"))
    numbers = {"input": tokens.get("input"), "output": tokens.get("output"), "read": cache.get("read"),
               "written": cache.get("write") or None}
    known = {key: value for key, value in numbers.items() if isinstance(value, int)}
    made = tuple(str(call) for call in calls) if isinstance(calls, list) else ()
    return [Spent(name, made, known)] if name and any(known.values()) else []


def additions(hook: str, opening: str, server: Sequence[str], *, project: bool) -> Mapping[str, Json]:
    """What `byref install` adds: by file, below the folder of settings, its whole text."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencode.js"), encoding="utf-8") as file:
        text = file.read()
    client = next((word for word in hook.split() if word.strip("'").endswith("hook.py")), "")
    for name, value in (("CLIENT", client.strip("'")), ("HOOK", hook), ("PATIENT", opening), ("SERVER", list(server))):
        wanted = f'["@{name}@"]' if isinstance(value, list) else f'"@{name}@"'
        text = text.replace(wanted, json.dumps(value, ensure_ascii=False))
    return {PLUGIN: text, "skills/byref/SKILL.md": SKILL}


def place(name: str, folder: str, root: str, *, project: bool, moved: bool) -> str:
    """Where a file of `additions` lies."""
    return f"{folder}/{name}"


def user_folder(user: str, told: Callable[[str], str]) -> str:
    """The folder of a user's settings: ~/.config on every platform, unless XDG says otherwise."""
    return told(VARIABLE) or f"{told('XDG_CONFIG_HOME') or f'{user}/.config'}/opencode"


def ours(value: Json) -> bool:
    """Nothing of ours stands in a file of somebody else."""
    return False


def _parts(hook: Hook) -> dict[str, str]:
    response = _object(hook.response)
    content = response.get("content")
    if isinstance(content, list):
        texts = [_text(_object(block), "text") for block in content if _object(block).get("type") == "text"]
        return {"text" if n == 1 else f"text{n}": text for n, text in enumerate(texts, 1)}
    return {"stdout" if hook.tool == "bash" else "text": _cut(hook.tool, _text(response, "output"))[1]}


def _cut(tool: str, output: str) -> tuple[str, str, str]:
    """An output in three: what stands before its text, the text, what stands behind."""
    if tool == "bash" and _AFTER in output:
        at = output.rindex(_AFTER)
        return "", output[:at], output[at:]
    if tool == "read" and _BEFORE in output[:5000] and output.rstrip().endswith("</content>"):
        start, end = output.index(_BEFORE) + len(_BEFORE), output.rindex("\n</content>")
        behind = output.rfind(_BEHIND, start, end)  # each line of the file starts with its number, so this is none of them
        end = behind if behind >= 0 else end
        return output[:start], output[start:end], output[end:]
    return "", output, ""


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: Object, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


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
