"""MaxSim is exact: the same whole numbers by whatever library, in whatever blocks, on however many threads."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.layers import maxsim, pools
from byref.layers.maxsim import BF16, EMPTY, INT8, Tokens, floats, likeness, scan, stored

KINDS = [INT8, BF16]


def rows(count: int, width: int, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def part(sizes: list[int], width: int, kind: str, seed: int = 0) -> Tokens:
    numbers, scales = stored(rows(sum(sizes), width, seed), kind)
    return Tokens(numbers, scales, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def on_time() -> bool:
    return False


def weights(query: np.ndarray) -> np.ndarray:
    return np.full(len(query), 1000)


def in_whole_numbers(query: np.ndarray, parts: list[Tokens]) -> list[list[int]]:
    """MaxSim with every product and sum in 64 bits, chunk by chunk."""
    kind = BF16 if parts[0].scales is None else INT8
    asked = maxsim.gridded(query, kind).astype(np.int64)
    found = []
    for one in parts:
        held = one.vectors.astype(np.int64) if kind == INT8 else np.rint(floats(one).astype(np.float64) * 4096).astype(np.int64)
        scales = np.ones(len(held), np.float32) / np.float32(4096) if one.scales is None else one.scales
        near = np.rint((asked @ held.T).astype(np.float32) * scales * np.float64(10_000 / maxsim.GRID[kind])).astype(np.int64)
        found.append([int(near[:, a:b].max(axis=1).sum()) * 1000 if b > a else EMPTY for a, b in pairwise(one.bounds.tolist())])
    return found


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=5), st.integers(1, 6), st.sampled_from([4096, 16, 5, 1]))
def test_it_is_what_whole_numbers_say_in_blocks_of_any_size(kind: str, sizes: list[list[int]], asked: int, block: int) -> None:
    parts = [part(some, 24, kind, number) for number, some in enumerate(sizes)]
    query = rows(asked, 24, 99)
    found = scan(query, weights(query), iter(parts), on_time, block)
    assert [one.tolist() for one in found.totals] == in_whole_numbers(query, parts) and found.done == len(parts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [48, 128, 384, 1024])
def test_no_product_leaves_the_numbers_that_a_float_holds(kind: str, width: int) -> None:
    flat = np.full((3, width), 1 / np.sqrt(width), np.float32) * np.array([[1], [-1], [1]], np.float32)
    query = np.concatenate([flat, rows(5, width)])
    numbers, scales = stored(np.concatenate([flat, rows(200, width, 1)]), kind)
    held = Tokens(numbers, scales, np.array([0, 1, 2, 3, 100, 203]))
    assert [one.tolist() for one in scan(query, weights(query), [held], on_time).totals] == in_whole_numbers(query, [held])
    assert abs(int(likeness(query, held, 0)[0, 0]) - 10_000) <= 60, "a token is nearly 1 with itself"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_close_to_what_was_encoded(kind: str) -> None:
    true, query = rows(500, 128), rows(10, 128, 1)
    numbers, scales = stored(true, kind)
    held = Tokens(numbers, scales, np.array([0, 500]))
    assert np.abs(query @ floats(held).T - query @ true.T).max() < 0.004
    assert np.abs(likeness(query, held, 0) / 10_000 - query @ true.T).max() < 0.004


def test_a_chunk_longer_than_a_block_counts_once() -> None:
    held = part([10, 300, 2], 16, INT8)
    query = rows(3, 16, 5)
    whole = scan(query, weights(query), [held], on_time)
    assert scan(query, weights(query), [held], on_time, 64).totals[0].tolist() == whole.totals[0].tolist()
    assert [int(likeness(query, held, chunk).max(axis=1).sum()) * 1000 for chunk in range(3)] == whole.totals[0].tolist()


def test_nothing_at_all_is_no_fault() -> None:
    query = rows(2, 8)
    assert scan(query, weights(query), [], on_time).totals == []
    empty = Tokens(np.zeros((0, 8), np.int8), np.zeros(0, np.float32), np.array([0, 0, 0]))
    found = scan(query, weights(query), [empty], on_time)
    assert found.totals[0].tolist() == [EMPTY, EMPTY] and found.done == 1


def test_equal_chunks_have_equal_scores_wherever_they_stand() -> None:
    numbers, scales = stored(np.tile(rows(7, 32), (50, 1)), INT8)
    assert scales is not None
    held = Tokens(numbers, scales, np.arange(0, 351, 7))
    query = rows(4, 32, 3)
    for block in (4096, 100, 11):
        assert len(set(scan(query, weights(query), [held], on_time, block).totals[0].tolist())) == 1


def test_weights_raise_lower_and_take_out() -> None:
    held, query = part([4, 4, 4], 32, INT8), rows(3, 32, 7)
    each = np.stack([likeness(query, held, chunk).max(axis=1) for chunk in range(3)])
    for given_weights in ([1000, 1000, 1000], [2000, 0, 500], [0, 0, 1]):
        found = scan(query, np.array(given_weights), [held], on_time).totals[0]
        assert found.tolist() == (each @ np.array(given_weights)).tolist()
    best = scan(query, weights(query), [held], on_time).best
    assert best.tolist() == each.max(axis=0).tolist()


def test_it_stops_between_blocks_and_says_how_far_it_came() -> None:
    parts = [part([5, 5], 16, INT8, number) for number in range(10)]
    query = rows(2, 16, 4)
    asked: list[int] = []

    def late() -> bool:
        asked.append(1)
        return len(asked) > 6
    found = scan(query, weights(query), iter(parts), late, 10)
    whole = scan(query, weights(query), iter(parts), on_time)
    assert 0 < found.done < 10
    assert [one.tolist() for one in found.totals[:found.done]] == [one.tolist() for one in whole.totals[:found.done]]
    assert all(total == EMPTY for one in found.totals[found.done:] for total in one.tolist())
    assert scan(query, weights(query), iter(parts), lambda: True).done == 0


def test_rows_too_wide_for_exact_products_are_refused() -> None:
    with pytest.raises(ValueError, match="exact up to 1024"):
        stored(rows(1, 1025), INT8)


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_and_two_give_the_same_bits_each_time(kind: str) -> None:
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not here: pip install 'byref[onnx]'")
    held, query = part([900, 1, 3000, 700], 128, kind), rows(32, 128, 8)
    found = []
    for threads in (1, 2, 2, 1):
        with pools.narrow(threads):
            found.append(scan(query, weights(query), [held], on_time).totals[0].tolist())
    assert found[1:] == found[:-1]


@pytest.mark.parametrize("width", [16, 128, 384])
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_multiply_gives_the_same_bits(kind: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not here: pip install 'byref[late]'")
    sizes = [3, 0, 70, 1, 1, 500, 12, 0]
    parts = [part(sizes, width, kind, number) for number in range(3)]
    query = rows(9, width, 50)
    ways: dict[str, Any] = {"numpy": maxsim._Multiply, "device": lambda *rest: maxsim._Device(*rest, device="cpu")}
    if kind == INT8:
        ways["integers"] = maxsim._Integers
    found = {}
    for name, way in ways.items():
        monkeypatch.setattr(maxsim, "_chosen", way)
        for block in (4096, 37):
            for threads in (1, 2):
                with pools.narrow(threads):
                    one = scan(query, weights(query), iter(parts), on_time, block)
                found[name, block, threads] = [*(totals.tolist() for totals in one.totals), one.best.tolist()]
    assert all(one == found["numpy", 4096, 1] for one in found.values())


def test_kernels_of_a_gpu_are_asked_only_for_what_lies_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not here: pip install 'byref[late]'")
    import sys
    monkeypatch.setitem(sys.modules, "late_interaction_kernels", None)  # importing it would raise
    query, held = rows(3, 16), rows(8, 16, 1)
    found = maxsim.device_best(torch.from_numpy(query), torch.from_numpy(held), None, torch.tensor([0, 3, 8]))
    whole: list[str] = []

    @contextmanager
    def noted() -> Iterator[None]:
        whole.append("asked")
        yield
    monkeypatch.setattr(maxsim.gpu, "whole", noted)
    maxsim.device_best(torch.from_numpy(query), torch.from_numpy(held), None, torch.tensor([0, 3, 8]))
    assert whole == ["asked"], "no library's setting rounds what is multiplied"
    products = held @ query.T
    assert np.allclose(found.numpy(), np.stack([products[:3].max(axis=0), products[3:].max(axis=0)]), atol=1e-6)
