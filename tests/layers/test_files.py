"""Files of an index: nobody else reads them, what is gone may be removed again, and arrays begin where a map of them can."""
from __future__ import annotations

import os
from pathlib import Path

from byref.layers.files import EDGE, padded, private, unlink


def test_a_file_is_its_owners_alone_whatever_the_umask_says(tmp_path: Path) -> None:
    path = tmp_path / "held"
    before = os.umask(0)
    try:
        with open(path, "wb", opener=private) as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_gone_already_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "held"
    path.touch()
    unlink(str(path))
    unlink(str(path))
    assert not path.exists()


def test_what_follows_begins_at_a_multiple() -> None:
    for size in (0, 1, EDGE - 1, EDGE, EDGE + 1):
        data = bytes(range(1, size + 1))
        assert len(padded(data)) % EDGE == 0 and padded(data).rstrip(b"\0") == data and len(padded(data)) - size < EDGE
