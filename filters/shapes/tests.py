"""Test runs: failing tests with their reports and the summary stand, passing tests are counted."""
from __future__ import annotations

import re

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.patterns import Seldom, any_of, lines_with, loose
from byref.filters.steering import demote
from byref.filters.units import ALWAYS, ANCHOR, MUST, Units
from byref.proxy.contracts import Call

_RUNNER = (
    r"\b(?:pytest|py\.test|unittest|nosetests|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|runtests|prove"
    r"|cargo nextest|make check|bin/test|(?:go|cargo|mvn|gradle|npm|npm run|yarn|dotnet|mix|make) test)\b")
_runs = Seldom(_RUNNER, _RUNNER)
_PASSED = any_of(
    r"^\S+::.+ (?:PASSED|SKIPPED|XFAIL)\b", r"^PASSED ",  # pytest -v, -rA
    r"^\S+\.py [.sxX]+(?: +\[ *\d+%\])?$", r"^\d+(?:\.\d+)?s (?:call|setup|teardown) ",  # pytest, --durations
    r"^\s*--- (?:PASS|SKIP)", r"^=== (?:RUN|PAUSE|CONT)", r"^ok  ?\t", r"^\? +\t",  # go test
    r"^test .* \.\.\. (?:ok|ignored)",  # cargo
    r"^\s*[✓✔] ", r"^\s*PASS \S",  # jest, vitest, mocha
    r"^ok \d+", r"^.* \.\.\. (?:ok|skipped\b.*)$")  # TAP, unittest
_NAME = any_of(
    r"^(?:FAILED|ERROR) \S*(?:::|\.py\b)", r"^\S+::.+ (?:FAILED|ERROR)\b", r"^\s*--- FAIL", r"^(?:FAIL|ERROR): \S+(?: \(.*)?$",
    r"^test .* \.\.\. FAILED", r"^\s*[✗✕×] ", r"^not ok", r"^.* \.\.\. (?:FAIL|ERROR)$", r"^---- .+ ----$", r"^_{3,} .+ _{3,}$", r"^ {2}● ")
_REPORT = any_of(
    r"^E  +\S", r"^>  +\S",  # pytest: what was asserted, and where
    r"^\S+:\d+: (?:\w+(?:Error|Exception|Timeout)|AssertionError|in )", r"^\s+File \"[^\"]+\", line \d+", r"^\w*(?:Error|Exception)\b",
    r"^thread '.*' panicked", r"^panic: ")
_SUMMARY = any_of(
    r"^=+ .*\b(?:passed|failed|errors?|skipped|deselected|no tests ran)\b.* =+$", r"^\d+ (?:passed|failed)\b",
    r"^Ran \d+ tests?", r"^(?:OK|FAILED)(?: \(|$)", r"^test result:", r"^Tests: ", r"^Test Suites: ", r"^\s*Tests  ",
    r"^\d+ (?:passing|failing|pending)",
    r"^(?:FAIL|PASS)(?:\t|$)", r"^exit status ", r"^Process exited", r"^# (?:tests|pass|fail) \d+", r"^\d+ examples?, ", r"^Exit code \d")
_SECTION = re.compile(r"^=+ .* =+$|^failures:$|^FAILURES!?$|^=+$")

_MAY_SAY = loose("|".join((_PASSED.pattern, _NAME.pattern, _SUMMARY.pattern)))
_ROWS = 60  # lines that say what kind of output this is
_FEW = 5  # lines that report tests, at least, of a call that is not known to run any


class Tests:
    name = "tests"
    most = 90

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = sample.split("\n")[:_ROWS]
        if _runs(command(call)):
            return 90 if any(_says(row) for row in rows) or "=== test session starts" in sample else 0
        if len(rows) < _FEW:
            return 0
        found = sum([_says(row) for row in lines_with(_MAY_SAY, "\n".join(rows))])
        return 80 if found >= _FEW and found * 3 > len(rows) else 0

    def units(self, text: str, call: Call) -> Units | None:
        lines = split(text)
        texts = lines.texts
        n = len(texts)
        rank, worth = bytearray(n), [0] * n
        for i, row in enumerate(texts):
            if _PASSED.match(row):
                worth[i] = -40
                if "--- " in row and row.lstrip().startswith("--- "):  # go: what a test logged stands before its result
                    k = i - 1
                    while k >= 0 and texts[k][:1] in (" ", "\t") and not rank[k] and not worth[k]:
                        worth[k] = -40
                        k -= 1
            elif _SUMMARY.match(row) or _NAME.match(row):
                rank[i] = ALWAYS
            elif _REPORT.match(row):
                rank[i] = MUST
            elif _SECTION.match(row):
                rank[i] = ANCHOR
        units = lines.units(rank=rank, worth=worth, strictness=0 if narrowed(call) else 100)
        mark(units, [i for i in suspects(texts) if worth[i] >= 0])
        demote(units)
        return units


def _says(row: str) -> bool:
    """Whether a line reports a test, or how tests went."""
    return bool(_PASSED.match(row) or _NAME.match(row) or _SUMMARY.match(row))


SHAPE = Tests()
