"""Static embeddings: chunks that mean what the query means, found by the cosine of sums of word vectors (model2vec), in integers.

A lookup and no model run: megabytes a second to build. What is not indexed yet is embedded while searching, as far as it is small.
"""
from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from threading import Event, Lock

from byref.layers import workers
from byref.layers.contract import GENERATE, WHOLE, Contribution, Hit, LayerStatus, Span, Starting
from byref.layers.embedding import FILES, VERSION, load, missing, place_of
from byref.layers.stretches import stretches
from byref.layers.vectors import Segment, Stretch, Vectors, joined, nearest, parts_of
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.query import within_stretch
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byref.layers.contract import Added, Budget, Held, Scope
    from byref.layers.embedding import Table
    from byref.proxy.query import Query

    Sign = tuple[tuple[int, int], ...]

MODEL = "potion-base-8M"
STRETCH = 256 << 10  # bytes that are taken in at once: what an abort loses at most
FRESH = 256 << 10  # bytes of a scope that are embedded while searching, where they are not indexed
STEP = 8  # chunks embedded between two looks at the clock
QUERY = 2000  # characters of a query; the rest adds nothing to a sum
FLOOR = 2000  # of a hit's cosine: every text is a little like every other (.14 in the middle; right answers are above .27)
SHORTEST = 100  # bytes of a chunk, where a text has many
RATE = 20_000  # chunks a millisecond

PATIENCE = 60.0  # seconds that a search waits for the model, whatever its timebox
LOADING = 0.5  # seconds of a search in which the model is loaded, too: reading its tokenizer alone stops all threads for a tenth

_lock = Lock()
_loading: dict[str, Event] = {}  # by folder: set when the model is there, or is known not to be
_tables: dict[str, tuple[Sign, Table | str]] = {}  # by folder: one for all scopes, or why there is none


def layer(folder: str | None) -> Static:
    return Static(folder, place_of(MODEL))


class Static:
    """See the module. folder: for its index; place: of the model."""

    name, roles = "static", frozenset({GENERATE})

    def __init__(self, folder: str | None, place: str) -> None:
        self._folder, self._place = folder, place
        self._lock = Lock()
        self._vectors: Vectors | None = None

    @property
    def version(self) -> str:
        """With the hash of the model, once that is loaded."""
        known = _tables.get(self._place)
        return VERSION if known is None or isinstance(known[1], str) else f"{VERSION}-{known[1].mark[:8]}"

    def applies(self, scope: Scope, query: Query) -> bool:
        return query.compiled is None and bool(query.tokens) and not self._missing()

    def status(self, scope: Scope) -> LayerStatus:
        lacking = self._unfit()
        covered = 0
        if not lacking and scope.total:
            reached = self._index().parts().reached
            covered = sum(reached[blob][0] for blob in scope.held if blob in reached)
        return LayerStatus(self.name, self.version, GENERATE, f"{MODEL}, int8", "block", WHOLE * covered // max(1, scope.total),
                           "words in any order, a question", 2 + scope.total // 500 // RATE, lacking)

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """The chunks that are nearest, each with its cosine in 1/10,000.

        Raises `Invalid` where the model cannot be used, and `Starting` where it is not loaded in time.
        """
        table = _in_time(self._place, budget)
        vector, length = table.query(project(query.whole if query.apart else query.whole[:QUERY]), query.weights)
        if not length[0]:
            return Contribution((), note="no word of the query is known to the model")
        index = self._index().parts()
        fresh = [held for blob, held in scope.held.items() if blob not in index.complete]
        made, finished = self._embedded(table, fresh, index.reached, scope, budget)
        stretch = within_stretch(query)
        more = sum((end - start) // SHORTEST + 2 for _, start, end in query.apart)  # chunks at most that are no answer
        parts = (*index.parts, *parts_of(made).parts)
        found, done = nearest(parts, vector[0], int(length[0]), scope.held.keys(), budget.hits + more, budget.late, FLOOR)
        hits = [(-near.score, scope.held[near.blob].age, scope.held[near.blob].part, near.start, near) for near in found
                if not query.apart or not stretch(near.blob, near.start, near.end)]
        hits.sort()
        searched = (index.complete | finished) & scope.held.keys()
        if done >= 0:
            searched -= frozenset().union(*(part.blobs for part in parts[done:]))
        return Contribution([Hit(Span(near.blob, near.start, near.end), near.score, self.name) for *_, near in hits[:budget.hits]],
                            None if len(searched) == len(scope.held) else searched, done < 0)

    def warm(self) -> None:
        """Starts to load the model, where there are vectors of the scope."""
        if self._folder is not None and self._place not in _tables and os.path.isdir(self._folder) and not self._missing():
            _start(self._place)

    def indexed(self) -> frozenset[str]:
        if self._unfit():
            return frozenset()
        return self._index().parts().complete

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        """A stretch of a blob at a time: what was written stays, and the next call goes on there."""
        if remove and (self._folder is None or os.path.isdir(self._folder)):
            self._forget(remove)
        if not add:
            return
        table = _table(self._place)
        index = self._index()
        reached = index.parts().reached
        made: list[Segment] = []
        size = 0
        for added in add:
            start = reached.get(added.blob, (0, 0))[0]
            for stretch, spans, texts in stretches(added.blob, added.source, added.shape, start, STRETCH):
                segment = _segment(table, stretch, spans, texts, cancel.is_set)
                if segment is None:
                    break
                made.append(segment)
                size += stretch.end - stretch.start
                if size >= STRETCH:
                    _write(index, made)
                    size = 0
            if cancel.is_set():
                break
        _write(index, made)

    def close(self) -> None:
        with self._lock:
            if self._vectors is not None:
                self._vectors.close()

    def _unfit(self) -> str:
        """What is missing, or why the model cannot be loaded."""
        lacking = self._missing()
        if not lacking:
            try:
                _table(self._place)
            except Invalid as fault:
                return str(fault).removeprefix("invalid: ")
        return lacking

    def _missing(self) -> str:
        known = _tables.get(self._place)
        if known is None or (isinstance(known[1], str) and known[0] != _sign(self._place)):
            return missing(self._place)
        return known[1] if isinstance(known[1], str) else ""

    def _index(self) -> Vectors:
        table = _table(self._place)
        with self._lock:
            if self._vectors is None:
                self._vectors = Vectors(self._folder, table.mark, table.width)
            return self._vectors

    def _forget(self, blobs: Sequence[str]) -> None:
        """Without a model, too: what a purge removes may not stay for that."""
        if not self._unfit():
            self._index().remove(frozenset(blobs))
        elif self._folder is not None:
            for name in os.listdir(self._folder):
                os.unlink(os.path.join(self._folder, name))

    def _embedded(self, table: Table, fresh: Sequence[Held], reached: Mapping[str, tuple[int, int]], scope: Scope,
                  budget: Budget) -> tuple[list[Segment], set[str]]:
        """Segments of what is not indexed, newest first, as far as size and time allow; and the blobs that are whole by now."""
        made: list[Segment] = []
        finished: set[str] = set()
        left = FRESH
        for held in fresh:
            start = reached.get(held.blob, (0, 0))[0]
            if held.size - start > left or budget.late():
                continue
            left -= held.size - start
            try:
                for stretch, spans, texts in stretches(held.blob, scope.open(held.blob), held.output.shape, start, STRETCH):
                    segment = _segment(table, stretch, spans, texts, budget.late)
                    if segment is None:
                        return made, finished
                    made.append(segment)
            except (Corrupt, Unknown):  # the text layer names it
                continue
            finished.add(held.blob)
        return made, finished


def _table(place: str) -> Table:
    """The model of a folder, loaded once; one that could not be is tried again when its files are others. Raises `Invalid`."""
    with _lock:
        sign = _sign(place)
        known = _tables.get(place)
        if known is None or (isinstance(known[1], str) and known[0] != sign):
            try:
                known = sign, load(place)
            except Invalid as fault:
                known = sign, str(fault).removeprefix("invalid: ")
            _tables[place] = known
    if isinstance(known[1], str):
        raise Invalid(known[1])
    return known[1]


def _in_time(place: str, budget: Budget) -> Table:
    """The same, loaded in the background and waited for as long as the search has time. Raises `Starting` when it is over."""
    if place not in _tables:
        left = budget.until - budget.clock()
        there = _start(place, 0.0 if left >= LOADING else max(0.0, left) + LOADING / 10)
        if not there.wait(min(max(0.0, left), PATIENCE)):
            raise Starting
    return _table(place)


def _start(place: str, delay: float = 0.0) -> Event:
    """Loads the model in the background, if nobody does. Set when it is there, or is known not to be."""
    done = Event()
    there = _loading.setdefault(place, done)
    if there is done:
        workers.start(partial(_load, place, done, delay))
    return there


def _load(place: str, done: Event, delay: float) -> None:
    """delay: seconds until a short search is over, which it would make late."""
    time.sleep(delay)
    with suppress(Exception):  # whoever asks next is told what is wrong
        _table(place)
    _loading.pop(place, None)
    done.set()


def _sign(place: str) -> Sign:
    """By what a change of the model's files is told."""
    signs = []
    for name in FILES:
        try:
            found = os.stat(os.path.join(place, name))
            signs.append((found.st_size, found.st_mtime_ns))
        except OSError:
            signs.append((-1, 0))
    return tuple(signs)


def _segment(table: Table, stretch: Stretch, spans: Sequence[tuple[int, int]], texts: Sequence[str],
             late: Callable[[], bool]) -> Segment | None:
    """None where there was no time for all of it."""
    import numpy as np
    vectors = [np.zeros((0, table.width), np.int8)]
    lengths = [np.zeros(0, np.int64)]
    for at in range(0, len(texts), STEP):
        if late():
            return None
        some, long = table.vectors(texts[at:at + STEP])
        vectors.append(some)
        lengths.append(long)
    return Segment((stretch,), np.array(spans, np.int64).reshape(-1, 2), np.concatenate(lengths), np.concatenate(vectors))


def _write(index: Vectors, made: list[Segment]) -> None:
    whole = joined(made)
    if whole is not None:
        index.add(whole)
    made.clear()
