"""Files of recorded sessions, whatever their format: JSON objects a line, one document or several, a database. Formats: `recordings/`.

A module there has `fits(row) -> bool`, whether an object is of this format and of no other, and `sessions(rows) -> Iterator[Trajectory]`;
one that keeps its sessions in SQLite also `database(path) -> Iterator[Row] | None`, None where the file's tables are another's; one with
`OFTEN_EMPTY` has files without a session, and nothing is wrong with them.
What cannot be read is told by file and line, and the rest is read. Lines, documents and the sessions of a list are read as they stream:
what is held is one of them, at most `LARGEST`, and of a list of messages, which is one session, all.
"""
from __future__ import annotations

import itertools
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from types import ModuleType
from typing import BinaryIO

from byref.proxy import discover
from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.ledger import packed
from byref.proxy.ledger.documents import Documents, Fault
from byref.proxy.ledger.message_lists import unwrapped
from byref.proxy.ledger.trajectories import Trajectory

ENDINGS = (".jsonl", ".json", ".traj", ".ndjson", ".eval", ".db")  # what is looked for in a folder, packed or not
LOOKED, HEAD = 100, 1 << 22  # rows, and bytes of them, by which a format is told
LARGEST = 1 << 29  # bytes of one line, characters of one document
_KEYS = 8  # keys of an object of no format that are named
MOST = 20  # faults of a file that are told one by one
_MARK = b"\xef\xbb\xbf"  # what Windows writes before UTF-8
_DATABASE = b"SQLite format 3\0"
_OTHERS = {b"PK\x03\x04": "a zip archive in another file: unpack it first",
           b"\xff\xfe": "UTF-16: save it as UTF-8", b"\xfe\xff": "UTF-16: save it as UTF-8"}
_TAR = 257  # where the magic of a tar archive stands
Row = tuple[str, dict[str, Json]]
Tell = Callable[[str], None]


class Rows:
    """The objects of a file, each with where it stands. seen: shared by all files, so that what was copied into two counts once."""

    def __init__(self, path: str, tell: Tell, seen: set[int], done: Callable[[int], None], member: str = "") -> None:
        self.path = f"{path}:{member}" if member else path
        self._place, self._member, self._tell, self._seen, self._done = path, member, tell, seen, done
        self._head: list[Row] = []
        self._at: list[int] = []  # bytes that were read when each of these was
        self._size = self._given = self._told = 0  # bytes that were read, of a packed file as it is packed; those that are told
        self._packed: BinaryIO | None = None
        self._odd: Counter[str] = Counter()
        self._formats: dict[str, ModuleType] = {}
        self._rest = self._read()

    def head(self) -> list[Row]:
        """The first rows; they come again."""
        if not self._head:
            for row in itertools.islice(self._rest, LOOKED):
                self._head.append(row)
                self._at.append(self._size)
                if self._size > HEAD:
                    break
        return self._head

    def __iter__(self) -> Iterator[Row]:
        for row, size in zip(self._head, self._at, strict=True):
            self._give(size)
            yield row
        for row in self._rest:
            self._give(self._size)
            yield row

    def _give(self, size: int) -> None:
        """So much was read of what is given."""
        if size > self._given:
            self._done(size - self._given)
            self._given = size

    def first(self, key: str) -> bool:
        """Whether no file so far held this key."""
        if not key:
            return True
        number = hash(key)
        if number in self._seen:
            return False
        self._seen.add(number)
        return True

    def tell(self, fault: str) -> None:
        """Something that could not be read; of very many in one file the rest are counted."""
        self._told += 1
        if self._told <= MOST:
            self._tell(fault)

    def odd(self, where: str, what: str) -> None:
        """Something that this version does not know: its first place is told, and at the end how often it stands in the file."""
        self._odd[what] += 1
        if self._odd[what] == 1:
            self.tell(f"{where}: {what}")

    def foreign(self, where: str, row: dict[str, Json], known: bool = False) -> None:
        """A row that is none of the file's format: told, with what it is. known: whether it is quiet where it is of no other, either."""
        self._formats = self._formats or formats()
        name = next((name for name, module in self._formats.items() if module.fits(row)), "")
        if name:
            self.odd(where, f"a line of {name} in a file of another format is not read: give it a file of its own")
        elif not known:
            self.odd(where, "an object that is no part of the file's format")

    @property
    def faults(self) -> int:
        """Faults so far."""
        return self._told

    def end(self) -> None:
        """Tells what was counted."""
        self._give(self._size)
        if self._told > MOST:
            self._tell(f"{self.path}: {self._told - MOST} more faults in this file")
        for what, number in self._odd.items():
            if number > 1:
                self._tell(f"{self.path}: {number} times: {what}")

    def _read(self) -> Iterator[Row]:
        with ExitStack() as opened:
            file: BinaryIO = opened.enter_context(open(self._place, "rb"))
            if not file.seekable():  # a pipe, of which the beginning could not be read twice
                pipe, file = file, opened.enter_context(TemporaryFile())
                shutil.copyfileobj(pipe, file)
                file.seek(0)
            try:
                inner = packed.member(file, self._member) if self._member else packed.unpacked(file)
            except packed.DAMAGED as fault:
                self.tell(f"{self.path}: {fault}")
                return
            self._packed = file if inner else None
            yield from self._plain(inner or file)
            if inner and inner.fault:
                self.tell(f"{self.path}: its packed data is damaged or cut ({inner.fault}); what stands before that was read")

    def _plain(self, file: BinaryIO) -> Iterator[Row]:
        start = file.read(_TAR + 5)
        if start.startswith(_DATABASE):
            if self._packed:
                self.tell(f"{self.path}: a database that is packed: unpack it first")
                return
            size = os.fstat(file.fileno()).st_size
            yield from _database(self.path)
            self._passed(size)
            return
        what = next((what for sign, what in _OTHERS.items() if start.startswith(sign)), "")
        if start[_TAR:].startswith(b"ustar"):
            what = "a tar archive: unpack it first"
        elif self._packed and start.startswith(packed.MAGIC):
            what = f"packed twice: unpack {'the archive' if self._member else 'it'} first"
        if what:
            self.tell(f"{self.path}: {what}")
            return
        skipped = len(_MARK) if start.startswith(_MARK) else 0
        file.seek(skipped)
        start = b" "
        while start and not start.strip():
            start = file.readline(HEAD)
        lines = start.strip()[:1] not in (b"{", b"[")
        if not lines:
            long = len(start) == HEAD and not start.endswith(b"\n")
            lines = start.lstrip().startswith(b"{") if long else _value(start) is not None
        file.seek(skipped)
        if not lines and not (yield from self._stream(Documents(file, LARGEST, self._passed))):
            file.seek(skipped)
            lines = True
        if lines:
            yield from self._lines(_lines_of(file))

    def _passed(self, size: int) -> None:
        self._size = self._packed.tell() if self._packed else self._size + size

    def _stream(self, documents: Documents) -> Generator[Row, None, bool]:
        """Documents one after another. False where the first is none, but those of the next lines may be some."""
        while not documents.fault and (sign := documents.sign()):
            first = documents.place == 0
            where = self.path if first else f"{self.path}:{documents.line}"
            if sign == "[":
                yield from self._elements(documents.elements(), where, documents)
                continue
            try:
                value = documents.value()
            except Fault as fault:
                if first and documents.like_lines():
                    return False
                self.tell(f"{where}: {fault}")
                break
            yield from self._documents(value, where)
        return True

    def _lines(self, lines: Iterable[bytes]) -> Iterator[Row]:
        number, beyond = 1, False  # beyond: in the middle of a line that is too long
        for line in lines:
            self._passed(len(line))
            ended, where = line.endswith(b"\n"), f"{self.path}:{number}"
            number += ended
            if beyond or len(line) > LARGEST:
                if not beyond:
                    self.tell(f"{where}: a line of more than {LARGEST} bytes is more than is held at once")
                beyond = not ended
                continue
            if not line.strip():
                continue
            try:
                value: Json = json.loads(line.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError) as fault:
                cut = "" if ended else "; the file ends in the middle of this line"
                self.tell(f"{where}: no JSON: {fault}{cut}")
                continue
            yield from self._documents(value, where)

    def _documents(self, value: Json, where: str) -> Iterator[Row]:
        """A document's objects: itself, a list of messages as the object that holds it, or the objects of a list."""
        if isinstance(value, dict):
            yield where, unwrapped(value)
        elif isinstance(value, list) and value:
            yield from self._elements(iter(value), where)
        else:
            self.tell(f"{where}: an object is to stand here")

    def _elements(self, elements: Iterator[Json], where: str, documents: Documents | None = None) -> Iterator[Row]:
        """The rows of a list: its objects, or all together where they are messages, for then the list is one session. documents: where
        it is read from, as far as it is whole.
        """
        head: list[Json] = []
        began = documents.place if documents else 0
        for one in elements:
            head.append(one)
            if len(head) == LOOKED or (documents and documents.place - began > HEAD):
                break
        if any(isinstance(one, dict) and _of_a_list(one) for one in head):
            for one in elements:
                head.append(one)
                if documents and documents.place - began > LARGEST:
                    documents.fault = f"messages of more than {LARGEST} characters are more than is held at once: the rest is left out"
                    break
            yield where, {"messages": head}
        else:
            for i, one in enumerate(itertools.chain(head, elements)):
                if isinstance(one, dict):
                    yield f"{where}[{i}]", unwrapped(one)
                else:
                    self.odd(f"{where}[{i}]", "an object is to stand here")
        if documents and documents.fault:
            self.tell(f"{where}: {documents.fault}")


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is too long, its parts."""
    while line := file.readline(LARGEST + 1):
        yield line


def _value(line: bytes) -> Json:
    try:
        found: Json = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found or None


def _of_a_list(row: dict[str, Json]) -> bool:
    """Whether it is a message, or an item of the Responses API."""
    return "role" in row or row.get("type") in ("function_call", "function_call_output")


def _database(path: str) -> Iterator[Row]:
    """The sessions of the first format whose tables it has. Raises `Invalid` where no format knows them."""
    for module in formats().values():
        database: Callable[[str], Iterator[Row] | None] = getattr(module, "database", lambda path: None)
        if (rows := database(path)) is not None:
            return rows
    raise Invalid(f"{path}: a database of no format that is known here")


def formats() -> dict[str, ModuleType]:
    """All formats by name."""
    return {name: discover.load("recordings", name) for name in discover.names("recordings")}


def read_file(path: str, tell: Tell, seen: set[int] | None = None, done: Callable[[int], None] = lambda size: None) -> Iterator[Trajectory]:
    """The sessions of one file, in order; of an archive those of each file in it. tell takes a line for each thing that could not be read;
    done, bytes as they are read.
    """
    seen = set() if seen is None else seen
    own = set[str]()
    try:
        members = packed.inside(path)
    except packed.DAMAGED as fault:
        tell(f"{path}: a zip archive that is damaged or cut: {fault}")
        return
    if members is None:
        yield from _sessions(Rows(path, tell, seen, done), own)
        return
    meant = [name for name in members if _recording(name)]
    if not meant:
        tell(f"{path}: a zip archive without a recording: a file's name is to end in {', '.join(ENDINGS)}")
    for name in meant:
        yield from _sessions(Rows(path, tell, seen, done, name), own)


def _sessions(rows: Rows, own: set[str]) -> Iterator[Trajectory]:
    path, tell = rows.path, rows.tell
    try:
        head = rows.head()
        if not head:
            if not rows.faults:
                tell(f"{path}: empty")
            return
        found = next((module for module in formats().values() if any(module.fits(row) for _, row in head)), None)
        if found is None:
            keys = ", ".join(map(repr, list(head[0][1])[:_KEYS])) or "nothing"
            tell(f"{path}: no format that is known here: its first object holds {keys}. There are {', '.join(formats())}")
            return
        any_ = False
        for one in _once(found.sessions(rows), rows, own):
            any_ = True
            yield one
        if not (any_ or rows.faults or getattr(found, "OFTEN_EMPTY", False)):
            tell(f"{path}: it is read as {found.__name__.rpartition('.')[2]}, and no tool output is in it")
    except OSError as fault:
        tell(f"{path}: {fault.strerror or fault}")
    except Invalid as fault:
        tell(str(fault).removeprefix("invalid: "))
    except RecursionError:
        tell(f"{path}: nested too deeply; what stands before it was read")
    finally:
        rows.end()


def _once(sessions: Iterable[Trajectory], rows: Rows, own: set[str]) -> Iterator[Trajectory]:
    """Those that stood in no other file before, call by call. own: keys of those of this file."""
    copies = 0
    for one in sessions:
        name = "" if rows.path in one.id else one.id
        key = f"session {hash((name, one.task, *((turn.tool, turn.output, turn.next_action) for turn in one.turns)))}"
        if one.turns and key not in own and not rows.first(key):
            copies += 1
            continue
        own.add(key)
        yield one
    if copies:
        rows.tell(f"{rows.path}: {copies} session{'s that stand' if copies > 1 else ' that stands'} in another file, too: counted there")


def _recording(name: str) -> bool:
    """Whether a file's name is one of a recording, packed or not."""
    bare = next((name.removesuffix(one) for one in packed.SUFFIXES if name.endswith(one)), name)
    return bare.endswith(ENDINGS)


def files(paths: Iterable[str]) -> list[str]:
    """The files that are meant: each path, and of a folder all below it that could be a recording, by age, so that what was copied from one
    into another counts where it stood first. Each once.
    """
    found: dict[str, str] = {}
    for path in paths:
        if not os.path.isdir(path):
            found.setdefault(os.path.realpath(path), path)
            continue
        held = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if _recording(name)]
        for name in sorted(held, key=lambda name: (_age(name), name)):
            found.setdefault(os.path.realpath(name), name)
    return list(found.values())


def _age(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:  # it is told when it is to be read
        return 0.0
