"""Patches: files, modes and hunks stand; what was changed is worth more than its context."""
from __future__ import annotations

import re
from itertools import pairwise

from byref.filters.lines import split
from byref.filters.patterns import any_of
from byref.filters.units import MUST, Units
from byref.proxy.contracts import Call

_START = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ |Index: )", re.M)
_HUNK = re.compile(r"^@@ .* @@|^@@@ ", re.M)
_HEADER = any_of(
    r"^diff --git ", r"^index [0-9a-f]+\.\.", r"^(?:---|\+\+\+) ", r"^(?:old|new|deleted file|new file) mode ", r"^similarity index ",
    r"^(?:rename|copy) (?:from|to) ", r"^Binary files ", r"^GIT binary patch", r"^@@ ", r"^commit [0-9a-f]{7,40}",
    r"^(?:Author|Date|Index): ")
_DATA = 200  # changed lines of a file from which it is data or generated
_SHORT = 12  # changed lines of a file that stand whole: a big data file must not push out two lines that matter


class Diff:
    name = "diff"

    def match(self, call: Call, media: str, sample: str) -> int:
        return 88 if _START.search(sample) and (_HUNK.search(sample) or sample.startswith("diff --git ")) else 0

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        n = len(lines.texts)
        rank, worth = bytearray(n), [0] * n
        files: dict[int, int] = {}
        changed = start = 0
        for i, row in enumerate(lines.texts):
            if row.startswith("diff --git "):
                files[start], start, changed = changed, i, 0
            if _HEADER.match(row):
                rank[i] = MUST
            elif row[:1] in "+-" and row:
                worth[i] = 6
                changed += 1
        files[start] = changed
        bounds = [*sorted(files), n]
        for first, last in pairwise(bounds):
            for i in range(first, last):
                if worth[i] and files[first] <= _SHORT:
                    rank[i] = MUST
                elif files[first] > _DATA:
                    worth[i] = 0
        return lines.units(rank=rank, worth=worth, strictness=0 if len(text) < 12_000 else 100)


SHAPE = Diff()
