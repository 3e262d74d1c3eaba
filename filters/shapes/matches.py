"""Match lists: what grep, rg and search tools print, grouped by file so that a path stands once."""
from __future__ import annotations

import re

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.patterns import Seldom
from byref.filters.units import ANCHOR, MUST, PLAIN, Units
from byref.proxy.contracts import Call

# path:line:text and path-line-text (context); a path has no blanks here, and is no time of day
_MATCH = re.compile(r"((?!\d{4}-\d\d-\d\d[T ])(?:[A-Za-z]:)?(?=[^\s:]*[A-Za-z_])[^\s:]{1,300}?)([:-])(\d+)\2")
# the same of a path that has blanks, or a number between dashes, as a date
_SPACED = re.compile(r"((?!\d{4}-\d\d-\d\d[T ])(?:[A-Za-z]:)?(?=[^\s:]*[A-Za-z_])[^:\n]{1,300}?\.\w{1,8})([:-])(\d+)\2")
_PLAIN = re.compile(r"((?:\./|/|\w[\w.+-]*/)[^\s:]{1,300}|[\w.+-]{1,80}\.\w{1,8}):(?!//)")
_NUMBERED = re.compile(r"(\d+)[:-]")
_TOOLS = frozenset({"grep", "rg", "ripgrep", "ag", "ack", "search", "search_files", "grep_search", "codebase_search",
                    "search_dir", "search_file", "find_file"})
_searches = Seldom(r"(?:^|&&|;|\|)\s*(?:git\s+)?(?:grep|egrep|fgrep|rg|ag|ack|zgrep)\b", r"\b(?:[efz]?grep|rg|ag|ack)\b")
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
        asked = call.tool.lower() in _TOOLS or _searches(command(call))
        if not asked and sum([":" in row or "-" in row for row in rows]) * 10 < len(rows) * 7:
            return 0
        hits = sum([bool(_MATCH.match(row) or (asked and _SPACED.match(row))) for row in rows])
        if hits * 10 >= len(rows) * 7 and hits > 2:
            return 85 if asked or not _DIAGNOSTIC.search(sample) else 0  # a compiler's errors are failures, not matches
        return 75 if asked and sum(bool(_matched(r) or _NUMBERED.match(r)) for r in rows) * 2 > len(rows) else 0

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        texts, heads, counts, said = [], [], [], []
        rank = bytearray(len(lines.texts))
        last = told = ""
        previous, files = -1, 0
        glued = lines.glued or bytearray(len(lines.texts))
        for i, row in enumerate(lines.texts):
            found = None if glued[i] else _matched(row, last)
            if found:
                path, begin = found[1], found.end(1) + 1
                texts.append(row[begin:])
                heads.append(row[:begin])
                counts.append(int(found.re is _PLAIN or found[2] == ":"))
                last = path
                if path != told and counts[i]:
                    rank[i] = ANCHOR  # a file that has a match must stand in the view
                    told, files = path, files + 1
                previous = i
            else:
                texts.append(row)
                heads.append("")
                counts.append(int(not glued[i] and bool(_NUMBERED.match(row))))
                if not glued[i] and not counts[i] and row != "--":
                    if _FOOT.search(row):
                        rank[i] = MUST
                    elif _heads(lines.texts, i):
                        rank[i:i + 2], files = bytes([ANCHOR] * 2), files + 1
                        continue
                    if not row.startswith(f"{last}-"):  # a line of context
                        said.append(i)
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


def _matched(row: str, last: str = "") -> re.Match[str] | None:
    """The path and the line number that a row begins with. last: the path before it, which settles what could be read as two."""
    found = _MATCH.match(row) or _SPACED.match(row) or _PLAIN.match(row)
    if found and found.re is _MATCH and found[2] == "-" and found[1] != last:
        return _SPACED.match(row) or found
    return found


def _heads(rows: list[str], i: int) -> bool:
    """Whether a row names the file of the numbered rows below it, as with `--heading`."""
    return bool(rows[i].strip()) and (not i or not rows[i - 1].strip()) and i + 1 < len(rows) and _NUMBERED.match(rows[i + 1]) is not None


SHAPE = Matches()
