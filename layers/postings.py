"""Builds a segment of postings: a token becomes a number by one look into a dict, and all that is counted and sorted is numpy's."""
from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from byref.layers.chunking import chunks
from byref.layers.segments import Segment
from byref.proxy.text import project, terms_by_line

if TYPE_CHECKING:
    from threading import Event

STEP = 64  # chunks between two looks at whether to go on


class Builder:
    """Blobs that become one segment. keys_of: the keys of a token as it stands in the text, asked once for each."""

    def __init__(self, keys_of: Callable[[str], tuple[int, ...]]) -> None:
        self._numbers = _Numbers(keys_of)
        self._blobs: list[str] = []
        self._rows: list[tuple[int, int, int, int]] = []  # of each chunk: number of its blob, start, end, line
        self._sizes = array("I")  # of each chunk: its tokens
        self._tokens = array("I")  # of all chunks, one after another, by number

    def __len__(self) -> int:
        """Blobs."""
        return len(self._blobs)

    def add(self, blob: str, data: bytes, shape: str, cancel: Event) -> bool:
        """Takes a blob in, all of it or, where it was cancelled, nothing."""
        rows, tokens = len(self._rows), len(self._tokens)
        line, counted = 1, 0
        for number, (start, end) in enumerate(chunks(data, shape)):
            if number % STEP == STEP - 1 and cancel.is_set():
                del self._rows[rows:], self._sizes[rows:], self._tokens[tokens:]
                return False
            line += data.count(b"\n", counted, start)
            counted = start
            whole = (start == 0 or data[start - 1] == 10) and (data[end - 1] == 10 or end == len(data))
            found = terms_by_line(project(data[start:end].decode("utf-8", "surrogateescape")))
            before = len(self._tokens)
            self._tokens.extend(map(self._numbers.__getitem__, chain.from_iterable(found)))
            self._sizes.append(len(self._tokens) - before)
            self._rows.append((len(self._blobs), start, end, line if whole else 0))
        self._blobs.append(blob)
        return True

    def segment(self) -> Segment:
        """Of all blobs, also of those without a chunk; a chunk without a key is left out."""
        import numpy as np
        tokens = np.frombuffer(self._tokens, np.uint32) if self._tokens else np.zeros(0, np.uint32)
        many = np.array(self._numbers.many, np.int64)
        held = many[tokens]
        owner = np.repeat(np.repeat(np.arange(len(self._rows)), self._sizes), held)
        # Each token's keys lie one after another in the list of all: from its first on, as many as it has.
        first = (np.cumsum(many) - many)[tokens] - (np.cumsum(held) - held)
        at = np.repeat(first, held) + np.arange(len(owner))
        length = np.bincount(owner, minlength=len(self._rows))
        kept = length > 0
        keys, order = np.unique(np.array(self._numbers.flat, np.uint64), return_inverse=True)
        rows = max(1, int(kept.sum()))
        pairs, counts = np.unique(order[at] * rows + (np.cumsum(kept) - 1)[owner], return_counts=True)
        number, posts = np.divmod(pairs, rows)
        table = np.array(self._rows, np.uint64).reshape(-1, 4)[kept]
        return Segment(tuple(self._blobs), table[:, 0].astype(np.uint32), table[:, 1], table[:, 2], table[:, 3].astype(np.uint32),
                       length[kept].astype(np.uint32), keys, np.searchsorted(number, np.arange(len(keys) + 1)).astype(np.uint64),
                       posts.astype(np.uint32), np.minimum(counts, 255).astype(np.uint8))


class _Numbers(dict[str, int]):
    """Tokens by number. many: how many keys each has; flat: the keys of all, one token after another."""

    def __init__(self, keys_of: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._keys_of = keys_of
        self.many: list[int] = []
        self.flat: list[int] = []

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        found = self._keys_of(token)
        self.many.append(len(found))
        self.flat += found
        return number
