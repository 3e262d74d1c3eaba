"""What a file store lets go, and what it keeps of it: age, quota, purge. Runs inside a write transaction."""
from __future__ import annotations

from byref.proxy.errors import StoreFull, Unknown
from byref.proxy.store.catalog import PAGE, SHM, number, string, text
from byref.proxy.store.records import ROW, outputs, write_manifest
from byref.proxy.store.rerun import rerun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.contracts import Output
    from byref.proxy.store.blobs import BlobFolder
    from byref.proxy.store.catalog import Value, Write

ROWS = 10  # tombstones and events may each take up a tenth of a quota that is used up
MEMO = 4  # calls and their views a quarter of it
SLACK = 64  # part of a quota that is freed beyond the need
_TOTALS = ("seq", "outputs", "blobs", "raw", "files", "calls")
STEP = 16  # outputs past their age that one commit takes along; the rest waits for the next, or for gc


class Retention:
    """Quota and age of one store, applied within the transaction `write`.

    totals: the row of that name, read once; `save` writes it back at the end of the transaction.
    """

    def __init__(self, write: Write, blobs: BlobFolder, max_bytes: int, oldest: float, wal_bytes: int) -> None:
        self.write, self._blobs, self._max_bytes, self._oldest, self._wal_bytes = write, blobs, max_bytes, oldest, wal_bytes
        row = write.rows(
            "SELECT seq, outputs, blobs, raw, files, calls, EXISTS (SELECT 1 FROM doomed),"
            " (SELECT captured FROM outputs ORDER BY captured LIMIT 1), (SELECT at FROM calls WHERE orphan ORDER BY id LIMIT 1)"
            " FROM totals")[0]
        self.totals = dict(zip(_TOTALS, map(number, row), strict=False))
        self._may_expire = any(at is not None and float(at) < oldest for at in row[7:])
        if row[6]:
            self._remove_doomed()

    def add(self, **changes: int) -> None:
        for name, change in changes.items():
            self.totals[name] += change

    def save(self) -> None:
        self.write.run("UPDATE totals SET seq = ?, outputs = ?, blobs = ?, raw = ?, files = ?, calls = ?", tuple(self.totals.values()))

    def _remove_doomed(self) -> None:
        """Files that a transaction let go, and that a kill kept from being removed."""
        for digest, in self.write.rows("SELECT digest FROM doomed"):
            if not self.write.row("SELECT 1 FROM blobs WHERE digest = ? AND data IS NULL", (digest,)):
                self._blobs.remove(string(digest))
            self.write.run("DELETE FROM doomed WHERE digest = ?", (digest,))

    def _excess(self, free: int = 0) -> int:
        """Bytes over the quota when this transaction is committed: files, WAL and catalog, less so many free pages of it."""
        return self.totals["files"] + (self._pragma("page_count") - free) * PAGE + self._wal_bytes + SHM - self._max_bytes

    def _pragma(self, name: str) -> int:
        return number(self.write.rows("PRAGMA " + name)[0][0])

    def apply(self, keep: int, everything: bool = False) -> None:
        """Lets go of what is past its age, then of closed sessions' outputs and the oldest ones until the quota holds.

        keep: the seq of an output that stays. Raises `StoreFull` when it alone is too much.
        """
        if self._may_expire or everything:
            self._expire(keep, everything)
        if self._excess() <= 0:
            return
        self._trim_rows()
        while self.totals["calls"] > self._max_bytes // MEMO and self._forget_oldest():
            pass
        # A little more than needed, so that a full store does not have to make room at every commit.
        while self._excess(self._pragma("freelist_count")) > -self._max_bytes // SLACK:
            found = self._next("o.closed", keep) or self._next("1", keep)
            if found:
                self.drop(*found[0], "evicted")
            elif not self._forget_oldest():
                if keep and self._excess(self._pragma("freelist_count")) > 0:
                    raise StoreFull(f"this output alone is more than the store may hold ({self._max_bytes} bytes); raise the limit")
                break
        # Free pages go back to the disk only where they would break the quota; else the next outputs take them.
        # Python steps this pragma once, which frees one page.
        for _ in range(min(self._pragma("freelist_count"), -(-self._excess() // PAGE))):
            self.write.rows("PRAGMA incremental_vacuum(1)")

    def _expire(self, keep: int, everything: bool) -> None:
        limit = -1 if everything else STEP
        for scope, output in outputs(self.write.rows, "o.captured < ? AND o.seq <> ?", (self._oldest, keep), "o.captured, o.seq", limit):
            self.drop(scope, output, "expired")
        # Calls are numbered as time goes: the first that is young ends the search.
        self._forget_calls("at < ?", (self._oldest,), "orphan", limit)
        if everything:
            self._forget_calls("at < ?", (self._oldest,), "1", limit)

    def renew(self, scope: Value, ref: str) -> None:
        """An output past its age comes back as a new one: its old calls go, as if it had been dropped in time."""
        self._forget(self.write.rows("SELECT id, bytes FROM calls WHERE ref = ? AND scope = ? AND at < ?", (ref, scope, self._oldest)))

    def _next(self, which: str, keep: int) -> list[tuple[Value, Output]]:
        return outputs(self.write.rows, f"{which} AND o.seq <> ?", (keep,), "o.captured, o.seq", 1)

    def _trim_rows(self) -> None:
        limit = max(100, self._max_bytes // ROWS // ROW)
        for table in ("gone", "events"):
            self.write.run(f"DELETE FROM {table} WHERE id <= (SELECT max(id) FROM {table}) - ?", (limit,))

    def drop(self, scope: Value, output: Output, reason: str, keep_call: bool = True) -> None:
        """Removes an output and leaves a tombstone; the memo of its calls stays, unless the call is not to be kept."""
        self.bury(scope, output.ref, reason, rerun(output.manifest) if keep_call else "")
        self._remove(output)
        if keep_call:
            manifest = text(write_manifest(output.manifest))
            self._change_calls("orphan = 1, manifest = ?, bytes = bytes + ?", (manifest, len(manifest)),
                               "ref = ? AND scope = ? AND NOT orphan", (output.ref, scope))

    def bury(self, scope: Value, ref: str, reason: str, call: str) -> None:
        self.write.run("INSERT OR REPLACE INTO gone (scope, ref, reason, call) VALUES (?, ?, ?, ?)", (scope, ref, reason, text(call)))

    def _remove(self, output: Output) -> None:
        blobs = self.write.rows("SELECT DISTINCT blob FROM parts WHERE seq = ?", (output.seq,))
        self.write.run("DELETE FROM parts WHERE seq = ?", (output.seq,))
        self.write.run("DELETE FROM outputs WHERE seq = ?", (output.seq,))
        self.add(outputs=-1)
        for blob, in blobs:
            if not self.write.row("SELECT 1 FROM parts WHERE blob = ? LIMIT 1", (blob,)):
                self._remove_blob(blob)

    def _remove_blob(self, blob: Value) -> None:
        size, is_file = self.write.rows("SELECT size, data IS NULL FROM blobs WHERE id = ?", (blob,))[0]
        if is_file:
            self.let_file_go(blob)
        self.write.run("DELETE FROM blobs WHERE id = ?", (blob,))
        self.add(blobs=-1, raw=-number(size))

    def let_file_go(self, blob: Value) -> None:
        """Removes the file of a blob, once this is committed. For who changes or deletes its row."""
        digest, stored = self.write.rows("SELECT digest, stored FROM blobs WHERE id = ?", (blob,))[0]
        name = string(digest)
        self.add(files=-number(stored))
        self.write.run("INSERT OR IGNORE INTO doomed VALUES (?)", (name,))
        self.write.after.append(lambda: self._blobs.remove(name))

    def _change_calls(self, change: str, changed: tuple[Value, ...], where: str, values: tuple[Value, ...]) -> None:
        """Sets columns of calls and keeps the total of their bytes."""
        for call, before in self.write.rows(f"SELECT id, bytes FROM calls WHERE {where}", values):
            self.write.run(f"UPDATE calls SET {change} WHERE id = ?", (*changed, call))
            after = self.write.rows("SELECT bytes FROM calls WHERE id = ?", (call,))[0][0]
            self.add(calls=number(after) - number(before))

    def adopt(self, scope: str, ref: str) -> None:
        """The output of these calls is held again."""
        self._change_calls("orphan = 0, manifest = NULL, bytes = bytes - length(manifest)", (),
                           "orphan AND ref = ? AND scope = ?", (ref, text(scope)))

    def _forget_oldest(self) -> int:
        """The oldest calls of outputs that are gone, else of any, but for the newest call of all."""
        newest = "id < (SELECT max(id) FROM calls)"
        return self._forget_calls("1", (), f"orphan AND {newest}", STEP) or self._forget_calls("1", (), newest, STEP)

    def _forget_calls(self, where: str, values: tuple[Value, ...], among: str, limit: int) -> int:
        """Removes of the oldest calls `among` all, at most so many, those `where`."""
        oldest = f"SELECT id, bytes, at, orphan FROM calls WHERE {among} ORDER BY id LIMIT ?"
        found = self.write.rows(f"SELECT id, bytes FROM ({oldest}) WHERE {where}", (limit, *values))
        self._forget(found)
        return len(found)

    def _forget(self, calls: list[tuple[Value, ...]]) -> None:
        for call, size in calls:
            self.add(calls=-number(size))
            self.write.run("DELETE FROM calls WHERE id = ?", (call,))

    def purge(self, scope: str, ref: str, everywhere: bool) -> None:
        """Leaves of an output nothing but that it was there. Raises `Unknown`."""
        found = outputs(self.write.rows, "o.ref = ? AND o.scope = ?", (ref, text(scope)))
        if not found and not self.write.row("SELECT 1 FROM gone WHERE ref = ? AND scope = ?", (ref, text(scope))):
            raise Unknown(ref)
        refs: set[tuple[Value, str]] = {(text(scope), ref)}
        if everywhere:
            blobs = "SELECT blob FROM parts WHERE seq IN (SELECT seq FROM outputs WHERE ref = ?)"
            found = outputs(self.write.rows, f"o.seq IN (SELECT seq FROM parts WHERE blob IN ({blobs}))", (ref,))
            refs |= {(place, ref) for place, in self.write.rows("SELECT scope FROM gone WHERE ref = ?", (ref,))}
        for place, name in refs | {(place, output.ref) for place, output in found}:
            self._erase(place, name)
        for place, output in found:
            self.drop(place, output, "evicted", keep_call=False)

    def _erase(self, scope: Value, ref: str) -> None:
        # The row itself stays: its tick must not be given again to a later view.
        self._change_calls("call_id = NULL, ref = '', signature = '', shown = 0, orphan = 0, bytes = 0, head = '', memo = '', lines = x'',"
                           " terms = x'', manifest = NULL", (), "ref = ? AND scope = ?", (ref, scope))
        # What a scope searched for may quote what is to be gone, and nothing says which of it does.
        self.write.run("UPDATE events SET numbers = json_remove(numbers, '$.note') WHERE scope = ? AND kind = 'searched'", (scope,))
        self.write.run("UPDATE events SET ref = '', numbers = json_remove(numbers, '$.note') WHERE ref = ? AND scope = ?", (ref, scope))
        self.bury(scope, ref, "evicted", "")
