"""Claude Code: its hook events, and views in the exact shape of each tool's output.

Found by running 2.1.332 with hooks that log and rewrite. A rewritten output that does not match its tool's schema is
dropped by the program with an error line in the conversation, so every shape here keeps all fields that it does not know.

| tool          | part           | how the program shows it, and what carries the view                                       |
|---------------|----------------|--------------------------------------------------------------------------------------------|
| Bash          | stdout, stderr | both texts; past 30,000 characters a 2 KB preview of a file, which a shorter stdout replaces |
| Read          | text           | numbers the lines of `content` itself, without gaps: a view goes into a notebook's cell      |
| Grep          | text           | `content`, or the list `filenames`                                                         |
| Glob          | text           | the list `filenames`                                                                       |
| WebFetch      | text           | `result`                                                                                   |
| Agent, Task   | text, text2, … | the text blocks of `content`; one that runs in the background returns no report here       |
| mcp__*        | text, text2, … | text blocks, or one string where the server gave structuredContent                         |
| Edit, Write, … | text           | one line, whatever the response holds: it is noted and never replaced                      |
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from byref.adapters import entries
from byref.proxy.contracts import Json
from byref.proxy.harness import Hook, Listed, Returned, Spent, skill

PREVIEW = 2250  # characters of a preview with the words around it, for an output that the program puts into a file
BASH_LIMIT = 30_000  # characters past which a command's output becomes a preview
LIMITS = {"Grep": 20_000}  # characters past which other tools' results do
LIMIT = 50_000
CELL = '<cell id="view">\n', '</cell id="view">'
OWN = ("mcp__byref__", "mcp__plugin_byref_byref__")
EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "PreCompact", "SubagentStop", "Stop",
          "SessionEnd")
TOOLS = "Bash|Read|Grep|Glob|Edit|MultiEdit|Write|NotebookEdit|WebFetch|Agent|Task|mcp__.*"
TIMEOUT = 10  # seconds, for a machine that stands still; the client itself gives up long before
HOOK = "hook.py claude-code"
SERVER = "byref.proxy.frontends.cli"
PASSED = ("BYREF_HOME", "BYREF_SCOPE", "XDG_DATA_HOME")  # a server is started with few variables: those by which it finds the store
SERVERS = "servers"  # the file that lists MCP servers, which lies in another place by scope
FOLDER, VARIABLE = ".claude", "CLAUDE_CONFIG_DIR"
SKILL = skill("fetch", edit="Edit")

_KINDS = {"PreToolUse": "began", "PostToolUse": "returned", "PostToolUseFailure": "failed", "UserPromptSubmit": "asked",
          "PreCompact": "forgot", "SubagentStop": "stopped", "Stop": "stopped", "SessionEnd": "closed"}
_FORGETS = ("compact", "clear")
STAND = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_SPILL = ("persistedOutputPath", "persistedOutputSize")
_USAGE = {"input_tokens": "input", "cache_read_input_tokens": "read", "cache_creation_input_tokens": "written", "output_tokens": "output"}

Object = Mapping[str, Json]


def parse(event: bytes) -> Hook:
    """A hook's event, from the JSON that the program writes to its stdin. Raises ValueError."""
    found = json.loads(event)
    if not isinstance(found, dict):
        raise ValueError("an event is a JSON object")
    name, tool, took = _text(found, "hook_event_name"), _text(found, "tool_name"), found.get("duration_ms")
    kind = _KINDS.get(name, "other")
    if name == "SessionStart":
        kind = "forgot" if found.get("source") in _FORGETS else "opened"
    return Hook(
        kind, _text(found, "session_id"), _text(found, "agent_id"), _text(found, "tool_use_id"), tool, found.get("tool_input"),
        _text(found, "cwd"), _text(found, "transcript_path"), _text(found, "error" if kind == "failed" else "prompt"),
        found.get("tool_response"), took / 1000 if isinstance(took, (int, float)) else None, tool.startswith(OWN))


def returned(hook: Hook) -> Returned | None:
    """The texts that the model would see of a response or of a failure, by part."""
    if hook.kind == "failed":
        return _failure(hook)
    take, _ = _shape(hook)
    texts = take(hook.response)
    if not texts or not any(texts.values()):
        return None
    size = sum(map(len, texts.values()))
    limit = LIMITS.get(hook.tool, LIMIT)
    if hook.tool != "Bash":
        return Returned(texts, native=PREVIEW if size > limit and hook.tool not in ("Read", "Agent", "Task") else None)
    response = hook.response if isinstance(hook.response, dict) else {}
    path, whole = _text(response, _SPILL[0]), response.get(_SPILL[1])
    # The program keeps no exit code; a code other than 0 that is no failure, such as grep's 1, has an interpretation instead.
    code = None if response.get("returnCodeInterpretation") or response.get("interrupted") else 0
    if path and isinstance(whole, int):
        return Returned(texts, ("stdout", path, whole), PREVIEW, code)
    return Returned(texts, exit_code=code)


def rewritten(hook: Hook, head: str, views: Mapping[str, str]) -> bytes:
    """The answer that puts views in the place of a response's texts; nothing where the model would see more than before."""
    take, put = _shape(hook)
    texts = take(hook.response)
    if hook.kind != "returned" or texts is None or put is None:
        return b""
    names = list(texts)
    first = next((name for name in names if views.get(name)), names[0])
    placed = {name: (head if name == first else "") + views.get(name, texts[name]) for name in names}
    extra = sum(map(len, CELL)) if hook.tool == "Read" else 0
    if extra and sum(map(len, placed.values())) + extra >= sum(map(len, texts.values())):
        return b""
    return answer(put(hook.response, placed))


def answer(output: Json) -> bytes:
    """What a PostToolUse hook prints to replace a tool's output."""
    said = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}, "suppressOutput": True}
    return json.dumps(said, separators=(",", ":")).encode()


def conversation(hook: Hook) -> str:
    """The JSONL file of the event's own conversation: an agent's lies in a folder beside that of the session."""
    if not hook.agent or not hook.transcript.endswith(".jsonl"):
        return hook.transcript
    name = "".join(c for c in hook.agent if c.isalnum() or c in "-_")
    return f"{hook.transcript[:-6]}/subagents/agent-{name}.jsonl"


def task(start: bytes) -> tuple[str, str]:
    """The first prompt of a conversation and the folder where it was asked."""
    for row in _rows(start):
        if row.get("type") == "user" and not row.get("isMeta"):
            message = row.get("message")
            text = _joined(message.get("content")) if isinstance(message, dict) else ""
            if text:
                return text, _text(row, "cwd")
    return "", ""


def said(end: bytes, call_id: str) -> str | None:
    """The text blocks of the message that made a call. Each block of a message is a line of its own, written within a tenth of a second."""
    rows = [row for row in _rows(end) if row.get("type") == "assistant"]
    of, texts = "", []
    for row in reversed(rows):
        message = row.get("message")
        if not isinstance(message, dict):
            continue
        if not of and call_id in _calls(message.get("content")):
            of = _text(message, "id")
        if of and _text(message, "id") != of:
            break
        if of:
            texts.append(_joined(message.get("content")))
    return "\n".join(text for text in reversed(texts) if text) if of else None


def spent(lines: bytes) -> Sequence[Spent]:
    """Usage by message. The lines of one message repeat its usage; the last one holds the whole of its output tokens."""
    found: dict[str, Spent] = {}
    for row in _rows(lines):
        message = row.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if row.get("type") != "assistant" or not isinstance(message, dict) or not isinstance(usage, dict):
            continue
        name = _text(message, "id")
        numbers = {ours: value for theirs, ours in _USAGE.items() if isinstance(value := usage.get(theirs), int)}  # absent: unknown, not 0
        if name and numbers:
            calls = found[name].call_ids if name in found else ()
            found[name] = Spent(name, (*calls, *(c for c in _calls(message.get("content")) if c not in calls)), numbers)
    return list(found.values())


# The start of a session may wait for the daemon; a compaction that went unnoticed would leave lines as shown that are gone.
_PATIENT = ("SessionStart", "PreCompact")


def additions(hook: str, opening: str, server: Sequence[str], *, project: bool) -> Mapping[str, Json]:
    """What `byref install` adds: by file, below the folder of settings, what is merged into its JSON, or its whole text.

    hook: the command line that every event goes to; opening: for the events that may take longer. server: the
    command of the MCP server. A plugin would bring the same by way of a marketplace, whose copies and lists of its own would
    stay behind when it goes; settings load the same way in a terminal and under `claude -p`, and come out byte for byte.
    """
    def group(event: str) -> Json:
        handler: Json = {"type": "command", "command": opening if event in _PATIENT else hook, "timeout": TIMEOUT}
        return {"matcher": TOOLS, "hooks": [handler]} if "ToolUse" in event else {"hooks": [handler]}

    settings: dict[str, Json] = {
        "hooks": {event: [group(event)] for event in EVENTS},
        "permissions": {"allow": [f"{OWN[0]}fetch", f"{OWN[0]}status"]}}
    if project:
        settings["enabledMcpjsonServers"] = ["byref"]
    servers: Json = {"mcpServers": {"byref": {"type": "stdio", "command": server[0], "args": list(server[1:]),
                                              "env": {name: f"${{{name}:-}}" for name in PASSED}}}}
    return {"settings.json": settings, SERVERS: servers, "skills/byref/SKILL.md": SKILL}


def place(name: str, folder: str, root: str, *, project: bool, moved: bool) -> str:
    """Where a file of `additions` lies. folder: of the settings. root: the project, or the user's own folder.

    moved: CLAUDE_CONFIG_DIR names the folder; then the list of servers lies in it too.
    """
    if name != SERVERS:
        return f"{folder}/{name}"
    return f"{root}/.mcp.json" if project else f"{folder if moved else root}/.claude.json"


PROJECT_FILES = (".mcp.json",)


def user_files(user: str, settings: str, platform: str, told: Callable[[str], str]) -> Sequence[str]:
    """The file that lists MCP servers: the user's own, and those that stand for one project alone."""
    return (f"{told(VARIABLE) or user}/.claude.json",)


def lists(settings: Json) -> Sequence[tuple[str, ...]]:
    """The lists of a file: the user's or a project's own, and one for each project."""
    paths = [("mcpServers",), *(("projects", project, "mcpServers") for project in _object(_object(settings).get("projects")))]
    return [found for path in paths for found in entries.table(settings, *path)]


def listed(entry: Object) -> Listed:
    """What an entry starts. https://code.claude.com/docs/en/mcp: ${NAME} and ${NAME:-default} are expanded in all its fields."""
    why = entries.SIGNS_IN if entry.get("oauth") or entry.get("headersHelper") else entries.SSE if entries.kind(entry) == "sse" else ""
    return Listed(why=why) if why else entries.listed(entry)


def relisted(entry: Object, server: Listed) -> Object:
    """What makes an entry start a server."""
    return entries.relisted(entry, server)


def ours(value: Json) -> bool:
    """Whether an item of the settings is one that `additions` made, now or with another installation of byref."""
    if isinstance(value, str):
        return value in (f"{OWN[0]}fetch", f"{OWN[0]}status")
    handlers = _object(value).get("hooks")
    if isinstance(handlers, list) and handlers:
        return all(HOOK in _text(_object(one), "command") for one in handlers)
    arguments = _object(value).get("args")
    return isinstance(arguments, list) and arguments[-1:] == ["mcp"] and SERVER in str(arguments[-2:-1])


# What a tool's response holds as text, and the response with other texts in their places.
Take = Callable[[Json], dict[str, str] | None]
Put = Callable[[Json, Mapping[str, str]], Json]


def _shape(hook: Hook) -> tuple[Take, Put | None]:
    """By tool; a response that is text, or a list of blocks, is the same for all of them."""
    if isinstance(hook.response, str):
        return (lambda response: {"text": response} if isinstance(response, str) else None), lambda response, texts: texts["text"]
    if isinstance(hook.response, list):
        return _blocks, _put_blocks
    return _SHAPES.get(hook.tool, (lambda response: None, None))


def _bash(response: Json) -> dict[str, str] | None:
    if not isinstance(response, dict) or response.get("isImage") or response.get("backgroundTaskId"):
        return None
    out, err = response.get("stdout"), response.get("stderr")
    if not isinstance(out, str) or not isinstance(err, str):
        return None
    return {"stdout": out, "stderr": err} if err else {"stdout": out}


def _put_bash(response: Json, texts: Mapping[str, str]) -> Json:
    return {**{k: v for k, v in _object(response).items() if k not in _SPILL}, **texts}


def _read(response: Json) -> dict[str, str] | None:
    file = _object(_object(response).get("file"))
    content, start = file.get("content"), file.get("startLine")
    if _object(response).get("type") != "text" or not isinstance(content, str) or not isinstance(start, int) or not content:
        return None
    return {"text": "\n".join([f"{n}\t{line}" for n, line in enumerate(content.split("\n"), start)])}


def _put_read(response: Json, texts: Mapping[str, str]) -> Json:
    """Lines of `content` are numbered one after the other, which a gap would make wrong; the text of a cell is shown as it is."""
    file = _object(_object(response).get("file"))
    text = texts["text"]
    if file.get("truncatedByTokenCap"):  # the program says so only beside an output of its own
        where = f"lines {file.get('startLine')} on, {file.get('numLines')} of {file.get('totalLines')}"
        text = f"{text.rstrip()}\n[{where}: Read on with an offset]\n"
    cell = {"cellType": "code", "language": "python", "cell_id": "view", "source": "\n" + text}
    return {"type": "notebook", "file": {"filePath": file.get("filePath"), "cells": [cell]}}


def _grep(response: Json) -> dict[str, str] | None:
    found = _object(response)
    content = found.get("content")
    return {"text": content} if isinstance(content, str) and content else _names(response)


def _put_grep(response: Json, texts: Mapping[str, str]) -> Json:
    found = _object(response)
    return {**found, "content": texts["text"]} if found.get("content") else _put_names(response, texts)


def _names(response: Json) -> dict[str, str] | None:
    names = _object(response).get("filenames")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return {"text": "\n".join(str(name) for name in names)}


def _put_names(response: Json, texts: Mapping[str, str]) -> Json:
    return {**_object(response), "filenames": texts["text"].rstrip("\n").split("\n")}


def _result(response: Json) -> dict[str, str] | None:
    result = _object(response).get("result")
    return {"text": result} if isinstance(result, str) else None


def _report(response: Json) -> dict[str, str] | None:
    return _blocks(_object(response).get("content")) if _object(response).get("status") == "completed" else None


def _put_report(response: Json, texts: Mapping[str, str]) -> Json:
    return {**_object(response), "content": _put_blocks(_object(response).get("content"), texts)}


def _edited(response: Json) -> dict[str, str] | None:
    path = _object(response).get("filePath")
    return {"text": f"The file {path} has been updated successfully."} if isinstance(path, str) else None


def _named_blocks(response: Json) -> Iterator[tuple[int, str, str]]:
    """Place, part and text of each text block."""
    count = 0
    for place, block in enumerate(response if isinstance(response, list) else ()):
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
        if isinstance(text, str):
            count += 1
            yield place, "text" if count == 1 else f"text{count}", text


def _blocks(response: Json) -> dict[str, str] | None:
    return {part: text for _, part, text in _named_blocks(response)} or None


def _put_blocks(response: Json, texts: Mapping[str, str]) -> Json:
    blocks = list(response) if isinstance(response, list) else []
    for place, part, _ in _named_blocks(response):
        blocks[place] = {**_object(blocks[place]), "text": texts[part]}
    return blocks


_SHAPES: dict[str, tuple[Take, Put | None]] = {
    "Bash": (_bash, _put_bash), "Read": (_read, _put_read), "Grep": (_grep, _put_grep), "Glob": (_names, _put_names),
    "WebFetch": (_result, lambda response, texts: {**_object(response), "result": texts["text"]}),
    "Agent": (_report, _put_report), "Task": (_report, _put_report),
    **{name: (_edited, None) for name in STAND},
}


def _failure(hook: Hook) -> Returned | None:
    """A failure's text stands as it is: no hook can replace it. A command's starts with its exit code."""
    if not hook.text:
        return None
    first, _, rest = hook.text.partition("\n")
    code = first.removeprefix("Exit code ")
    if hook.tool == "Bash" and code != first and code.isdigit():
        return Returned({"stdout": rest}, exit_code=int(code), is_error=True)
    return Returned({"text": hook.text}, is_error=True)


def _rows(lines: bytes) -> Iterator[Object]:
    """The JSON objects of a JSONL file; a line that was cut at either end is left out."""
    for line in lines.split(b"\n"):
        if line.startswith(b"{") and line.rstrip().endswith(b"}"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row


def _joined(content: Json) -> str:
    """The text of a message's content, without what the program puts in between."""
    texts = [content] if isinstance(content, str) else [text for _, _, text in _named_blocks(content)]
    return "\n".join(text for text in texts if not text.lstrip().startswith("<system-reminder>"))


def _calls(content: Json) -> list[str]:
    blocks = content if isinstance(content, list) else ()
    return [_text(block, "id") for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: Object, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
