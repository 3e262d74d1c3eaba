"""Where the units of a JSON output stand, and the addresses of runs of them: JSON paths, else bytes."""
from __future__ import annotations

import re
from collections import Counter

from byref.filters.records import Path
from byref.filters.scanner import Document, Member

_NAME = re.compile(r"[A-Za-z_$][\w$-]*")
_DEAR = 40  # characters of a path beyond which bytes are cheaper


class Places:
    """The place of each unit: document, path of ordinals from the top, last sibling, characters within the value.

    Ordinals of a document in a string go on from the path of that string. a = -1: the whole value; -2: only
    what opens it; else a to b are positions in the body of a string, or in the document where path is its own.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.pure = False  # the whole output is JSON, so that a path leads into it
        self.parents: dict[Document, tuple[Document, Path]] = {}
        self.loose: set[Path] = set()  # arrays whose units stand by columns, not in the order of the text
        self._documents: list[Document | None] = []
        self._paths: list[Path] = []
        self._extents: list[tuple[int, int, int]] = []
        self._names: dict[tuple[Document, int], Counter[str]] = {}
        self._inner: dict[tuple[Document, int], Document | None] = {}
        self._cursor = (0, 0)
        self.ascii = text.isascii()

    def append(self, document: Document | None, path: Path, last: int, a: int, b: int) -> None:
        self._documents.append(document)
        self._paths.append(path)
        self._extents.append((last, a, b))

    def prefix(self, document: Document) -> Path:
        """The path of the string that a document stands in."""
        parent = self.parents.get(document)
        return parent[1] if parent else ()

    def address(self, i: int, j: int) -> str:
        """The address of units i to j: a path where they are whole siblings, else bytes."""
        if self.pure:
            if i == 0 and j == len(self._paths) - 1:
                return "$"
            path = self._path(i, j)
            if path is not None and len(path) <= _DEAR:
                return path
        ends = self._outermost(i, j)
        start = 0 if i == 0 else min(map(self._start, ends))
        end = len(self.text) if j == len(self._paths) - 1 else max(map(self._end, ends))
        return f"b{self._byte(start)}-{self._byte(max(start, end))}"

    def _outermost(self, i: int, j: int) -> set[int]:
        """The units that can begin or end a run: its first and last, those with the least and greatest path, and what holds these."""
        keys = range(i, j + 1)
        low = min(keys, key=lambda k: (self._paths[k], self._extents[k][1]))
        high = max(keys, key=lambda k: (self._paths[k], self._extents[k][0], self._extents[k][1]))
        path = self._paths[high]
        return {i, j, low, high, *(k for k in keys if path[:len(self._paths[k])] == self._paths[k] and self._extents[k][1] == -1)}

    def _path(self, i: int, j: int) -> str | None:
        if None in self._documents[i:j + 1]:
            return None
        paths = self._paths[i:j + 1]
        low, high = min(paths), max(paths)
        k = 0
        while k < len(low) and k < len(high) and low[k] == high[k]:
            k += 1
        common = low[:k]
        loose = any(common[:m] in self.loose for m in range(len(common) + 1))
        before = self._paths[i - 1] if i else ()
        after = self._paths[j + 1] if j + 1 < len(self._paths) else ()
        if len(low) == k:  # what opens the common value is among them, or they are pieces of it
            last = max(self._extents[i + m][0] for m in range(len(paths)))
            if len(high) == k and last > common[-1]:
                return self._named(common[:-1], common[-1], last)
            if not loose and (before[:k] == common or after[:k] == common):
                return None
            return self._named(common[:-1], common[-1], common[-1]) if common else "$"
        first = low[k]
        extents = self._extents[i:j + 1]
        last = max(max(path[k], extent[0] if len(path) == k + 1 else -1) for path, extent in zip(paths, extents, strict=True))
        if not loose and (before[:k + 1] == (*common, first) or after[:k + 1] == (*common, last)):
            return None
        return self._named(common, first, last)

    def _named(self, path: Path, first: int, last: int) -> str | None:
        """The JSON path of the siblings first to last in the container at a path of ordinals; None if it has none."""
        document, start, named = self._documents[0], -1, False
        if document is None:
            return None
        out = "$"
        for k, ordinal in enumerate((*path, first)):
            at_end = k == len(path)
            if at_end and start >= 0 and not named and document.whole:  # all elements that were read are there
                return out + (f"[{first}:{last + 1}]" if last > first else f"[{first}]")
            members = document.members(start) if start >= 0 else document.roots()
            if ordinal >= len(members) or (at_end and last >= len(members)):
                return None
            member = members[ordinal]
            if named:
                text = document.text[member[0]:member[1]]
                if (at_end and last > first) or self._repeated(document, members)[text] > 1:
                    return None
                name = text[1:-1]
                if _NAME.fullmatch(name):
                    out += f".{name}"
                elif name.isascii() and "\\" not in document.write(name) and '"' not in name:
                    out += f'["{name}"]'
                else:
                    return None
            elif at_end and last > first:
                out += f"[{first}:{last + 1}]"
            elif start >= 0 or len(members) > 1:  # the one value at the top is no step
                out += f"[{ordinal}]"
            if at_end:
                return out
            below = self._descend(document, member)
            if below is None:
                return None
            document, start, named = below
        return out

    def _repeated(self, document: Document, members: list[Member]) -> Counter[str]:
        """How often each name stands in an object."""
        key = (document, members[0][0])
        if key not in self._names:
            self._names[key] = Counter(document.text[member[0]:member[1]] for member in members)
        return self._names[key]

    def _descend(self, document: Document, member: Member) -> tuple[Document, int, bool] | None:
        """The document that a member leads into, where in it the container opens, -1 for its top, and whether that has names."""
        start = member[2]
        if document.text[start] != '"':
            return document, start, document.text[start] == "{"
        key = (document, start)
        inner = self._inner[key] = self._inner[key] if key in self._inner else document.inside(start, member[3])
        return None if inner is None else (inner, -1, False)

    def _locate(self, document: Document, path: Path) -> Member | None:
        """The member at a path, in its document."""
        if document in self.parents and document.base < 0:
            owner, place = self.parents[document]
            string = self._locate(owner, place)
            document.base = owner.raw(string[2] + 1) if string else 0
        members = document.roots()
        member: Member | None = None
        for ordinal in path[len(self.prefix(document)):]:
            if member is not None:
                members = document.members(member[2])
            if ordinal >= len(members):
                return member
            member = members[ordinal]
        return member

    def _start(self, k: int) -> int:
        document, path, (_, a, _) = self._documents[k], self._paths[k], self._extents[k]
        if document is None:
            return a
        member = self._locate(document, path)
        if member is None:
            return document.raw(max(a, 0))
        return document.raw(member[2] + 1 + a if a > 0 else member[0])

    def _end(self, k: int) -> int:
        document, path, (last, a, b) = self._documents[k], self._paths[k], self._extents[k]
        if document is None:
            return b
        member = self._locate(document, path if last < 0 else (*path[:-1], last))
        if member is None:
            return document.raw(b if b >= 0 else len(document.text))
        return document.raw(member[2] + 1 if a == -2 else member[2] + 1 + b if a >= 0 else member[3])

    def _byte(self, at: int) -> int:
        if self.ascii:
            return at
        start, size = self._cursor
        if at < start - at:
            start = size = 0
        piece = self.text[min(start, at):max(start, at)].encode("utf-8", "surrogateescape")
        size += len(piece) if at >= start else -len(piece)
        self._cursor = (at, size)
        return size
