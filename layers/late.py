"""Late interaction: chunks by exact MaxSim over token vectors, with what each token of the query met.

What earlier layers found is scored first, encoded at once where it has no vectors yet; then the scope, what was of use before it first.
Words of the query weigh as the caller says, at search time: nothing is encoded again for it.
"""
from __future__ import annotations

import os
import time
from threading import Lock

from byref.layers import sidecar
from byref.layers.contract import GENERATE, REFINE, WHOLE, Contribution, LayerStatus, Starting
from byref.layers.encoders.choice import chosen
from byref.layers.encoding import STRETCH, Knobs, encoded, piece
from byref.layers.seeking import Asked, Seeking
from byref.layers.sidecar import Sidecars
from byref.proxy.errors import Corrupt, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from threading import Event

    from byref.layers.contract import Added, Budget, Hit, Scope
    from byref.layers.encoders.choice import Handle
    from byref.layers.encoders.contract import Encoder
    from byref.layers.encoding import Piece
    from byref.proxy.query import Query

QUIET = 0.3  # seconds without a search of this layer after which building goes on: both need the same processor
PATIENCE = 20  # times that it is put off for it
RATE = 4  # tokens a microsecond that are scored
KNOBS = Knobs()  # int8 alone: the one saving that lost nothing in any set of bench/knobs.py


def layer(folder: str | None) -> Late:
    return Late(folder)


class Late:
    """One model's. Several side by side are several layers: a module of this folder with a `layer` that names another model.

    folder: for its sidecars. model: as in the setting late_model; empty for what that says. name: of the layer and its signal.
    """

    roles = frozenset({GENERATE, REFINE})

    def __init__(self, folder: str | None, model: str = "", name: str = "late", knobs: Knobs = KNOBS) -> None:
        self.name, self.knobs = name, knobs
        self._folder, self._model = folder, model
        self._lock = Lock()
        self._encoder: Encoder | None = None
        self._sidecars: Sidecars | None = None
        self._version = ""  # of these
        self._gone: set[str] = set()  # blobs that were removed, maybe while they were being encoded
        self._used: dict[str, None] = {}  # blobs of the last answers, the last one last
        self._asked = 0.0

    @property
    def version(self) -> str:
        encoder = self._encoder
        return self.knobs.version if encoder is None else f"{encoder.mark[:8]}-{self.knobs.version}"

    def applies(self, scope: Scope, query: Query) -> bool:
        return query.compiled is None and bool(query.tokens) and not self._handle().fault()

    def status(self, scope: Scope) -> LayerStatus:
        encoder = self._encoder
        reached = self._reached()
        covered = sum(reached[blob][0] for blob in scope.held if blob in reached)
        origin = os.path.basename(self._handle().name) if encoder is None else f"{encoder.name}, {encoder.origin}"
        return LayerStatus(self.name, self.version, f"{GENERATE}+{REFINE}", f"{origin}, {self.knobs.kind}", "token",
                           WHOLE * covered // max(1, scope.total), "a question, words; a weight for each word",
                           20 + covered // 4 // RATE // 1000, self._handle().fault())

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """Chunks, best first; scored by the weighted mean of the query's tokens. Raises `Starting` while the model is loading."""
        encoder = self._encoder = self._handle().ready()
        if encoder is None:
            raise Starting
        self._asked = time.monotonic()
        asked = Asked.of(encoder, query)
        if not asked.weights.any():
            return Contribution((), frozenset(), note="no word of the query is known to the model")
        with self._lock:
            used = tuple(reversed(self._used))
        found = Seeking(encoder, self.knobs, self._index(encoder), asked, scope, budget, self.name).found(candidates or (), used)
        with self._lock:
            for hit in reversed(found.hits[:10]):
                self._used.pop(hit.span.blob, None)
                self._used[hit.span.blob] = None
            while len(self._used) > 1000:
                del self._used[next(iter(self._used))]
        self._asked = time.monotonic()
        return found

    def warm(self) -> None:
        """Starts to load the model, where there are vectors of the scope."""
        if self._reached() and not self._handle().fault():
            self._handle().start()

    def indexed(self) -> frozenset[str]:
        return frozenset(blob for blob, (end, size) in self._reached().items() if end >= size)

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        """A group of stretches at a time: what was written stays, and the next call goes on there. Waits for the model."""
        if remove:
            self._forget(remove)
        if not add or cancel.is_set():
            return
        encoder = self._encoder = self._handle().wait()
        index = self._index(encoder)
        with self._lock:
            self._gone.difference_update(one.blob for one in add)
        index.sweep()
        group: list[Piece] = []
        for added in add:
            start = index.reached(added.blob)
            while start < added.source.size:
                try:
                    one = piece(added.blob, added.source, added.shape, start)
                except (Corrupt, Unknown):  # the text layer names it
                    break
                group.append(one)
                start += len(one.data)
                if sum(len(one.data) for one in group) >= STRETCH and not self._written(encoder, index, group, cancel):
                    return
        self._written(encoder, index, group, cancel)

    def close(self) -> None:
        with self._lock:
            if self._sidecars is not None:
                self._sidecars.close()

    def _reached(self) -> Mapping[str, tuple[int, int]]:
        """While the model is not loaded, by the names of files alone: nothing is loaded where nothing is left to do."""
        if self._encoder is not None:
            return self._index(self._encoder).all_reached()
        return {} if self._folder is None else sidecar.reached(self._folder)

    def _handle(self) -> Handle:
        return chosen(self._model)

    def _index(self, encoder: Encoder) -> Sidecars:
        version = f"{encoder.mark}-{self.knobs.version}"
        with self._lock:
            if self._sidecars is None or self._version != version:
                self._sidecars, self._version = Sidecars(self._folder, version), version
            return self._sidecars

    def _written(self, encoder: Encoder, index: Sidecars, group: list[Piece], cancel: Event) -> bool:
        """False where it was cancelled first."""
        for _ in range(PATIENCE):
            left = self._asked + QUIET - time.monotonic()
            if left <= 0 or cancel.wait(left):
                break
        made = None if cancel.is_set() else encoded(encoder, self.knobs, group, cancel.is_set)
        if made is None:
            return False
        for one in made:
            with self._lock:  # what is removed meanwhile may not come back
                if one.blob not in self._gone:
                    index.add(one)
        group.clear()
        return True

    def _forget(self, blobs: Sequence[str]) -> None:
        """With no model and no library, too: what a purge removes may not stay for that."""
        with self._lock:
            self._gone.update(blobs)
            for blob in blobs:
                self._used.pop(blob, None)
            if self._sidecars is not None:
                self._sidecars.remove(blobs)
            elif self._folder is not None:
                sidecar.forget(self._folder, blobs)
