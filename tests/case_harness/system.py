"""The words of the cases that speak of the whole product: exit codes, streams, files, logs, removal."""
from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import byref
from case_harness.checks import check
from case_harness.run import Run, command_line

SEEKABLE = b"\x28\xb5\x2f\xfd"  # how a zstd frame begins (RFC 8878)


@check
def exit_code(value: int, entry: Mapping[str, Any], on: Run) -> None:
    with tempfile.TemporaryDirectory() as home:
        done = command_line(on.part, home=Path(home, "byref"))
    assert done.returncode == value, done.stderr


@check
def streams_kept_apart(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    with tempfile.TemporaryDirectory() as home:
        done = command_line(on.part, home=Path(home, "byref"))
    for stream, seen, other in (("stdout", done.stdout, done.stderr), ("stderr", done.stderr, done.stdout)):
        lines = {line for line in on.raw[stream].decode().splitlines() if line.strip()}
        assert lines & set(seen.decode().splitlines()), f"nothing of {stream} came out there"
        assert not lines & set(other.decode().splitlines()), f"{stream} came out elsewhere"
        assert on.session.fetch(on.view.ref, part=stream).data[:200] == on.raw[stream][:200]


@check
def is_error(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert on.gateway.store.resolve(on.session.scope, on.view.ref).manifest.is_error is value


@check
def savings_logged(value: int, entry: Mapping[str, Any], on: Run) -> None:
    numbers = [event.numbers for event in on.gateway.store.events() if event.kind == "viewed"]
    assert numbers and sum(n["raw"] - n["view"] for n in numbers) == value


@check
def store_file_mode_max(value: str, entry: Mapping[str, Any], on: Run) -> None:
    with stored(on) as store:
        wide = [p.name for p in store.rglob("*") if p.is_file() and stat.S_IMODE(p.stat().st_mode) & ~int(value, 8)]
    assert wide == []


@check
def store_dir_mode_max(value: str, entry: Mapping[str, Any], on: Run) -> None:
    with stored(on) as store:
        wide = [p.name for p in (store, *store.rglob("*")) if p.is_dir() and stat.S_IMODE(p.stat().st_mode) & ~int(value, 8)]
    assert wide == []


@check
def side_channel_absent(value: list[str], entry: Mapping[str, Any], on: Run) -> None:
    """The text stands in the store and in the view, and nowhere else: not in the log, the names, the ledger, on stderr."""
    with stored(on) as store:
        report = tool("report", home=store)
        places = {
            "stderr": report.stderr.decode() + tool("fetch", on.view.ref, home=store).stderr.decode(),
            "savings_log": report.stdout.decode() + rows(store, ("event", "ledger", "saving", "usage")),
            "debug_log": "".join(p.read_text(errors="replace") for p in store.rglob("*") if p.suffix in (".log", ".jsonl", ".txt")),
            "file_names": "\n".join(str(p.relative_to(store)) for p in store.rglob("*")),
            "search_index_debug": rows(store, ("index", "search", "fts", "shown", "signature")),
        }
        assert places["savings_log"].strip(), "there is no log of savings to look at"
    assert {name for name in entry["in"] if any(secret in places[name] for secret in value)} == set()


@check
def purge_then_absent(value: list[str], entry: Mapping[str, Any], on: Run) -> None:
    with stored(on) as store:
        before = held(store)
        assert any(secret.encode() in before for secret in value), "the search for what is stored finds nothing even before"
        with byref.open(f"file:{store}") as gateway:
            session = gateway.session(on.part.case)
            ref = on.capture(session, on.output).ref
            gateway.purge(ref, scope=session.scope)
            with_it_open = held(store)
        after = held(store)
    for secret in value:
        assert secret.encode() not in with_it_open + after


class stored:
    """The case's output in a file store, closed again: what stays on the disk of a user."""

    def __init__(self, on: Run) -> None:
        self.on, self.folder = on, tempfile.TemporaryDirectory()

    def __enter__(self) -> Path:
        mask = os.umask(0o022)  # the usual one: private files must not depend on the user's own care
        try:
            store = Path(self.folder.name, "byref")
            with byref.open(f"file:{store}") as gateway:
                session = gateway.session(self.on.part.case)
                self.on.capture(session, self.on.output)
                session.fetch(self.on.view.ref, max_tokens=100)
        finally:
            os.umask(mask)
        return store

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()


def tool(*words: str, home: Path) -> subprocess.CompletedProcess[bytes]:
    """The command `byref` with these words, over this store."""
    return subprocess.run([str(Path(sys.executable).with_name("byref")), *words], capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "BYREF_HOME": str(home)})


def cells(store: Path) -> Iterator[tuple[str, bytes]]:
    """Every value in every table of the catalog."""
    for file in store.rglob("*"):
        if not file.is_file() or not file.read_bytes().startswith(b"SQLite format 3\0"):
            continue
        catalog = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        for (table,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in catalog.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    yield table, value if isinstance(value, bytes) else str(value).encode()
        catalog.close()


def rows(store: Path, names: tuple[str, ...]) -> str:
    return "\n".join(value.decode("utf-8", "replace") for table, value in cells(store) if any(name in table for name in names))


def held(store: Path) -> bytes:
    """All that the files of a store yield: as they lie, and with the store's own compression undone."""
    import zstandard
    pieces = [file.read_bytes() for file in sorted(store.rglob("*")) if file.is_file()]
    for data in [*pieces, *(value for _, value in cells(store))]:
        for at in (m.start() for m in re.finditer(re.escape(SEEKABLE), data)):
            try:
                pieces.append(zstandard.ZstdDecompressor().decompressobj().decompress(data[at:]))
            except zstandard.ZstdError:
                continue
    return b"\0".join(pieces)
