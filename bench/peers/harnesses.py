"""What harnesses do with a long output by themselves, as arms of a replay: no help beside them, and nothing that looks at the text.

Limits are those of their sources in November 2026; what a harness keeps in a file, an agent can read there with another call.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from arms import PREVIEW, Plain

from byref.proxy.contracts import Call
from byref.proxy.ledger.replay import Arm

CLAUDE_CODE: Mapping[str, int] = {"Bash": 30_000, "Grep": 20_000}  # characters of a tool's result; past them it becomes a file (2.1)
CLAUDE_CODE_REST = 50_000
CODEX = 10_000  # bytes: its default `TruncationPolicyConfig::bytes(10_000)`; models with a policy in tokens show four times as much
OPENCODE_LINES, OPENCODE_BYTES = 2000, 50 << 10  # the first so many, whichever comes first
GEMINI, GEMINI_HEAD = 40_000, 8000  # characters: `truncateToolOutputThreshold`, a fifth of it from the beginning and the rest from the end
_READ = "Read"  # of Claude Code: bounded by the tool itself, and never a file


def claude_code() -> Arm:
    """Claude Code: a long result becomes a file and its first 2 KB, by the limit of its tool."""
    def view(call: Call, output: str) -> str:
        if call.tool == _READ or len(output) <= CLAUDE_CODE.get(call.tool, CLAUDE_CODE_REST):
            return output
        return f"<persisted-output>\nOutput too large ({len(output)} characters).\nPreview:\n{output[:PREVIEW]}\n</persisted-output>"
    return Plain(view, r"^</?persisted-output>$|^Output too large \(\d+ characters\)\.$|^Preview:$")


def codex() -> Arm:
    """Codex: both ends of a long result, half of its bytes each."""
    def view(call: Call, output: str) -> str:
        data = output.encode("utf-8", "surrogatepass")
        if len(data) <= CODEX:
            return output
        head, tail = (part.decode("utf-8", "ignore") for part in (data[:CODEX // 2], data[-(CODEX // 2):]))
        return f"{head}…{len(output) - len(head) - len(tail)} chars truncated…{tail}"
    return Plain(view, r"…\d+ chars truncated…")


def opencode() -> Arm:
    """OpenCode: the first lines of a long result; all of it is kept in a file."""
    def view(call: Call, output: str) -> str:
        lines = output.split("\n")
        kept: list[str] = []
        size = 0
        for line in lines[:OPENCODE_LINES]:
            size += len(line.encode("utf-8", "surrogatepass")) + 1
            if size > OPENCODE_BYTES:
                break
            kept.append(line)
        if len(kept) == len(lines):
            return output
        return "\n".join([*kept, "", f"...{len(lines) - len(kept)} lines truncated..."])
    return Plain(view, r"^\.\.\.\d+ lines truncated\.\.\.$")


def gemini_cli() -> Arm:
    """Gemini CLI: a fifth from the beginning and the rest from the end; all of it is kept in a file."""
    def view(call: Call, output: str) -> str:
        if len(output) <= GEMINI:
            return output
        omitted = len(output) - GEMINI
        return f"{output[:GEMINI_HEAD]}\n\n... [{omitted} characters omitted] ...\n\n{output[-(GEMINI - GEMINI_HEAD):]}"
    return Plain(view, r"^\.\.\. \[\d+ characters omitted\] \.\.\.$")


def harnesses() -> dict[str, Callable[[], Arm]]:
    """All of them, by name."""
    return {"claude-code": claude_code, "codex": codex, "opencode": opencode, "gemini-cli": gemini_cli}
