"""The `file:` store: blobs and a catalog in one folder that many processes and threads use at once."""
from __future__ import annotations

import os

from byref.proxy.contracts import Usage, Verified
from byref.proxy.errors import ConfigError, Corrupt, Evicted, Expired, StoreBusy, Unknown
from byref.proxy.store.blobs import BlobFolder, FileWriter
from byref.proxy.store.catalog import PAGE, Catalog, blob_of, fault, number, string, text
from byref.proxy.store.grouping import Group, Job
from byref.proxy.store.memo import first_of
from byref.proxy.store.pending import Pending
from byref.proxy.store.records import (
    CALL,
    EVENT,
    INSERT_EVENT,
    call_of,
    call_values,
    event_values,
    events_of,
    gaps_of,
    handled,
    outputs,
    read_manifest,
)
from byref.proxy.store.source import BytesSource
from byref.proxy.store.taking import Taking, given
from byref.proxy.text import check_ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from byref.proxy.contracts import Capture, Clock, Event, Gap, Output, Source
    from byref.proxy.store.catalog import Row, Value, Write
    from byref.proxy.store.retention import Retention

SMALL = 16 << 10  # bytes; up to here a blob lies in the catalog: no file, no folder and no zstandard for it
WAL = 1000 * PAGE  # bytes of the WAL between checkpoints: 4 MB, a few hundred commits
_OF_SESSION = "ref IN (SELECT ref FROM calls WHERE session = ?2 AND scope = ?1)"
PURGE_PATIENCE = 5.0  # seconds that a purge waits for readers of the journal before it says that it could not end


def connect(url: str, *, max_bytes: int, max_age: float, clock: Clock) -> FileStore:
    path = url.partition(":")[2]
    if path.startswith("//"):
        path = path[2:]
    if not path.startswith("/"):
        raise ConfigError(f"the store's URL {url!r} needs a full path, such as file:/home/me/.local/share/byref")
    return FileStore(url, os.path.normpath(path), max_bytes, max_age, clock)


class FileStore:
    """A `Store` in a folder: `catalog.db`, `blobs/`, `tmp/`, `lock`."""

    def __init__(self, url: str, root: str, max_bytes: int, max_age: float, clock: Clock) -> None:
        self.url, self.max_bytes, self.max_age = url, max_bytes, max_age
        self._root, self._clock = root, clock
        wal = min(WAL, max(16 * PAGE, max_bytes // 20))
        self._catalog = Catalog(root, wal, wal + min(wal, max_bytes // 20))
        self._blobs = BlobFolder(root, max_bytes)
        self._pending = Pending()
        self._group = Group(self._commit_all)

    # blobs

    def writer(self) -> FileWriter:
        return FileWriter(self._blobs, SMALL, self._pending.add)

    def open(self, digest: str) -> Source:
        content = self._pending.get(digest)
        if content is not None:
            return BytesSource(content, digest) if isinstance(content, bytes) else content.open(digest)
        for _ in range(2):
            rows = self._catalog.read("SELECT data FROM blobs WHERE digest = ?", (text(digest),))
            if not rows:
                raise Unknown(digest)
            data, = rows[0]
            if data is not None:
                return BytesSource(blob_of(data), digest)
            try:
                return self._blobs.open(digest)
            except FileNotFoundError:
                continue  # retention may just have removed row and file
            except OSError as error:
                raise fault(error, self._root) from error
        raise Corrupt(digest, "its file is missing")

    # captures

    def commit(self, capture: Capture) -> Capture:
        check_ref(capture.ref)
        events = [event_values(capture.scope, event) for event in capture.events]
        try:
            return self._group.do(Job(capture, call_values(capture), events, self._clock()))
        finally:  # held now, or passed raw: the blobs need no keeping
            self._pending.settle(capture.manifest)

    def _commit_all(self, jobs: Sequence[Job]) -> None:
        """Commits captures in one transaction; one that is at fault is left out of the next try, so that it costs the others nothing."""
        left = list(jobs)
        while left:
            write = self._write()
            at: Job | None = None
            try:
                with write:
                    taking = Taking(write, self._retention(write, left[-1].now), self._blobs, self._pending, self.open, self.max_age)
                    for at in left:
                        at.result = taking.take(at)
                    at = None
                    taking.end()
                return
            except BaseException as error:
                interrupted = not isinstance(error, Exception)
                if not write.committed:
                    for one in left:
                        one.result = None
                if interrupted:
                    raise
                if write.committed:
                    return  # a file that was let go could not be removed: the next commit tries again
                for one in left if at is None else [at]:
                    one.fault = error
                left = [one for one in left if one.fault is None]

    def first(self, context: str, call_id: str) -> Capture | None:
        rows = self._catalog.read(f"SELECT {CALL} FROM calls WHERE context = ? AND call_id = ? AND at >= ?",
                                  (text(context), text(call_id), self._oldest()))
        return given(rows[0], self._catalog.read, self.open) if rows else None

    def views(self, ref: str) -> Sequence[Capture]:
        found = []
        for row in self._catalog.read(f"SELECT {CALL} FROM calls WHERE ref = ? ORDER BY id", (ref,)):
            held = outputs(self._catalog.read, "o.ref = ? AND o.scope = ?", (ref, row[0]))
            if held or row[-1] is not None:
                capture, texts = call_of(row, held[0][1].manifest if held else read_manifest(string(row[-1])))
                found.append(first_of(capture, texts or (), self.open))
        return found

    # lookups

    def _oldest(self) -> float:
        return self._clock() - self.max_age

    def resolve(self, scope: str, ref: str) -> Output:
        check_ref(ref)
        found = outputs(self._catalog.read, "o.ref = ? AND o.scope = ?", (ref, text(scope)))
        if found:
            output = found[0][1]
            if output.captured < self._oldest():
                from byref.proxy.store.rerun import rerun
                raise Expired(ref, rerun(output.manifest))
            return output
        gone = self._catalog.read("SELECT reason, call FROM gone WHERE ref = ? AND scope = ?", (ref, text(scope)))
        if not gone:
            raise Unknown(ref)
        raise (Expired if gone[0][0] == "expired" else Evicted)(ref, string(gone[0][1]))

    def recent(self, scope: str, *, session: str | None = None, signature: str | None = None, limit: int = 20,
               before: tuple[float, int] | None = None) -> Sequence[Output]:
        where, values = "o.scope = ? AND o.captured >= ?", [text(scope), self._oldest()]
        if before is not None:
            where, values = where + " AND (o.captured, o.seq) < (?, ?)", [*values, *before]
        if signature is not None:
            where, values = where + " AND o.signature = ?", [*values, text(signature)]
        if session is not None:
            where += " AND EXISTS (SELECT 1 FROM calls c WHERE c.session = ? AND c.scope = o.scope AND c.ref = o.ref)"
            values += [text(session)]
        return self._outputs(where, tuple(values), "o.captured DESC, o.seq DESC", limit)

    def sessions(self) -> Sequence[tuple[str, str, bool]]:
        rows = self._catalog.read("SELECT scope, session, closed FROM sessions ORDER BY scope, session")
        return [(string(scope), string(session), bool(closed)) for scope, session, closed in rows]

    def changes(self, scope: str, after: int, limit: int = 1000) -> Sequence[Output]:
        return self._outputs("o.seq > ? AND +o.scope = ? AND o.captured >= ?", (after, text(scope), self._oldest()), "o.seq", limit)

    def older(self, scope: str, before: int | None, limit: int = 1000) -> Sequence[Output]:
        values = 1 << 62 if before is None else before, text(scope), self._oldest()
        return self._outputs("o.seq < ? AND +o.scope = ? AND o.captured >= ?", values, "o.seq DESC", limit)

    def _outputs(self, where: str, values: tuple[Value, ...], order: str, limit: int) -> list[Output]:
        return [output for _, output in outputs(self._catalog.read, where, values, order, max(limit, 0))]

    def shown(self, context: str) -> Sequence[tuple[int, bytes, bytes]]:
        rows = self._catalog.read("SELECT tick, lines, terms FROM calls WHERE context = ? AND shown ORDER BY tick", (text(context),))
        return [(number(tick), blob_of(lines), blob_of(terms)) for tick, lines, terms in rows]

    def gaps(self, scope: str, ref: str, context: str | None = None) -> Sequence[Gap] | None:
        rows = self._catalog.read(
            "SELECT memo FROM calls WHERE ref = ?1 AND scope = ?2 AND shown AND (?3 IS NULL OR context = ?3) ORDER BY id DESC LIMIT 1",
            (ref, text(scope), None if context is None else text(context)))
        return gaps_of(rows[0][0]) if rows else None

    def tick(self, context: str) -> int:
        rows = self._catalog.read("SELECT max(tick) FROM calls WHERE context = ?", (text(context),))
        return number(rows[0][0])

    def forget(self, context: str) -> None:
        with self._write() as write:
            write.run("UPDATE calls SET shown = 0 WHERE context = ? AND shown", (text(context),))

    def close_session(self, scope: str, session: str) -> None:
        with self._write() as write:
            write.run("UPDATE sessions SET closed = 1 WHERE scope = ? AND session = ?", (text(scope), text(session)))
            write.run(f"UPDATE outputs SET closed = 1 WHERE scope = ?1 AND NOT closed AND {_OF_SESSION}"
                      " AND NOT EXISTS (SELECT 1 FROM calls c JOIN sessions s ON s.scope = c.scope AND s.session = c.session"
                      " WHERE c.ref = outputs.ref AND c.scope = ?1 AND NOT s.closed)", (text(scope), text(session)))

    # ledger

    def log(self, scope: str, *events: Event) -> None:
        every = [event_values(scope, event) for event in events]
        with self._write(durable=False) as write:
            for values in every:
                write.run(INSERT_EVENT, values)

    def events(self, scope: str | None = None, *, since: float = 0.0, session: str | None = None,
               kind: str | None = None) -> Iterator[Event]:
        last = 0
        while True:  # in pages, so that a slow reader keeps no WAL from being emptied
            rows = self._catalog.read(
                f"SELECT {EVENT} FROM events WHERE id > ?1 AND at >= ?2 AND (?3 IS NULL OR scope = ?3)"
                " AND (?4 IS NULL OR session = ?4) AND (?5 IS NULL OR kind = ?5) ORDER BY id LIMIT 1000",
                (last, since, None if scope is None else text(scope), None if session is None else text(session), kind))
            if not rows:
                return
            last = number(rows[-1][0])
            yield from events_of(rows)

    def handled(self, scope: str, refs: Sequence[str]) -> Mapping[str, tuple[float | None, int]]:
        return handled(self._catalog.read, text(scope), refs)

    # retention

    def _write(self, durable: bool = True) -> Write:
        return self._catalog.write(durable)

    def _retention(self, write: Write, now: float) -> Retention:
        from byref.proxy.store.retention import Retention
        return Retention(write, self._blobs, self.max_bytes, now - self.max_age, self._catalog.wal_bytes)

    def gc(self) -> Usage:
        try:
            self._blobs.sweep()
            known = "SELECT 1 FROM blobs WHERE digest = ?"
            orphans = [digest for digest in self._blobs.digests() if not self._catalog.read(known, (digest,))]
            with self._write() as write:
                retention = self._retention(write, self._clock())
                retention.apply(0, everything=True)
                retention.save()
                for digest in orphans:
                    if not write.row(known, (digest,)):
                        self._blobs.remove(digest)
        except OSError as error:
            raise fault(error, self._root) from error
        self._catalog.truncate_wal(0)
        return self.usage()

    def purge(self, scope: str, ref: str, *, everywhere: bool = False) -> None:
        check_ref(ref)
        try:
            self._blobs.sweep()
            with self._write() as write:
                retention = self._retention(write, self._clock())
                retention.purge(scope, ref, everywhere)
                retention.save()
        except OSError as error:
            raise fault(error, self._root) from error
        from byref.proxy.store.scrubbing import scrub
        if not scrub(self._catalog, PURGE_PATIENCE):
            raise StoreBusy(f"{ref} is removed, but others still read the journal that has its bytes; purge it again when they are done")

    def verify(self) -> Verified:
        from byref.proxy.store.checking import verify
        return verify(self._catalog.read, self.open)

    def usage(self) -> Usage:
        held, blobs, raw, files = map(number, self._catalog.read("SELECT outputs, blobs, raw, files FROM totals")[0])
        return Usage(held, blobs, files + self._catalog.size(), raw, self.max_bytes, self.max_age)

    def revision(self) -> tuple[int, int, int]:
        held, calls, events = map(number, self._catalog.read(
            "SELECT outputs, (SELECT max(id) FROM calls), (SELECT max(id) FROM events) FROM totals")[0])
        return held, calls, events

    def close(self) -> None:
        self._pending.clear()
        self._catalog.close()


if TYPE_CHECKING:
    from collections.abc import Callable

    _Rows = Callable[[str, tuple[Value, ...]], list[Row]]
