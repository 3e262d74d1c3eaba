"""Patches: files, modes and hunks stand; what was changed is worth more than its context, generated files come last.

Unified and combined patches of git, with the commits or mails around them; those of Subversion and Mercurial; context and plain diffs.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import command
from byref.filters.patterns import any_of
from byref.filters.steering import demote
from byref.filters.templates import templates
from byref.filters.units import ANCHOR, MUST, Units
from byref.proxy.contracts import Call

_START = re.compile(r"^(?:diff (?:--git|--cc|--combined|-r|-[a-zA-Z]+) |--- \S.*\n\+\+\+ |\*\*\* \S.*\n--- |Index: )", re.M)
_HUNK = re.compile(r"^(?:@@ .* @@|@@@+ |\d+(?:,\d+)?[acd]\d+(?:,\d+)?$|\*{15})", re.M)
_COMMITS = re.compile(r"(?:commit|changeset:?) +[0-9a-f:]{7,}|From [0-9a-f]{40} ")
_SHOWS = re.compile(r"\b(?:show|diff|format-patch|-p|-u|--patch|--cc|-c)\b")
# Sections begin: a file's patch, of which the name is looked at, and what comes before the first one.
_FILE = any_of(r"diff (?:--git a/(?:.*) b/|--cc |--combined |-[\w -]*\s)(.+)$", r"Index: (.+)$", opening=r"[dI]")
_HEADER = any_of(
    r"(?:---|\+\+\+|\*\*\*) ", r"(?:old|new|deleted file|new file) mode ", r"(?:dis)?similarity index ", r"(?:rename|copy) (?:from|to) ",
    r"(?:Binary files|Files) .* differ$", r"GIT binary patch", r"Only in ",
    r"(?:Cannot display|Property changes on|Added|Modified|Deleted): ?",
    opening=r"[-+*ondsrcBFGOCPAMD]")
_COMMIT = any_of(r"commit [0-9a-f]{7,}", r"From [0-9a-f]{40} ", r"(?:Author|Date|Subject|From|Merge|changeset|user|summary): ?",
                 r"# (?:HG|User|Node) ", opening=r"[cFADSMus#]")
_STAT = re.compile(r" (?:\S.* \| +(?:\d+|Bin)|\d+ files? changed|(?:create|delete) mode |rename |mode change )")
_RANGE = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PLAIN = re.compile(r"\d+(?:,\d+)?[acd]\d+(?:,\d+)?$|\*{15}|\*\*\* \d+(?:,\d+)? \*{4}|--- \d+(?:,\d+)? -{4}")
# What a tool writes and nobody reads: lock files, bundles, snapshots, generated sources.
_GENERATED = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|"
    r"Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum|flake\.lock|mix\.lock|Podfile\.lock|packages\.lock\.json|gradle\.lockfile)$|"
    r"(?:^|/)(?:node_modules|vendor|dist|__snapshots__)/|\.min\.(?:js|css)$|\.(?:map|snap|svg)$|_pb2(?:_grpc)?\.pyi?$|\.pb\.\w+$|\.generated\.\w+$")
_DATA = 200  # changed lines of a file from which it is data or generated
_SHORT = 12  # changed lines of a file that stand whole: a big data file must not push out two lines that matter
_ROOM = 8000  # characters up to which all hunk headers, all details and all short changes stand whatever they are worth
_WHOLE = 12_000  # characters of a patch that stands whole
_WITHIN = ("", " ", "\t", "+", "-", "\\", "<", ">", "!")  # a line of a patch begins with; others are what a tool says beside it
_CHANGED, _SMALL, _LAST = 6, 20, -12  # quarters: a changed line, one of few in its file, one that a tool wrote; of a deleted file none


class Diff:
    name = "diff"
    most = 88

    def match(self, call: Call, media: str, sample: str) -> int:
        if _START.search(sample) and (_HUNK.search(sample) or sample.startswith("diff --git ")):
            return 88
        return 86 if _COMMITS.match(sample) and _SHOWS.search(command(call)) else 0  # a long message comes before the patch

    def units(self, text: str, call: Call) -> Units | None:
        if not _START.search(text):
            return None
        lines = split(text)
        sections = _sections(lines.texts, lines.glued)
        rank, worth = bytearray(len(lines.texts)), [0] * len(lines.texts)
        size = [len(row) for row in lines.texts].__getitem__
        hunks = MUST if sum(size(i) for part in sections if not part.generated for i in part.hunks) <= _ROOM else ANCHOR
        details = MUST if sum(size(i) for part in sections for i in part.details) <= _ROOM else ANCHOR
        short = [part for part in sections if len(part.changed) <= _SHORT and not part.generated]
        stands = sum(size(i) for part in short for i in part.changed) <= _ROOM
        for part in sections:
            last = part.deleted or len(part.changed) > _DATA
            noise = part.generated or (last and _is_data([lines.texts[i] for i in part.changed]))
            for i in part.headers:
                rank[i] = MUST
            for i in part.details:
                rank[i] = details
            for i in part.hunks:
                rank[i] = hunks if not part.generated else rank[i]
                worth[i] = _LAST if part.generated else 0
            for i in part.changed:
                worth[i] = _LAST if noise else 0 if last else _CHANGED
            for i in part.context if noise else ():
                worth[i] = _LAST
        for part in short:
            for i in part.changed:
                rank[i], worth[i] = (MUST, _CHANGED) if stands else (rank[i], _SMALL)
        units = lines.units(rank=rank, worth=worth, strictness=0 if len(text) < _WHOLE else 100)
        said = [i for part in sections if part.hunks for i in part.context
                if lines.texts[i][:1] not in _WITHIN and not (lines.glued and lines.glued[i])]
        mark(units, [said[k] for k in suspects([lines.texts[i] for i in said])])
        demote(units)
        return units


def _is_data(changed: list[str]) -> bool:
    """Whether lines are rows rather than sentences of a language: ten or more of a kind."""
    return len(set(templates(changed))) * 10 < len(changed)


@dataclass(slots=True)
class _Section:
    """The patch of one file, or a commit: indexes of its lines. headers: names, modes; details: author, date, the names again."""

    generated: bool = False
    deleted: bool = False
    subject: bool = False
    headers: list[int] = field(default_factory=list)
    details: list[int] = field(default_factory=list)
    hunks: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    context: list[int] = field(default_factory=list)


def _sections(texts: list[str], glued: bytearray | None) -> list[_Section]:
    """Lines by file. What a hunk's header counts belongs to it, whatever it looks like: a removed `-- x` is no header."""
    part = _Section()
    sections = [part]
    old = new = 0  # lines of the hunk that are still to come
    parents, body, kind = 1, False, part.headers
    for i, row in enumerate(texts):
        if glued is not None and glued[i]:
            kind.append(i)
            continue
        kind = part.context
        sign = row[:1]
        if old > 0 or new > 0:
            if sign in ("+", "-"):
                old, new, kind = old - (sign == "-"), new - (sign == "+"), part.changed
            elif sign in (" ", ""):
                old, new = old - 1, new - 1
            elif sign != "\\":
                old = new = 0
            if old > 0 or new > 0 or sign in ("+", "-", " ", "\\", ""):
                kind.append(i)
                continue
        found = _FILE.match(row)
        if found:
            part = _Section(generated=_GENERATED.search(found[1] or found[2] or "") is not None)
            sections.append(part)
            kind, parents, body = part.headers, 1, False
        elif row.startswith("@@"):
            counts = _RANGE.match(row)
            if counts:
                old, new = int(counts[1] or 1), int(counts[2] or 1)
            parents, body, kind = max(1, len(row) - len(row.lstrip("@")) - 1), True, part.hunks
        elif _PLAIN.match(row):
            body, kind = True, part.hunks
        elif _COMMIT.match(row) or (not body and _STAT.match(row)):
            if row[:7] in ("commit ", "changes") or row.startswith("From "):
                part, body = _Section(), False
                sections.append(part)
            kind = part.headers if row[:1] in "cF " else part.details
        elif not (body and parents > 1) and _HEADER.match(row):
            body, kind = False, part.details if row[:4] in ("--- ", "+++ ") else part.headers
            part.deleted = part.deleted or row.startswith("deleted file")
        elif body and any([sign in "+-!<>" for sign in row[:parents]]):
            kind = part.changed
        elif row[:4] == "    " and not body and part.headers and not part.hunks and not part.subject:
            part.subject, kind = True, part.headers  # the subject of a commit
        kind.append(i)
    return sections


SHAPE = Diff()
