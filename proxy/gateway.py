"""A call: taken in, stored, viewed, committed, and only then returned. The same way for every frontend.

If anything of ours breaks on that way, the raw output passes with a warning and without a ref (invariants 8 and 9).
On the cold path of `byref run`: filters load with the first output that may be reduced.
"""
from __future__ import annotations

import os
import time
from _thread import allocate_lock

from byref.proxy import config
from byref.proxy.captured import Captured, again, repeatable, whole
from byref.proxy.contracts import Call, Capture, Manifest, Part, Seen, View
from byref.proxy.errors import ByrefError, ConfigError
from byref.proxy.faults import FaultLog
from byref.proxy.intake import Raw, parts, to_bytes
from byref.proxy.ledger import events
from byref.proxy.session import Memory, Session, hashes, still
from byref.proxy.signature import signature, tool_kind
from byref.proxy.text import SMALL, around, canonical_of, estimate, ref_of, terms_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import TracebackType

    from byref.proxy.contracts import Clock, Event, RuleFile, Store, Usage, Verified
    from byref.proxy.errors import Miss
    from byref.proxy.indexing import Indexes
    from byref.proxy.intake import Output
    from byref.proxy.ledger.log import EventLog
    from byref.proxy.ledger.report import Report
    from byref.proxy.reader import Found, Page
    from byref.proxy.rulebook import Rulebook

__all__ = ["Gateway", "Session", "open"]

_PASSED = View("", ())
_COMPARED = 1 << 18  # bytes of a former output that a new one is compared with
_CONTEXTS = 256  # contexts whose lines are held in memory; a daemon sees many, few of them at a time
_GONE = "not stored, the raw output passed: this call was answered before, and what it was answered is no longer kept"


def open(url: str | None = None, *, profile: str | None = None, scope: str | None = None, max_bytes: int | None = None,
         max_age: float | None = None, late_model: str | None = None, clock: Clock | None = None) -> Gateway:
    """A gateway over the store at url: `file:` and a folder, `memory:`, or None for the user's own.

    profile: safe, auto or lean. scope: fixes the scope of all sessions, which otherwise is each session's name. max_bytes
    and max_age (seconds) bound what is kept. late_model: of the layer `late`, a folder, a name beside the other models, or `owner/name`
    on the hub, the same for all gateways of a process. clock gives seconds since the epoch. Raises `ConfigError`.
    """
    settings = config.load(url=url, profile=profile, scope=scope, max_bytes=max_bytes, max_age=max_age, late_model=late_model)
    return Gateway(settings, clock or time.time, fixed=scope)


class Gateway:
    """Stores outputs, makes views, answers second calls. Safe for many threads.

    A store that cannot be opened does not stop a call: outputs pass raw, with a warning, until it can.
    """

    def __init__(self, settings: config.Settings, clock: Clock = time.time, *, fixed: str | None = None) -> None:
        self.settings = settings
        self.clock = clock
        self.faults = FaultLog(settings.folder, clock)
        self._fixed = fixed
        self._lock = allocate_lock()
        self._memories: dict[str, Memory] = {}
        self._calls: dict[tuple[str, str], dict[str, str]] = {}
        self._shared = settings.url != "memory:"  # other processes may hold the same store
        self._store: Store | None = None
        self._closed = False
        self._rulebook: Rulebook | None = None
        self._problems: set[str] = set()
        self._indexes: Indexes | None = None
        self._events: EventLog | None = None
        if settings.log is not None and self._shared:
            from byref.proxy.ledger.log import EventLog
            self._events = EventLog(*settings.log, self.faults.add)
        try:
            self.store  # noqa: B018  a URL that cannot be used is told at once, a store that is down when it is needed
        except ConfigError:
            raise
        except (ByrefError, OSError) as fault:
            self.faults.add("open", fault)

    @property
    def store(self) -> Store:
        """The store, opened if need be. Raises a `StoreError` where it cannot be opened."""
        with self._lock:
            if self._closed:
                raise ConfigError("this gateway is closed; open another one")
            if self._store is None:
                from byref.proxy.store import open_store
                settings = self.settings
                self._store = open_store(settings.url, max_bytes=settings.max_bytes, max_age=settings.max_age, clock=self.clock)
            return self._store

    def session(self, name: str, *, task: str = "", context: str | None = None, scope: str | None = None,
                proven: bool = True) -> Session:
        """A session, in a new context or in the one named.

        Without a scope here or at `open`, the name is the scope. proven: False where the frontend cannot tell what the
        agent's context holds; then nothing collapses as already shown.
        """
        if not name:
            raise ConfigError("a session needs a name")
        return Session(self, name, scope or self._fixed or name, task, context or os.urandom(10).hex(), proven)

    def memory(self, context: str) -> Memory:
        """What a context was shown, shared by all its sessions in this process and up to date with the store."""
        with self._lock:
            memory = self._memories[context] = self._memories.pop(context, Memory())  # the last in line
            if self._shared and len(self._memories) > _CONTEXTS:  # what is dropped can be read from the store again
                del self._memories[next(iter(self._memories))]
        if self._shared and self.store.tick(context) > memory.known:
            memory.load(self.store.shown(context))
        return memory

    def began(self, context: str) -> int:
        """The tick of the newest view of a context; 0, before all views, where the store cannot say."""
        try:
            return self.memory(context).tick
        except (ByrefError, OSError) as fault:
            self.faults.add("begin", fault)
            return 0

    def forget(self, context: str) -> None:
        """What was shown in a context no longer counts, here and in the store."""
        with self._lock:
            memory = self._memories.get(context)
        if memory is not None:
            memory.forget()
        self.store.forget(context)

    def end(self, session: Session) -> None:
        """A session is closed: said to the store, and forgotten here, since one that is resumed is read from the store."""
        if self._shared:
            with self._lock:
                self._memories.pop(session.context, None)
                self._calls.pop((session.scope, session.name), None)
        try:
            self.store.close_session(session.scope, session.name)
        except (ByrefError, OSError) as fault:  # it costs retention a hint, and the caller nothing
            self.faults.add("close", fault)

    def capture(self, session: Session, call: Call, output: Output, *, call_id: str | None = None, budget: int | None = None,
                raw: bool = False, began: int | None = None, elapsed: float | None = None,
                media: Mapping[str, str] | None = None, native: int | None = None, aside: Collection[str] = ()) -> Captured:
        """See `Session.capture`."""
        raws = parts(output, "stdout" if tool_kind(call.tool) == "shell" else "text", media)
        try:
            store = self.store
            first = None if call_id is None else store.first(session.context, call_id)
            if first is not None and first.scope == session.scope and repeatable(store, first):
                return again(store, first)
            memory = self.memory(session.context) if session.proven else None
            for part in raws:
                part.begin(store, beside=self._shared)
            return self._commit(store, session, memory, call, raws, call_id, budget, raw, began, elapsed, native, aside)
        except Exception as fault:  # whatever it is: the tool's output goes through
            for part in raws:
                part.abandon()
            if any(part.broken is fault for part in raws):  # the tool's own fault is for the caller, as it would be without us
                raise
            warning = f"not stored, the raw output passed: {self.faults.add('capture', fault)}"
            return Captured(raws, _PASSED, "", call.exit_code, call.is_error, warning)

    def _commit(self, store: Store, session: Session, memory: Memory | None, call: Call, raws: Sequence[Raw], call_id: str | None,
                budget: int | None, raw: bool, began: int | None, elapsed: float | None, native: int | None,
                aside: Collection[str]) -> Captured:
        held = tuple([(Part(part.name, part.media, part.stored), part) for part in raws])
        written = canonical_of(call)
        manifest = Manifest(call.tool, written, tuple([part for part, _ in held]), call.exit_code, call.is_error)
        ref = ref_of(manifest)
        told = [pair for pair in held if pair[0].name not in aside]
        size = sum([part.size for _, part in told])
        root = session.scope.partition(":")[2]
        mark = signature(call.tool, call.arguments, root=root if root.startswith("/") else "", home=self.settings.user, written=written)
        former = self._former(store, session, mark)
        call_again = "\0" + mark  # kept among the terms of the context, of which none holds a NUL
        view, warning = _PASSED, ""
        if not raw and size and (memory is not None or size > SMALL):
            seen = Seen() if memory is None else memory.enter(memory.tick if began is None else began)
            if former and former != ref and seen.proven:
                seen = still(seen, self._text(store, session.scope, former))
            # Who makes a call again in a context misses what its first view hid: then only what was shown collapses.
            profile = "safe" if call_again in seen.terms else self.settings.profile
            try:
                view = self._view(store, session.scope, ref, told, call, seen, profile, budget)
            except Exception as fault:  # the filters' fault costs the view, not the output nor its ref
                warning = f"no view, the raw output passed: {self.faults.add('view', fault)}"
            finally:
                if memory is not None:
                    memory.leave()
        text = "" if view.passed else whole(view.head, view.texts)
        if not view.passed and len(to_bytes(text)) > size:
            view = View("", (), shape=view.shape)
        if len(told) < len(held) and not view.passed:
            texts = dict(zip([part.name for part, _ in told], view.texts, strict=True))
            every = tuple(texts.get(part.name, "") for part, _ in held)
            view = View(view.head, every, view.gaps, view.shape, False, view.lines, view.terms)
        terms = [view.terms]
        task: frozenset[str] = frozenset()
        if memory is not None:
            terms += *map(terms_said, around(call)), frozenset((call_again,))
            task = terms_said(f"{call.task}\n{call.intent}")
        keep = memory is not None and self._shared
        tokens = sum([part.tokens for _, part in told])
        if native is not None and native != events.WHOLE:
            tokens = min(tokens, estimate(" " * native))
        capture = Capture(
            session.scope, session.name, session.context, call_id, ref, manifest, mark,
            View("", (), (), view.shape) if view.passed else view,  # a view that passed is its parts
            hashes(view.lines) if keep else b"", hashes(task.union(*terms)) if keep else b"", elapsed,
            events.captured(at=self.clock(), session=session.name, ref=ref, tool=call.tool, shape=view.shape, size=size, raw=tokens,
                            view=tokens if view.passed else estimate(text), parts=len(raws), gaps=len(view.gaps),
                            repeats=former, text="" if view.passed else text, native=native,
                            aside=sum([1 << i for i, (part, _) in enumerate(held) if part.name in aside]) if aside else 0))
        for part in raws:
            part.written()
        committed = store.commit(capture)
        if committed is not capture:
            held_still = repeatable(store, committed)
            return again(store, committed) if held_still else Captured(raws, _PASSED, "", call.exit_code, call.is_error, _GONE)
        if self._events is not None:
            self._events.note(session.scope, capture.events)
        self._note(session, mark, ref)
        if memory is not None:
            memory.add(store.tick(session.context), view.lines, *terms, said=task)
            memory.give(ref, view.gaps)
        for part in raws:
            part.settle(store)
        return Captured(raws, view, ref, call.exit_code, call.is_error, warning)

    def _text(self, store: Store, scope: str, ref: str) -> str:
        """The text of a former output; nothing where it is too large to compare with, or no longer held."""
        try:
            sources = [store.open(part.blob.digest) for part in store.resolve(scope, ref).manifest.parts]
            if sum(source.size for source in sources) > _COMPARED:
                return ""
            return "\n".join([bytes(source.read()).decode("utf-8", "replace") for source in sources])
        except (ByrefError, OSError):
            return ""

    def _former(self, store: Store, session: Session, mark: str) -> str:
        """The ref of the last output of the same call in this session, or nothing."""
        with self._lock:
            former = self._calls.get((session.scope, session.name), {}).get(mark, "")
        if not former and self._shared:
            outputs = store.recent(session.scope, session=session.name, signature=mark, limit=1)
            former = outputs[0].ref if outputs else ""
        return former

    def _note(self, session: Session, mark: str, ref: str) -> None:
        with self._lock:
            if self._shared and len(self._calls) > _CONTEXTS:
                self._calls.clear()
            self._calls.setdefault((session.scope, session.name), {})[mark] = ref

    def _view(self, store: Store, scope: str, ref: str, held: Sequence[tuple[Part, Raw]], call: Call, seen: Seen, profile: str,
              budget: int | None) -> View:
        from byref.filters import render
        from byref.proxy.store.source import BytesSource
        sources = [(part, raw.source(store, BytesSource)) for part, raw in held]
        rules = self.rules(scope) if sum([part.size for _, part in sources]) > SMALL else ()  # else none is asked, nor looked for
        return render.view(ref, sources, call, seen, profile, budget, rules, self._misruled)

    def rules(self, scope: str) -> tuple[RuleFile, ...]:
        """The rules of the user and of the project that a scope names, which go before those of byref. Raises nothing."""
        from byref.proxy.rulebook import Rulebook
        if self._rulebook is None:
            self._rulebook = Rulebook(self.settings.home)
        try:
            return self._rulebook.files(scope)
        except (OSError, ValueError) as fault:  # the home cannot be read: the rules of byref are left
            self.faults.add("rules", fault)
            return ()

    def _misruled(self, problem: str) -> None:
        """A rule that cannot be used is skipped; it is logged once."""
        if problem not in self._problems:
            self._problems.add(problem)
            self.faults.add("rule", ConfigError(problem))

    def fetched(self, session: Session, page: Page) -> None:
        """Logs a second call. A store that cannot be written still answers."""
        self._log(session.scope, lambda: events.fetched(at=self.clock(), session=session.name, ref=page.ref, tool=page.tool,
                                                        shape=page.shape, tokens=page.tokens, size=len(page.data), address=page.address))

    def searched(self, session: Session, found: Found) -> None:
        """Logs a search. A store that cannot be written still answers."""
        self._log(session.scope, lambda: events.searched(
            at=self.clock(), session=session.name, tokens=estimate(found.text), hits=len(found.hits), query=found.query,
            meant=(hit.ref for hit in found.hits if events.meant(hit.signals)), times=found.timeline.numbers() if found.timeline else {}))

    def missed(self, session: Session, fault: Miss) -> None:
        """Logs a second call that found nothing: it is a request all the same."""
        self._log(session.scope, lambda: events.missed(self.clock(), session.name, estimate(str(fault)), fault.reason))

    def compacted(self, session: Session) -> None:
        """What was shown in a session's context no longer counts, and its outputs are read no longer."""
        self.forget(session.context)
        self._log(session.scope, lambda: events.compacted(at=self.clock(), session=session.name))

    def _log(self, scope: str, event: Callable[[], Event]) -> None:
        try:
            self.log(scope, event())
        except (ByrefError, OSError) as fault:
            self.faults.add("log", fault)

    def log(self, scope: str, *found: Event) -> None:
        """Adds events to the ledger, and to the file of events where one is kept. Raises `StoreError`."""
        self.store.log(scope, *found)
        if self._events is not None:
            self._events.note(scope, found)

    @property
    def indexes(self) -> Indexes:
        """The layers over the store, made when first needed."""
        store = self.store
        from byref.proxy.indexing import Indexes
        with self._lock:
            if self._indexes is None:
                self._indexes = Indexes(store, self.settings.folder, self.faults.add, self.settings.late_model)
            return self._indexes

    def _indexed(self) -> Indexes | None:
        """The layers, where they may hold something of an output."""
        if self._indexes is None and not (self.settings.folder and os.path.isdir(os.path.join(self.settings.folder, "layers"))):
            return None
        return self.indexes

    def gc(self) -> Usage:
        """Applies age and quota now, in the store and in every layer. Returns what is left."""
        usage, indexes = self.store.gc(), self._indexed()
        if indexes is None:
            return usage
        indexes.sweep()
        return self.store.usage()

    def purge(self, ref: str, *, scope: str | None = None, everywhere: bool = False) -> None:
        """Removes an output and every trace of it from a scope; with everywhere its bytes go even if others hold them too."""
        boundary = scope or self._fixed
        if boundary is None:
            raise ConfigError("say which scope to purge from: gateway.purge(ref, scope=…), or session.purge(ref)")
        indexes = self._indexed()
        blobs = [] if indexes is None else indexes.blobs(boundary, ref)
        try:
            self.store.purge(boundary, ref, everywhere=everywhere)
        finally:  # a store that could not end has let the output go all the same
            if indexes is not None and blobs:
                indexes.forget(boundary, blobs, everywhere)
            if self._events is not None:
                self._events.purge(ref, None if everywhere else boundary)
        with self._lock:
            for calls in self._calls.values():
                for mark in [mark for mark, former in calls.items() if former == ref]:
                    del calls[mark]

    def verify(self) -> Verified:
        """Derives every hash again."""
        return self.store.verify()

    def report(self, *, scope: str | None = None, session: str | None = None, since: float = 0.0, recount: bool = False,
               definition: int = 0) -> Report:
        """What was saved, by tool and by shape, net of what it cost; over all scopes unless one is named or fixed.

        recount: tokens are counted first where a tokenizer is installed and the store still holds the text, instead of estimated.
        definition: tokens of our tools' definitions, where agents have them.
        """
        from byref.proxy.counting import reported
        return reported(self.store, self.clock, scope or self._fixed, session, since, recount, definition)

    def close(self) -> None:
        """Closes the store. Harmless when done twice."""
        with self._lock:
            store, self._store, self._closed = self._store, None, True
            indexes, self._indexes = self._indexes, None
        if indexes is not None:
            indexes.close()
        if store is not None:
            store.close()

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
