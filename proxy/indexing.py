"""The layers of each scope of a store: made when first used, built in the background by use, and rid of what the store let go.

Files lie under `layers/` in the store's folder: a folder a scope, in it one a layer and version. The truth of what is indexed is
in the layers' own files; a cursor on the catalog's sequence numbers says up to where nothing is left to do.
"""
from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from threading import Condition, Event, RLock, Thread

from byref.layers import dense, embedding
from byref.layers.caching import Cached, Memory, queries
from byref.layers.contract import WORDS, Added, Held, Layer, Scope
from byref.layers.encoders import choice
from byref.layers.orchestrator import Orchestrator, load
from byref.layers.text import BINARY, SNIFFED
from byref.proxy.config import dense_model, late_model, models_folder
from byref.proxy.contracts import Output, Store
from byref.proxy.cursors import Cursors
from byref.proxy.errors import ByrefError, Corrupt, Miss, Unknown
from byref.proxy.text import digest

Log = Callable[[str, Exception], object]

LIMIT = 50_000  # newest outputs of a scope that are listed
PAGE = 1000  # of them at once: some 30 ms
BATCH = 4 << 20  # bytes that are given to the layers at once: what an abort loses at most
LARGEST = 64 << 20  # bytes of a blob that is indexed; the text layer looks through a larger one
SCANNED = 4 << 20  # bytes of a scope up to which all words are looked for in the text itself: as quick, and always current
NO_TEXT = ("image/", "audio/", "video/")
IDLE = 0.3  # seconds without a search after which building goes on
LONGEST = 20  # times that it is put off for it
PATIENCE = 5.0  # seconds that close waits for a batch


def scope_of(name: str, outputs: Sequence[Output], store: Store, named: bool = False, older: bool = False) -> Scope:
    """What a search over these outputs, newest first, looks at. The bytes of several outputs belong to the newest."""
    held: dict[str, Held] = {}
    total = 0
    for age, output in enumerate(outputs):
        for index, part in enumerate(output.manifest.parts):
            if part.blob.size and part.blob.digest not in held and not part.media.startswith(NO_TEXT):
                held[part.blob.digest] = Held(part.blob.digest, part.blob.size, output, age, index)
                total += part.blob.size
    return Scope(name, outputs, held, store.open, named, total, older=older)


class Indexes:
    """The layers over one store. Safe for many threads. folder: of the store; None keeps all in memory. late_model: of the late layer."""

    def __init__(self, store: Store, folder: str | None, log: Log, late_model: str = "") -> None:
        self._store, self._log, self._late_model = store, log, late_model
        self._folder = None if folder is None else os.path.join(folder, "layers")
        self._lock = RLock()
        self._memory = Memory()
        self._in_memory: dict[str, Cursors] = {}
        self._known: dict[str, Orchestrator] = {}
        self._lists: dict[str, _List] = {}
        self._wanted: dict[str, dict[str, None]] = {}  # scope to digests used last
        self._work = Condition()
        self._cancel = Event()
        self._thread: Thread | None = None
        self._asked = 0.0

    # what there is

    def orchestrator(self, scope: str) -> Orchestrator:
        with self._lock:
            if scope not in self._known:
                embedding.use(models_folder())
                dense.use(dense_model())
                choice.use(self._late_model or late_model())
                layers = load(lambda name: self._place(scope, name), self._log)
                self._known[scope] = Orchestrator([Cached(layer, self._memory, scope) for layer in layers], self._log)
            return self._known[scope]

    def uncached(self, scope: str) -> Orchestrator:
        """The same layers, without what they answered before: for measuring how long they take."""
        queries.clear()
        return Orchestrator([one.layer if isinstance(one, Cached) else one for one in self.orchestrator(scope).layers], self._log)

    def _place(self, scope: str, name: str) -> str | None:
        return None if self._folder is None else os.path.join(self._folder, _short(scope), name)

    def everything(self, name: str, until: float = inf) -> Scope:
        """The whole of a scope, read once and then kept up to date by the catalog's sequence numbers.

        until: on the monotonic clock. Of what was never listed, the newest thousand outputs are read at least, and then no more after that.
        """
        with self._lock:
            known = self._lists.setdefault(name, _List())
            new = False
            while known.older and (not known.outputs or time.monotonic() < until):
                page = self._store.older(name, known.outputs[0].seq if known.outputs else None, PAGE)
                known.outputs[:0] = page[::-1]
                known.cursor = max(known.cursor, page[0].seq if page else 0)
                known.older, new = len(page) == PAGE and len(known.outputs) < LIMIT, True
            while batch := self._store.changes(name, known.cursor):
                known.outputs += [output for output in batch if output.seq > known.cursor]
                known.cursor, new = max(known.cursor, batch[-1].seq), True
            if new or known.scope is None:
                if len({output.ref for output in known.outputs}) < len(known.outputs):  # captured again under a new number
                    known.outputs = sorted({output.ref: output for output in known.outputs}.values(), key=lambda output: output.seq)
                del known.outputs[:-LIMIT]
                known.scope = scope_of(name, known.outputs[::-1], self._store, older=known.older)
            return known.scope

    def worded(self, scope: Scope) -> frozenset[str]:
        """Blobs of a scope whose words an index answers for; none where the text itself is looked through as quickly."""
        if scope.total <= SCANNED or scope.named:
            return frozenset()
        return frozenset().union(*(layer.indexed() for layer in self.orchestrator(scope.name).layers if WORDS in layer.roles))

    def warm(self, name: str) -> None:
        """Has the layers that hold something of a scope load what they compute with, in the background."""
        if self._exists(name):
            for layer in self.orchestrator(name).layers:
                getattr(layer, "warm", lambda: None)()

    def lost(self, name: str) -> None:
        """The store let outputs go: what is known of the scope is read again."""
        self._memory.clear(name)
        with self._lock:
            self._lists.pop(name, None)

    # building

    def asked(self) -> None:
        """A search begins."""
        self._asked = time.monotonic()

    def used(self, name: str, digests: Iterable[str]) -> None:
        """A search was made, and these blobs were in its answer: the scope is built in the background, these first."""
        with self._work:
            if self._cancel.is_set():
                return
            self._wanted[name] = {**dict.fromkeys(digests), **self._wanted.pop(name, {})}
            if self._thread is None:
                self._thread = Thread(target=self._run, name="byref-indexing", daemon=True)
                self._thread.start()
            self._work.notify()

    def _run(self) -> None:
        while True:
            with self._work:
                while not self._wanted and not self._cancel.is_set():
                    self._work.wait()
            self._idle()
            with self._work:
                if self._cancel.is_set():
                    return
                name = next(reversed(self._wanted))
                first = self._wanted.pop(name)
            try:
                self.build(name, first, self._idle)
            except Exception as fault:  # the next use tries again; a search does without
                if not self._cancel.is_set():
                    self._log("indexing", fault)

    def _idle(self) -> None:
        """Waits until nobody has searched for a moment: building holds the interpreter, and who asks goes first."""
        for _ in range(LONGEST):
            left = self._asked + IDLE - time.monotonic()
            if left <= 0 or self._cancel.wait(left):
                return

    def build(self, name: str, first: Iterable[str] = (), between: Callable[[], None] = lambda: None) -> None:
        """Indexes all of a scope that is not yet: these blobs, then the newest. Returns when nothing is left, or when closed.

        between: called before each batch.
        """
        scope = self.everything(name)
        for layer in self.orchestrator(name).layers:
            if not getattr(layer, "keeps", True):
                continue
            try:
                self._build(name, scope, layer, first, between)
            except Exception as fault:  # costs the others nothing; the next use tries again
                if not self._cancel.is_set():
                    self._log(f"indexing {layer.name}", fault)
            if self._cancel.is_set():
                return

    def _build(self, name: str, scope: Scope, layer: Layer, first: Iterable[str], between: Callable[[], None]) -> None:
        if layer.status(scope).missing:
            return
        newest = scope.outputs[0].seq if scope.outputs else 0
        cursors, held = self._cursors(name), layer.indexed()
        gone = held - scope.held.keys()
        if gone:
            cursors.drop(layer.name)
            layer.apply((), sorted(gone), self._cancel)
        cursor = cursors.at(layer.name, layer.version, len(held))
        if cursor == newest and not gone:
            return
        if not cursor:
            cursors.drop(layer.name)
        wanted: set[str] = set()
        batch: list[Added] = []
        size = 0
        for known in _left(scope, first, held, cursor):
            if self._cancel.is_set():
                return
            added = self._readable(known)
            if added is None:
                continue
            if size and size + known.size > BATCH:
                self._give(name, layer, batch, between)
                batch, size = [], 0
            batch.append(added)
            wanted.add(known.blob)
            size += known.size
        if batch:
            self._give(name, layer, batch, between)
        now = layer.indexed()
        if wanted <= now and not self._cancel.is_set():
            cursors.put(layer.name, layer.version, len(now), newest)

    def _give(self, name: str, layer: Layer, batch: Sequence[Added], between: Callable[[], None]) -> None:
        self._note(name)
        between()
        layer.apply(batch, (), self._cancel)

    def _cursors(self, name: str) -> Cursors:
        if self._folder is not None:
            return Cursors(os.path.join(self._folder, _short(name)))
        return self._in_memory.setdefault(name, Cursors(None))

    def _note(self, name: str) -> None:
        """Says in the folder of a scope whose it is, for its owner alone."""
        if self._folder is None or self._exists(name):
            return
        folder = os.path.join(self._folder, _short(name))
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(os.path.join(folder, "scope"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8",
                  errors="surrogatepass") as file:
            file.write(name)

    def _readable(self, held: Held) -> Added | None:
        try:
            source = self._store.open(held.blob)
            start = source.read(0, SNIFFED)
        except (Corrupt, Unknown, ByrefError):
            return None
        if start.count(b"\0") * BINARY > len(start):
            return None
        return Added(held.blob, source, held.output.shape)

    # letting go

    def blobs(self, name: str, ref: str) -> list[str]:
        """The blobs of an output that is about to be purged."""
        try:
            return [part.blob.digest for part in self._store.resolve(name, ref).manifest.parts]
        except Miss:
            return []

    def forget(self, name: str, digests: Sequence[str], everywhere: bool = False) -> None:
        """Rids every layer of blobs that no output of the scope holds any more. Waits for each, and raises what one raises."""
        for place in self._places() if everywhere else [name]:
            with self._lock:
                if place not in self._known and not self._exists(place):
                    continue
            self.lost(place)
            held = self.everything(place).held
            gone = [digest for digest in digests if digest not in held]
            if gone:
                self._remove(place, gone)

    def sweep(self) -> None:
        """Rids every layer of every scope of what the store holds no more."""
        for place in self._places():
            self.lost(place)
            held = self.everything(place).held
            self._leftovers(place)
            for layer in self.orchestrator(place).layers:
                gone = [blob for blob in layer.indexed() if blob not in held]
                if gone:
                    self._cursors(place).drop(layer.name)
                    layer.apply((), gone, Event())

    def _remove(self, name: str, gone: Sequence[str]) -> None:
        self._cursors(name).drop()
        self._leftovers(name)
        for layer in self.orchestrator(name).layers:
            layer.apply((), gone, Event())

    def _leftovers(self, name: str) -> None:
        """Deletes the indexes of layers that are not here any more, or cannot be loaded: nobody else would let a blob go from them."""
        if self._folder is None or not self._exists(name):
            return
        folder = os.path.join(self._folder, _short(name))
        known = {layer.name for layer in self.orchestrator(name).layers}
        for place in os.listdir(folder):
            if place not in known and os.path.isdir(os.path.join(folder, place)):
                shutil.rmtree(os.path.join(folder, place), ignore_errors=True)

    def _exists(self, name: str) -> bool:
        return self._folder is not None and os.path.isdir(os.path.join(self._folder, _short(name)))

    def _places(self) -> list[str]:
        """The scopes that have indexes, here or on disk."""
        found = dict.fromkeys(self._known)
        try:
            folders = [] if self._folder is None else sorted(os.listdir(self._folder))
        except FileNotFoundError:
            folders = []
        for folder in folders:
            try:
                with open(os.path.join(str(self._folder), folder, "scope"), encoding="utf-8", errors="surrogatepass") as file:
                    found[file.read()] = None
            except OSError:
                continue
        return list(found)

    def close(self) -> None:
        """Stops building; what is written by then stays."""
        self._cancel.set()
        with self._work:
            self._work.notify_all()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        for orchestrator in self._known.values():
            orchestrator.close()


class _List:
    """What is known of a scope's outputs, oldest first. cursor: the newest sequence number that was read. older: there may be more before
    these.
    """

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.cursor = 0
        self.older = True
        self.scope: Scope | None = None


def _left(scope: Scope, first: Iterable[str], held: frozenset[str], cursor: int) -> Iterator[Held]:
    """Blobs that a layer has yet to take in: these first, then the newest, down to its cursor."""
    given = dict.fromkeys(blob for blob in first if blob in scope.held)
    for blob in given:
        known = scope.held[blob]
        if blob not in held and known.output.seq > cursor and known.size <= LARGEST:
            yield known
    for blob, known in scope.held.items():
        if known.output.seq <= cursor:  # newest first
            return
        if blob not in held and blob not in given and known.size <= LARGEST:
            yield known


def _short(scope: str) -> str:
    """The folder of a scope: scopes are paths, and no name of a file."""
    return digest(scope.encode("utf-8", "surrogatepass"))[3:23]

