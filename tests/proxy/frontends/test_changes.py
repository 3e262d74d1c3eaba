"""Files of settings: shown, kept, written at once, and brought back."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.frontends import changes
from byref.proxy.frontends.changes import Change


def test_what_was_there_is_kept_and_found_again_by_key_and_path(tmp_path: Path) -> None:
    home, file = str(tmp_path / "home"), tmp_path / "settings.json"
    file.write_bytes(b"old\n")
    change = Change(str(file), b"old\n", b"new\n", b"old\n", {"made": [["a"]]})
    changes.keep(home, "harness /here", [change], 7.0, kind="servers")
    changes.write(change)
    note = changes.held(home, "harness /here", str(file))
    assert file.read_bytes() == b"new\n" and note["made"] == [["a"]] and note["hash"] == changes.fingerprint(b"new\n")
    assert changes.backup(home, note) == b"old\n" and changes.record(home)["harness /here"]["kind"] == "servers"
    assert changes.held(home, "harness /there", str(file)) == {} == changes.held(home, "harness /here", "/other")


def test_kept_twice_it_is_told_since_the_first_time_and_dropped_it_leaves_nothing(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "new" / "folder" / "settings.json"
    change = Change(str(file), None, b"new\n", b"before\n")
    changes.keep(str(home), "one", [change], 7.0)
    changes.keep(str(home), "one", [change], 9.0)
    changes.write(change)
    assert changes.record(str(home))["one"]["at"] == 7.0
    changes.write(Change(str(file), b"new\n", None))
    changes.drop(str(home), "one")
    assert not (tmp_path / "new").exists() and list((home / "backups").iterdir()) == [] and changes.record(str(home)) == {}


def test_a_record_that_cannot_be_read_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / changes.RECORD).write_text("{")
    assert changes.record(str(tmp_path)) == {} and changes.record(str(tmp_path / "none")) == {}


def test_a_backup_s_name_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    assert changes.backup(str(tmp_path), {"backup": "../secret"}) is None and changes.backup(str(tmp_path), {}) is None


def test_mode_and_links_stay_and_nothing_is_left_beside(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"{}")
    real.chmod(0o640)
    link.symlink_to(real)
    changes.write(Change(str(link), b"{}", b"{1}"))
    assert link.is_symlink() and real.read_bytes() == b"{1}" and real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.json", "real.json"]


def test_a_file_that_its_owner_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(b"theirs")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        changes.write(Change(str(file), b"old", b"new"))
    assert file.read_bytes() == b"theirs" and os.listdir(tmp_path) == ["settings.json"]


def test_a_change_is_shown_as_a_diff_and_one_that_changes_nothing_is_not() -> None:
    shown = changes.diff([Change("/a", b"x\ny", b"x\nz"), Change("/same", b"q", b"q"), Change("/new", None, b"n\n")])
    assert shown == "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n--- /dev/null\n+++ /new\n@@ -0,0 +1 @@\n+n\n"
