"""Dense vectors: chunks that mean what the query means, by the cosine of one vector each that a transformer gives a text.

The encoder is loaded in the background and waited for by nobody who searches. What it gives are floats; they are quantised to int8 at
once, and all that follows is whole numbers. Chunks and files are those of the static layer, a folder for each model; what is not
indexed yet is not found, since an encoder takes a second for some dozen chunks.

Off until a model is named: where late interaction runs, it orders places better from the same model, and each encodes all of a scope.
"""
from __future__ import annotations

import os
import time
from threading import Lock

from byref.layers.contract import GENERATE, WHOLE, Contribution, Hit, LayerStatus, Span, Starting
from byref.layers.embedding import lengths
from byref.layers.encoders.choice import DEFAULT, chosen
from byref.layers.stretches import stretches
from byref.layers.vectors import Segment, Vectors, nearest
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.query import within_stretch
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from byref.layers.contract import Added, Budget, Scope
    from byref.layers.encoders.choice import Handle
    from byref.layers.encoders.contract import Encoder
    from byref.layers.vectors import Int8, Int64, Parts, Stretch
    from byref.proxy.query import Query

VERSION = "1"  # of how vectors become rows
QUIET = 0.3  # seconds without a search of this layer after which building goes on: both need the same processor
PATIENCE = 20  # times that it is put off for it
STRETCH = 16 << 10  # bytes that are taken in at once: about a second of an encoder, and what an abort loses at most
QUERY = 2000  # characters of a query
SHORTEST = 100  # bytes of a chunk, where a text has many
WIDEST = 1024  # numbers of a vector: up to here the products of `vectors.nearest` are exact without simsimd, too
FLOOR = 2000  # of a hit's cosine in 1/10,000
HELD = 64  # vectors of queries that are kept
RATE = 20_000  # chunks a millisecond
OFF = f"off: set BYREF_DENSE_MODEL to a folder or a repository, or to {DEFAULT}, which `make models` brings"
_TOP = 127

_setting = ""


def use(setting: str) -> None:
    """The model in force: as `byref.layers.encoders.choice` reads it, or none where it is empty."""
    global _setting
    _setting = setting


def layer(folder: str | None) -> Dense:
    return Dense(folder, _setting)


class Dense:
    """See the module. folder: for its indexes; setting: of the model."""

    name, roles = "dense", frozenset({GENERATE})

    def __init__(self, folder: str | None, setting: str) -> None:
        self._folder, self._setting = folder, setting
        self._lock = Lock()
        self._encoder: Encoder | None = None  # once it was seen loaded: to ask for it would load it
        self._indexes: dict[str, Vectors] = {}  # by name of their folder
        self._queries: dict[tuple[str, str], tuple[Int8, int]] = {}
        self._writing = Lock()
        self._asked = -QUIET
        self._gone: set[str] = set()  # blobs that were removed, maybe while they were being encoded

    @property
    def version(self) -> str:
        """With the hash of the model, once that is loaded."""
        encoder = self._encoder
        return VERSION if encoder is None else f"{VERSION}-{encoder.mark[:8]}"

    def applies(self, scope: Scope, query: Query) -> bool:
        return query.compiled is None and bool(query.tokens) and not self._fault()

    def status(self, scope: Scope) -> LayerStatus:
        lacking = self._fault()
        covered = 0
        if not lacking and scope.total:
            reached = [parts.reached for parts in self._there()]
            covered = max((sum(one[blob][0] for blob in scope.held if blob in one) for one in reached), default=0)
        origin = f"{os.path.basename(self._handle().name)}, int8" if self._setting else "an encoder"
        return LayerStatus(self.name, self.version, GENERATE, origin, "block", WHOLE * covered // max(1, scope.total), "a question, a text",
                           20 + scope.total // 500 // RATE, lacking)

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The chunks that are nearest among those indexed, each with its cosine in 1/10,000. Raises `Starting` while the model loads,
        and `Invalid` for one that gives no vector of a text."""
        encoder = self._encoder = self._handle().ready()
        if encoder is None:
            raise Starting
        self._asked = time.monotonic()
        vector, length = self._vector(encoder, project(query.text[:QUERY]))
        index = self._index(encoder).parts()
        stretch = within_stretch(query)
        more = sum((end - start) // SHORTEST + 2 for _, start, end in query.apart)  # chunks at most that are no answer
        found, done = nearest(index.parts, vector, length, scope.held.keys(), budget.hits + more, budget.late, FLOOR)
        hits = [(-near.score, scope.held[near.blob].age, scope.held[near.blob].part, near.start, near) for near in found
                if not query.apart or not stretch(near.blob, near.start, near.end)]
        hits.sort()
        searched = index.complete & scope.held.keys()
        if done >= 0:
            searched -= frozenset().union(*(part.blobs for part in index.parts[done:]))
        return Contribution([Hit(Span(near.blob, near.start, near.end), near.score, self.name) for *_, near in hits[:budget.hits]],
                            None if len(searched) == len(scope.held) else searched, done < 0)

    def warm(self) -> None:
        """Starts to load the model, where there are vectors of the scope."""
        if self._folder is not None and os.path.isdir(self._folder) and os.listdir(self._folder) and not self._fault():
            self._handle().start()

    def indexed(self) -> frozenset[str]:
        """Of the model that is loaded; until one is, of those whose indexes lie there, so that what is gone can be let go."""
        if self._fault():
            return frozenset()
        if self._encoder is not None:
            return self._index(self._encoder).parts().complete
        return frozenset().union(*(parts.complete for parts in self._there()))

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        """A stretch of a blob at a time: what was written stays, and the next call goes on there. Waits for the model."""
        if remove:
            with self._lock:
                self._gone.update(remove)
                self._queries.clear()  # a query may say what was removed
            with self._writing:
                for index in self._opened():
                    index.remove(frozenset(remove))
        if not add or cancel.is_set():
            return
        encoder = self._encoder = self._handle().wait()
        index = self._index(encoder)
        self._let_go(encoder)
        with self._lock:
            self._gone.difference_update(added.blob for added in add)
        reached = index.parts().reached
        for added in add:
            start = reached.get(added.blob, (0, 0))[0]
            try:
                for stretch, spans, texts in stretches(added.blob, added.source, added.shape, start, STRETCH):
                    self._wait(cancel)
                    segment = _segment(encoder, stretch, spans, texts, cancel.is_set)
                    if segment is None:
                        return
                    with self._writing:
                        if added.blob in self._gone:
                            break
                        index.add(segment)
            except (Corrupt, Unknown):  # the text layer names it
                continue

    def _wait(self, cancel: Event) -> None:
        """Until nobody has searched for a moment."""
        for _ in range(PATIENCE):
            left = self._asked + QUIET - time.monotonic()
            if left <= 0 or cancel.wait(left):
                return

    def close(self) -> None:
        with self._lock:
            for index in self._indexes.values():
                index.close()

    def _fault(self) -> str:
        return self._handle().fault() if self._setting else OFF

    def _handle(self) -> Handle:
        return chosen(self._setting)

    def _index(self, encoder: Encoder) -> Vectors:
        if not 0 < encoder.dense <= WIDEST:
            raise Invalid(f"the model {encoder.name} gives {encoder.dense or 'no'} numbers for a text; take one with 1 to {WIDEST}, "
                          "and set BYREF_DENSE_MODEL")
        return self._named(f"{encoder.mark}-{VERSION}-{encoder.dense}")

    def _named(self, name: str) -> Vectors:
        with self._lock:
            if name not in self._indexes:
                folder = None if self._folder is None else os.path.join(self._folder, name)
                self._indexes[name] = Vectors(folder, name, int(name.rpartition("-")[2]))
            return self._indexes[name]

    def _opened(self) -> Iterator[Vectors]:
        """The indexes that there are, of whatever model."""
        names = dict.fromkeys(self._indexes)
        if self._folder is not None and os.path.isdir(self._folder):
            names |= dict.fromkeys(name for name in sorted(os.listdir(self._folder)) if name.rpartition("-")[2].isdigit())
        return map(self._named, names)

    def _there(self) -> Iterator[Parts]:
        return (index.parts() for index in self._opened())

    def _let_go(self, encoder: Encoder) -> None:
        """Removes the indexes of other models: another one is in force now."""
        import shutil
        kept = f"{encoder.mark}-{VERSION}-{encoder.dense}"
        with self._lock:
            for name in [name for name in self._indexes if name != kept]:
                self._indexes.pop(name).close()
        if self._folder is not None and os.path.isdir(self._folder):
            for name in os.listdir(self._folder):
                if name != kept:
                    shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)

    def _vector(self, encoder: Encoder, text: str) -> tuple[Int8, int]:
        key = encoder.mark, text
        with self._lock:
            known = self._queries.get(key)
        if known is None:
            floats = encoder.pooled([text], query=True)
            if floats is None:
                raise Starting
            rows, sizes = quantised(floats)
            known = rows[0], int(sizes[0])
            with self._lock:
                self._queries[key] = known
                while len(self._queries) > HELD:
                    del self._queries[next(iter(self._queries))]
        return known


def quantised(vectors: NDArray[np.float32]) -> tuple[Int8, Int64]:
    """Rows of floats as int8 by each row's largest number, and their lengths in 1/256."""
    import numpy as np
    largest = np.abs(vectors).max(axis=1, initial=0)
    rows = np.rint(vectors * (np.float32(_TOP) / np.where(largest > 0, largest, np.float32(1)))[:, None]).astype(np.int8)
    return rows, lengths(rows)


def _segment(encoder: Encoder, stretch: Stretch, spans: Sequence[tuple[int, int]], texts: Sequence[str],
             late: Callable[[], bool]) -> Segment | None:
    """None where there was no time for all of it."""
    import numpy as np
    floats = encoder.pooled(texts, late) if texts else np.zeros((0, encoder.dense), np.float32)
    if floats is None:
        return None
    vectors, sizes = quantised(floats)
    return Segment((stretch,), np.array(spans, np.int64).reshape(-1, 2), sizes, vectors)
