"""Blobs that wait for their commit are kept as often as they were written, and never without bound."""
from __future__ import annotations

from pathlib import Path

from byref.proxy.contracts import Blob, Manifest, Part
from byref.proxy.store.blobs import BlobFile, BlobFolder
from byref.proxy.store.pending import FILES, SMALL, Pending
from byref.proxy.text import digest


def manifest_of(*blobs: Blob) -> Manifest:
    return Manifest("shell", "{}", tuple(Part("stdout", "text/plain", blob) for blob in blobs))


def blob_of(data: bytes) -> Blob:
    return Blob(digest(data), len(data), 0)


def file_in(folder: Path) -> BlobFile:
    folder.mkdir(exist_ok=True)
    return BlobFolder(str(folder), 1 << 20).create()


def test_two_outputs_of_the_same_bytes_each_have_them_until_their_commit() -> None:
    pending, blob = Pending(), blob_of(b"x")
    pending.add(blob, b"x")
    pending.add(blob, b"x")
    pending.settle(manifest_of(blob))
    assert pending.get(blob.digest) == b"x"
    pending.settle(manifest_of(blob))
    assert pending.get(blob.digest) is None
    pending.settle(manifest_of(blob))


def test_a_file_goes_with_its_last_use(tmp_path: Path) -> None:
    pending, blob = Pending(), blob_of(b"large")
    first, second = file_in(tmp_path / "s"), file_in(tmp_path / "s")
    pending.add(blob, first)
    pending.add(blob, second)
    assert pending.get(blob.digest) is first and [path.name for path in (tmp_path / "s" / "tmp").iterdir()] == [Path(first.path).name]
    pending.settle(manifest_of(blob, blob))
    assert list((tmp_path / "s" / "tmp").iterdir()) == []


def test_what_is_never_committed_is_bounded(tmp_path: Path) -> None:
    pending = Pending()
    for number in range(SMALL + 10):
        pending.add(blob_of(b"%d" % number), b"%d" % number)
    assert pending.get(digest(b"9")) is None and pending.get(digest(b"10")) == b"10"
    for number in range(FILES + 3):
        pending.add(blob_of(b"file %d" % number), file_in(tmp_path / "s"))
    assert len(list((tmp_path / "s" / "tmp").iterdir())) == FILES
    pending.clear()
    assert list((tmp_path / "s" / "tmp").iterdir()) == [] and pending.get(digest(b"10")) is None
