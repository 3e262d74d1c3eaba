"""What harnesses do by themselves: what is short passes, what is long keeps what each says it keeps, in words that are no data."""
from __future__ import annotations

from types import ModuleType

import pytest

from byref.proxy.contracts import Call
from byref.proxy.ledger.trajectories import Trajectory

SESSION = Trajectory("one", "made", "find what is slow", ())
LOG = "".join(f"a request of customer {n * 7919 % 100_003} took {n % 97} ms\n" for n in range(4000))


def shown(harnesses: ModuleType, name: str, output: str, tool: str = "Bash") -> str:
    view = harnesses.harnesses()[name]().start(SESSION)
    return str(view(Call(tool, {"command": "cat log"}, None, False, "", "", SESSION.task), output).text)


@pytest.mark.parametrize(("name", "limit"), [("claude-code", 30_000), ("codex", 10_000), ("opencode", 50 << 10), ("gemini-cli", 40_000)])
def test_what_is_within_the_limit_passes_and_no_more(harnesses: ModuleType, name: str, limit: int) -> None:
    assert shown(harnesses, name, LOG[:limit - 1]) == LOG[:limit - 1]
    text = shown(harnesses, name, LOG)
    assert len(text) < limit + 200 and LOG[:1900] in text
    data = harnesses.harnesses()[name]().marker.sub("\n", text)
    assert [line for line in data.splitlines() if line.strip() and line not in LOG] == []


def test_claude_code_has_a_limit_for_each_tool(harnesses: ModuleType) -> None:
    text = LOG[:35_000]
    assert shown(harnesses, "claude-code", text, "Bash") != text != shown(harnesses, "claude-code", text, "Grep")
    assert shown(harnesses, "claude-code", text, "WebFetch") == text and shown(harnesses, "claude-code", LOG, "Read") == LOG


def test_codex_and_gemini_keep_the_end_too_and_opencode_whole_lines(harnesses: ModuleType) -> None:
    assert shown(harnesses, "codex", LOG).endswith(LOG[-4000:]) and shown(harnesses, "gemini-cli", LOG).endswith(LOG[-30_000:])
    lines = shown(harnesses, "opencode", LOG).splitlines()
    assert len(lines) <= 2002 and lines[-1].endswith("lines truncated...") and lines[-3] in LOG.splitlines()


def test_characters_that_a_cut_would_halve_are_left_out(harnesses: ModuleType) -> None:
    assert "\ufffd" not in shown(harnesses, "codex", "x" + "日本語" * 9000)
