"""What all encoders have in common: windows of texts in batches of like length, then rows of unit length put back in order.

An encoder of its own is a subclass that says how a batch of token numbers becomes a batch of vectors.
"""
from __future__ import annotations

import os
from contextlib import nullcontext
from threading import Lock

from byref.layers.encoders.contract import Encoded
from byref.layers.encoders.linear import Linear
from byref.layers.encoders.recipe import Recipe, marked
from byref.layers.encoders.windows import Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.encoders.contract import Late, Spans, Vectors
    from byref.layers.encoders.windows import Window

    Int64 = NDArray[np.int64]

BATCH = 512  # tokens of a batch, padding counted: larger ones took more time a token, and it is what is awaited once it is late


class Batched:
    """See the module, and `byref.layers.encoders.contract.Encoder`. files: what its vectors depend on, beside the configuration.

    batch: tokens of a batch, 0 for `BATCH`.
    """

    batch = 0

    def __init__(self, name: str, origin: str, folder: str, recipe: Recipe, files: Sequence[str], numbers: str = "") -> None:
        self.name, self.origin = name, origin
        self.mark = marked(folder, files, numbers)
        self.window = recipe.window
        self._recipe, self._windows = recipe, Windows(folder, recipe)
        self._heads = [Linear(os.path.join(folder, place)) for place in recipe.heads]
        self._lock = Lock()
        self.width = int(self._forward(*self._padded(self._windows.documents(["width"]))).shape[2])
        self.dense = (self._heads[-1].width if self._heads else self.width) if recipe.pooling else 0

    def query(self, text: str) -> Encoded:
        """Does not wait for documents: while an index is built, a search goes on."""
        windows = self._windows.query(text)
        return self._joined(windows, list(self._rows(windows)))

    def documents(self, texts: Sequence[str], late: Late | None = None) -> list[Encoded] | None:
        windows = self._windows.documents(texts)
        found: dict[int, Vectors] = {}
        for batch in _batches(windows, self.batch or BATCH):
            if late is not None and late():
                return None
            with self._lock:
                found.update(zip(batch, self._rows([windows[place] for place in batch]), strict=True))
        pieces: list[list[int]] = [[] for _ in texts]
        for place, window in enumerate(windows):
            pieces[window.text].append(place)
        return [self._joined([windows[place] for place in places], [found[place] for place in places]) for places in pieces]

    def pooled(self, texts: Sequence[str], late: Late | None = None, query: bool = False) -> Vectors | None:
        import numpy as np
        windows = self._windows.pooled(texts, query)
        sums = np.zeros((len(texts), self.width), np.float32)
        weights = np.zeros(len(texts), np.float32)
        for batch in _batches(windows, self.batch or BATCH):
            if late is not None and late():
                return None
            chosen = [windows[place] for place in batch]
            with nullcontext() if query else self._lock:
                hidden = self._forward(*self._padded(chosen))
            for number, window in enumerate(chosen):
                rows = hidden[number, :window.seen]
                if self._recipe.late:  # nothing but the tokens' vectors says how these are alike
                    rows = _unit(rows)
                one = {"cls": rows[0], "last": rows[-1]}.get(self._recipe.pooling)
                sums[window.text] += (rows.mean(axis=0) if one is None else one) * window.seen
                weights[window.text] += window.seen
        means: Vectors = np.divide(sums, np.maximum(weights, 1)[:, None], dtype=np.float32)
        for head in self._heads:
            means = head(means)
        means[weights == 0] = 0
        return _unit(means)

    def end(self, seconds: float) -> None:
        self._lock.acquire(timeout=seconds)  # and is never released

    def _forward(self, ids: Int64, seen: Int64) -> Vectors:
        """(windows, tokens, width) of token numbers and of a 1 for each that is attended to. By any number of threads at a time."""
        raise NotImplementedError

    def _padded(self, windows: Sequence[Window]) -> tuple[Int64, Int64]:
        import numpy as np
        longest = max(len(window.ids) for window in windows)
        ids = np.full((len(windows), longest), self._windows.padding, np.int64)
        seen = np.zeros((len(windows), longest), np.int64)
        for number, window in enumerate(windows):
            ids[number, :len(window.ids)] = window.ids
            seen[number, :window.seen] = 1
        return ids, seen

    def _rows(self, windows: Sequence[Window]) -> Iterator[Vectors]:
        """The vectors of each window's rows; one batch."""
        if not windows:
            return
        hidden = self._forward(*self._padded(windows))
        for number, window in enumerate(windows):
            rows = window.rows
            # rows that follow one another are a slice: no copy by index
            some = hidden[number, rows[0]:rows[-1] + 1] if len(rows) and rows[-1] - rows[0] == len(rows) - 1 else hidden[number, list(rows)]
            yield _unit(some)

    def _joined(self, windows: Sequence[Window], vectors: Sequence[Vectors]) -> Encoded:
        import numpy as np
        spans: Spans = np.array([span for window in windows for span in window.spans], np.int64).reshape(-1, 2)
        return Encoded(np.concatenate([np.zeros((0, self.width), np.float32), *vectors]) if len(vectors) != 1 else vectors[0], spans,
                       tuple(name for window in windows for name in window.names))


def _batches(windows: Sequence[Window], tokens: int) -> Iterator[list[int]]:
    """Places of windows, longest first, so that little is padding; each batch within so many tokens, or one window."""
    order = sorted(range(len(windows)), key=lambda place: (-len(windows[place].ids), place))
    start = 0
    while start < len(order):
        many = max(1, tokens // len(windows[order[start]].ids))
        yield order[start:start + many]
        start += many


def _unit(rows: Vectors) -> Vectors:
    import numpy as np
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))
    made: Vectors = rows / np.maximum(lengths, np.float32(1e-12))[:, None]
    return made
