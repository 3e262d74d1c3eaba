"""Match lists: what grep, rg and search tools print, grouped by file so that a path stands once."""
from __future__ import annotations

import re

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.units import ANCHOR, MUST, PLAIN, Units
from byref.proxy.contracts import Call

# path:line:text and path-line-text (context); a path has no blanks here, and is no time of day
_MATCH = re.compile(r"((?!\d{4}-\d\d-\d\d[T ])(?:[A-Za-z]:)?(?=[^\s:]*[A-Za-z_])[^\s:]{1,300}?)([:-])(\d+)\2")
_PLAIN = re.compile(r"((?:\./|/|\w[\w.+-]*/)[^\s:]{1,300}|[\w.+-]{1,80}\.\w{1,8}):(?!//)")
_NUMBERED = re.compile(r"(\d+)[:-]")
_TOOLS = frozenset({"grep", "rg", "ripgrep", "ag", "ack", "search", "search_files", "grep_search", "codebase_search",
                    "search_dir", "search_file", "find_file"})
_COMMAND = re.compile(r"(?:^|&&|;|\|)\s*(?:git\s+)?(?:grep|egrep|fgrep|rg|ag|ack|zgrep)\b")
_DIAGNOSTIC = re.compile(r"^[^\s:]+:\d+:(?:\d+:)? (?:fatal )?error\b", re.M | re.I)
_WHOLE = 4000  # characters of matches that stand whole: a search is already a narrowing
_FOOT = re.compile(r"binary file|matches|\bfound \d+|^--$", re.I)

_ROWS = 60  # lines that say what kind of output this is


class Matches:
    name = "matches"
    most = 85

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = [row for row in sample.split("\n")[:_ROWS] if row and row != "--"]
        if not rows:
            return 0
        asked = call.tool.lower() in _TOOLS or _COMMAND.search(command(call))
        if not asked and sum([":" in row or "-" in row for row in rows]) * 10 < len(rows) * 7:
            return 0
        hits = sum([_MATCH.match(row) is not None for row in rows])
        if hits * 10 >= len(rows) * 7 and hits > 2:
            return 85 if asked or not _DIAGNOSTIC.search(sample) else 0  # a compiler's errors are failures, not matches
        return 75 if asked and sum(bool(_MATCH.match(r) or _PLAIN.match(r) or _NUMBERED.match(r)) for r in rows) * 2 > len(rows) else 0

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        texts, heads, counts, said = [], [], [], []
        rank = bytearray(len(lines.texts))
        last = ""
        previous = -1
        glued = lines.glued or bytearray(len(lines.texts))
        for i, row in enumerate(lines.texts):
            found = None if glued[i] else _MATCH.match(row) or _PLAIN.match(row)
            if found:
                path, begin = found[1], found.end(1) + 1
                texts.append(row[begin:])
                heads.append(row[:begin])
                counts.append(int(found.re is _PLAIN or found[2] == ":"))
                if path != last:
                    rank[i] = ANCHOR  # a file that has a match must stand in the view
                    last = path
                previous = i
            else:
                texts.append(row)
                heads.append("")
                counts.append(int(not glued[i] and bool(_NUMBERED.match(row))))
                if not glued[i] and not _NUMBERED.match(row) and row != "--":
                    if _FOOT.search(row):
                        rank[i] = MUST
                    if not row.startswith(f"{last}-"):  # a line of context
                        said.append(i)
        files = rank.count(ANCHOR)
        if files > 1 and files <= max(60, len(texts) // 4):
            rank = rank.replace(bytes([ANCHOR]), bytes([MUST]))  # few enough that each file shows its first match
        if previous < 0 and sum(counts) == 0:
            counts = [1] * len(texts)
        units = Units(texts, lines.address, rank, [PLAIN] * len(texts), "matches",
                      keys=[row.strip() for row in lines.texts],
                      counts=counts, heads=heads, glued=lines.glued, strictness=0 if narrowed(call) or len(text) < _WHOLE else 100)
        if previous >= 0:  # what a tool, or the next one, says beside its matches
            mark(units, [said[k] for k in suspects([texts[i] for i in said])])
        return units


SHAPE = Matches()
