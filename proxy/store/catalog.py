"""The catalog: SQLite in WAL mode, written by many processes and threads.

Every write transaction holds an `flock` on the file `lock` beside the catalog: SQLite's own busy timeout lets one writer starve
for seconds among eight (waiting.py has how it is waited for). Readers take no lock. Connections lie in a pool, so that no two threads
ever use one at a time and none is carried over a fork. `_sqlite3` and not `sqlite3`: the package imports datetime and time.
"""
from __future__ import annotations

import _sqlite3
import errno
import fcntl
import os
import time

from byref.proxy.errors import ByrefError, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreNewer, StoreReadOnly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection
    from types import TracebackType
    from typing import TypeAlias

    Value: TypeAlias = int | float | str | bytes | None
    Row: TypeAlias = tuple[Value, ...]
    Values: TypeAlias = tuple[Value, ...]

PATIENCE = 5.0  # seconds that a writer waits for the others; a commit takes milliseconds
PAGE = 4096
SHM = 32 << 10  # bytes of the wal-index beside a small WAL
APPLICATION = 0x62797266  # "byrf", as `PRAGMA application_id`, so that `file` and we can tell a catalog from other databases
LAYOUT = 4  # len(MIGRATIONS), which a test holds equal: an up-to-date catalog opens without importing them
_UNREADABLE = (_sqlite3.SQLITE_IOERR_READ, _sqlite3.SQLITE_IOERR_SHORT_READ)
_ABANDONED: list[object] = []  # connections inherited over a fork: closing them here would release the parent's locks


def text(value: str) -> str | bytes:
    """A string as SQLite takes it. Lone surrogates, as in arguments that are not UTF-8, are kept as bytes."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def string(value: Value) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else str(value)


def blob_of(value: Value) -> bytes:
    return value if isinstance(value, bytes) else string(value or "").encode()


def number(value: Value) -> int:
    return value if isinstance(value, int) else int(value or 0)


def fault(error: Exception, path: str) -> ByrefError:
    """What an error of SQLite or of the system means for the store."""
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return StoreFull(f"the disk takes no more at {path}: {error.strerror}; make room there, or set BYREF_HOME to another disk")
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return StoreReadOnly(f"{path} cannot be written: {error.strerror}; make it writable, or set BYREF_HOME to another folder")
        return StoreError(f"{path}: {error}")
    code = int(getattr(error, "sqlite_errorcode", 0))
    primary = code & 0xff
    if primary == _sqlite3.SQLITE_FULL or code in (_sqlite3.SQLITE_IOERR_WRITE, _sqlite3.SQLITE_IOERR_SHMSIZE):
        return StoreFull(f"the disk takes no more at {path}: {error}; make room there, or set BYREF_HOME to another disk")
    if primary in (_sqlite3.SQLITE_READONLY, _sqlite3.SQLITE_PERM, _sqlite3.SQLITE_CANTOPEN):
        return StoreReadOnly(f"{path} cannot be written: {error}; make it writable, or set BYREF_HOME to another folder")
    if primary in (_sqlite3.SQLITE_BUSY, _sqlite3.SQLITE_LOCKED, _sqlite3.SQLITE_PROTOCOL):
        return StoreBusy(f"{path} was held by others for more than {PATIENCE:.0f} s; try again")
    if primary in (_sqlite3.SQLITE_CORRUPT, _sqlite3.SQLITE_NOTADB) or code in _UNREADABLE:
        return StoreDamaged(f"{path} is damaged: {error}; move its folder away, and a new store is made")
    if not code and isinstance(error, _sqlite3.OperationalError):
        return StoreDamaged(f"{path} is damaged: {error}; move its folder away, and a new store is made")
    return StoreError(f"{path}: {error}")


def make_folder(path: str) -> bool:
    """A folder of mode 0700, whatever the umask. True if it was made just now; then its parent is synced."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    os.chmod(path, 0o700)
    sync_folder(os.path.dirname(path))
    return True


def sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Link:
    """A connection, and its own descriptor of the lock file, taken by one thread at a time."""

    __slots__ = ("_pid", "db", "lock")

    def __init__(self, db: Connection) -> None:
        self.db, self.lock, self._pid = db, -1, os.getpid()

    def close(self) -> None:
        if self._pid != os.getpid():
            return
        self.db.close()
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def __del__(self) -> None:
        self.close()


class Catalog:
    """Connections to the catalog of a store's folder. Raises only errors of the store's own tree.

    wal_bytes: of the WAL, after which it is moved into the catalog. wal_limit: beyond which its file is cut short, too.
    """

    def __init__(self, root: str, wal_bytes: int, wal_limit: int) -> None:
        self.root, self.path = root, os.path.join(root, "catalog.db")
        self.wal_bytes, self.wal_limit = wal_bytes, wal_limit
        self._pool: list[Link] = []
        self._pid, self._closed, self._read_only = os.getpid(), False, False
        try:
            self._create()
            self._give(self.connect())
        except (_sqlite3.Error, OSError) as error:
            raise fault(error, self.path) from error

    # opening

    def _create(self) -> None:
        if os.path.exists(self.path):
            return
        os.makedirs(os.path.dirname(self.root), exist_ok=True)
        if not make_folder(self.root) and not os.listdir(self.root):
            os.chmod(self.root, 0o700)
        if os.path.isdir(os.path.join(self.root, "blobs")):
            raise StoreDamaged(f"{self.path} is missing, but blobs are there; put it back, or move the folder away")
        try:
            # SQLite would apply the umask; -wal and -shm take over the mode of this file.
            descriptor = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError:
            return
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)

    def connect(self) -> Link:
        """A connection of its own, for who closes it."""
        link = Link(self._open(self.path))
        try:
            try:
                version = self._prepare(link.db)
            except _sqlite3.OperationalError as error:
                if os.access(self.root, os.W_OK) and os.access(self.path, os.W_OK):
                    raise
                link.close()
                link = self._connect_read_only(error)
                version = self._prepare(link.db)
            if version > LAYOUT:
                raise StoreNewer(f"{self.path} was written by a later byref (layout {version}, known {LAYOUT}); update byref")
            if version < LAYOUT:
                self._migrate(link)
        except BaseException:
            link.close()
            raise
        return link

    def _open(self, name: str, uri: bool = False) -> Connection:
        return _sqlite3.connect(name, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=uri)

    def _prepare(self, db: Connection) -> int:
        # temp_store: a large sort would else leave text in a file outside the store.
        for pragma in ("synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY", f"wal_autocheckpoint = {self.wal_bytes // PAGE}",
                       f"journal_size_limit = {self.wal_bytes}"):
            db.execute("PRAGMA " + pragma)
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        if version and db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise StoreDamaged(f"{self.path} is a database of something else; choose another folder")
        return version

    def _connect_read_only(self, error: Exception) -> Link:
        """Without a writable folder there is no wal-index; a catalog that was closed can be read without one."""
        try:
            if os.path.getsize(self.path + "-wal"):
                raise fault(error, self.path) from error
        except FileNotFoundError:
            pass
        self._read_only = True
        from urllib.parse import quote
        return Link(self._open(f"file:{quote(self.path)}?mode=ro&immutable=1", uri=True))

    def _migrate(self, link: Link) -> None:
        from byref.proxy.store.migrations import MIGRATIONS
        self._lock(link)
        try:
            db = link.db
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise StoreDamaged(f"{self.path} is a database of something else; choose another folder")
                if os.path.isdir(os.path.join(self.root, "blobs")):
                    raise StoreDamaged(f"{self.path} is empty, but blobs are there; put it back, or move the folder away")
                db.execute("PRAGMA auto_vacuum = INCREMENTAL")
                db.execute("PRAGMA journal_mode = WAL")
            db.execute("BEGIN IMMEDIATE")
            for step in MIGRATIONS[version:]:
                for statement in step.split(";"):
                    db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            db.execute("COMMIT")
            sync_folder(self.root)
        finally:
            if link.db.in_transaction:
                link.db.execute("ROLLBACK")
            fcntl.flock(link.lock, fcntl.LOCK_UN)

    # the pool

    def _take(self) -> Link:
        if self._closed:
            raise StoreError("this store was closed")
        if self._pid != os.getpid():
            _ABANDONED.extend(self._pool)
            self._pool, self._pid = [], os.getpid()
        try:
            return self._pool.pop()
        except IndexError:
            return self.connect()

    def _give(self, link: Link) -> None:
        if self._closed:
            link.close()
        else:
            self._pool.append(link)

    def read(self, query: str, values: Sequence[Value] = ()) -> list[Row]:
        """All rows of one query."""
        try:
            link = self._take()
            try:
                return link.db.execute(query, values).fetchall()
            finally:
                self._give(link)
        except (_sqlite3.Error, OSError) as error:
            raise fault(error, self.path) from error

    def write(self, durable: bool = True) -> Write:
        """A write transaction, for `with`. Not durable: it may be lost with the power, whole and with what came after it."""
        return Write(self, durable)

    def _lock(self, link: Link) -> None:
        if link.lock < 0:
            link.lock = os.open(os.path.join(self.root, "lock"), os.O_CREAT | os.O_RDWR, 0o600)
            os.fchmod(link.lock, 0o600)
        try:
            fcntl.flock(link.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            from byref.proxy.store.waiting import wait
            held = link.lock
            link.lock = -1  # if the wait fails, its thread may still come to hold this descriptor
            if not wait(held, PATIENCE):
                raise StoreBusy(f"{self.path} was held by others for more than {PATIENCE:.0f} s; try again") from None
            link.lock = held

    def size(self) -> int:
        """Bytes of the catalog's files on disk."""
        size = 0
        for suffix in ("", "-wal", "-shm"):
            try:
                size += os.stat(self.path + suffix).st_size
            except FileNotFoundError:
                pass
        return size

    def truncate_wal(self, patience: float, then: Callable[[], None] | None = None) -> bool:
        """Moves the WAL into the catalog and cuts it to nothing. False if readers kept it in use for so many seconds.

        then: what is done next, still under the lock.
        Holds the lock for short tries only: under it no other checkpoint runs, which SQLite would not wait for.
        """
        deadline = time.monotonic() + patience
        try:
            link = self._take()
            try:
                while True:
                    self._lock(link)
                    try:
                        if truncate_wal(link.db, 0.05):
                            if then is not None:
                                then()
                            return True
                    finally:
                        fcntl.flock(link.lock, fcntl.LOCK_UN)
                    if time.monotonic() >= deadline:
                        return False
                    time.sleep(0.02)
            finally:
                self._give(link)
        except (_sqlite3.Error, OSError) as error:
            raise fault(error, self.path) from error

    def close(self) -> None:
        self._closed = True
        pool, self._pool = self._pool, []
        if self._pid != os.getpid():
            _ABANDONED.extend(pool)
            return
        for link in pool:
            link.close()


def truncate_wal(db: Connection, patience: float) -> bool:
    """One try to empty the WAL, under the lock. False if a reader still uses it."""
    db.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
    try:
        busy: int = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except _sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xff not in (_sqlite3.SQLITE_BUSY, _sqlite3.SQLITE_LOCKED):
            raise
        return False
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
    return not busy


class Write:
    """One write transaction under the lock. `after` runs once it is `committed`, still under the lock."""

    def __init__(self, catalog: Catalog, durable: bool) -> None:
        self._catalog, self._durable = catalog, durable
        self.after: list[Callable[[], None]] = []
        self.committed = False

    def __enter__(self) -> Write:
        if self._catalog._read_only:
            raise StoreReadOnly(f"{self._catalog.path} cannot be written; make its folder writable, or set BYREF_HOME to another folder")
        try:
            self._link = self._catalog._take()
            self.db = self._link.db
            try:
                self._catalog._lock(self._link)
                if not self._durable:
                    self.db.execute("PRAGMA synchronous = NORMAL")
                self.db.execute("BEGIN IMMEDIATE")
            except BaseException:
                self._release()
                raise
        except (_sqlite3.Error, OSError) as error:
            raise fault(error, self._catalog.path) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            try:
                if kind is None:
                    self.db.execute("COMMIT")
                    self.committed = True
                    for action in self.after:
                        action()
                    if os.stat(self._catalog.path + "-wal").st_size > self._catalog.wal_limit:
                        truncate_wal(self.db, 0)
            finally:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                self._release()
        except (_sqlite3.Error, OSError) as problem:
            raise fault(problem, self._catalog.path) from problem
        if isinstance(error, (_sqlite3.Error, OSError)):
            raise fault(error, self._catalog.path) from error

    def _release(self) -> None:
        if not self._durable:
            self.db.execute("PRAGMA synchronous = FULL")
        if self._link.lock >= 0:
            fcntl.flock(self._link.lock, fcntl.LOCK_UN)
        self._catalog._give(self._link)

    def rows(self, query: str, values: Sequence[Value] = ()) -> list[Row]:
        return self.db.execute(query, values).fetchall()

    def row(self, query: str, values: Sequence[Value] = ()) -> Row | None:
        found: Row | None = self.db.execute(query, values).fetchone()
        return found

    def run(self, query: str, values: Sequence[Value] = ()) -> int:
        """Executes, and returns the last row id."""
        return self.db.execute(query, values).lastrowid or 0
