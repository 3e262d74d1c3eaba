"""Any text and any bytes, taken for an output of any shape there is, keep what every view promises.

Shapes are found by discovery: a new one is tried without being named here. `tests/soak/shapes.py` does the same for longer.
"""
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byref.proxy.contracts import Seen
from conformance.outputs import made
from conformance.shapes import NAMES as NAMES_OF_SHAPES
from conformance.shapes import look_as

PROFILES = st.sampled_from(["safe", "auto", "lean"])
COMMANDS = st.sampled_from([None, "", "cat f", "make test", "pytest -q", "grep -rn x .", "npm install", "pytest -v | tail", "git diff",
                            "ls -lR", "kubectl get pods", "curl http://x", "sed -n 1,99p f"])
TOOLS = st.sampled_from(["Bash", "Read", "Edit", "grep", "mcp__x__y"])
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIGNS = [sign.encode() for sign in (
    "\n", "\r\n", "\r", "\x1b[31m", "«L1-9»", "word " * 90, "|", " | ", "-+-", ",", '"', "\t", "<", ">", "</a>", "<!--", "&amp;", "{", "}",
    "[1,", '  File "a.py", line 3, in f\n', "\tat a.B.c(B.java:3)\n", "Caused by: ", "@@ -1 +1 @@\n", "ERROR x\n", "diff --git a/x b/x\n",
    "GIT binary patch\n", "./a/b.py\n", "drwxr-xr-x 2 a a 4096 Nov 1 10:00 d\n", "total 8\n", "Name  Age\n", "12:30:11 INFO ok\n",
    "--- FAIL: T (0.0s)\n", "x.py:3:y\n", "  7\tdef f():\n")] + ["日本".encode()[:4]]


@pytest.mark.parametrize("shape", NAMES_OF_SHAPES)
@few
@given(st.integers(0, 10**9), COMMANDS, TOOLS, PROFILES, st.sampled_from([None, None, 60, 400]),
       st.sampled_from([0, 1, None]), st.sampled_from([0, 0, 2, 3]), st.booleans())
def test_any_text_under_any_shape(shape: str, seed: int, command: str | None, tool: str, profile: str, budget: int | None,
                                  code: int | None, nth: int, proven: bool) -> None:
    raw = made(seed, 120)
    lines = frozenset(line.strip() for line in raw.split("\n")[::nth]) if nth else frozenset()
    look_as(shape, raw, command, tool=tool, profile=profile, budget=budget, exit_code=code, seen=Seen(lines, frozenset(), proven))


@pytest.mark.parametrize("shape", NAMES_OF_SHAPES)
@few
@given(st.lists(st.binary(max_size=300) | st.text(max_size=200).map(str.encode) | st.sampled_from(SIGNS), max_size=40),
       PROFILES, st.sampled_from([None, 60, 200]))
def test_any_bytes_under_any_shape(shape: str, pieces: list[bytes], profile: str, budget: int | None) -> None:
    look_as(shape, b"".join(pieces), "cat f", profile=profile, budget=budget)
    look_as(shape, b"".join(pieces) * 7, "cat f", profile=profile, budget=budget, exit_code=1)
