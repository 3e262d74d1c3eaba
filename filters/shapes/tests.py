"""Test runs: failing tests with their reports and the summary stand, passing tests are counted."""
from __future__ import annotations

import re

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.units import ANCHOR, MUST, Units
from byref.proxy.contracts import Call

_RUNNER = re.compile(r"\b(?:pytest|py\.test|unittest|nosetests|tox|nox|jest|vitest|mocha|ava|go test|cargo (?:test|nextest)|rspec|phpunit|ctest|mvn test|"
                     r"gradle test|npm (?:run )?test|yarn test|make (?:check|test)|runtests|bin/test|dotnet test|mix test|prove)\b")
_LINE = re.compile(
    r"^=+ .* =+$|^(?:FAILED|ERROR|PASSED|XFAIL|XPASS|SKIPPED)\b|^\S+::\S+ (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL)|^(?:\s*--- (?:PASS|FAIL|SKIP)|=== RUN|PASS$|FAIL$|ok  ?\t|FAIL\t)|"
    r"^test .* \.\.\. (?:ok|FAILED|ignored)|^test result:|^running \d+ tests?|^Ran \d+ tests?|^(?:FAIL|ERROR): |^\s*[✓✔✗✕×] |^\s*(?:PASS|FAIL) \S|^Tests: +|^(?:not )?ok \d+|"
    r"^\S+ \.\.\. (?:ok|FAIL|ERROR|skipped)|^\S+\.py [.FEsxX]+", re.M)
_PASSED = re.compile(r"^\S+::\S+ (?:PASSED|SKIPPED|XFAIL)|^PASSED |^\s*--- (?:PASS|SKIP)|^=== (?:RUN|PAUSE|CONT)|^ok  ?\t|^test .* \.\.\. (?:ok|ignored)|^\s*[✓✔] |^\s*PASS \S|^ok \d+|"
                     r"^.* \.\.\. (?:ok|skipped)|^\S+\.py [.sxX]+(?: +\[ *\d+%\])?$|^\d+(?:\.\d+)?s (?:call|setup|teardown) |^\? +\t")
_FAILED = re.compile(r"^(?:FAILED|ERROR)\b|^\S+::\S+ (?:FAILED|ERROR)|^\s*--- FAIL|^FAIL(?:\t|$|:|ED| )|^ERROR: |^test .* \.\.\. FAILED|^\s*[✗✕×] |^not ok|^.* \.\.\. (?:FAIL|ERROR)$|"
                     r"^E {2,}|^>  +|^_{3,} .+ _{3,}$|^thread '.*' panicked|^\S+:\d+: (?:\w+(?:Error|Exception|Timeout)|AssertionError|in )|^\s+\S+_test\.go:\d+: |^panic: |^---- .+ ----$")
_SUMMARY = re.compile(r"^=+ .*\b(?:passed|failed|error|skipped|no tests ran)\b.* =+$|^test result:|^Ran \d+ tests?|^(?:OK|FAILED)(?: \(|$)|^Tests: |^Test Suites: |^\d+ (?:passing|failing|pending)|"
                      r"^\d+ (?:passed|failed)|^(?:FAIL|ok|PASS)(?:\t|$)|^# (?:tests|pass|fail) \d+|^exit status|^Process exited|^\s*Summary|^\d+ examples?, ")
_SECTION = re.compile(r"^=+ (?:FAILURES|ERRORS|short test summary info) =+$|^failures:$|^FAILURES!?$")


class Tests:
    name = "tests"

    def match(self, call: Call, media: str, sample: str) -> int:
        found = len(_LINE.findall(sample))
        if found and _RUNNER.search(command(call)):
            return 90
        return 80 if found > 4 and found * 3 > sample.count("\n") else 0

    def units(self, text: str, call: Call) -> Units | None:
        lines = split(text)
        texts = lines.texts
        n = len(texts)
        rank, worth, counts = bytearray(n), [0] * n, [0] * n
        for i, row in enumerate(texts):
            if _SUMMARY.match(row):
                rank[i] = MUST
            elif _FAILED.match(row):
                rank[i], counts[i] = MUST, 1
            elif _PASSED.match(row):
                worth[i], counts[i] = -40, 1
            elif _SECTION.match(row):
                rank[i] = ANCHOR
        if not any(rank) and not any(counts):
            return None
        units = Units(texts, lines.address, rank, worth, keys=[t.strip() for t in texts], glued=lines.glued,
                      total=lines.numbers[-1] if lines.numbers else n, strictness=0 if narrowed(call) else 100)
        rank[0] = max(rank[0], ANCHOR)
        rank[-1] = max(rank[-1], ANCHOR)
        mark(units, [i for i in suspects(texts) if worth[i] >= 0])
        return units


SHAPE = Tests()
