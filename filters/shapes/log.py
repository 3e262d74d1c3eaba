"""Logs of services, builds and installers: levels, times, progress; failures stand, the ordinary repeats."""
from __future__ import annotations

import re

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import narrowed, program
from byref.filters.units import ANCHOR, Units
from byref.proxy.contracts import Call

_STAMP = re.compile(
    r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d/\d\d/\d\d |\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\[ *\d+\.\d+\]|#\d+ |\d{10,13}\b|"
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|\[(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b|[IWEF]\d{4} \d\d:\d\d)", re.M)
_BUILD = re.compile(r"^\s*(?:\[ *\d+(?:/\d+|%)\]|Compiling |Downloading |Downloaded |Collecting |Requirement already|Get:\d|Hit:\d|Unpacking |Setting up |"
                    r"Selecting previously|Preparing to unpack|Step \d+/\d+|npm (?:warn|WARN|notice|http)|Progress: |added \d+ packages|\S+\.o:|g?cc |\[INFO\]|> Task )", re.M)
_PROGRAMS = frozenset({"pip", "pip3", "apt", "apt-get", "npm", "pnpm", "yarn", "docker", "make", "cmake", "cargo", "mvn", "gradle", "gradlew", "journalctl",
                       "dmesg", "conda", "brew", "bundle", "go", "ninja", "terraform", "ansible-playbook", "kubectl"})
_SUMMARY = re.compile(r"^(?:BUILD |Finished|Successfully|Build |Done|Total|added \d+|Installing collected|\d+ (?:upgraded|packages?)|exit code|returncode|real\t|"
                      r"Command |The last command|<returncode>)|\b(?:warning|warn)s?\b.*\b\d+\b|^\d+ (?:error|warning|failure)s?\b|\b\d+ (?:failed|passed|errors?)\b", re.I | re.M)


class Log:
    name = "log"

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = sample.count("\n") + 1
        stamps = len(_STAMP.findall(sample)) + len(_BUILD.findall(sample))
        if stamps * 10 >= rows * 5 and rows > 5:
            return 65
        return 55 if program(call) in _PROGRAMS and rows > 3 else 0

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        n = len(lines.texts)
        rank, worth = bytearray(n), [0] * n
        for i, row in enumerate(lines.texts):
            if _BUILD.match(row):
                worth[i] = -4
        units = Units(lines.texts, lines.address, rank, worth, keys=[t.strip() for t in lines.texts], glued=lines.glued,
                      total=lines.numbers[-1] if lines.numbers else n, strictness=0 if narrowed(call) else 100)
        if n:
            rank[0] = rank[-1] = ANCHOR
        mark(units, suspects(units.texts))
        for i in range(max(0, n - 12), n):
            if not rank[i] and _SUMMARY.search(units.texts[i]):
                rank[i] = ANCHOR
        return units


SHAPE = Log()
