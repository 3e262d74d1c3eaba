"""Logs of services, builds and installers: levels, times, progress; failures stand, the ordinary repeats."""
from __future__ import annotations

import re

from byref.filters import banners
from byref.filters.failures import mark, mark_summary, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed, program
from byref.filters.patterns import any_of, lines_with, loose
from byref.filters.steering import demote
from byref.filters.templates import group
from byref.filters.units import Units
from byref.proxy.contracts import Call

_STAMP = any_of(
    r"^\W{0,2}\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d", r"^\W{0,2}(?:\d\d/\d\d/\d\d |\d\d:\d\d:\d\d)", r"^[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d",
    r"^\[ *\d+\.\d+\]", r"^#\d+ ", r"^\d{10,13}\b", r"^\W{0,2}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b",
    r"^[IWEF]\d{4} \d\d:\d\d",
    flags=re.M)
_PROGRESS = any_of(
    r"^\s*\[ *\d+(?:/\d+|%)\]", r"^\s*(?:Compiling|Downloading|Downloaded|Unpacking|Installing|Building) ",
    r"^\s*Requirement already",
    r"^(?:Get|Hit|Ign):\d", r"^(?:Setting up|Selecting previously|Preparing to unpack|Reading database) ?", r"^Step \d+/\d+",
    r"^npm (?:notice|http)",
    r"^\s*Progress: ", r"^(?:g?cc|g\+\+|clang|ld|ar) ", r"^\[INFO\]", r"^> Task ", r"^#\d+ (?:sha256|extracting|\d+\.\d+ )", flags=re.M,
    opening=r"^\s*[\[CDUIBRGHSPngcla>#]")
_PROGRAMS = frozenset({
    "pip", "pip3", "apt", "apt-get", "npm", "pnpm", "yarn", "docker", "make", "cmake", "cargo", "mvn", "gradle", "gradlew", "journalctl",
    "dmesg", "conda",
    "brew", "bundle", "go", "ninja", "terraform", "ansible-playbook", "kubectl"})
# a time or a level near the start of a line, after a node's name or an id
_NEAR = re.compile(r"^.{1,60}?(?:\d\d[:.]\d\d[:.]\d\d|\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)", re.M)
_MAY_BE_NEAR = loose(r"\d\d[:.]\d\d[:.]\d\d|TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|FATAL|CRITICAL")
_FILE = re.compile(r"\.(?:log|out|err)\b|\blogs?\b")


class Log:
    name = "log"
    most = 65

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = sample.count("\n") + 1
        if rows > 5 and (len(_STAMP.findall(sample)) + len(_PROGRESS.findall(sample))) * 2 >= rows:
            return 65
        if rows > 12 and len(lines_with(_MAY_BE_NEAR, sample)) * 3 >= rows * 2 and _near(sample.split("\n")):
            return 62 if _FILE.search(command(call)) else 45
        return 55 if rows > 3 and program(call) in _PROGRAMS else 0

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        units = lines.units(worth=[-4 if _PROGRESS.match(row) else 0 for row in lines.texts], strictness=0 if narrowed(call) else 100)
        mark(units, suspects(units.texts))
        mark_summary(units, call.is_error or bool(call.exit_code))
        group(units)
        banners.mark(units)
        demote(units)
        return units


def _near(rows: list[str]) -> bool:
    """Whether two lines in three or more have a time or a level."""
    missed = 0
    for row in rows:
        missed += _NEAR.match(row) is None
        if missed * 3 > len(rows):
            return False
    return True


SHAPE = Log()
