"""Codex: its hook events, views in the place of outputs, and its lists of MCP servers, in its TOML.

Found by running 0.171.0 with hooks that log and answer. https://developers.openai.com/codex/hooks and /codex/mcp

A hook cannot rewrite an output, but `{"decision": "block", "reason": VIEW}` puts VIEW in the place of all that the model would
see of it. That drops the line that says how a command ended, which the event does not tell: it stands in the conversation's file,
which has it before the hook runs.

| tool         | event                                | part              | what the model sees                                          |
|--------------|--------------------------------------|-------------------|--------------------------------------------------------------|
| exec_command | Bash, once the command has ended     | stdout, shown     | how it ended, then the text, both streams in one, its middle |
|              |                                      |                   | cut out past a size that differs by model                    |
| write_stdin  | Bash, the id of the command's call   | stdout, shown     | the same, of what came since                                 |
| mcp__*       | its name, only where it did not fail | text, text2, …    | the text blocks                                              |
|              |                                      | structuredContent | that alone, where there is any                               |
| apply_patch  | its name                             | text              | one line a file: it is noted and never replaced              |

It expands nothing in a server's entry, and hands few variables on: `env_vars` names more. A header's value may stand in a variable of
its own.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Hook, Listed, Returned, Spent, skill

CUT = "Warning: truncated output "  # the first words of an output that Codex cut
WHOLE = 1 << 16  # bytes of an output that the conversation's file holds; of a longer one it lacks the middle, and does not say so
TAIL = 1 << 20  # bytes at the end of that file in which a call stands that has just ended: an output may take six for each of its own
MCP_LIMIT = 12_000  # characters of an MCP tool's result, past which it cuts for some models
OWN = "mcp__byref__"
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStop", "Stop", "SessionEnd")
TOOLS = "^(Bash|apply_patch|mcp__.*)$"
STAND = ("apply_patch",)
TIMEOUT = 10  # seconds, for a machine that stands still; the client itself gives up long before
LATEST = 3  # seconds that it grants the end of a session at most
HOOK = "hook.py codex"
SERVER = "byref.proxy.frontends.cli"
PASSED = ("BYREF_HOME", "BYREF_SCOPE", "XDG_DATA_HOME")  # a server is started with few variables: those by which it finds the store
FOLDER, VARIABLE = ".codex", "CODEX_HOME"
SKILL = skill("fetch", early="A view takes the place of the lines on how a command ended: its first line says `exit N` where N is not 0.")

_KINDS = {"SessionStart": "opened", "PreToolUse": "began", "PostToolUse": "returned", "UserPromptSubmit": "asked", "PreCompact": "forgot",
          "SubagentStop": "stopped", "Stop": "stopped", "SessionEnd": "closed"}
_FORGETS = ("compact", "clear")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")

Object = Mapping[str, Json]


def parse(event: bytes) -> Hook:
    """A hook's event, from the JSON that the program writes to its stdin. Raises ValueError."""
    found = json.loads(event)
    if not isinstance(found, dict):
        raise ValueError("an event is a JSON object")
    name, tool = _text(found, "hook_event_name"), _text(found, "tool_name")
    kind = "forgot" if name == "SessionStart" and found.get("source") in _FORGETS else _KINDS.get(name, "other")
    return Hook(
        kind, _text(found, "session_id"), _text(found, "agent_id"), _text(found, "tool_use_id"), tool, found.get("tool_input"),
        _text(found, "cwd"), _text(found, "agent_transcript_path") or _text(found, "transcript_path"), _text(found, "prompt"),
        found.get("tool_response"), own=tool.startswith(OWN))


def returned(hook: Hook) -> Returned | None:
    """The texts that the model would see of a response, by part. A failure of an MCP tool comes with no event."""
    response = hook.response
    if isinstance(response, str):
        if not response or hook.tool not in ("Bash", "apply_patch"):
            return None
        part = "text" if hook.tool != "Bash" else "shown" if response.startswith(CUT) else "stdout"
        return Returned({part: response}, native=len(response) if part == "shown" else None)
    texts = _result(response) if hook.tool.startswith("mcp__") and isinstance(response, dict) else None
    if not texts or not any(texts.values()):
        return None
    return Returned(texts, native=MCP_LIMIT if sum(map(len, texts.values())) > MCP_LIMIT else None)


def ended(hook: Hook, found: Returned, end: bytes) -> Returned | None:
    """With a command's exit code, and with the whole of a text that was cut, if the file holds it. Only a command has to stand there."""
    if hook.tool != "Bash":
        return found
    sign = hook.call_id.encode()
    for line in reversed(end.split(b"\n")):
        item = _object(_payload(line).get("item")) if sign in line and b"CommandExecution" in line else {}
        code = item.get("exit_code")
        if item.get("id") != hook.call_id or not isinstance(code, int):
            continue
        whole = _text(item, "aggregated_output")
        lost = "shown" not in found.parts or not whole or len(whole.encode()) >= WHOLE
        return Returned(found.parts if lost else {"stdout": whole}, native=found.native, exit_code=code)
    return None


def rewritten(hook: Hook, head: str, views: Mapping[str, str]) -> bytes:
    """The answer that puts views in the place of a response. That it was cut is said with the part `shown`."""
    if hook.kind != "returned" or hook.tool in STAND or not views:
        return b""
    text = head + "\n".join(view.rstrip("\n") for view in views.values()) + "\n"
    if "shown" in views and isinstance(hook.response, str) and CUT not in text:
        text = hook.response.partition("\n")[0] + "\n" + text
    return json.dumps({"decision": "block", "reason": text}, separators=(",", ":")).encode()


def conversation(hook: Hook) -> str:
    """The JSONL file of the event's own conversation: the events of an agent name that of the agent."""
    return hook.transcript


def task(start: bytes) -> tuple[str, str]:
    """The first prompt of a conversation and the folder where it was asked."""
    folder = ""
    for line in start.split(b"\n"):
        payload = _payload(line)
        folder = folder or (_text(payload, "cwd") if "originator" in payload else "")
        item = _object(payload.get("item"))
        if item.get("type") == "UserMessage" and (text := _joined(item.get("content"))):
            return text, folder
    return "", folder


def said(end: bytes, call_id: str) -> str | None:
    """The messages of the agent before a call, back to the output of the one before it."""
    texts: list[str] = []
    found = False
    for line in reversed(end.split(b"\n")):
        payload = _payload(line) if b"response_item" in line else {}
        kind = payload.get("type")
        if not found:
            found = bool(call_id) and kind in _CALLS and payload.get("call_id") == call_id
        elif kind == "message" and payload.get("role") == "assistant":
            texts.append(_joined(payload.get("content")))
        elif kind == "message" or str(kind).endswith("_output"):
            break
    return "\n".join(text for text in reversed(texts) if text) if found else None


def spent(lines: bytes) -> Sequence[Spent]:
    """Usage by response, after the calls that it made. Cached tokens are among the input here, and a 0 of tokens written says nothing."""
    found: dict[str, Spent] = {}
    calls: list[str] = []
    for line in lines.split(b"\n"):
        payload = _payload(line)
        if payload.get("type") in _CALLS:
            calls.append(_text(payload, "call_id"))
        name, usage = _text(payload, "response_id"), _object(payload.get("usage"))
        numbers = {key: value for key in ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
                   if isinstance(value := usage.get(key), int)}
        if name and "input_tokens" in numbers:
            read, written = numbers.get("cached_input_tokens"), numbers.get("cache_write_input_tokens") or None
            ours = {"input": max(0, numbers["input_tokens"] - (read or 0) - (written or 0)), "read": read, "written": written,
                    "output": numbers.get("output_tokens")}
            found[name] = Spent(name, tuple(calls), {key: value for key, value in ours.items() if value is not None})
            calls = []
    return list(found.values())


# The start of a session may wait for the daemon; a compaction that went unnoticed would leave lines as shown that are gone.
_PATIENT = ("SessionStart", "PreCompact")


def additions(hook: str, opening: str, server: Sequence[str], *, project: bool) -> Mapping[str, Json]:
    """What `byref install` adds: by file, below the folder of settings, what is merged into it, or its whole text.

    As in claude_code.py. Hooks go into a file of their own rather than into config.toml: most users have none yet.
    """
    def group(event: str) -> Json:
        handler: Json = {"type": "command", "command": opening if event in _PATIENT else hook,
                         "timeout": LATEST if event == "SessionEnd" else TIMEOUT}
        return {"matcher": TOOLS, "hooks": [handler]} if "ToolUse" in event else {"hooks": [handler]}

    return {"hooks.json": {"hooks": {event: [group(event)] for event in EVENTS}},
            "config.toml": {"mcp_servers": {"byref": {"command": server[0], "args": list(server[1:]), "env_vars": list(PASSED)}}},
            "skills/byref/SKILL.md": SKILL}


def place(name: str, folder: str, root: str, *, project: bool, moved: bool) -> str:
    """Where a file of `additions` lies."""
    return f"{folder}/{name}"


def ours(value: Json) -> bool:
    """Whether an item of the settings is one that `additions` made, now or with another installation of byref."""
    handlers = _object(value).get("hooks")
    if isinstance(handlers, list) and handlers:
        return all(HOOK in _text(_object(one), "command") for one in handlers)
    arguments = _object(value).get("args")
    return isinstance(arguments, list) and arguments[-1:] == ["mcp"] and SERVER in str(arguments[-2:-1])


def waiting(folder: str, settings: Json) -> str:
    """Why hooks that are in place do not run, from the user's config.toml; empty where they do, as far as that says.

    It notes there what its user has trusted, of a project's hooks too.
    """
    of = settings if isinstance(settings, dict) else {}
    if _object(of.get("features")).get("hooks") is False:
        return "config.toml has turned all hooks off, in [features]"
    state = _object(_object(of.get("hooks")).get("state"))
    trusted = [key for key, value in state.items() if _text(_object(value), "trusted_hash")]
    if not any(key.startswith(f"{folder}/hooks.json:post_tool_use:") for key in trusted):
        return "Codex runs hooks that its user has trusted; start `codex` and say /hooks"
    return ""


def _result(response: Object) -> dict[str, str] | None:
    """The texts of an MCP result; nothing where pictures or other blocks stand between them, which a text could not hold."""
    structured, content = response.get("structuredContent"), response.get("content")
    if structured is not None:
        return {"structuredContent": json.dumps(structured, ensure_ascii=False, separators=(",", ":"))}
    blocks = content if isinstance(content, list) else []
    texts = [text for block in blocks if isinstance(text := _object(block).get("text"), str) and _object(block).get("type") == "text"]
    if len(texts) != len(blocks):
        return None
    return {"text" if n == 1 else f"text{n}": text for n, text in enumerate(texts, 1)}


def _payload(line: bytes) -> Object:
    """What a line of a conversation's file says; nothing for one that was cut at either end."""
    if not line.startswith(b"{"):
        return {}
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return _object(_object(row).get("payload"))


def _joined(content: Json) -> str:
    return "\n".join(text for block in (content if isinstance(content, list) else ()) if (text := _text(_object(block), "text")))


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: Object, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


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
