"""Reports in XML, as checkers and test runners write them: faults stand with the file or test they are of, the rest is counted.

Known are the formats of checkstyle, PMD, FindBugs and SpotBugs, JUnit, NUnit, TRX, cppcheck, Android lint, jslint, and what is like them:
an element is a fault by its name, unless its own attribute says that it is a mild one, or by that attribute alone.
"""
from __future__ import annotations

import re

from byref.filters.units import ALWAYS, ANCHOR, MUST, Units

ROOT = re.compile(
    r"<(?:checkstyle|pmd|pmd-cpd|BugCollection|testsuites?|test-run|test-results|TestRun|assemblies|jslint|csslint|cppcheck|results|issues|"
    r"FxCopReport|CodeNarc|mutations|simian|report|Report|coverage|DEFECTS)[\s>]")
_START = re.compile(r"<([A-Za-z][\w.-]*)((?:\s[^<>]*)?)(>?)")
_LEVEL = re.compile(r"\b(severity|level|priority|result|outcome|status|success)=[\"']([^\"']*)[\"']", re.I)
_FAULTS = frozenset({"error", "failure", "violation", "buginstance", "rerunfailure", "rerunerror", "flakyfailure", "defect"})
_RECORDS = _FAULTS | {"issue", "problem", "item", "warning", "message", "duplication", "mutation", "sfa", "set", "testcase", "test-case",
                      "unittestresult", "test"}
_UNGRADED = frozenset({"issue", "defect"})  # findings that are errors where nothing grades them, as in jslint's reports
_TOLD = frozenset({"failure", "error", "rerunfailure", "rerunerror", "flakyfailure"})
_TESTS = frozenset({"testcase", "test-case", "unittestresult", "test"})
_HOLDERS = _TESTS | {"file", "class", "sourcefile", "package"}
_TOPS = frozenset({"testsuite", "testsuites", "test-run", "resultsummary", "counters", "summary", "findbugssummary", "assembly"})
_DULL = frozenset({"property", "option", "argument", "classstats", "packagestats", "env", "system-out", "system-err", "rule", "bugpattern"})
_BAD = frozenset({"error", "fatal", "critical", "blocker", "high", "failed", "failure", "fail", "e", "false", "survived"})
_MILD = frozenset({"warning", "warn", "info", "information", "style", "performance", "portability", "ignore", "note", "hint", "suggestion",
                   "low", "minor", "normal", "medium", "w", "i", "skipped", "passed", "pass", "true", "success"})
_ATTRIBUTES = 12  # pieces or lines that one tag may take
_LINES = 12  # of what a failure says that stand
_URGENT = 2  # priorities of PMD (1 to 5) and FindBugs (1 to 3) up to which a finding is an error: as Jenkins' warnings plug-in maps them
_PASSED, _DULL_WORTH, _MILD_WORTH = -40, -12, -4  # quarters


def report(units: Units) -> bool:
    """Marks a report's faults as MUST, failing tests and totals as ALWAYS, and counts by its records. False if it has none."""
    texts, rank, worth = units.texts, units.rank, units.worth
    counts = [0] * len(texts)
    holder, tests, fault = -1, False, False
    for i, text in enumerate(texts):
        if "<" not in text:
            continue
        for found in _START.finditer(text):
            name, attributes = found[1].lower(), found[2]
            last = i
            while not found[3] and found.end() == len(text) and last - i < _ATTRIBUTES and last + 1 < len(texts):
                last += 1  # the tag goes on: in the next piece, or with an attribute a line
                more, end, _ = texts[last].partition(">")
                attributes += f" {more}" if units.glued is None or not units.glued[last] else more
                if end:
                    break
            bad = name in _RECORDS and _bad(name, attributes)
            counts[i] += name in _RECORDS and not (tests and name not in _TESTS)
            if bad:
                fault = True
                units.failures[i] = units.failures.get(i, 0) + 1
                for k in range(i, last + 1):
                    rank[k] = max(rank[k], MUST)
                if holder >= 0 and name not in _HOLDERS:
                    _hold(texts, rank, holder)
                if name in _TOLD and not attributes.endswith("/"):
                    _told(texts, rank, last, f"</{found[1]}")
            value = 0
            if name in _HOLDERS:
                holder = i
                if name in _TESTS:
                    tests, value = True, _PASSED
                    rank[i] = ALWAYS if bad else rank[i]
            elif name in _TOPS:
                rank[i] = ALWAYS if rank[i] < ALWAYS and "=" in attributes else rank[i]
            elif name in _DULL:
                value = _DULL_WORTH
            elif name in _RECORDS and not bad:
                value = _MILD_WORTH
            if value:
                for k in range(i, last + 1):
                    worth[k] += value
    if not fault and not any(counts):
        return False
    if sum(counts) > 1:
        units.counts, units.name = counts, "tests" if tests else "findings"
    return True


def _told(texts: list[str], rank: bytearray, i: int, end: str) -> None:
    """What a failure says in its element: the first lines stand."""
    for k in range(i, min(i + _LINES, len(texts))):
        if end in texts[k]:
            break
        rank[k + 1:k + 2] = bytes(max(level, ANCHOR) for level in rank[k + 1:k + 2])


def _bad(name: str, attributes: str) -> bool:
    """Whether an element reports a fault."""
    levels = {key.lower(): value.strip().lower() for key, value in _LEVEL.findall(attributes)}
    priority = levels.pop("priority", "")
    values = set(levels.values())
    if name in _FAULTS:
        return not values & _MILD and (not priority.isdecimal() or int(priority) <= _URGENT)
    return bool(values & _BAD) or (name in _UNGRADED and not values and not priority)


def _hold(texts: list[str], rank: bytearray, i: int) -> None:
    """The test or file that a fault is of stands with it: a failing test's name always does."""
    level = ALWAYS if any([sign in texts[i] for sign in ("<testcase", "<test-case", "<UnitTestResult", "<test ")]) else MUST
    rank[i] = max(rank[i], level)


