"""Takes captures into the catalog: what a transaction does for each of them."""
from __future__ import annotations

from byref.proxy.errors import Collision, Unknown
from byref.proxy.store.catalog import number, string, text
from byref.proxy.store.memo import first_of
from byref.proxy.store.records import CALL, INSERT_EVENT, call_of, insert_call, outputs, read_manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from byref.proxy.contracts import Blob, Capture, Output, Source
    from byref.proxy.store.blobs import BlobFolder
    from byref.proxy.store.catalog import Row, Value, Write
    from byref.proxy.store.grouping import Job
    from byref.proxy.store.pending import Pending
    from byref.proxy.store.retention import Retention

    Open = Callable[[str], Source]
    Rows = Callable[[str, tuple[Value, ...]], list[Row]]

# All that is to be known before a capture is written, in one query: between two of them other threads of a daemon get their turn.
_KNOWN = (
    "SELECT (SELECT max(tick) FROM calls WHERE context = ?3), (SELECT closed FROM sessions WHERE scope = ?1 AND session = ?2),"
    " EXISTS (SELECT 1 FROM outputs WHERE ref = ?4 AND scope = ?1), EXISTS (SELECT 1 FROM gone WHERE ref = ?4 AND scope = ?1),"
    " EXISTS (SELECT 1 FROM calls WHERE context = ?3 AND call_id = ?5)")


class Taking:
    """The captures of one transaction, one after the other. `end` before it is committed."""

    def __init__(self, write: Write, retention: Retention, blobs: BlobFolder, pending: Pending, open_blob: Open, max_age: float) -> None:
        self._write, self._retention, self._blobs, self._pending = write, retention, blobs, pending
        self._open, self._max_age = open_blob, max_age

    def end(self) -> None:
        """Writes down what has changed in all."""
        self._retention.save()

    def take(self, job: Job) -> Capture:
        """What is committed: the capture, or the one that this call was answered with first. Raises `Collision` and `StoreFull`."""
        capture, now, write = job.capture, job.now, self._write
        scope, context = text(capture.scope), text(capture.context)
        call_id = None if capture.call_id is None else text(capture.call_id)
        tick, closed, held, gone, called = write.rows(_KNOWN, (scope, text(capture.session), context, capture.ref, call_id))[0]
        first = self._first(scope, context, call_id, now) if called else None
        found = outputs(write.rows, "o.ref = ? AND o.scope = ?", (capture.ref, scope)) if held else []
        if found and found[0][1].manifest != capture.manifest:
            raise Collision(f"{capture.ref} names another output in this scope")
        if first is not None and first[4] != capture.ref:
            answered = given(first, write.rows, self._open)
            if answered is not None:
                return answered
            # The view that passed was the bytes themselves, and they are gone: there is nothing left to repeat.
            write.run("UPDATE calls SET call_id = NULL WHERE context = ? AND call_id = ?", (context, call_id))
            first = None
        seq = self._refresh(found[0][1], capture, now) if found else self._insert(capture, bool(gone), now)
        self._open_session(scope, text(capture.session), closed)
        if first is None:
            insert_call(write.run, job.call, number(tick) + 1, now)
            self._retention.add(calls=number(job.call[0]))
            for event in job.events:
                write.run(INSERT_EVENT, event)
        self._retention.apply(seq)
        if first is None:
            return capture
        return given(first, write.rows, self._open) or capture

    def _first(self, scope: Value, context: Value, call_id: Value, now: float) -> Row | None:
        key = context, call_id
        self._write.run("UPDATE calls SET call_id = NULL WHERE context = ? AND call_id = ? AND at < ?", (*key, now - self._max_age))
        first = self._write.row(f"SELECT {CALL} FROM calls WHERE context = ? AND call_id = ?", key)
        if first is not None and first[0] != scope:
            raise Collision("this context and call belong to another scope")
        return first

    def _open_session(self, scope: Value, session: Value, closed: Value) -> None:
        if closed is None:
            self._write.run("INSERT INTO sessions VALUES (?, ?, 0)", (scope, session))
        elif closed:
            self._write.run("UPDATE sessions SET closed = 0 WHERE scope = ? AND session = ?", (scope, session))
            self._write.run("UPDATE outputs SET closed = 0 WHERE scope = ?1 AND closed"
                            " AND ref IN (SELECT ref FROM calls WHERE session = ?2 AND scope = ?1)", (scope, session))

    def _refresh(self, held: Output, capture: Capture, now: float) -> int:
        seq = held.seq
        if held.captured < now - self._max_age:  # for its scope it was gone, and comes back as a new one
            self._retention.add(seq=1)
            self._retention.renew(text(capture.scope), held.ref)
            seq = self._retention.totals["seq"]
            self._write.run("UPDATE parts SET seq = ? WHERE seq = ?", (seq, held.seq))
        self._write.run("UPDATE outputs SET seq = ?, captured = ?, signature = ?, shape = ?, closed = 0 WHERE seq = ?",
                        (seq, now, text(capture.signature), text(capture.view.shape), held.seq))
        for part in capture.manifest.parts:
            self._held(part.blob.digest)
        return seq

    def _insert(self, capture: Capture, gone: bool, now: float) -> int:
        scope, manifest = text(capture.scope), capture.manifest
        self._retention.add(seq=1, outputs=1)
        seq = self._retention.totals["seq"]
        self._write.run("INSERT INTO outputs (seq, scope, ref, tool, arguments, exit_code, is_error, signature, captured, shape)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        (seq, scope, capture.ref, text(manifest.tool), text(manifest.arguments), manifest.exit_code, int(manifest.is_error),
                         text(capture.signature), now, text(capture.view.shape)))
        for position, part in enumerate(manifest.parts):
            blob = self._held(part.blob.digest) or self._insert_blob(part.blob)
            self._write.run("INSERT INTO parts VALUES (?, ?, ?, ?, ?)", (seq, position, text(part.name), text(part.media), blob))
        if gone:
            self._write.run("DELETE FROM gone WHERE ref = ? AND scope = ?", (capture.ref, scope))
            self._retention.adopt(capture.scope, capture.ref)
        return seq

    def _insert_blob(self, blob: Blob) -> int:
        content, data = self._pending.get(blob.digest), None
        if isinstance(content, bytes):
            data, stored = content, len(content)
        else:
            if not self._blobs.holds(blob.digest):
                if content is None:
                    raise Unknown(blob.digest)
                content.place_again(blob.digest)
            stored = self._blobs.stored(blob.digest)
        self._retention.add(blobs=1, raw=blob.size, files=stored if data is None else 0)
        return self._write.run("INSERT INTO blobs (digest, size, lines, stored, data) VALUES (?, ?, ?, ?, ?)",
                               (blob.digest, blob.size, blob.lines, stored, data))

    def _held(self, digest: str) -> int:
        """The row of a blob, 0 where none is held. Bytes that came again replace held ones that were damaged or lost meanwhile."""
        row = self._write.row("SELECT id, data IS NULL FROM blobs WHERE digest = ?", (digest,))
        if row is None:
            return 0
        content = self._pending.get(digest)
        if isinstance(content, bytes):
            if row[1]:  # a file from when fewer bytes lay in the catalog
                self._retention.let_file_go(number(row[0]))
            self._write.run("UPDATE blobs SET data = ?1, stored = length(?1) WHERE id = ?2 AND data IS NOT ?1", (content, row[0]))
        elif content is not None and row[1] and not self._blobs.holds(digest):
            content.place_again(digest)
        return number(row[0])


def given(row: Row, rows: Rows, open_blob: Open) -> Capture | None:
    """A call as it was first committed, from a row of the columns CALL. None where its view was the bytes themselves and they are gone."""
    found = outputs(rows, "o.ref = ? AND o.scope = ?", (row[4], row[0]))
    if not found and row[-1] is None:
        return None
    manifest = found[0][1].manifest if found else read_manifest(string(row[-1]))
    capture, texts = call_of(row, manifest)
    try:
        return first_of(capture, texts, open_blob)
    except Unknown:
        return None
