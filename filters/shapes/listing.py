"""Listings: ls, find, tree, du, git ls-files, glob tools, dependencies: folders and totals stand, gaps name the many siblings."""
from __future__ import annotations

import re
from collections import Counter
from itertools import compress, pairwise
from operator import ne

from byref.filters.extremes import largest
from byref.filters.failures import mark, mark_summary, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.patterns import Seldom
from byref.filters.units import ALWAYS, ANCHOR, MUST, PLAIN, Units
from byref.proxy.contracts import Call
from byref.proxy.text import terms_by_line

_LONG, _TREE, _TOTAL, _HEAD = "long", "tree", "total", "head"
_SIZED, _FILED, _PATH, _OTHER = "sized", "filed", "path", "other"
_ROW = re.compile("|".join((
    # ls -l, tar tv, unzip -Z; find -ls has an inode and blocks before; PowerShell
    r"(?P<long>(?: *\d+ +\d+ +)?[bcdlpsD-](?:[r-][w-][xsS-]){2}[r-][w-][xtT-][.+@]? +\S|[d-][a-][r-][h-][s-][l-]? +\d)",
    # tree, npm ls, cargo tree, gradle and maven dependencies
    r"(?P<tree>[│|\u00a0 ]*(?:[├└][─-]+[┬─]? |\|-{1,3} |`-{1,2} |\+-{1,3} |\\-{1,3} )\S)",
    r"(?P<total>total \S+$|\d[\d.,]*[A-Za-z]{0,3}\t(?:total|\.|/)$|\d+ director(?:y|ies)\b|\d+ (?:files?|items?)\b|Found \d+ files?\b"
    r"|\(Results are)",
    r"(?P<sized> *\d[\d.,]*[KMGTPEZYkBi]{0,3}\t\S)",  # du
    # git status --short, diff --name-status, diff --numstat, ls-files -s, ls-tree; a directory tool of MCP
    r"(?P<filed>(?:(?:[MADRCUT?!][ MADRCUT?!]| [MADRCUT]) |[MADRCTUXB]\d{0,3}\t|(?:\d+|-)\t(?:\d+|-)\t)\S"
    r"|\d{6} (?:blob |tree |commit )?[0-9a-f]{40,64}[ \t]|\[(?:FILE|DIR)\] \S)")))
_FILE = re.compile(r"[\w.@+-]{1,60}\.\w{1,8}$")
_STARTS, _SECOND = frozenset(" 0123456789-bcdlpstDFMARCUTXB?![(│|\u00a0├└`+\\"), frozenset("r-ao")  # of what _ROW matches; of words there
_DEEP = " |│\u00a0"  # what a tree draws before a branch
_PLAIN = re.compile(r"[^ \t:|<>\"'=;,()]*")  # what is in a path, and in no other text
_TROUBLE = re.compile(r"─ UNMET (?!OPTIONAL)| (?:invalid|extraneous|FAILED|\(error|\[error)\b")  # what a tree says after a name, or for one
_CONFLICT = re.compile(r"(?:DD|AU|UD|UA|DU|AA|UU) \S")
_lists = Seldom(
    r"(?:^|&&|\|\||;|\||\n|\bsudo|\bxargs)\s*(?:[\w./-]*/)?(?:ls|dir|exa|eza|find|fd|fdfind|tree|du|locate"
    r"|git (?:-C \S+ )?(?:ls-files|ls-tree|status (?:-s\b|--short|--porcelain\S*)|[^|&;\n]*--(?:name-status|name-only|numstat))"
    r"|(?:npm|pnpm|yarn) (?:ls|list)|cargo tree|tar -?\w*t\w*|unzip -l|rg --files)(?:\s|$)",
    r"(?:ls|dir|exa|eza|find|fd|fdfind|tree|du|locate|list|files|-s|-l|--short|--name-status|--name-only|--numstat)(?:[^!-~]|$)"
    r"|tar |--porcelain")
_TOOLS = frozenset({"glob", "ls", "list_files", "list_dir", "list_directory", "find_files", "find_file", "file_search",
                    "search_files", "globtool"})
_ROWS = 80  # lines that say what kind of output this is
_RUN = 8  # siblings of one extension from which they are named rather than shown
_SIBLING = -2  # quarters off their worth
_FEW, _OFTEN, _MOST = 24, 6, 120  # folders that stand in any listing; beyond, one line in so many; and at most
_WHOLE = 4000  # characters of paths up to which each stands as it is called by: a later call copies it
_USED = 200  # percent of the plan's threshold: few names of a list are ever used, and gaps have room for them
_MADE = ("/.git/", "__pycache__", "node_modules/", "/.venv/", "site-packages/", ".mypy_cache/", ".pyc")  # in paths of what tools made
_ROOTED = ("/", "./", "../", "~/")
_GROUP = 8  # characters that a heading has to save


class Listing:
    name = "listing"
    most = 84

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = [row for row in sample.split("\n")[:_ROWS] if row.strip()]
        if len(rows) < 4:
            return 0
        asked = _asked(call)
        if not asked and _strange(rows):
            return 0
        kinds = Counter(map(_kind, rows))
        sure = kinds[_LONG] + kinds[_TREE] + kinds[_TOTAL] + (kinds[_HEAD] if kinds[_LONG] or asked else 0)
        if sure * 10 >= len(rows) * 7 and kinds[_LONG] + kinds[_TREE] > 2:
            return 84 if asked else 72
        named = sure + kinds[_SIZED] + kinds[_FILED] + kinds[_PATH]
        if asked and (named * 10 >= len(rows) * 6 or sum([" " not in row for row in rows]) * 10 >= len(rows) * 9):
            return 84
        return 58 if len(rows) > 7 and named * 10 >= len(rows) * 9 else 0

    def units(self, text: str, call: Call) -> Units | None:
        lines = split(text)
        texts, glued = lines.texts, lines.glued
        n = len(texts)
        asked = _asked(call)
        kinds = [_kind(row) for row in texts]
        if glued is not None:
            kinds = [_OTHER if piece else kind for kind, piece in zip(kinds, glued, strict=True)]
        entries = [i for i, kind in enumerate(kinds) if kind == _PATH or _is_entry(kind, texts[i], asked and not (glued and glued[i]))]
        if not entries:
            return None
        rank, worth, counts = bytearray(n), [PLAIN] * n, [0] * n
        for i in entries:
            counts[i] = 1
        named = {i: texts[i] if kinds[i] == _PATH else _name(texts[i], kinds[i]) for i in entries}
        made = [part for part in _MADE if 0 < text.count(part) * 2 < n]  # else they are what was asked for
        noise = {i for i, row in enumerate(texts) if any([part in row for part in made])} if made else set()
        _structure(rank, texts, kinds, named, noise)
        _siblings(rank, worth, entries, named, noise)
        _sought(rank, named, f"{call.task}\n{call.said}\n{call.intent}")
        for i in largest([(i, texts[i]) for i in entries if kinds[i] == _LONG]):
            rank[i] = max(rank[i], ANCHOR)
        remarks = [i for i in range(n) if kinds[i] == _OTHER and not counts[i] and texts[i].strip()]
        for i in remarks if len(remarks) <= _FEW else ():  # what a tool says beside its list
            rank[i] = ANCHOR
        many = kinds.count(_HEAD) > 1
        for i, kind in enumerate(kinds):
            if kind == _TOTAL and not (many and texts[i].startswith("total ")):
                rank[i] = ALWAYS
            elif kind == _FILED and _CONFLICT.match(texts[i]):
                rank[i] = MUST
        units = lines.units(rank=rank, worth=worth, strictness=0 if narrowed(call) else _USED)
        units.name, units.counts, units.total = "entries", counts, None
        said = {i for i in suspects(texts) if not counts[i]}  # a file may be called error.log
        mark(units, sorted(said.union(i for i, kind in enumerate(kinds) if kind == _TREE and _TROUBLE.search(texts[i]))))
        mark_summary(units)
        units.sources = [" ".join(row.rsplit("/", 1)) if i in named else row for i, row in enumerate(texts)]  # folder and name: two terms
        if len(text) > _WHOLE and glued is None:
            _shared_folders(units, kinds, named)
        return units


def _asked(call: Call) -> bool:
    """Whether the call is one that lists."""
    return call.tool.lower().rpartition("__")[2] in _TOOLS or _lists(command(call))


def _strange(rows: list[str]) -> bool:
    """Whether more than three in ten lines of an output are no entries: then it is a listing only if a call that lists printed it."""
    strange = 0
    for row in rows:
        strange += _kind(row) == _OTHER
        if strange * 10 > len(rows) * 3:
            return True
    return False


def _kind(row: str) -> str:
    first = row[:1]
    if first in _STARTS and (row[1:2] in _SECOND or not first.islower()) and (first != " " or row.lstrip(_DEEP)[:1] in _STARTS):
        found = _ROW.match(row)
        if found:
            return found.lastgroup or _OTHER
    if row.endswith(":") and row.count(":") == 1 and not row[0].isspace():
        return _HEAD
    if not _PLAIN.fullmatch(row):
        return _OTHER
    return _PATH if ("/" in row and "//" not in row and row.upper() != row.lower()) or _FILE.match(row) else _OTHER


def _is_entry(kind: str, row: str, asked: bool) -> bool:
    """Whether a line names a file, a folder or a package: of a call that lists, any line but a heading, a total or what a tool says."""
    if kind == _OTHER:
        return asked and bool(row.strip()) and ": " not in row and row[0] != "<"
    return kind not in (_TOTAL, _HEAD)


def _name(row: str, kind: str) -> str:
    """The path that a line names, as far as its folder and its extension go."""
    if kind in (_PATH, _OTHER):
        return row
    return row.partition(" -> ")[0].split("\t")[-1].rsplit(" ", 1)[-1]


def _structure(rank: bytearray, texts: list[str], kinds: list[str], named: dict[int, str], noise: set[int]) -> None:
    """Folders stand from the top down, as deep as they are few: the heading or first entry of each, what has entries below it."""
    levels = {i: texts[i].count("/") for i, kind in enumerate(kinds) if kind == _HEAD}
    headed, folder = len(levels) > 1, ""
    before = [""]
    for i, path in named.items():
        if kinds[i] == _TREE:
            if i + 1 in named and kinds[i + 1] == _TREE and _depth(texts[i + 1]) > _depth(texts[i]):
                levels[i] = _depth(texts[i])
        elif kinds[i] == _LONG and "/" not in path.rstrip("/"):
            if not headed and texts[i].lstrip(" 0123456789")[:1] == "d" and path not in (".", ".."):
                levels[i] = 0
        else:
            own = path[:max(0, path.rfind("/", 0, -1))] if path[-2:] != "//" else path.rstrip("/").rpartition("/")[0]
            if own != folder:
                parts, level = own.split("/"), 0
                for a, b in zip(parts, before, strict=False):
                    if a != b:
                        break
                    level += 1
                levels[i], folder, before = level, own, parts  # how many folders it begins with alike
    levels = {i: level for i, level in levels.items() if i not in noise}
    room = min(max(_FEW, len(texts) // _OFTEN), _MOST)
    standing: list[int] = []
    for level in sorted(set(levels.values())):
        found = [i for i, own in levels.items() if own == level]
        if len(found) > room:  # those before the longest runs
            ends = sorted([*standing, *found, len(texts)])
            sizes = {i: after - i for i, after in pairwise(ends)}
            standing += sorted(found, key=lambda i: (-sizes[i], i))[:min(room, _FEW)]
            break
        standing += found
        room -= len(found)
    for i in standing:
        rank[i] = ANCHOR


def _depth(row: str) -> int:
    """The column where a tree's branch begins."""
    return len(row) - len(row.lstrip("│| \u00a0"))


def _siblings(rank: bytearray, worth: list[int], entries: list[int], named: dict[int, str], noise: set[int]) -> None:
    """Of many neighbours in one folder with one extension, or of one name, both ends stand for what the others are like."""
    ends: list[int] = []
    split = [named[i].rpartition("/") for i in entries]
    names = [name for _, _, name in split]
    kinds = [f"{folder}/{name.rpartition('.')[2] if '.' in name[1:] else ''}" for folder, _, name in split]
    for keys in (kinds, names):
        for first, after in _runs(keys):
            if after - first >= _RUN:
                if after - first >= 2 * _RUN:
                    ends += (entries[first], entries[after - 1])
                for i in entries[first + 1:after - 1]:
                    worth[i] = _SIBLING
    for i in ends if len(ends) <= _FEW else ():
        rank[i] = max(rank[i], ANCHOR)
    for i in noise:
        rank[i], worth[i] = PLAIN, 2 * _SIBLING


def _sought(rank: bytearray, named: dict[int, str], words: str) -> None:
    """What the task or the agent calls by its file name stands."""
    sought = {name for terms in terms_by_line(words) for name in (term.rpartition("/")[2].rstrip(".") for term in terms) if "." in name}
    found = [i for i, path in named.items() if path.rpartition("/")[2] in sought]
    for i in found[:_FEW]:
        rank[i] = max(rank[i], ANCHOR)


def _shared_folders(units: Units, kinds: list[str], named: dict[int, str]) -> None:
    """Paths under the folder that they share with their neighbours, where that cannot be misread.

    Below a heading stand bare names; a line with a slash is a path of its own, and what comes after it is not below the heading.
    Where each path begins with a root (`./`), or all with one folder, what stands below a heading may hold a slash itself.
    """
    texts = units.texts
    paths = [i for i in named if "/" in texts[i] and kinds[i] in (_PATH, _FILED)]
    if len(paths) < 2:
        return
    rooted = all([texts[i].startswith(_ROOTED) for i in named])
    common = _common([texts[i] for i in paths])
    heads = [""] * len(texts)
    for i in paths:
        heads[i] = texts[i][:texts[i].rfind("/", 0, -1) + 1]
    saved = 0
    for first, last in _runs(heads):
        if not heads[first]:
            continue
        if last - first == 1:  # saves nothing
            heads[first] = common if rooted else ""
            continue
        gain = (last - first) * len(heads[first]) - len(heads[first]) - 1
        bare = last < len(texts) and last in named and not heads[last]
        if gain < _GROUP or (bare and not rooted):
            heads[first:last] = [common if rooted else ""] * (last - first)
        else:
            saved += gain
    if not rooted and common and len(paths) == len(named) and len(common) * len(paths) > saved:
        heads = [common if i in named else "" for i in range(len(texts))]
    if any(heads):
        units.heads, units.texts = heads, [row[len(head):] for row, head in zip(texts, heads, strict=True)]


def _common(paths: list[str]) -> str:
    """The folder that all paths are in, where naming it once saves something."""
    first, last = min(paths), max(paths)
    k = 0
    while k < min(len(first), len(last)) and first[k] == last[k]:
        k += 1
    common = first[:first.rfind("/", 0, k) + 1]
    return common if len(common) >= _GROUP // 2 else ""


def _runs(keys: list[str]) -> list[tuple[int, int]]:
    """Where neighbours have the same key: first and one past the last."""
    cuts = [0, *compress(range(1, len(keys)), map(ne, keys, keys[1:])), len(keys)]
    return list(pairwise(cuts))


SHAPE = Listing()
