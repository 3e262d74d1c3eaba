"""Segments: many become few, and one that is damaged costs its own blobs alone."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from byref.layers.segments import MANY, Chunk, Segments, build, joined, read

pytest.importorskip("numpy")


def one(blob: str, *keys: int) -> list[Chunk]:
    return [Chunk(blob, 0, 10, 1, len(keys), dict.fromkeys(keys, 1))]


def test_many_segments_become_few_and_hold_the_same(tmp_path: Path) -> None:
    held = Segments(str(tmp_path), "1")
    for number in range(3 * MANY):
        held.add(build([f"b{number}"], one(f"b{number}", number, 7)))
    assert len(held.all()) <= MANY and held.indexed() == {f"b{n}" for n in range(3 * MANY)}
    whole = joined(held.all())
    at = whole.keys.tolist().index(7)
    assert int(whole.offsets[at + 1] - whole.offsets[at]) == 3 * MANY
    assert len(list(tmp_path.glob("*.seg"))) == len(held.all()) == len(Segments(str(tmp_path), "1").all())


@pytest.mark.parametrize("damage", [b"", b"x" * 500, None])
def test_a_damaged_file_is_removed_and_the_others_stand(tmp_path: Path, damage: bytes | None) -> None:
    held = Segments(str(tmp_path), "1")
    held.add(build(["a"], one("a", 1, 2, 3)))
    (first,) = tmp_path.glob("*.seg")
    held.add(build(["b"], one("b", 4)))
    data = first.read_bytes()
    first.unlink()
    first.write_bytes(data[:-60] + bytes([data[-60] ^ 1]) + data[-59:] if damage is None else damage)
    assert Segments(str(tmp_path), "1").indexed() == {"b"} and not first.exists()


def test_another_version_is_another_index(tmp_path: Path) -> None:
    Segments(str(tmp_path), "1").add(build(["a"], one("a", 1)))
    (path,) = tmp_path.glob("*.seg")
    assert read(str(path), "2") is None and Segments(str(tmp_path), "2").indexed() == frozenset()


def test_what_a_kill_left_beside_its_successor_is_removed(tmp_path: Path) -> None:
    held = Segments(str(tmp_path), "1")
    held.add(build(["a", "b"], [*one("a", 1), *one("b", 2)]))
    (path,) = tmp_path.glob("*.seg")
    old = path.read_bytes()
    held.remove(["a"])
    path.write_bytes(old)
    assert Segments(str(tmp_path), "1").indexed() == {"b"} and not path.exists()


def test_blobs_without_chunks_are_known_too() -> None:
    held = Segments(None, "1")
    held.add(build(["empty"], []))
    assert held.indexed() == {"empty"} and len(held.all()[0].keys) == 0


def test_without_numpy_a_file_that_holds_a_blob_goes_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "i"
    kept = Segments(str(folder), "1")
    for name in ("a", "b", "c"):
        kept.add(build([name], one(name, 7)))
    (damaged,) = [path for path in folder.glob("*.seg") if b'"c"' in path.read_bytes()]
    damaged.write_bytes(b"no segment at all")
    (folder / "left.seg.tmp").write_bytes(b"a")
    monkeypatch.setitem(sys.modules, "numpy", None)
    Segments(str(folder), "1").delete(["a", "zzz"])
    (left,) = folder.glob("*.seg*")
    assert b'"b"' in left.read_bytes()
    Segments(str(tmp_path / "none"), "1").delete(["a"])
    Segments(None, "1").delete(["a"])
