"""The catalog's layout, as steps that are only ever added to. `PRAGMA user_version` counts the steps taken.

    outputs     what each scope holds; seq is the layers' cursor and is never given twice
    parts       the parts of held outputs; what they do not name, no output refers to
    blobs       every blob held; bytes up to 16 KiB (8 before) lie in `data`, others in a file of `stored` bytes on disk
    calls       each call with the memo of its view; tick counts the calls of a context. `orphan`: its output is gone;
                `manifest` then keeps what the output was, `bytes` is what the row counts for
    gone        tombstones: refs once held, with the call to run again
    sessions    open or closed
    events      the ledger
    doomed      files that a committed transaction let go and that may still have to be removed
    totals      one row: the last seq given; outputs and blobs held, bytes of blobs, of their files on disk, and of calls
"""
from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE outputs (
        seq INTEGER PRIMARY KEY, scope TEXT NOT NULL, ref TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL,
        exit_code INTEGER, is_error INTEGER NOT NULL, signature TEXT NOT NULL, captured REAL NOT NULL, shape TEXT NOT NULL,
        closed INTEGER NOT NULL DEFAULT 0, UNIQUE (scope, ref));
    CREATE INDEX outputs_age ON outputs (captured);
    CREATE INDEX outputs_closed ON outputs (captured) WHERE closed;
    CREATE TABLE parts (
        seq INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, media TEXT NOT NULL, blob INTEGER NOT NULL,
        PRIMARY KEY (seq, position)) WITHOUT ROWID;
    CREATE INDEX parts_blob ON parts (blob);
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, lines INTEGER NOT NULL, stored INTEGER NOT NULL,
        data BLOB);
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY, scope TEXT NOT NULL, session TEXT NOT NULL, context TEXT NOT NULL, call_id TEXT, ref TEXT NOT NULL,
        signature TEXT NOT NULL, at REAL NOT NULL, elapsed REAL, tick INTEGER NOT NULL, shown INTEGER NOT NULL, orphan INTEGER NOT NULL,
        bytes INTEGER NOT NULL, shape TEXT NOT NULL, passed INTEGER NOT NULL, head TEXT NOT NULL, memo TEXT NOT NULL, lines BLOB NOT NULL,
        terms BLOB NOT NULL, manifest TEXT);
    CREATE UNIQUE INDEX calls_tick ON calls (context, tick);
    CREATE UNIQUE INDEX calls_first ON calls (context, call_id) WHERE call_id IS NOT NULL;
    CREATE INDEX calls_ref ON calls (ref);
    CREATE INDEX calls_session ON calls (session, scope, ref);
    CREATE INDEX calls_orphan ON calls (id) WHERE orphan;
    CREATE TABLE gone (
        id INTEGER PRIMARY KEY, scope TEXT NOT NULL, ref TEXT NOT NULL, reason TEXT NOT NULL, call TEXT NOT NULL, UNIQUE (ref, scope));
    CREATE TABLE sessions (
        scope TEXT NOT NULL, session TEXT NOT NULL, closed INTEGER NOT NULL, PRIMARY KEY (scope, session)) WITHOUT ROWID;
    CREATE TABLE events (
        id INTEGER PRIMARY KEY, scope TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL, session TEXT NOT NULL, ref TEXT NOT NULL,
        tool TEXT NOT NULL, shape TEXT NOT NULL, numbers TEXT NOT NULL);
    CREATE TABLE doomed (digest TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE totals (
        id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, outputs INTEGER NOT NULL, blobs INTEGER NOT NULL, raw INTEGER NOT NULL,
        files INTEGER NOT NULL, calls INTEGER NOT NULL);
    INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0, 0);
    """,
    """
    CREATE INDEX outputs_signature ON outputs (scope, signature, captured);
    """,
    """
    CREATE INDEX events_fetched ON events (ref) WHERE kind = 'fetched';
    """,
    """
    CREATE INDEX outputs_scope ON outputs (scope, captured);
    """,
)
