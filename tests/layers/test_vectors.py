"""Vectors on disk: what is nearest is exact, every file is whole or not there, and what is removed is gone."""
from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from byref.layers import vectors
from byref.layers.embedding import quantised
from byref.layers.vectors import Segment, Stretch, Vectors, joined, nearest, parts_of

WIDTH = 16


def segment(blob: str, rows: int, start: int = 0, size: int | None = None) -> Segment:
    """A stretch of a blob, a chunk of ten bytes each."""
    chance = np.random.default_rng([*blob.encode(), start])
    held, long = quantised(chance.integers(-1000, 1000, (rows, WIDTH)))
    spans = np.array([(start + 10 * row, start + 10 * row + 10) for row in range(rows)], np.int64).reshape(-1, 2)
    end = start + 10 * rows
    return Segment((Stretch(blob, start, end, end if size is None else size, 0, rows),), spans, long, held)


def names(index: Vectors) -> list[str]:
    return sorted({blob for part in index.parts().parts for blob in part.blobs})


def ask(index: Vectors, wanted: set[str], count: int = 3, late: bool = False) -> tuple[list[vectors.Near], int]:
    query = segment("query", 1)
    found, done = nearest(index.parts().parts, query.vectors[0], int(query.lengths[0]), wanted, count, lambda: late)
    return sorted(found, key=lambda near: (-near.score, near.blob, near.start)), done


@pytest.fixture(params=["folder", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Vectors:
    return Vectors(str(tmp_path / "index") if request.param == "folder" else None, "mark", WIDTH)


def test_the_nearest_are_those_of_a_plain_count(index: Vectors) -> None:
    for blob in "abcdefghijkl":
        index.add(segment(blob, 40))
    query = segment("query", 1)
    wanted = {"a", "c", "l"}
    plain = []
    for blob in wanted:
        held = segment(blob, 40)
        for row in range(40):
            dot = int(held.vectors[row].astype(int) @ query.vectors[0].astype(int))
            plain.append((-(dot * (10_000 << 16) // int(held.lengths[row] * query.lengths[0])), blob, 10 * row))
    found, done = ask(index, wanted, 10)
    assert done == -1
    assert [(-near.score, near.blob, near.start) for near in found][:10] == sorted(plain)[:10]
    assert all(0 < near.score <= 10_000 for near in found)


def test_without_the_quick_library_the_scores_are_the_same(index: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("simsimd")
    index.add(segment("a", 500))
    quick = ask(index, {"a"}, 50)
    monkeypatch.setitem(__import__("sys").modules, "simsimd", None)
    assert ask(index, {"a"}, 50) == quick


def test_all_that_tie_with_the_last_come_along(index: Vectors) -> None:
    one = segment("a", 1)
    index.add(one)
    for blob in "bcd":
        index.add(Segment((one.stretches[0]._replace(blob=blob),), one.spans, one.lengths, one.vectors))
    query = one.vectors[0]
    found, _ = nearest(index.parts().parts, query, int(one.lengths[0]), set("abcd"), 2, lambda: False)
    assert sorted(near.blob for near in found) == list("abcd"), "which of them stand is for whoever knows what is newest"


def test_many_small_segments_become_few(index: Vectors) -> None:
    for number in range(60):
        index.add(segment(f"blob{number}", 1 + number % 5))
    assert len(index.parts().parts) <= vectors.SEGMENTS
    assert len(names(index)) == 60
    assert index.parts().complete == frozenset(f"blob{number}" for number in range(60))


def test_a_blob_is_complete_when_no_hole_is_left(index: Vectors) -> None:
    index.add(segment("a", 3, 0, 90))
    index.add(segment("a", 3, 60, 90))
    assert index.parts().reached["a"] == (30, 90) and not index.parts().complete
    index.add(segment("a", 3, 30, 90))
    assert index.parts().reached["a"] == (90, 90) and index.parts().complete == {"a"}
    index.add(segment("a", 3, 30, 90))
    found, _ = ask(index, {"a"}, 100)
    assert len({near.start for near in found}) == len(found), "a stretch that was added twice counts once"


def test_what_holds_no_text_is_complete_without_chunks(index: Vectors) -> None:
    empty = segment("a", 0)
    index.add(Segment((empty.stretches[0]._replace(end=50, size=50),), empty.spans, empty.lengths, empty.vectors))
    assert index.parts().complete == {"a"} and ask(index, {"a"}) == ([], -1)


def test_removed_blobs_leave_no_byte(tmp_path: Path) -> None:
    index = Vectors(str(tmp_path), "mark", WIDTH)
    index.add(joined([segment("keep", 5), segment("secret", 5)]) or segment("", 0))
    index.add(segment("secret", 4, 50, 90))
    index.remove({"secret"})
    assert names(index) == ["keep"] == names(Vectors(str(tmp_path), "mark", WIDTH))
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"secret" not in held and segment("secret", 5).vectors.tobytes()[:WIDTH] not in held


def test_another_process_sees_what_one_adds_and_removes(tmp_path: Path) -> None:
    one, other = Vectors(str(tmp_path / "new"), "mark", WIDTH), Vectors(str(tmp_path / "new"), "mark", WIDTH)
    assert names(other) == []
    one.add(segment("a", 3))
    assert names(other) == ["a"]
    other.add(segment("b", 3))
    one.remove({"a"})
    assert names(one) == names(other) == ["b"]


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_deleted_and_the_rest_stays(tmp_path: Path, seed: int) -> None:
    index = Vectors(str(tmp_path), "mark", WIDTH)
    index.add(segment("a", 30))
    hurt = {file.name for file in tmp_path.glob("*" + vectors.SUFFIX)}
    index.add(segment("b", 30))
    file = tmp_path / hurt.pop()
    data = bytearray(file.read_bytes())
    chance = random.Random(seed)
    if seed % 2:
        del data[chance.randrange(len(data)):]
    else:
        data[chance.choice([chance.randrange(len(data)), 20, 50, len(data) - 1])] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    assert "b" in names(Vectors(str(tmp_path), "mark", WIDTH))
    left = names(Vectors(str(tmp_path), "mark", WIDTH))
    assert left == ["b"] or ask(Vectors(str(tmp_path), "mark", WIDTH), {"a"}) == ask(_fresh(), {"a"}), "or padding was hit"


def test_a_flipped_bit_in_a_vector_is_seen(tmp_path: Path) -> None:
    Vectors(str(tmp_path), "mark", WIDTH).add(segment("a", 30))
    file = next(tmp_path.glob("*" + vectors.SUFFIX))
    data = bytearray(file.read_bytes())
    data[-5] ^= 4
    file.write_bytes(data)
    assert names(Vectors(str(tmp_path), "mark", WIDTH)) == [] and not file.exists()


def _fresh() -> Vectors:
    index = Vectors(None, "mark", WIDTH)
    index.add(segment("a", 30))
    return index


def test_files_of_another_model_go(tmp_path: Path) -> None:
    Vectors(str(tmp_path), "old model", WIDTH).add(segment("a", 3))
    assert names(Vectors(str(tmp_path), "new model", WIDTH)) == []
    assert not list(tmp_path.glob("*" + vectors.SUFFIX))


def test_a_writer_that_dies_leaves_only_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Vectors(str(tmp_path), "mark", WIDTH)
    index.add(segment("a", 3))

    def die(source: str, target: str) -> None:
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            index.add(segment("b", 3))
    again = Vectors(str(tmp_path), "mark", WIDTH)
    assert names(again) == ["a"]
    again.add(segment("c", 3))
    assert names(again) == ["a", "c"]
    assert all(file.suffix == vectors.SUFFIX or file.name == "lock" for file in tmp_path.iterdir()), "what it left is swept"


def test_a_folder_that_is_deleted_is_an_empty_index(tmp_path: Path) -> None:
    index = Vectors(str(tmp_path / "index"), "mark", WIDTH)
    index.add(segment("a", 3))
    for file in (tmp_path / "index").iterdir():
        file.unlink()
    (tmp_path / "index").rmdir()
    assert names(index) == []
    index.add(segment("b", 3))
    assert names(index) == ["b"]


def test_time_that_is_over_is_told(index: Vectors) -> None:
    index.add(segment("a", 3))
    assert ask(index, {"a"}, late=True) == ([], 0)


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    Vectors(str(tmp_path / "index"), "mark", WIDTH).add(segment("a", 3))
    assert (tmp_path / "index").stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (tmp_path / "index").iterdir())


def test_parts_hold_each_stretch_once() -> None:
    found = parts_of([segment("a", 2), segment("a", 2), segment("b", 1)])
    assert [sorted(part.blobs) for part in found.parts] == [["a"], ["b"]]
