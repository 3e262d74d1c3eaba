"""Token vectors in files: whole or not there, private, of one version, and gone when their blob is."""
from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from byref.layers import sidecar
from byref.layers.maxsim import BF16, INT8, Tokens, stored
from byref.layers.sidecar import Place, Sidecar, Sidecars
from byref.proxy.text import digest

BLOB, OTHER = digest(b"one"), digest(b"other")


def made(blob: str = BLOB, start: int = 0, end: int = 100, size: int = 100, kind: str = INT8, width: int = 16) -> Sidecar:
    rows = np.random.default_rng(start).standard_normal((9, width)).astype(np.float32)
    numbers, scales = stored(rows / np.linalg.norm(rows, axis=1, keepdims=True), kind)
    places = np.stack([np.arange(9) * 10, np.arange(9) * 10 + 4], axis=1).astype(np.uint32)
    chunks = np.array([[0, 40], [40, 60], [60, 100]]) + start
    return Sidecar(blob, start, end, size, Tokens(numbers, scales, np.array([0, 4, 6, 9])), chunks, places)


def same(one: Sidecar | None, other: Sidecar) -> bool:
    if one is None or one[:4] != other[:4] or (one.tokens.scales is None) != (other.tokens.scales is None):
        return False
    pairs = [*zip(one.tokens, other.tokens, strict=True), (one.chunks, other.chunks), (one.places, other.places)]
    return all(a is None or b is None or np.array_equal(a, b) for a, b in pairs)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "late"


def only(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize("kind", [INT8, BF16])
def test_what_is_written_comes_back_in_another_process_too(folder: Path, kind: str) -> None:
    Sidecars(str(folder), "v").add(made(kind=kind))
    again = Sidecars(str(folder), "v")
    assert same(again.open(again.places(BLOB)[0]), made(kind=kind)) and again.complete() == {BLOB}


def test_files_are_their_owners_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        Sidecars(str(folder), "v").add(made())
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and stat.S_IMODE(only(folder).stat().st_mode) == 0o600


def test_numbers_are_mapped_and_not_read_into_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar, "SMALL", 0)
    held = Sidecars(str(folder), "v")
    held.add(made())
    one = held.open(held.places(BLOB)[0])
    assert one is not None and not one.tokens.vectors.flags.owndata and not one.tokens.vectors.flags.writeable


@pytest.mark.parametrize("small", [0, 1 << 20])
@pytest.mark.parametrize("at", [0, 20, 50, 90, 150, 300, -1])
def test_a_damaged_file_is_deleted_and_counts_as_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch, at: int, small: int) -> None:
    monkeypatch.setattr(sidecar, "SMALL", small)
    Sidecars(str(folder), "v").add(made())
    file = only(folder)
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    held = Sidecars(str(folder), "v")
    place = held.places(BLOB)[0]
    assert held.open(place) is None and not file.exists() and not held.complete()
    held.add(made())
    assert same(held.open(place), made())


@pytest.mark.parametrize("left", [0, 10, 100, -5])
def test_so_is_one_that_was_cut_short(folder: Path, left: int) -> None:
    Sidecars(str(folder), "v").add(made())
    file = only(folder)
    file.write_bytes(file.read_bytes()[:left])
    held = Sidecars(str(folder), "v")
    assert held.open(held.places(BLOB)[0]) is None and not file.exists()


def test_a_file_under_the_name_of_another_is_foreign(folder: Path) -> None:
    held = Sidecars(str(folder), "v")
    held.add(made())
    file = only(folder)
    file.rename(folder / file.name.replace(BLOB[3:], OTHER[3:]))
    again = Sidecars(str(folder), "v")
    assert again.complete() == {OTHER} and again.open(again.places(OTHER)[0]) is None and not again.complete()


def test_another_version_is_not_seen_and_swept(folder: Path) -> None:
    Sidecars(str(folder), "old").add(made())
    held = Sidecars(str(folder), "new")
    assert not held.complete() and not held.places(BLOB)
    held.add(made())
    assert len(list(folder.iterdir())) == 2
    held.sweep()
    assert same(held.open(Place(BLOB, 0, 100, 100)), made()) and len(list(folder.iterdir())) == 1


def test_what_a_dead_writer_left_is_swept_and_what_a_live_one_writes_is_not(folder: Path) -> None:
    held = Sidecars(str(folder), "v")
    held.add(made())
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, live = Path(f"{only(folder)}.{dead.pid}"), Path(f"{only(folder)}.{os.getpid()}")
    left.touch()
    live.touch()
    held.sweep()
    assert not left.exists() and live.exists()


def test_a_failed_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "no space left")
    monkeypatch.setattr(os, "fsync", full)
    held = Sidecars(str(folder), "v")
    with pytest.raises(OSError, match="no space"):
        held.add(made())
    assert not list(folder.iterdir()) and not held.complete()


def test_a_blob_in_stretches_is_whole_when_no_hole_is_left(folder: Path) -> None:
    held = Sidecars(str(folder), "v")
    held.add(made(start=0, end=100, size=300))
    held.add(made(start=200, end=300, size=300))
    assert held.all_reached() == {BLOB: (100, 300)} and not held.complete()
    held.add(made(start=100, end=200, size=300))
    assert held.complete() == {BLOB} and [place.start for place in held.places(BLOB)] == [0, 100, 200]
    assert sidecar.reached(str(folder)) == {BLOB: (300, 300)}


def test_a_removed_blob_leaves_no_byte_and_no_name(folder: Path) -> None:
    held = Sidecars(str(folder), "v")
    held.add(made())
    held.add(made(OTHER))
    held.open(held.places(BLOB)[0])
    Path(f"{folder}/{BLOB.replace(':', '_')}-0-1-1-00.tokens.99999").touch()
    held.remove([BLOB])
    assert held.complete() == {OTHER} and held.open(Place(BLOB, 0, 100, 100)) is None
    assert all(BLOB[3:] not in file.name for file in folder.iterdir())


def test_a_blob_is_removed_without_any_library(folder: Path) -> None:
    Sidecars(str(folder), "v").add(made())
    code = ("import sys\nsys.modules['numpy'] = None\nfrom byref.layers import sidecar\n"
            f"assert sidecar.reached({str(folder)!r}) == {{{BLOB!r}: (100, 100)}}\nsidecar.forget({str(folder)!r}, [{BLOB!r}])")
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not list(folder.iterdir())
    sidecar.forget(str(folder / "none"), [BLOB])


def test_many_writers_and_readers_of_one_folder(folder: Path) -> None:
    faults: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            held = Sidecars(str(folder), "v")
            for number in range(15):
                held.add(made(digest(bytes([seed, number]))))
                for blob in held.complete():
                    assert held.open(held.places(blob)[0]) is not None
        except BaseException as fault:
            faults.append(fault)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and len(Sidecars(str(folder), "v").complete()) == 60


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_only_so_many_files_stay_open(folder: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(sidecar, "SMALL", small)
    monkeypatch.setattr(sidecar, "OPEN", 3)
    monkeypatch.setattr(sidecar, "READ", 3 * 9 * 16)
    held = Sidecars(str(folder), "v")
    for number in range(8):
        held.add(made(digest(bytes([number]))))
    for _ in range(2):
        for blob in sorted(held.complete()):
            assert same(held.open(held.places(blob)[0]), made(blob))
    assert len(held._held) + len(held._small) == 3
    held.close()
    assert not held._held and not held._small and held._read == 0


def test_in_memory_it_does_the_same() -> None:
    held = Sidecars(None, "v")
    held.add(made())
    assert held.complete() == {BLOB} and same(held.open(held.places(BLOB)[0]), made())
    held.sweep()
    held.close()
    held.remove([BLOB])
    assert not held.complete() and not held.places(BLOB)
