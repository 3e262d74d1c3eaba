"""Exact MaxSim in blocks: for each chunk the sum over the query's tokens of the best product with one of its tokens, in whole numbers.

MaxSim is ColBERT's (Khattab and Zaharia, SIGIR 2020). Every product is exact: a query's numbers are put on a grid, a document's are
int8, or bf16 on a grid, and by Cauchy and Schwarz no sum of their products, nor a part of one, leaves the whole numbers that float32
holds (2**24 for rows of unit length). So the order of additions does not matter, and numpy, torch, one thread, two, and blocks of any
size give the same bits. What remains open is the last bit of the encoder's own floats.
"""
from __future__ import annotations

import sys
from typing import NamedTuple

from byref.layers import gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    import numpy as np
    import torch
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Int64: TypeAlias = NDArray[np.int64]
    Stored: TypeAlias = NDArray[np.int8] | NDArray[np.uint16]

INT8, BF16 = "int8", "bf16"
DEVICE_BLOCK = 1 << 16  # tokens at once on a GPU
BLOCK = 4096  # tokens that are multiplied at once, at most: some milliseconds
CACHED = 1 << 20  # bytes of float32 that a block of numpy's takes, so that what was decoded is still at hand when it is multiplied
TOGETHER = 16  # blocks whose chunks are added up at once
SCALE = 10_000  # a product of 1 between a token of the query and one of a document
WIDEST = 1024  # numbers of a row up to which 4,096 * 127 * sqrt(width) stays below 2**24
GRID = {INT8: 4096, BF16: 2048}  # steps of a query's numbers to 1
_DOCUMENT = 4096  # steps of a document's number to 1 before it becomes bf16
_LOW = 64  # a query's number is 64 times one int8 and another, for integer products
EMPTY = -(1 << 62)  # total of a chunk without tokens, or that no time was left for


class Tokens(NamedTuple):
    """Token vectors of chunks, one after another. vectors: (n, width), int8 or the bits of bf16. scales: (n,) 1 / length of int8 rows.

    bounds: (chunks + 1,) rows at which chunks begin, and the end; a chunk may be empty.
    """

    vectors: Stored
    scales: Floats | None
    bounds: Int64


class Scanned(NamedTuple):
    """totals: by part and chunk, thousandths of weight times 1/10,000, summed over the query's tokens; EMPTY for what was not reached.

    best: by token of the query, of all chunks, in 1/10,000. done: parts that were scanned whole, from the first on.
    """

    totals: list[Int64]
    best: Int64
    done: int


def stored(vectors: Floats, kind: str) -> tuple[Stored, Floats | None]:
    """Rows of unit length as they are kept, and for int8 what brings each back to unit length. kind: INT8 or BF16."""
    import numpy as np
    if vectors.shape[1] > WIDEST:
        raise ValueError(f"token vectors of {vectors.shape[1]} numbers: products are exact up to {WIDEST}")
    if kind == INT8:
        largest = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-12)
        rows = np.rint(vectors * (127 / largest)).astype(np.int8)
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.int64)
        return rows, (1 / np.sqrt(np.maximum(squares, 1).astype(np.float64))).astype(np.float32)
    grid = (np.rint(vectors.astype(np.float64) * _DOCUMENT) / _DOCUMENT).astype(np.float32)
    bits = grid.view(np.uint32)
    return ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16), None


def floats(tokens: Tokens) -> Floats:
    """The rows as numbers again."""
    import numpy as np
    made = np.empty(tokens.vectors.shape, np.float32)
    _decode(tokens.vectors, made)
    if tokens.scales is not None:
        made *= tokens.scales[:, None]
    return made


def likeness(query: Floats, tokens: Tokens, chunk: int) -> Int64:
    """(query, chunk's tokens): every product in 1/10,000, each as `scan` takes it."""
    import numpy as np
    kind = INT8 if tokens.scales is not None else BF16
    rows = slice(int(tokens.bounds[chunk]), int(tokens.bounds[chunk + 1]))
    made = np.empty((rows.stop - rows.start, query.shape[1]), np.float32)
    _decode(tokens.vectors[rows], made)
    products = gridded(query, kind) @ made.T
    if tokens.scales is not None:
        products *= tokens.scales[rows]
    return _whole(products, kind)


def gridded(query: Floats, kind: str) -> Floats:
    """A query's rows of unit length as whole numbers."""
    import numpy as np
    made: Floats = np.rint(query * GRID[kind]).astype(np.float32)
    return made


def scan(query: Floats, weights: Int64, parts: Iterable[Tokens], late: Callable[[], bool], block: int = 0) -> Scanned:
    """MaxSim of every chunk of the parts, which are taken one at a time. query: (tokens, width), rows of unit length; weights: of its
    tokens, in thousandths, none negative. Memory is that of a block, and 8 bytes a chunk. late: asked between blocks. block: tokens at
    once, 0 for what suits.
    """
    import numpy as np
    at = _Scan(query, np.asarray(weights, np.int64), block or _suiting(query.shape[1]))
    for part in parts:
        if late():
            break
        if not at.take(part, late):
            break
    else:
        at.flush()
    return at.result()


class _Scan:
    """A block that fills with rows of several parts and is multiplied when it is full."""

    def __init__(self, query: Floats, weights: Int64, block: int) -> None:
        import numpy as np
        self._query, self._weights, self._block = query, weights, block
        self._multiply: _Multiply | None = None
        self._filled = 0
        self._starts: list[Int64] = []
        self._carry: Floats | None = None  # the best so far of a chunk that goes on in the next block
        self._sizes: list[tuple[int, Int64]] = []  # of each part: chunks, and which of them have tokens
        self._totals: list[Int64] = []
        self._bests: list[Floats] = []  # of the last blocks, yet to be added up
        self._best = np.full(len(query), -np.inf, np.float32)

    def take(self, part: Tokens, late: Callable[[], bool]) -> bool:
        """False where time was over first."""
        import numpy as np
        starts = part.bounds[:-1]
        inside = np.flatnonzero(part.bounds[1:] > starts)
        self._sizes.append((len(starts), inside))
        if not len(inside):
            return True
        starts, size = starts[inside], int(part.bounds[-1])
        if self._multiply is None:
            self._multiply = _chosen(self._query, INT8 if part.scales is not None else BF16, self._block)
        at = int(part.bounds[0])
        first = int(np.searchsorted(starts, at))
        while at < size:
            end = min(size, at + self._block - self._filled)
            last = int(np.searchsorted(starts, end))  # where the next block begins
            here = starts[first:last] - at + self._filled
            if not self._filled and (not len(here) or here[0]):
                here = np.concatenate([np.zeros(1, np.int64), here])
            self._starts.append(here)
            self._multiply.put(self._filled, part.vectors[at:end], None if part.scales is None else part.scales[at:end])
            self._filled += end - at
            at, first = end, last
            if self._filled == self._block:
                if late():
                    return False
                self.flush(goes_on=at < size and (last == len(starts) or int(starts[last]) > at))
        return True

    def flush(self, goes_on: bool = False) -> None:
        """Multiplies what there is. goes_on: its last chunk is not at its end."""
        import numpy as np
        if not self._filled or self._multiply is None:
            return
        best = self._multiply.best(self._filled, np.concatenate(self._starts))
        self._filled = 0
        self._starts.clear()
        if self._carry is not None:
            np.maximum(best[0], self._carry, out=best[0])
        self._carry = best[-1].copy() if goes_on else None
        self._bests.append(best)
        if goes_on:
            self._bests[-1:] = [best[:-1]] if len(best) > 1 else []
        if len(self._bests) >= TOGETHER:
            self._add_up()

    def _add_up(self) -> None:
        import numpy as np
        if self._bests and self._multiply is not None:
            best = np.concatenate(self._bests)
            np.maximum(self._best, best.max(axis=0), out=self._best)
            self._totals.append(_whole(best, self._multiply.kind) @ self._weights)
            self._bests.clear()

    def result(self) -> Scanned:
        import numpy as np
        self._add_up()
        if self._carry is not None:  # of a chunk that no time was left for
            np.maximum(self._best, self._carry, out=self._best)
        kind = BF16 if self._multiply is None else self._multiply.kind
        found = np.concatenate(self._totals) if self._totals else np.zeros(0, np.int64)
        totals = []
        at = done = 0
        for number, (chunks, inside) in enumerate(self._sizes):
            one = np.full(chunks, EMPTY, np.int64)
            some = found[at:at + len(inside)]
            one[inside[:len(some)]] = some
            at += len(inside)
            done += number == done and at <= len(found)
            totals.append(one)
        return Scanned(totals, _whole(np.maximum(self._best, -1.0 * GRID[kind]), kind), done)


class _Multiply:
    """Products of a block by numpy. The layout is that of a block's rows times the query's: its columns are the query's tokens, so that
    the maximum runs over whole rows, which takes half the time of the other way round."""

    def __init__(self, query: Floats, kind: str, block: int) -> None:
        import numpy as np
        self.kind = kind
        self._query = np.ascontiguousarray(gridded(query, kind).T)
        self._rows = np.empty((block, query.shape[1]), np.float32)
        self._scales = np.empty((block, 1), np.float32)
        self._products = np.empty((block, len(query)), np.float32)

    def put(self, at: int, vectors: Stored, scales: Floats | None) -> None:
        end = at + len(vectors)
        _decode(vectors, self._rows[at:end])
        if scales is not None:
            self._scales[at:end, 0] = scales

    def best(self, size: int, starts: Int64) -> Floats:
        """(chunks, query's tokens) of the first rows."""
        import numpy as np
        products = self._products[:size]
        np.matmul(self._rows[:size], self._query, out=products)
        if self.kind == INT8:
            np.multiply(products, self._scales[:size], out=products)
        found: Floats = np.maximum.reduceat(products, starts, axis=0)
        return found


class _Integers(_Multiply):
    """int8 by torch, whose integer products take a third of the time on processors that have them."""

    def __init__(self, query: Floats, kind: str, block: int) -> None:
        import numpy as np
        import torch
        self.kind, self._torch = kind, torch
        whole = gridded(query, kind)
        high = np.rint(whole / _LOW)
        self._halves = torch.from_numpy(np.concatenate([high, whole - high * _LOW]).astype(np.int8))
        self._ints = np.empty((block, query.shape[1]), np.int8)
        self._scale = np.empty(block, np.float32)
        self._out = np.empty((len(query), block), np.float32)

    def put(self, at: int, vectors: Stored, scales: Floats | None) -> None:
        end = at + len(vectors)
        self._ints[at:end] = vectors
        self._scale[at:end] = scales

    def best(self, size: int, starts: Int64) -> Floats:
        import numpy as np
        both = self._torch._int_mm(self._halves, self._torch.from_numpy(self._ints[:size]).T).numpy()
        products = self._out[:, :size]
        np.multiply(both[:len(products)], _LOW, out=both[:len(products)])
        np.add(both[:len(products)], both[len(products):], out=products, casting="unsafe")
        np.multiply(products, self._scale[:size], out=products)
        found: Floats = np.ascontiguousarray(np.maximum.reduceat(products, starts, axis=1).T)
        return found


class _Device(_Multiply):
    """Blocks on a GPU, where torch sees one: what goes over is int8 or bf16."""

    def __init__(self, query: Floats, kind: str, block: int, device: str = "cuda") -> None:
        import numpy as np
        import torch
        self.kind, self._torch, self._device = kind, torch, device
        self._asked = torch.from_numpy(gridded(query, kind)).to(device)
        self._kept = np.empty((block, query.shape[1]), np.int8 if kind == INT8 else np.uint16)
        self._scale = np.empty((block, 1), np.float32)

    def put(self, at: int, vectors: Stored, scales: Floats | None) -> None:
        end = at + len(vectors)
        self._kept[at:end] = vectors
        if scales is not None:
            self._scale[at:end, 0] = scales

    def best(self, size: int, starts: Int64) -> Floats:
        import numpy as np
        torch = self._torch
        kept = torch.from_numpy(self._kept[:size] if self.kind == INT8 else self._kept[:size].view(np.int16)).to(self._device)
        rows = (kept if self.kind == INT8 else kept.view(torch.bfloat16)).float()
        scales = torch.from_numpy(self._scale[:size]).to(self._device) if self.kind == INT8 else None
        bounds = torch.from_numpy(np.append(starts, size)).to(self._device)
        found: Floats = device_best(self._asked, rows, scales, bounds).cpu().numpy()
        return found


def device_best(query: torch.Tensor, rows: torch.Tensor, scales: torch.Tensor | None, bounds: torch.Tensor) -> torch.Tensor:
    """(chunks, query's tokens): the best product of each of the query's rows in each chunk, on the tensors' device. No chunk is empty.

    query: on its grid; rows: (n, width), as they are stored; scales: (n, 1). On a GPU by `late_interaction_kernels.maxsim_varlen`,
    each token as a query of its own: it multiplies in fp16, so a product is right to 1e-3 of 1. Without it, and on a CPU, by torch in
    float32: the same bits as numpy's.
    """
    import torch
    if rows.is_cuda:
        each = torch.arange(len(query) + 1, dtype=torch.int32, device=query.device)
        unit = GRID[INT8 if scales is not None else BF16]  # fp16 has no room for a grid's numbers times 127
        try:
            from late_interaction_kernels import maxsim_varlen
            near: torch.Tensor = maxsim_varlen(query / unit, rows if scales is None else rows * scales, each, bounds.to(torch.int32))
            return near.T * unit
        except (ImportError, RuntimeError):  # not here, or not for this GPU, which its compiler says when it is asked
            pass
    with gpu.whole():
        products = rows @ query.T
    return torch.segment_reduce(products if scales is None else products * scales, "max", lengths=bounds.diff(), axis=0)


def _suiting(width: int) -> int:
    """Tokens at once, by what multiplies them."""
    if gpu.there():
        return DEVICE_BLOCK
    return BLOCK if "torch" in sys.modules else min(BLOCK, CACHED // (4 * width))


def _chosen(query: Floats, kind: str, block: int) -> _Multiply:
    """torch where it is loaded anyway, for what it is quicker at; importing it for this alone would take seconds."""
    if gpu.there():
        return _Device(query, kind, block)
    if kind == INT8 and "torch" in sys.modules:
        return _Integers(query, kind, block)
    return _Multiply(query, kind, block)


def _decode(vectors: Stored, out: Floats) -> None:
    import numpy as np
    if vectors.dtype == np.int8:
        np.copyto(out, vectors)
    else:
        np.left_shift(vectors, 16, out=out.view(np.uint32), dtype=np.uint32, casting="unsafe")


def _whole(products: Floats, kind: str) -> Int64:
    """In 1/10,000. A product is one rounded float, whatever computed it, so this is the same number everywhere."""
    import numpy as np
    made: Int64 = np.rint(products.astype(np.float64) * (SCALE / GRID[kind])).astype(np.int64)
    return made
