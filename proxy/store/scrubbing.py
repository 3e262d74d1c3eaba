"""Zeroes what SQLite leaves of deleted rows in pages that it still uses.

`secure_delete` zeroes a row where it lies when it is deleted, and pages that become free. But a row moves to another page when pages are
split and merged (balance_nonroot in btree.c), and the copy on its former page is only dropped: it stays in the unused middle, between
the cell pointers and the cells, where nothing finds it later. So a purge looks at every page of the catalog and writes zeros there.
VACUUM would do it, too, but copies the whole catalog twice and keeps all writers out meanwhile; this takes a slice at a time.

The zeros go straight into the file, under the lock, in a write transaction and with the WAL empty: then the file is all there is, and
nobody else writes to it. No reader looks at these bytes and a kill leaves some of them as they were, so that the catalog is whole at
any moment. Others may hold such a page in memory, and would write it back with a later change of theirs: a transaction that changes
nothing but the WAL makes them read again first. Slices go from the end: what moves a page meanwhile (incremental_vacuum) moves it to
the front. File format: https://www.sqlite.org/fileformat2.html, 1.3 (header), 1.6 (b-tree pages), 1.8 (pointer maps).
"""
from __future__ import annotations

import os
from _struct import Struct

from byref.proxy.errors import StoreDamaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.store.catalog import Catalog

SLICE = 8  # pointer maps and what they map: 27 MB, read and looked through in some 20 ms of a processor's time
_PENDING = 1 << 30  # the page at this byte is never used (lock-byte page)
_ROOT, _NODE = 1, 5  # pages of a b-tree in a pointer map; the others are free, or hold bytes that lie zeroed once freed
_LEAF, _INTERIOR = (10, 13), (2, 5)
_PAGE = Struct(">BHHH")  # kind, first free block, cells, start of the cells
_KEPT: dict[tuple[int, int], int] = {}  # closing a descriptor of a database would release the locks that SQLite has on it in this process


def scrub(catalog: Catalog, patience: float) -> bool:
    """Empties the WAL, and zeroes the unused middle of every page. False if readers kept the WAL in use for so many seconds.

    Page 1 is left out: it holds the layout and no rows. Raises what the catalog raises.
    """
    left = -1  # slices; how many there are is known once the WAL is in the file

    def one() -> None:
        nonlocal left
        left = _slice(catalog, left)
    while left:
        if not catalog.truncate_wal(patience, one):
            return False
    return True


def _slice(catalog: Catalog, left: int) -> int:
    """Scrubs the last of so many slices, of all for -1. How many are left: the same, where another program just wrote to the catalog."""
    descriptor = _descriptor(catalog.path)
    link = catalog.connect()  # another one may hold pages in memory as they were
    try:
        link.db.execute("BEGIN IMMEDIATE")
        if os.stat(catalog.path + "-wal").st_size:
            return left
        pages = Pages(descriptor, catalog.path)
        maps = -(-(pages.count - 1) // pages.group)
        left = -(-maps // SLICE) if left < 0 else left
        done = sum(pages.scrub(number) for number in range((left - 1) * SLICE, min(left * SLICE, maps)))
        if done:
            os.fsync(descriptor)
            link.db.execute("INSERT INTO doomed VALUES ('')")
            link.db.execute("DELETE FROM doomed WHERE digest = ''")
            link.db.execute("COMMIT")
        return left - 1
    finally:
        link.close()


def _descriptor(path: str) -> int:
    found = os.stat(path)
    key = found.st_dev, found.st_ino
    if key not in _KEPT:
        _KEPT[key] = os.open(path, os.O_RDWR)
    return _KEPT[key]


class Pages:
    """The pages of a database file in which nothing is being written. Pointer maps are counted from 0."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor, self._path = descriptor, path
        header = os.pread(descriptor, 100, 0)
        size = int.from_bytes(header[16:18], "big") if len(header) == 100 else 0
        self.size = 1 << 16 if size == 1 else size
        self.usable = self.size - header[20] if size else 0
        if header[:16] != b"SQLite format 3\0" or self.usable < 480 or not any(header[52:56]):
            raise self._damaged("its header")
        self.count = os.fstat(descriptor).st_size // self.size
        self.group = self.usable // 5 + 1  # a pointer map and the pages that it maps
        self._zeros = bytes(self.usable)

    def scrub(self, number: int) -> int:
        """Zeroes the unused middle of the pages of a pointer map. Of how many."""
        first = number * self.group + 2
        if first == _PENDING // self.size + 1:
            first += 1
        data, done = os.pread(self._descriptor, self.group * self.size, (first - 1) * self.size), 0
        for at, kind in zip(range(self.size, len(data), self.size), data[0:self.usable:5], strict=False):
            if kind not in (_ROOT, _NODE):
                continue
            shape, _, cells, content = _PAGE.unpack_from(data, at)
            start, end = at + (8 if shape in _LEAF else 12) + 2 * cells, at + (content or 1 << 16)
            if shape not in (*_LEAF, *_INTERIOR) or not start <= end <= at + self.usable:
                raise self._damaged(f"page {first + at // self.size}")
            zeros = self._zeros[:end - start]
            if data[start:end] != zeros:
                self._write(zeros, (first - 1) * self.size + start)
                done += 1
        return done

    def _write(self, data: bytes, at: int) -> None:
        while data:
            done = os.pwrite(self._descriptor, data, at)
            data, at = data[done:], at + done

    def _damaged(self, what: str) -> StoreDamaged:
        return StoreDamaged(f"{self._path} is damaged: {what} is not as SQLite writes it; move its folder away, and a new store is made")
