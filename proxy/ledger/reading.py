"""Files of recorded sessions, whatever their format: JSON objects a line, or one document. The formats are in `recordings/`.

A module there has `fits(row) -> bool`, whether an object is of this format and of no other, and `sessions(rows) -> Iterator[Trajectory]`.
What cannot be read is told by file and line, and the rest is read. A file of lines is read as it streams; a document is held whole.
"""
from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from byref.proxy import discover
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.ledger.trajectories import Trajectory

ENDINGS = (".jsonl", ".json", ".traj", ".ndjson")  # what is looked for in a folder
LOOKED, HEAD = 100, 1 << 22  # rows, and bytes of them, by which a format is told
LARGEST = 1 << 29  # bytes of one document
Row = tuple[str, dict[str, Json]]
Tell = Callable[[str], None]


class Rows:
    """The objects of a file, each with where it stands. seen: shared by all files, so that what was copied into two counts once."""

    def __init__(self, path: str, tell: Tell, seen: set[int], done: Callable[[int], None]) -> None:
        self.path, self.tell, self._seen, self._done = path, tell, seen, done
        self._head: list[Row] = []
        self._size = 0
        self._rest = self._read()

    def head(self) -> list[Row]:
        """The first rows; they come again."""
        if not self._head:
            for row in itertools.islice(self._rest, LOOKED):
                self._head.append(row)
                if self._size > HEAD:
                    break
            self._rest = itertools.chain(self._head, self._rest)
        return self._head

    def __iter__(self) -> Iterator[Row]:
        return self._rest

    def first(self, key: str) -> bool:
        """Whether no file so far held this key."""
        if not key:
            return True
        number = hash(key)
        if number in self._seen:
            return False
        self._seen.add(number)
        return True

    def _read(self) -> Iterator[Row]:
        with open(self.path, "rb") as file:
            start = next((line for line in file if line.strip()), b"")
            size = os.fstat(file.fileno()).st_size
            if start.strip()[:1] not in (b"{", b"[") or _value(start) is not None:
                file.seek(0)
                yield from self._lines(file)
                return
            if size > LARGEST:
                self.tell(f"{self.path}: a document of {size} bytes is more than is held at once ({LARGEST}): give it as an object a line")
                return
            file.seek(0)
            data = file.read()
        text = data.decode("utf-8", "surrogateescape")
        try:
            yield from _documents(json.loads(text), self.path)
        except ValueError as fault:
            if b"}\n{" not in data and b"}\r\n{" not in data:
                self.tell(f"{self.path}: no JSON, or half of one: {fault}")
                return
            yield from self._lines(iter(data.splitlines(keepends=True)))
        self._done(size)

    def _lines(self, lines: Iterable[bytes]) -> Iterator[Row]:
        for number, line in enumerate(lines, 1):
            self._size += len(line)
            self._done(len(line))
            if not line.strip():
                continue
            where = f"{self.path}:{number}"
            try:
                value: Json = json.loads(line.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError) as fault:
                cut = "" if line.endswith(b"\n") else "; the file ends in the middle of this line"
                self.tell(f"{where}: no JSON: {fault}{cut}")
                continue
            if isinstance(value, (dict, list)):
                yield from _documents(value, where)
            else:
                self.tell(f"{where}: an object is to stand here")


def _value(line: bytes) -> Json:
    try:
        found: Json = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found or None


def _documents(value: Json, where: str) -> Iterator[Row]:
    """A document's objects: itself, a list of messages as the object that holds it, or the objects of a list."""
    if isinstance(value, dict):
        yield where, value
    elif isinstance(value, list):
        rows = [row for row in value if isinstance(row, dict)]
        if any("role" in row or row.get("type") in ("function_call", "function_call_output") for row in rows):
            yield where, {"messages": list(rows)}
        else:
            yield from ((f"{where}[{i}]", row) for i, row in enumerate(rows))


def formats() -> dict[str, ModuleType]:
    """All formats by name."""
    return {name: discover.load("recordings", name) for name in discover.names("recordings")}


def read_file(path: str, tell: Tell, seen: set[int] | None = None, done: Callable[[int], None] = lambda size: None) -> Iterator[Trajectory]:
    """The sessions of one file, in order. tell takes a line for each thing that could not be read; done, bytes as they are read."""
    try:
        rows = Rows(path, tell, set() if seen is None else seen, done)
        head = rows.head()
        if not head:
            if not os.path.getsize(path):
                tell(f"{path}: empty")
            return
        found = next((module for module in formats().values() if any(module.fits(row) for _, row in head)), None)
        if found is None:
            tell(f"{path}: no format that is known here; there are {', '.join(formats())}")
            return
        yield from found.sessions(rows)
    except OSError as fault:
        tell(f"{path}: {fault.strerror}")
    except Invalid as fault:
        tell(str(fault).removeprefix("invalid: "))


def files(paths: Iterable[str]) -> list[str]:
    """The files that are meant: each path, and of a folder all below it that could be a recording, by name."""
    found = []
    for path in paths:
        if not os.path.isdir(path):
            found.append(path)
            continue
        for folder, below, names in os.walk(path):
            below.sort()
            found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(ENDINGS)]
    return found
