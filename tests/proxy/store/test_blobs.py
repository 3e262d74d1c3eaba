"""Blob files come to their place whole, or not at all."""
from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from byref.proxy.contracts import Blob
from byref.proxy.errors import StoreError, StoreFull
from byref.proxy.store.blobs import BlobFile, BlobFolder, FileWriter, on_disk
from byref.proxy.text import digest
from conformance.captures import log, noise
from conformance.processes import in_child


@pytest.fixture
def folder(tmp_path: Path) -> BlobFolder:
    return BlobFolder(str(tmp_path), 1 << 20)


def temporary(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "tmp").glob("*"))


def written(folder: BlobFolder, data: bytes) -> tuple[Blob, bytes | BlobFile]:
    kept: list[tuple[Blob, bytes | BlobFile]] = []
    writer = FileWriter(folder, 8192, lambda blob, content: kept.append((blob, content)))
    writer.write(data)
    writer.finish()
    return kept[0]


def test_up_to_the_limit_bytes_stay_in_memory_and_above_it_they_are_a_file(tmp_path: Path, folder: BlobFolder) -> None:
    assert written(folder, noise(8192, 1))[1] == noise(8192, 1)
    assert not (tmp_path / "tmp").exists()
    blob, file = written(folder, noise(8193, 1))
    assert isinstance(file, BlobFile) and folder.open(blob.digest).read() == noise(8193, 1)
    assert folder.stored(blob.digest) == on_disk(Path(folder.path(blob.digest)).stat().st_size) == 12_288


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks /proc which file is synced")
def test_a_blob_is_on_the_disk_before_it_has_its_name_and_the_name_before_the_writer_says_so(
        tmp_path: Path, folder: BlobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, bool]] = []
    real = os.fsync
    name = Path(folder.path(digest(log(6000))))

    def fsync(descriptor: int) -> None:
        synced.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")).parent.name, name.exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    written(folder, log(6000))
    assert ("tmp", False) in synced and synced[-1] == ("blobs", True)
    assert all(there is False for _, there in synced[:-1])


def test_the_second_link_goes_when_the_file_is_released(tmp_path: Path, folder: BlobFolder) -> None:
    blob, file = written(folder, log(6000))
    assert isinstance(file, BlobFile) and len(temporary(tmp_path)) == 1 and list(folder.digests()) == []
    file.release()
    file.release()
    assert temporary(tmp_path) == [] and list(folder.digests()) == [blob.digest]


def test_a_removed_blob_is_put_back_from_its_second_link(folder: BlobFolder) -> None:
    blob, file = written(folder, log(6000))
    folder.remove(blob.digest)
    folder.remove(blob.digest)
    assert isinstance(file, BlobFile) and not folder.holds(blob.digest)
    file.place_again(blob.digest)
    file.place_again(blob.digest)
    file.release()
    assert folder.open(blob.digest).read() == log(6000)


def test_a_disk_without_links_works_too(tmp_path: Path, folder: BlobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    blob, file = written(folder, log(6000))
    assert temporary(tmp_path) == [] and isinstance(file, BlobFile)
    file.release()
    assert folder.open(blob.digest).read() == log(6000)


def test_more_than_the_store_may_hold_is_refused_as_it_comes(tmp_path: Path, folder: BlobFolder) -> None:
    writer = FileWriter(folder, 8192, lambda blob, content: None)
    with pytest.raises(StoreFull):
        for seed in range(9):
            writer.write(noise(200_000, seed))
    assert seed == 5 and temporary(tmp_path) == []


def test_a_finished_writer_takes_no_more(folder: BlobFolder) -> None:
    writer = FileWriter(folder, 8192, lambda blob, content: None)
    writer.write(b"x")
    writer.finish()
    with pytest.raises(StoreError):
        writer.write(b"y")


def test_a_writer_that_is_dropped_leaves_nothing(tmp_path: Path, folder: BlobFolder) -> None:
    writer = FileWriter(folder, 8192, lambda blob, content: None)
    writer.write(log(6000))
    assert len(temporary(tmp_path)) == 1
    del writer
    assert temporary(tmp_path) == []


def test_a_sweep_takes_what_dead_processes_left_and_nothing_else(tmp_path: Path, folder: BlobFolder) -> None:
    mine = folder.create()

    def die() -> None:
        left = folder.create()
        left.put(b"secret")
        os._exit(1)

    with pytest.raises(RuntimeError, match="died"):
        in_child(die)
    assert len(temporary(tmp_path)) == 2
    folder.sweep()
    assert temporary(tmp_path) == [Path(mine.path).name]
    mine.release()


def test_a_new_writer_sweeps_once(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "dead.zst").write_bytes(b"left")
    BlobFolder(str(tmp_path), 1 << 20).create().release()
    assert temporary(tmp_path) == []


def test_digests_skip_what_is_no_blob(tmp_path: Path, folder: BlobFolder) -> None:
    assert list(folder.digests()) == []
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "notes.txt").write_bytes(b"")
    (tmp_path / "blobs" / "ab").mkdir()
    (tmp_path / "blobs" / "ab" / "readme").write_bytes(b"")
    assert list(folder.digests()) == []
    assert folder.path(digest(b"x")).endswith(".zst")
