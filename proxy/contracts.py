"""What the parts of byref say to each other: records and protocols, and nothing else.

Imports nothing of ours. It lies on the cold path of `byref run`, so `dataclasses` and `typing` are left
to the type checker: at run time `dataclass` here builds the same frozen, slotted classes, which saves
30 ms of the start of every command.
"""
from __future__ import annotations

TYPE_CHECKING = False  # type checkers look for the name alone; importing typing costs 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from dataclasses import dataclass as dataclass
    from typing import Protocol, TypeAlias

    Buffer: TypeAlias = bytes | bytearray | memoryview
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
    Clock: TypeAlias = Callable[[], float]
else:
    Protocol = Buffer = Json = Clock = object
    _MANY = 200

    class _Record:
        __slots__ = ()
        _defaults = {}
        _made = 0

        def __init__(self, *values, **named):
            cls = type(self)
            cls._made += 1
            if cls._made == _MANY:
                cls.__init__ = _written(cls)
            fields, put = self.__slots__, object.__setattr__
            if len(values) > len(fields):
                raise TypeError(f"{type(self).__name__} takes {len(fields)} fields, {len(values)} were given")
            for field, value in zip(fields, values, strict=False):
                put(self, field, value)
            for field in fields[len(values):]:
                if field in named:
                    put(self, field, named.pop(field))
                elif field in self._defaults:
                    put(self, field, self._defaults[field])
                else:
                    raise TypeError(f"{type(self).__name__} lacks its field {field!r}")
            if named:
                raise TypeError(f"{type(self).__name__} has no field {next(iter(named))!r}")

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__}.{name} is frozen")

        def __reduce__(self):
            return type(self), tuple(getattr(self, field) for field in self.__slots__)

        def __eq__(self, other):
            return self.__reduce__() == other.__reduce__() if type(self) is type(other) else NotImplemented

        def __hash__(self):
            return hash(self.__reduce__())

        def __repr__(self):
            fields = ", ".join(f"{field}={getattr(self, field)!r}" for field in self.__slots__)
            return f"{type(self).__name__}({fields})"

    def _written(cls):
        # What dataclasses writes: three times as fast, but a tenth of a millisecond to write, so it is for classes of which there are many.
        parameters = ", ".join(f"{field}=_defaults[{field!r}]" if field in cls._defaults else field for field in cls.__slots__)
        lines = "".join(f" _put_{field}(self, {field})\n" for field in cls.__slots__)
        known = {"_defaults": cls._defaults, **{f"_put_{field}": cls.__dict__[field].__set__ for field in cls.__slots__}}
        exec(f"def __init__(self, {parameters}):\n{lines or ' pass'}", known)
        return known["__init__"]

    def dataclass(**_):
        def make(cls):
            fields = tuple(cls.__annotations__)
            body = {k: v for k, v in cls.__dict__.items() if k not in (*fields, "__dict__", "__weakref__")}
            body["__slots__"] = fields
            body["_defaults"] = {field: cls.__dict__[field] for field in fields if field in cls.__dict__}
            return type(cls.__name__, (_Record,), body)
        return make


DERIVED = "; derived=byref"  # a parameter of the media type (RFC 9110, 8.3.1)

# -- what a call returned ---------------------------------------------------------------------------

class Source(Protocol):
    """Random access to the bytes of one part. Every read verifies what it touches and raises `Corrupt`."""

    @property
    def size(self) -> int: ...
    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """Bytes start to end, half-open, clipped to the part."""
    def blocks(self) -> Iterator[bytes]:
        """All bytes in order, in pieces of at most 1 MiB, checked against the whole hash at the end."""
    def lines(self, first: int, last: int) -> tuple[int, int]:
        """The byte span of lines first to last, 1-based and inclusive, each ending after its newline."""


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of one part, by name. digest: `b2:` and 64 hex digits of BLAKE2b-256. lines: number of newlines."""

    digest: str
    size: int
    lines: int


@dataclass(frozen=True, slots=True)
class Part:
    """One named part of an output: stdout, stderr, a content block, structuredContent, a file.

    derived: it was made of another part, as its media type says: search sees it, and fetch gives it where it is named alone.
    """

    name: str
    media: str
    blob: Blob

    @property
    def derived(self) -> bool:
        return DERIVED in self.media


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an output is. arguments: RFC 8785 JSON without description, timeout and working folder."""

    tool: str
    arguments: str
    parts: tuple[Part, ...]
    exit_code: int | None = None
    is_error: bool = False


# -- views ------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Column:
    """A member of a record that its row shows. path: names joined by dots, `[]` after one for each element of a list.

    name: what heads the column, the last name of the path if empty. most: elements of a list that stand; how many there are follows.
    flag: the cell says its name where the value is true, and nothing else. also: the path of a mark that the API cut this list.
    """

    path: str
    name: str = ""
    most: int = 0
    flag: bool = False
    also: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which members of an API's JSON matter to a reader. Nothing else is lost: each member stands under its path for fetch.

    records: the path of the list, or of the one record; empty where that is the whole value. top: members outside of it that always
    stand, such as a count and a cursor. firm: columns that always stand: what a record is known by. columns: those that follow. prose:
    members that are texts, lists of them or inverted indexes of one, of which the sentences stand that meet what was asked. lead: texts
    outside of the records that stand whole. sections: of a Markdown answer, what the headings of its sections begin with.
    """

    records: str
    top: tuple[str, ...] = ()
    firm: tuple[Column, ...] = ()
    columns: tuple[Column, ...] = ()
    prose: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    sections: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """What is known about a call when its output is cut: enough for a view, nothing that depends on time.

    arguments is the JSON value as the tool got it. intent is what the caller said it looks for; said is
    what the agent wrote just before the call; task is the session's. layout: what matters in the output, where its tool's adapter says so.
    """

    tool: str
    arguments: Json = None
    exit_code: int | None = None
    is_error: bool = False
    intent: str = ""
    said: str = ""
    task: str = ""
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a context was already shown: whole lines (stripped, without a line-number prefix), and terms.

    proven is False where the frontend cannot prove the context: then nothing collapses as already shown.
    """

    lines: Container[str] = frozenset()
    terms: Container[str] = frozenset()
    proven: bool = False


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file that says what matters in a command's output, as TOML. name: of the file, without `.toml`; place: where it lies."""

    name: str
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class Gap:
    """What a view leaves out. address: what fetch takes, without the part. count is in units of that name."""

    part: str
    address: str
    count: int
    unit: str


@dataclass(frozen=True, slots=True)
class View:
    """The text the agent sees first. texts: one for each part, in order, without the head.

    passed: the raw text stands whole, so there is no head and no marker. lines, terms: what this view
    adds to what its context was shown.
    """

    head: str
    texts: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    shape: str = "text"
    passed: bool = True
    lines: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()


# -- the store --------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Event:
    """One line of the ledger. kind: captured, viewed, fetched, searched, ...: see ledger/events.py. numbers: integers by name.

    note: what the caller asked for in words, an address or a query; most kinds have none.
    """

    kind: str
    at: float
    session: str
    ref: str
    tool: str
    shape: str
    numbers: Mapping[str, int]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Capture:
    """All that one call adds to the store, committed in one durable transaction.

    ref: derived from the manifest (`byref.proxy.text.ref_of`). context, call_id: the key under which the
    first bytes of the view are kept; without a call_id nothing is looked up later. began: the context's
    clock (`Store.tick`) when the call began. shown: 8-byte hashes of the lines and terms that the view
    showed. elapsed is in seconds.
    """

    scope: str
    session: str
    context: str
    call_id: str | None
    ref: str
    manifest: Manifest
    signature: str
    view: View
    shown_lines: bytes = b""
    shown_terms: bytes = b""
    elapsed: float | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A stored output as its scope sees it. seq: the catalog's own counter, the cursor of the layers."""

    seq: int
    ref: str
    manifest: Manifest
    signature: str
    captured: float
    shape: str


@dataclass(frozen=True, slots=True)
class Usage:
    """How full a store is. bytes_held counts what lies on disk, or in memory for `memory:`."""

    outputs: int
    blobs: int
    bytes_held: int
    bytes_raw: int
    max_bytes: int
    max_age: float


@dataclass(frozen=True, slots=True)
class Verified:
    """What `verify` found. damaged: digest or ref, and what is wrong with it."""

    blobs: int
    outputs: int
    damaged: tuple[tuple[str, str], ...]


class BlobWriter(Protocol):
    """Takes the bytes of one part as they come. Nothing is visible before `finish`."""

    def write(self, data: Buffer) -> None: ...
    def finish(self) -> Blob:
        """Makes the bytes durable under their hash."""
    def abort(self) -> None:
        """Leaves nothing behind. Harmless after finish."""


class Store(Protocol):
    """Keeps outputs whole. One conformance suite holds for every backend: tests/conformance/store.py.

    Faults: `Unknown`, `Expired`, `Evicted`, `Invalid`, `Corrupt` for what is asked for by ref (see
    errors.py); `StoreFull`, `StoreReadOnly`, `StoreBusy`, `StoreNewer`, `StoreDamaged` for the store
    itself. Methods may be called from any thread.
    """

    url: str

    def writer(self) -> BlobWriter: ...
    def open(self, digest: str) -> Source:
        """A blob by its digest. Raises `Unknown` if it is not held, `Corrupt` (on reading) if damaged."""
    def commit(self, capture: Capture) -> Capture:
        """Makes a capture durable: output, call, view, shown lines, events, in one transaction.

        Returns what holds from now on: the capture itself, or, where (context, call_id) was committed
        before, the first one. Raises `Collision` when the ref names another manifest in this scope, and
        `StoreFull` when the output alone exceeds the quota. Clears a tombstone of the ref.
        """
    def first(self, context: str, call_id: str) -> Capture | None:
        """What was committed for this call, if anything, within the age for which outputs are kept."""
    def views(self, ref: str) -> Sequence[Capture]:
        """The calls held of a ref in any scope, oldest first, each with its view: of one that passed, head and texts may be empty."""
    def resolve(self, scope: str, ref: str) -> Output:
        """The output of a ref in a scope. Raises `Invalid`, `Unknown`, `Expired` or `Evicted`."""
    def recent(self, scope: str, *, session: str | None = None, signature: str | None = None, limit: int = 20,
               before: tuple[float, int] | None = None) -> Sequence[Output]:
        """The newest outputs of a scope, newest first. before: captured and seq of the last one of the page before."""
    def sessions(self) -> Sequence[tuple[str, str, bool]]:
        """Scope and name of every session, in order, and whether it is closed."""
    def changes(self, scope: str, after: int, limit: int = 1000) -> Sequence[Output]:
        """Outputs with seq > after, oldest first: what a layer has not processed yet."""
    def older(self, scope: str, before: int | None, limit: int = 1000) -> Sequence[Output]:
        """The newest outputs with seq < before, or of all, newest first by seq."""
    def shown(self, context: str) -> Sequence[tuple[int, bytes, bytes]]:
        """(tick, line hashes, term hashes) of every view of a context since it was last forgotten."""
    def gaps(self, scope: str, ref: str, context: str | None = None) -> Sequence[Gap] | None:
        """What the newest view of a ref left out, of those of a scope or of a context in it that are not forgotten; None without one."""
    def tick(self, context: str) -> int:
        """The number of the last view committed in a context; 0 for none."""
    def forget(self, context: str) -> None:
        """The context was compacted: what was shown in it no longer counts. First bytes stay."""
    def close_session(self, scope: str, session: str) -> None:
        """Retention may take a closed session's outputs before those of open ones."""
    def log(self, scope: str, *events: Event) -> None:
        """Adds events to the ledger, all or none."""
    def events(self, scope: str | None = None, *, since: float = 0.0, session: str | None = None,
               kind: str | None = None) -> Iterator[Event]:
        """Events oldest first, of one scope or of all, of one kind or of all."""
    def handled(self, scope: str, refs: Sequence[str]) -> Mapping[str, tuple[float | None, int]]:
        """Of these refs: seconds that the newest call took of which it is known, None for none, and how many pages were fetched."""
    def gc(self) -> Usage:
        """Applies age and quota now, drops what nothing refers to, and returns what is left."""
    def purge(self, scope: str, ref: str, *, everywhere: bool = False) -> None:
        """Removes an output and every trace of it; the blob goes with its last reference, or with `everywhere`."""
    def verify(self) -> Verified:
        """Derives every hash again."""
    def usage(self) -> Usage: ...
    def revision(self) -> tuple[int, int, int]:
        """Outputs held, calls and events so far: other numbers after each capture, purge or event, by whomever. Takes microseconds."""
    def close(self) -> None: ...
