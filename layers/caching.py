"""What layers answered before: whole contributions and the vectors of queries, in memory, so that an equal search asks nobody twice.

An answer is kept under the layer's name and version, the query with its weights, the bounds, the candidates, and the outputs that were
searched: one that comes or goes makes another key. One that was cut short, or that did not see all of the scope, is not kept, so that a
search is the same with and without. Nothing is written to disk: every new output makes all keys others, and a purge has less to clear.
"""
from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import cast
from unicodedata import normalize

from byref.layers.contract import Contribution, Unindexed
from byref.proxy.text import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from threading import Event

    from byref.layers.contract import Added, Budget, Held, Hit, Layer, LayerStatus, Scope
    from byref.layers.encoders.contract import Encoded
    from byref.proxy.query import Query

LIMIT = 32 << 20  # bytes that are held for all scopes of a store
QUERIES = 8 << 20  # bytes of vectors of queries
SHARE = 4  # an answer that takes more than one of so many parts of it is not kept
_ANSWER, _HIT, _MEET = 600, 300, 160  # bytes of what is held, roughly, with its key
_MARKED = 8  # scopes whose marks are remembered


class Memory:
    """The last values by use, as many as fit. Safe for many threads.

    A value is put with the number of clearings at the time it was begun: what was computed from something that is gone is not kept.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit, self._lock = limit, Lock()
        self._held: OrderedDict[Hashable, tuple[object, int, str]] = OrderedDict()
        self.size = 0
        self.cleared = 0

    def get(self, key: Hashable) -> object | None:
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: object, size: int, scope: str, cleared: int) -> None:
        """size in bytes. scope: with which it is cleared. cleared: as it was when the value was begun."""
        with self._lock:
            if cleared != self.cleared or size * SHARE > self._limit:
                return
            old = self._held.pop(key, None)
            self.size += size - (0 if old is None else old[1])
            self._held[key] = value, size, scope
            while self.size > self._limit:
                _, (_, freed, _) = self._held.popitem(last=False)
                self.size -= freed

    def clear(self, scope: str | None = None) -> None:
        """Forgets all of a scope, or of every scope."""
        with self._lock:
            self.cleared += 1
            for key in [key for key, held in self._held.items() if scope is None or held[2] == scope]:
                self.size -= self._held.pop(key)[1]


class Cached:
    """A layer that looks first for what it answered before. scope: its name."""

    def __init__(self, layer: Layer, memory: Memory, scope: str) -> None:
        self._layer, self._memory, self._scope = layer, memory, scope

    @property
    def layer(self) -> Layer:
        return self._layer

    @property
    def name(self) -> str:
        return self._layer.name

    @property
    def version(self) -> str:
        return self._layer.version

    @property
    def roles(self) -> frozenset[str]:
        return self._layer.roles

    @property
    def keeps(self) -> bool:
        """Whether the layer has an index, for which blobs have to be read."""
        return not isinstance(self._layer, Unindexed)

    def applies(self, scope: Scope, query: Query) -> bool:
        return self._layer.applies(scope, query)

    def status(self, scope: Scope) -> LayerStatus:
        return self._layer.status(scope)

    def warm(self) -> None:
        """As the layer's, where it has one."""
        getattr(self._layer, "warm", lambda: None)()

    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """As the layer's, or its answer to the same. Of outputs that the caller named nothing is kept: a damaged one is to be told."""
        if scope.named:
            return self._layer.search(query, scope, budget, candidates)
        cleared = self._memory.cleared
        key = self._key(query, scope, budget, candidates)
        held = self._memory.get(key)
        if isinstance(held, Contribution):
            return held
        given = self._layer.search(query, scope, budget, candidates)
        if given.whole and given.searched is None and not budget.late() and key == self._key(query, scope, budget, candidates):
            size = _ANSWER + _HIT * len(given.hits) + _MEET * sum(len(hit.parts) for hit in given.hits)
            self._memory.put(key, given, size, self._scope, cleared)
        return given

    def _key(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None) -> Hashable:
        # To the letter and in other case are two answers, and so are an identifier and its words in lower case: what a layer does not
        # declare to read by its terms alone is kept under the query as it was written.
        asked: Hashable = query.terms if getattr(self._layer, "by_terms", False) else (
            query.exact, query.text, query.whole, query.tokens, query.terms, query.weights, query.compiled is not None)
        given = None if candidates is None else digest(repr([(hit.span, hit.line) for hit in candidates]).encode())
        return (self._scope, self._layer.name, self._layer.version, asked, query.apart, budget.hits, given, _mark(scope),
                scope.worded)

    def indexed(self) -> frozenset[str]:
        return self._layer.indexed()

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        if remove:
            self._memory.clear(self._scope)
            queries.clear()  # a query may say what was removed
        self._layer.apply(add, remove, cancel)

    def close(self) -> None:
        self._layer.close()


def remembered(mark: str, text: str, made: Callable[[str], Encoded]) -> Encoded:
    """What an encoder makes of a query, once for all that are equal but for blanks and compatibility forms (Unicode NFKC).

    mark: of the encoder. A text whose characters would move is a query of its own, since spans count them.
    """
    plain = normalize("NFKC", text.translate(_BLANKS))
    asked = plain if len(plain) == len(text) else text
    cleared, key = queries.cleared, (mark, asked)
    held = queries.get(key)
    if held is None:
        held = made(asked)
        queries.put(key, held, _ANSWER + held.vectors.nbytes + held.spans.nbytes, "", cleared)
    return cast("Encoded", held)


_BLANKS = {ord(sign): " " for sign in "\t\n\r\v\f"}
queries = Memory(QUERIES)  # of all stores
_marks: OrderedDict[int, tuple[Mapping[str, Held], tuple[int, int]]] = OrderedDict()
_lock = Lock()


def _mark(scope: Scope) -> tuple[int, int]:
    """Hashes of the blobs that are searched, in their order, and of the outputs they belong to. Remembered with the very mapping.

    Python's own hashes, for this process alone: those of the digests are known already, so that it takes a tenth of a real one's time.
    """
    held = scope.held
    with _lock:  # layers ask at the same time: one makes it, the others wait
        known = _marks.get(id(held))
        if known is None or known[0] is not held:
            known = _marks[id(held)] = held, (hash(tuple(held)), hash(tuple(output.seq for output in scope.outputs)))
            while len(_marks) > _MARKED:
                _marks.popitem(last=False)
        return known[1]
