"""What layers and the orchestrator say to each other. A layer is a module of this folder with a function `layer`;
the other modules are parts that layers share.

`layer(folder) -> Layer` makes the layer of one scope. folder: where it may keep files, made by the caller and the layer's alone;
None keeps all in memory. A module imports what is heavy (numpy, a model) only in the methods that need it, and where that is not
installed its status says so in `missing` and `applies` is False.

`search` and `apply` block: the orchestrator calls each in a thread of its own. They ask `Budget.late` (`cancel.is_set()`) between
steps of a few milliseconds, and return what they have when it says so. What is scored is integers, the same on every machine.
"""
from __future__ import annotations

from typing import NamedTuple, Protocol

from byref.proxy.contracts import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

    from byref.proxy.contracts import Output, Source
    from byref.proxy.query import Query

GENERATE, REFINE = "generate", "refine"  # roles: candidates from the scope; scores of given candidates
WORDS = "words"  # a third role: where it has indexed a blob, nobody else need look through it for words
WHOLE = 10_000  # basis points: all of it


class Starting(Exception):
    """A layer still loads what it computes with, in the background, and the time of this search is over: it has nothing to say yet."""


class Span(NamedTuple):
    """Bytes of a blob, half-open: the one coordinate that all layers share."""

    blob: str
    start: int
    end: int


class Meet(NamedTuple):
    """What a token of the query met in a hit. token: as the layer read it; score: what it adds to the hit's, in 1/10,000; start, end:
    bytes, in the blob, of the document's token that it met.
    """

    token: str
    score: int
    start: int
    end: int


class Hit(NamedTuple):  # made by the ten thousand: a tuple takes a tenth of a record's time
    """What a layer says of a span. score: comparable within this layer's answer alone, more is better. signal: what it is shown as.

    terms: the query's terms that stand there, as bits in the order of `Query.terms`; near: those beside it too. line: the number of
    its first line, 1-based, 0 for a piece of a line or where it is not known. last: of its last line; -1 for a chunk in which the
    place itself is yet to be found. exact: the whole query stands there, 2 to the letter, 1 in other case. parts: what each of the query's
    tokens adds, in their order, from a layer that can tell. title: of a string, as `titles.keyword` says, 0 where it is not known.
    """

    span: Span
    score: int
    signal: str
    terms: int = 0
    near: int = 0
    line: int = 0
    last: int = -1
    exact: int = 0
    parts: tuple[Meet, ...] = ()
    title: int = 0


class Candidates(NamedTuple):
    """What layers that refine are given, best first. settled: why they need not be asked, said beside each; empty where they are."""

    hits: Sequence[Hit]
    settled: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """A blob of a scope, by the newest output that holds it. age: outputs of the search that are newer; part: its index there."""

    blob: str
    size: int
    output: Output
    age: int
    part: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What one search looks at, filters applied: no layer may say anything of a blob that is not in it.

    name: of the isolation boundary. outputs: newest first. held: its blobs by digest, newest first, without images and what is empty.
    open: the bytes of a blob; raises `Unknown` or `Corrupt`. named: the caller named these outputs. total: bytes held. worded: blobs
    whose words an index answers for. older: there are older outputs, which were not listed in time.
    """

    name: str
    outputs: Sequence[Output]
    held: Mapping[str, Held]
    open: Callable[[str], Source]
    named: bool = False
    total: int = 0
    worded: frozenset[str] = frozenset()
    older: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a layer may take, and how many hits are of use. until: on the clock, in seconds. cancel: nobody waits any more."""

    until: float
    cancel: Event
    clock: Callable[[], float]
    hits: int = 200

    def late(self) -> bool:
        return self.cancel.is_set() or self.clock() >= self.until


@dataclass(frozen=True, slots=True)
class Contribution:
    """The answer of a layer. hits: best first. searched: digests of the scope that it looked at whole; None for all of them.

    whole: False where time ran out. places: how often each term of the query stands there, from a layer that counted them; else
    empty. faults: refs that cannot be read. note: to be said beside it. uncovered: tokens of the query that nothing in the scope
    covers, by this layer's measure.
    """

    hits: Sequence[Hit]
    searched: frozenset[str] | None = None
    whole: bool = True
    places: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    note: str = ""
    uncovered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """What a layer is and how far it came. role: generate, refine, or both joined by +. origin: what it computes with.

    coverage: basis points of the scope's bytes that it has processed. accepts: the form of query. latency_ms: of a search over
    this scope, roughly. missing: what is not there and how to get it; empty where nothing is.
    """

    name: str
    version: str
    role: str
    origin: str
    granularity: str
    coverage: int
    accepts: str
    latency_ms: int
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """A blob for an index. shape: of the output that holds it; its chunks are `byref.layers.chunking.chunks(data, shape)`."""

    blob: str
    source: Source
    shape: str


class Layer(Protocol):
    """An independent producer of signals over one scope. May be used from many threads at once.

    name: as its module's. version: of its chunking, model and scores together: another version is another index. One that computes with
    a model may have `warm()`, too: where its index holds something, it starts to load the model, and returns at once.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def roles(self) -> frozenset[str]: ...

    def applies(self, scope: Scope, query: Query) -> bool:
        """Whether it has anything to say; False is told as skipped."""
    def status(self, scope: Scope) -> LayerStatus: ...
    def search(self, query: Query, scope: Scope, budget: Budget, candidates: Sequence[Hit] | None = None) -> Contribution:
        """Hits of the scope; of a layer that refines, scores of the candidates' spans, or of spans inside them."""
    def indexed(self) -> frozenset[str]:
        """Digests that need no `apply` any more; empty where it keeps no index."""
    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        """Takes blobs in and lets others go, leaving no byte of them. Idempotent; a cancel loses at most what was not yet written."""
    def close(self) -> None: ...


class Unindexed:
    """What layers have in common that look at outputs as they are: no index, so that nothing is built and nothing has to be removed."""

    def indexed(self) -> frozenset[str]:
        return frozenset()

    def apply(self, add: Sequence[Added], remove: Sequence[str], cancel: Event) -> None:
        pass

    def close(self) -> None:
        pass
