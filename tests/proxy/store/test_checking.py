"""`verify` derives every hash again, and says which blob or output is damaged, and how."""
from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from byref.proxy.contracts import Store
from byref.proxy.store import open_store
from conformance.captures import SCOPE, keep, log


def at(folder: Path) -> Store:
    return open_store(f"file:{folder}", max_bytes=1 << 30, max_age=1e9, clock=time.time)


def test_each_kind_of_damage_is_named(tmp_path: Path) -> None:
    store = at(tmp_path / "s")
    refs = [keep(store, log(lines), b"%d\n" % lines) for lines in (6000, 7000, 8000)]
    names = [[part.blob.digest for part in store.resolve(SCOPE, ref).manifest.parts] for ref in refs]
    assert (store.verify().blobs, store.verify().outputs, store.verify().damaged) == (6, 3, ())
    store.close()
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    db.execute("UPDATE blobs SET data = x'00' WHERE digest = ?", (names[0][1],))
    db.execute("UPDATE blobs SET lines = lines + 1 WHERE digest = ?", (names[1][0],))
    db.execute("UPDATE outputs SET exit_code = 1 WHERE ref = ?", (refs[2],))
    db.commit()
    db.close()
    next((tmp_path / "s" / "blobs").rglob(names[2][0][3:] + ".zst")).unlink()
    store = at(tmp_path / "s")
    found = dict(store.verify().damaged)
    assert found.keys() == {names[0][1], names[1][0], names[2][0], refs[2]}
    assert "do not match" in found[names[0][1]] and "7001 lines" in found[names[1][0]] and "missing" in found[names[2][0]]
    assert "manifest" in found[refs[2]]
    store.close()


def test_a_catalog_whose_indexes_disagree_is_damaged(tmp_path: Path) -> None:
    store = at(tmp_path / "s")
    keep(store, b"x\n")
    store.close()
    db = sqlite3.connect(tmp_path / "s" / "catalog.db")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = 'CREATE INDEX outputs_age ON outputs (shape)' WHERE name = 'outputs_age'")
    db.commit()
    db.close()
    store = at(tmp_path / "s")
    assert "catalog" in dict(store.verify().damaged)
    store.close()
