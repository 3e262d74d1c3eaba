"""The `memory:` store: what one process keeps for as long as it lives. The same promises as on disk, but for durability."""
from __future__ import annotations

from _thread import RLock

from byref.proxy.contracts import Blob, Capture, Event, Output, Usage, Verified, View
from byref.proxy.errors import Collision, Evicted, Expired, StoreError, StoreFull, Unknown
from byref.proxy.store.collecting import Collector
from byref.proxy.store.memo import ROW, MemoCall, first_of, newest_gaps, texts_to_keep
from byref.proxy.store.rerun import rerun
from byref.proxy.store.source import BytesSource
from byref.proxy.text import check_ref, digest, ref_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from byref.proxy.contracts import Clock, Gap, Manifest, Source

ROWS, MEMO = 10, 4  # tombstones and events may each take up a tenth of a quota that is used up, calls with their views a quarter


def connect(url: str, *, max_bytes: int, max_age: float, clock: Clock) -> MemoryStore:
    return MemoryStore(url, max_bytes, max_age, clock)


class _Held:
    """An output that is held."""

    __slots__ = ("captured", "manifest", "seq", "shape", "signature")

    def __init__(self, seq: int, manifest: Manifest) -> None:
        self.seq, self.manifest, self.captured, self.signature, self.shape = seq, manifest, 0.0, "", ""


class MemoryStore:
    """A `Store` of plain dicts. Every method takes the one lock: nothing here waits for a disk."""

    def __init__(self, url: str, max_bytes: int, max_age: float, clock: Clock) -> None:
        self.url, self.max_bytes, self.max_age = url, max_bytes, max_age
        self._clock, self._lock, self._closed = clock, RLock(), False
        self._blobs: dict[str, bytes] = {}
        self._pending: dict[str, bytes] = {}
        self._sound: dict[str, bytes] = {}
        self._outputs: dict[tuple[str, str], _Held] = {}
        self._gone: dict[tuple[str, str], tuple[str, str]] = {}
        self._calls: dict[str, list[MemoCall]] = {}
        self._first: dict[tuple[str, str], MemoCall] = {}
        self._ticks: dict[str, int] = {}
        self._sessions: dict[tuple[str, str], bool] = {}
        self._events: list[tuple[str, Event]] = []
        self._uses: dict[str, int] = {}  # how many parts of held outputs each blob is
        self._seq = self._bytes = 0  # _bytes: of blobs and calls; the other rows are counted

    # blobs

    def writer(self) -> Collector:
        return Collector(self.put, self.max_bytes)

    def put(self, data: bytes) -> Blob:
        """Takes bytes in under their hash; until an output refers to them, only this store object knows them."""
        with self._lock:
            self._check_open()
            if len(data) > self.max_bytes:
                raise StoreFull(f"{len(data)} bytes are more than the whole store may hold ({self.max_bytes})")
            name = digest(data)
            self._pending[name] = data
            while len(self._pending) > 256 and sum(map(len, self._pending.values())) > self.max_bytes:
                del self._pending[next(iter(self._pending))]
            return Blob(name, len(data), data.count(b"\n"))

    def open(self, digest: str) -> Source:
        with self._lock:
            data = self._blobs.get(digest, self._pending.get(digest))
        if data is None:
            raise Unknown(digest)
        if self._sound.get(digest) is data:  # bytes do not change: those that were hashed once need it no more
            return BytesSource(data)
        source = BytesSource(data, digest)
        with self._lock:
            if self._blobs.get(digest) is data:
                self._sound[digest] = data
        return source

    # captures

    def commit(self, capture: Capture) -> Capture:
        with self._lock:
            self._check_open()
            check_ref(capture.ref)
            key, now = (capture.scope, capture.ref), self._clock()
            first = self._first.get((capture.context, capture.call_id)) if capture.call_id is not None else None
            if first is not None and self._is_old(first.at):
                del self._first[capture.context, capture.call_id or ""]
                first = None
            if first is not None and first.capture.scope != capture.scope:
                raise Collision("this context and call belong to another scope")
            held = self._outputs.get(key)
            if held is not None and held.manifest != capture.manifest:
                raise Collision(f"{capture.ref} names another output in this scope")
            if first is not None and first.capture.ref != capture.ref and self.first(capture.context, capture.call_id or "") is None:
                # The view that passed was the bytes themselves, and they are gone: there is nothing left to repeat.
                del self._first[capture.context, capture.call_id or ""]
                first = None
            if first is None or first.capture.ref == capture.ref:
                self._hold(key, capture, now)
            if first is None:
                self._record(capture, now)
            given = self._given(first) if first is not None else capture  # before its bytes may go for their age
            self._drop_old()
            self._make_room(key)
            return given

    def _hold(self, key: tuple[str, str], capture: Capture, now: float) -> None:
        held = self._outputs.get(key)
        if held is None:
            for part in capture.manifest.parts:
                if part.blob.digest not in self._blobs and part.blob.digest not in self._pending:
                    raise Unknown(part.blob.digest)
            if (size := sum({part.blob.digest: part.blob.size for part in capture.manifest.parts}.values())) > self.max_bytes:
                raise StoreFull(f"an output of {size} bytes is more than the whole store may hold ({self.max_bytes})")
            for part in capture.manifest.parts:
                name = part.blob.digest
                if name not in self._blobs:
                    self._blobs[name] = self._pending[name]
                    self._bytes += part.blob.size
                self._uses[name] = self._uses.get(name, 0) + 1
            self._seq += 1
            held = self._outputs[key] = _Held(self._seq, capture.manifest)
            self._gone.pop(key, None)
        elif self._is_old(held.captured):  # for its scope it was gone, and comes back as a new one
            for call in [call for call in self._all_calls() if (call.capture.scope, call.capture.ref) == key and self._is_old(call.at)]:
                self._forget_call(call)
            self._seq += 1
            held.seq = self._seq
        for part in capture.manifest.parts:
            self._pending.pop(part.blob.digest, None)
        held.captured, held.signature, held.shape = now, capture.signature, capture.view.shape
        self._outputs[key] = self._outputs.pop(key)
        self._sessions[capture.scope, capture.session] = True

    def _record(self, capture: Capture, now: float) -> None:
        tick = self._ticks[capture.context] = self._ticks.get(capture.context, 0) + 1
        view = capture.view
        kept = Capture(
            capture.scope, capture.session, capture.context, capture.call_id, capture.ref, capture.manifest, capture.signature,
            View(view.head, (), view.gaps, view.shape, view.passed), bytes(capture.shown_lines), bytes(capture.shown_terms),
            capture.elapsed)
        call = MemoCall(kept, texts_to_keep(view, capture.manifest), tick, now)
        self._calls.setdefault(capture.context, []).append(call)
        self._bytes += call.cost
        if capture.call_id is not None:
            self._first[capture.context, capture.call_id] = call
        self._events.extend((capture.scope, event) for event in capture.events)

    def _given(self, call: MemoCall) -> Capture:
        return first_of(call.capture, call.texts, self.open)

    def first(self, context: str, call_id: str) -> Capture | None:
        with self._lock:
            call = self._first.get((context, call_id))
            if call is None or self._is_old(call.at):
                return None
            try:
                return self._given(call)
            except Unknown:
                return None

    def views(self, ref: str) -> Sequence[Capture]:
        with self._lock:
            return [first_of(call.capture, call.texts or (), self.open) for call in self._calls_of(ref)]

    # lookups

    def resolve(self, scope: str, ref: str) -> Output:
        check_ref(ref)
        with self._lock:
            held = self._outputs.get((scope, ref))
            if held is not None:
                if self._is_old(held.captured):
                    raise Expired(ref, rerun(held.manifest))
                return self._output(ref, held)
            gone = self._gone.get((scope, ref))
            if gone is None:
                raise Unknown(ref)
            raise (Expired if gone[0] == "expired" else Evicted)(ref, gone[1])

    def _output(self, ref: str, held: _Held) -> Output:
        return Output(held.seq, ref, held.manifest, held.signature, held.captured, held.shape)

    def recent(self, scope: str, *, session: str | None = None, signature: str | None = None, limit: int = 20,
               before: tuple[float, int] | None = None) -> Sequence[Output]:
        with self._lock:
            refs = None if session is None else {
                call.capture.ref for call in self._all_calls() if call.capture.scope == scope and call.capture.session == session}
            found = [((held.captured, held.seq), self._output(ref, held)) for (place, ref), held in self._outputs.items() if place == scope
                     and not self._is_old(held.captured) and (refs is None or ref in refs) and signature in (None, held.signature)]
        found = [pair for pair in found if before is None or pair[0] < before]
        return [output for _, output in sorted(found, key=lambda pair: pair[0], reverse=True)[:max(limit, 0)]]

    def sessions(self) -> Sequence[tuple[str, str, bool]]:
        with self._lock:
            return sorted((scope, session, not live) for (scope, session), live in self._sessions.items())

    def changes(self, scope: str, after: int, limit: int = 1000) -> Sequence[Output]:
        return [output for output in self._by_seq(scope) if output.seq > after][:max(limit, 0)]

    def older(self, scope: str, before: int | None, limit: int = 1000) -> Sequence[Output]:
        return [output for output in self._by_seq(scope)[::-1] if before is None or output.seq < before][:max(limit, 0)]

    def _by_seq(self, scope: str) -> list[Output]:
        with self._lock:
            found = [self._output(ref, held) for (place, ref), held in self._outputs.items()
                     if place == scope and not self._is_old(held.captured)]
        return sorted(found, key=lambda output: output.seq)

    def shown(self, context: str) -> Sequence[tuple[int, bytes, bytes]]:
        with self._lock:
            return [(call.tick, call.capture.shown_lines, call.capture.shown_terms) for call in self._calls.get(context, ()) if call.shown]

    def _calls_of(self, ref: str) -> list[MemoCall]:
        return sorted((call for call in self._all_calls() if call.capture.ref == ref), key=lambda one: (one.at, one.tick))

    def gaps(self, scope: str, ref: str, context: str | None = None) -> Sequence[Gap] | None:
        with self._lock:
            return newest_gaps(self._calls_of(ref), scope, context)

    def tick(self, context: str) -> int:
        return self._ticks.get(context, 0)

    def forget(self, context: str) -> None:
        with self._lock:
            for call in self._calls.get(context, ()):
                call.shown = False

    def close_session(self, scope: str, session: str) -> None:
        with self._lock:
            if (scope, session) in self._sessions:
                self._sessions[scope, session] = False

    # ledger

    def log(self, scope: str, *events: Event) -> None:
        with self._lock:
            self._check_open()
            self._events.extend((scope, event) for event in events)

    def events(self, scope: str | None = None, *, since: float = 0.0, session: str | None = None,
               kind: str | None = None) -> Iterator[Event]:
        with self._lock:
            found = [event for place, event in self._events
                     if scope in (None, place) and event.at >= since and session in (None, event.session) and kind in (None, event.kind)]
        return iter(found)

    def handled(self, scope: str, refs: Sequence[str]) -> Mapping[str, tuple[float | None, int]]:
        with self._lock:
            calls = sorted((one for one in self._all_calls() if one.capture.scope == scope), key=lambda one: (one.at, one.tick))
            elapsed = {one.capture.ref: one.capture.elapsed for one in calls if one.capture.elapsed is not None}
            fetched = dict.fromkeys(refs, 0)
            for place, event in self._events:
                if place == scope and event.kind == "fetched" and event.ref in fetched:
                    fetched[event.ref] += 1
        return {ref: (elapsed.get(ref), count) for ref, count in fetched.items()}

    # retention

    def _is_old(self, captured: float) -> bool:
        return self._clock() - captured > self.max_age

    def _all_calls(self) -> Iterator[MemoCall]:
        return (call for calls in self._calls.values() for call in calls)

    def _held_bytes(self) -> int:
        return self._bytes + ROW * (len(self._outputs) + len(self._gone) + len(self._events))

    def _drop(self, key: tuple[str, str], reason: str) -> None:
        held = self._outputs.pop(key)
        self._gone[key] = (reason, rerun(held.manifest))
        self._drop_unused(held.manifest)

    def _drop_unused(self, manifest: Manifest) -> None:
        for part in manifest.parts:
            name = part.blob.digest
            self._uses[name] -= 1
            if not self._uses[name]:
                del self._uses[name]
                self._bytes -= len(self._blobs.pop(name))
                self._sound.pop(name, None)

    def _make_room(self, keep: tuple[str, str] | None) -> None:
        if self._held_bytes() <= self.max_bytes:
            return
        self._trim_rows(self.max_bytes // ROWS)
        self._trim_calls(self.max_bytes // MEMO)
        is_open = {(call.capture.scope, call.capture.ref) for call in self._all_calls()
                   if self._sessions.get((call.capture.scope, call.capture.session))}
        for key in sorted(self._outputs, key=lambda key: (key in is_open, self._outputs[key].captured, self._outputs[key].seq)):
            if self._held_bytes() <= self.max_bytes:
                return
            if key != keep:
                self._drop(key, "evicted")
        self._trim_calls(self.max_bytes - self._held_bytes() + sum(call.cost for call in self._all_calls()))

    def _trim_rows(self, limit: int) -> None:
        del self._events[:max(0, len(self._events) - limit // ROW)]
        for key in list(self._gone)[:max(0, len(self._gone) - limit // ROW)]:
            del self._gone[key]

    def _trim_calls(self, limit: int) -> None:
        """Drops the oldest calls of outputs that are gone, then of any, until they take up no more than limit."""
        calls = sorted(self._all_calls(), key=lambda call: ((call.capture.scope, call.capture.ref) in self._outputs, call.at))
        size = sum(call.cost for call in calls)
        for call in calls[:-1]:
            if size <= limit:
                break
            size -= call.cost
            self._forget_call(call)

    def _drop_old(self) -> None:
        """Outputs past their age, and their calls. `_outputs` is in the order of their last capture: the first young one ends it."""
        dropped = set()
        while self._outputs and self._is_old(self._outputs[key := next(iter(self._outputs))].captured):
            self._drop(key, "expired")
            dropped.add(key)
        if dropped:
            for call in [call for call in self._all_calls() if (call.capture.scope, call.capture.ref) in dropped]:
                self._forget_call(call)

    def _forget_call(self, call: MemoCall) -> None:
        capture = call.capture
        self._calls[capture.context].remove(call)
        self._bytes -= call.cost
        if capture.call_id is not None and self._first.get((capture.context, capture.call_id)) is call:
            del self._first[capture.context, capture.call_id]

    def gc(self) -> Usage:
        with self._lock:
            self._drop_old()
            for call in [call for call in self._all_calls() if self._is_old(call.at)]:
                self._forget_call(call)
            self._make_room(None)
            return self.usage()

    def purge(self, scope: str, ref: str, *, everywhere: bool = False) -> None:
        check_ref(ref)
        with self._lock:
            key = (scope, ref)
            if key not in self._outputs and key not in self._gone:
                raise Unknown(ref)
            doomed = {key}
            if everywhere:
                names = {part.blob.digest for other, held in self._outputs.items() if other[1] == ref for part in held.manifest.parts}
                doomed |= {other for other, held in self._outputs.items() if any(part.blob.digest in names for part in held.manifest.parts)}
                doomed |= {other for other in self._gone if other[1] == ref}
            for key in doomed:
                output = self._outputs.pop(key, None)
                self._gone[key] = ("evicted", "")
                if output is not None:
                    self._drop_unused(output.manifest)
                    for part in output.manifest.parts:
                        self._pending.pop(part.blob.digest, None)
            for call in [call for call in self._all_calls() if (call.capture.scope, call.capture.ref) in doomed]:
                self._forget_call(call)
            scopes = {place for place, _ in doomed}  # what a scope searched for may quote what is to be gone
            self._events = [(place, _noteless(event, "") if (place, event.ref) in doomed else
                             _noteless(event, event.ref) if place in scopes and event.kind == "searched" else event)
                            for place, event in self._events]

    def verify(self) -> Verified:
        with self._lock:
            damaged = [(name, "its bytes do not match its hash") for name, data in self._blobs.items() if digest(data) != name]
            damaged += [(ref, "its manifest does not match it") for (_, ref), held in self._outputs.items() if ref_of(held.manifest) != ref]
            return Verified(len(self._blobs), len(self._outputs), tuple(damaged))

    def usage(self) -> Usage:
        with self._lock:
            raw = sum(map(len, self._blobs.values()))
            return Usage(len(self._outputs), len(self._blobs), self._held_bytes(), raw, self.max_bytes, self.max_age)

    def revision(self) -> tuple[int, int, int]:
        with self._lock:
            return len(self._outputs), sum(self._ticks.values()), len(self._events)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._pending.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("this store was closed")


def _noteless(event: Event, ref: str) -> Event:
    from byref.proxy.contracts import Event
    return Event(event.kind, event.at, event.session, ref, event.tool, event.shape, event.numbers)
