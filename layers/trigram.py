"""Trigrams: chunks that share most of a string's triples of characters, whatever stands around them. SQLite's FTS5 finds them.

An index is a row of databases of some megabytes of text each, without the text itself; one that holds a blob that is let go is removed
whole, and the rest of it is indexed again: no byte of the blob stays behind. A database is never changed once it is there, so its name
holds its checksum (SQLite itself takes a flipped bit for content).
"""
from __future__ import annotations

import os
import sqlite3
import zlib
from contextlib import closing
from threading import Event, RLock
from typing import TYPE_CHECKING

from byref.layers.chunking import chunks
from byref.layers.contract import GENERATE, WHOLE, Added, Contribution, Hit, LayerStatus, Span
from byref.proxy.errors import Corrupt, Unknown
from byref.proxy.query import AS_IT_IS
from byref.proxy.text import project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.layers.contract import Budget, Scope
    from byref.proxy.query import Query

VERSION = "1"  # of chunks and layout
LONGEST = 80  # characters of a query's string
TOKENS = 3  # of a query that looks for strings; of more words, each is common
RAREST = 16  # trigrams of it that are looked up
COMMON = 4  # a trigram that stands in more than one of so many chunks tells nothing
SHARE = 50  # percent of the looked-up trigrams that a chunk has to hold
STEP = 64  # chunks between two looks at whether to go on
_LAYOUT = f"""
    PRAGMA page_size = 8192; PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;
    CREATE TABLE blobs (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY, blob INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, line INTEGER NOT NULL);
    CREATE VIRTUAL TABLE grams USING fts5(text, content='', tokenize='trigram', detail=none, columnsize=0);
    CREATE VIRTUAL TABLE often USING fts5vocab(grams, row);
    PRAGMA user_version = {VERSION};
"""


def layer(folder: str | None) -> Trigram:
    return Trigram(folder)


class Trigram:
    """See the module."""

    name, version, roles = "trigram", VERSION, frozenset({GENERATE})

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._lock = RLock()
        self._shards: dict[str, _Shard] = {}
        self._changed = -1

    def applies(self, scope: Scope, query: Query) -> bool:
        return query.compiled is None and len(_strings(query)) > 0 and bool(self._all())

    def status(self, scope: Scope) -> LayerStatus:
        known = self.indexed()
        done = sum(held.size for blob, held in scope.held.items() if blob in known)
        return LayerStatus(self.name, VERSION, GENERATE, "SQLite FTS5", "chunk of lines", WHOLE * done // max(1, scope.total),
                           "a string of three characters or more", 3 + scope.total // 2_000_000)

    def indexed(self) -> frozenset[str]:
        return frozenset().union(*(shard.blobs for _, shard in self._all()))

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """Chunks by the share of the query's rarer trigrams that they hold, in basis points."""
        hits: list[tuple[int, int, int, int, Hit]] = []
        searched: set[str] = set()
        whole = True
        for name, shard in self._all():
            if budget.late():
                whole = False
                break
            try:
                found = [(score * weight // AS_IT_IS, blob, start, end, line) for string, weight in _strings(query)
                         for score, blob, start, end, line in shard.find(string, budget.hits)]
            except sqlite3.ProgrammingError:  # let go while it was to be searched
                continue
            except sqlite3.DatabaseError:  # damaged since it was opened
                with self._lock:
                    self._drop(name)
                continue
            for score, blob, start, end, line in found:
                held = scope.held.get(blob)
                if held is not None:
                    hits.append((-score, held.age, held.part, start, Hit(Span(blob, start, end), score, "trigram", line=line)))
            searched.update(shard.blobs)
        hits.sort(key=lambda one: one[:4])
        best: dict[Span, Hit] = {}
        for *_, hit in hits:
            best.setdefault(hit.span, hit)
        there = frozenset(blob for blob in scope.held if blob in searched)
        return Contribution(list(best.values())[:budget.hits], None if len(there) == len(scope.held) else there, whole)

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        gone = set(remove)
        with self._lock:
            if gone:
                for name in [name for name, shard in self._look().items() if gone & shard.blobs]:
                    self._drop(name)
            known = self.indexed()
            wanted = [one for one in add if one.blob not in known]
            if wanted:
                self._add(wanted, cancel)

    def _add(self, wanted: Sequence[Added], cancel: Event) -> None:
        name, path = f"{len(self._shards):08}", ":memory:"
        if self._folder is not None:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            name = f"{os.urandom(8).hex()}.db"
            path = os.path.join(self._folder, name + ".tmp")
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        shard = _Shard(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
        done = False
        try:
            shard.db.executescript(_LAYOUT)
            done = shard.fill(wanted, cancel)
        finally:
            if not done or self._folder is not None:
                shard.close()
            if not done and self._folder is not None:
                os.unlink(path)
        if not done:
            return
        if self._folder is None:
            self._shards[name] = shard
        else:
            os.rename(path, os.path.join(self._folder, f"{name.removesuffix('.db')}.{_checksum(path)}.db"))
            self._look()

    def _all(self) -> list[tuple[str, _Shard]]:
        with self._lock:
            return sorted(self._look().items())

    def _look(self) -> dict[str, _Shard]:
        """The shards there are now; a damaged one is removed, and what it held is indexed again."""
        if self._folder is None:
            return self._shards
        try:
            changed = os.stat(self._folder).st_mtime_ns
            if changed == self._changed:
                return self._shards
            names = {name for name in os.listdir(self._folder) if name.endswith(".db")}
        except FileNotFoundError:
            names, changed = set(), -1
        for name in self._shards.keys() - names:
            self._shards.pop(name).close()
        for name in names - self._shards.keys():
            path = os.path.join(self._folder, name)
            try:
                if name.split(".")[1] != _checksum(path):
                    raise sqlite3.DatabaseError("damaged")
                self._shards[name] = _Shard(sqlite3.connect(path, isolation_level=None, check_same_thread=False)).load()
            except (sqlite3.Error, OSError):
                self._drop(name)
        self._changed = changed
        return self._shards

    def _drop(self, name: str) -> None:
        shard = self._shards.pop(name, None)
        if shard is not None:
            shard.close()
        if self._folder is not None:
            try:
                os.unlink(os.path.join(self._folder, name))
            except FileNotFoundError:
                pass

    def close(self) -> None:
        with self._lock:
            for shard in self._shards.values():
                shard.close()
            self._shards, self._changed = {}, -1


class _Shard:
    """One database. blobs: digests that it holds; size: its chunks."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.blobs: frozenset[str] = frozenset()
        self.size = 0
        self._lock = RLock()

    def close(self) -> None:
        """Waits for a search that is under way: SQLite must not lose a database from under a statement."""
        with self._lock:
            self.db.close()

    def load(self) -> _Shard:
        """Raises `sqlite3.Error` for a file that is damaged or of another layout."""
        if self.db.execute("PRAGMA user_version").fetchone()[0] != int(VERSION):
            self.db.close()
            raise sqlite3.DatabaseError("another layout")
        self.blobs = frozenset(digest for digest, in self.db.execute("SELECT digest FROM blobs"))
        self.size = self.db.execute("SELECT count(*) FROM chunks").fetchone()[0]
        return self

    def fill(self, wanted: Sequence[Added], cancel: Event) -> bool:
        """Takes blobs in, in one transaction. A cancel costs the blob that is being taken in. False where there is none."""
        with closing(self.db.cursor()) as cursor:
            cursor.execute("BEGIN")
            taken = 0
            for one in wanted:
                if cancel.is_set():
                    break
                try:
                    data = b"".join(one.source.blocks())
                except (Corrupt, Unknown):
                    continue
                cursor.execute("SAVEPOINT blob")
                if not _fill(cursor, one, data, cancel):
                    cursor.execute("ROLLBACK TO blob")
                    break
                cursor.execute("RELEASE blob")
                taken += 1
            cursor.execute("COMMIT")
        self.load()
        return taken > 0 or not cancel.is_set()

    def find(self, string: str, count: int) -> list[tuple[int, str, int, int, int]]:
        """(basis points, blob, start, end, line) of the chunks that hold most of the trigrams of a string.

        Raises `sqlite3.DatabaseError` where it is damaged, and its kind `ProgrammingError` where it was closed meanwhile.
        """
        grams = list(dict.fromkeys(string[at:at + 3] for at in range(len(string) - 2)))
        if not grams:
            return []
        with self._lock:
            known = {gram: (self.db.execute("SELECT doc FROM often WHERE term = ?", (gram,)).fetchone() or (0,))[0] for gram in grams}
            telling = sorted((known[gram], gram) for gram in grams if known[gram] * COMMON <= max(self.size, 40))[:RAREST]
            held: dict[int, int] = {}
            for often, gram in telling:
                if often:
                    quoted = '"' + gram.replace('"', '""') + '"'
                    for row, in self.db.execute("SELECT rowid FROM grams WHERE grams MATCH ?", (quoted,)):
                        held[row] = held.get(row, 0) + 1
            least = max(1, -(-len(telling) * SHARE // 100))
            best = sorted(((-number, row) for row, number in held.items() if number >= least))[:count]
            found = []
            for negative, row in best:
                place = self.db.execute(
                    "SELECT b.digest, c.start, c.\"end\", c.line FROM chunks c JOIN blobs b ON b.id = c.blob WHERE c.id = ?",
                    (row,)).fetchone()
                if place is None:
                    raise sqlite3.DatabaseError("a chunk is missing")
                blob, start, end, line = place
                found.append((-negative * WHOLE // len(telling), blob, start, end, line))
            return found


def _checksum(path: str) -> str:
    """CRC-32 of a file in hex digits."""
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return f"{crc:08x}"


def _fill(cursor: sqlite3.Cursor, one: Added, data: bytes, cancel: Event) -> bool:
    """Takes the chunks of a blob in. False where it was cancelled meanwhile."""
    blob = cursor.execute("INSERT OR IGNORE INTO blobs (digest) VALUES (?)", (one.blob,)).lastrowid
    line, counted = 1, 0
    for number, (start, end) in enumerate(chunks(data, one.shape)):
        if number % STEP == STEP - 1 and cancel.is_set():
            return False
        line += data.count(b"\n", counted, start)
        counted = start
        whole = (start == 0 or data[start - 1] == 10) and (data[end - 1] == 10 or end == len(data))
        row = cursor.execute("INSERT INTO chunks (blob, start, \"end\", line) VALUES (?, ?, ?, ?)",
                             (blob, start, end, line if whole else 0)).lastrowid
        text = project(data[start:end].decode("utf-8", "replace")).replace("\0", " ")
        cursor.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (row, text))
    return True


def _strings(query: Query) -> list[tuple[str, int]]:
    """The strings that a query looks for, with their weights in thousandths: all of it where it is short, else its longer tokens."""
    text = query.text.lower().encode("utf-8", "replace").decode()
    if len(text) <= LONGEST and " " not in text:
        return [(text, AS_IT_IS)] if len(text) >= 3 else []
    if len(query.tokens) > TOKENS:
        return []
    weights = dict(query.weights)
    words = ((token.lower(), weights.get(token.lower(), AS_IT_IS)) for token in query.tokens if len(token) >= 4)
    return [(word.encode("utf-8", "replace").decode()[:LONGEST], weight) for word, weight in words]
