"""A session of calls, and what its context was already shown: lines and terms, with the tick of the view that showed them.

Two tiers: what this process showed is held as text, what an earlier one showed is loaded from the store as 8-byte
hashes. A view counts only for calls that began after it had been returned, so a call names the tick at which it began.
"""
from __future__ import annotations

from _thread import allocate_lock

from byref.proxy.contracts import Call, Json, Seen
from byref.proxy.errors import Miss
from byref.proxy.text import short_hash
from byref.proxy.tracing import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from byref.proxy.captured import Captured
    from byref.proxy.contracts import Gap, Layout
    from byref.proxy.gateway import Gateway
    from byref.proxy.intake import Output
    from byref.proxy.reader import Found, Page, Status

HASH = 8  # bytes of a hash in the store
WINDOW = 400  # views of a context that count as shown: a conversation that long has been compacted or trimmed, said or not


class Memory:
    """What a context was shown. Safe for many threads; sessions of one context in one process share it.

    A call in flight reads the dictionaries as they were when it began: a view that comes in meanwhile is put into
    copies. That leaves look-ups at the speed of a plain dictionary where calls follow one another.
    """

    __slots__ = ("_flying", "_hashed_lines", "_hashed_terms", "_lines", "_lock", "_said", "_terms", "gaps", "known", "tick")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._flying = 0
        self.tick = 0  # of the newest view known here
        self.known = 0  # all views up to this tick are known here
        self._lines: dict[str, int] = {}
        self._terms: dict[str, int] = {}
        self._said: tuple[frozenset[str], int] = frozenset(), 0  # terms whose tick is behind in `_terms`, and what it is
        self._hashed_lines: dict[bytes, int] = {}
        self._hashed_terms: dict[bytes, int] = {}
        self.gaps: dict[str, tuple[Gap, ...]] = {}  # of the last view of each ref that was given here

    def load(self, rows: Sequence[tuple[int, bytes, bytes]]) -> None:
        """Takes in views of other processes: rows of `Store.shown` that are not known here."""
        with self._lock:
            known, newest = self.known, self.known
            lines, terms = dict(self._hashed_lines), dict(self._hashed_terms)
            for tick, line_hashes, term_hashes in rows:
                if tick > known:
                    newest = max(newest, tick)
                    _collect(lines, line_hashes, tick)
                    _collect(terms, term_hashes, tick)
            self._hashed_lines, self._hashed_terms = lines, terms
            self.known, self.tick = newest, max(newest, self.tick)

    def enter(self, began: int) -> Seen:
        """What counts as shown for a call that began at this tick. Every `enter` needs its `leave`."""
        with self._lock:
            self._flying += 1
            bounded = began < self.tick or self.tick > WINDOW
            if bounded or self._hashed_terms:  # else nobody asks for ticks
                self._catch_up()
            return Seen(_before(self._lines, self._hashed_lines, began, bounded),
                        _before(self._terms, self._hashed_terms, began, bounded), True)

    def leave(self) -> None:
        """The call is over; nothing reads the dictionaries for it any more."""
        with self._lock:
            self._flying -= 1

    def add(self, tick: int, lines: Iterable[str], *terms: Iterable[str], said: frozenset[str] = frozenset()) -> None:
        """A view was returned with this tick. said: terms that most views of a context come with, such as its task's, as one object."""
        with self._lock:
            if self._flying:  # a call of another thread reads them; the one that adds has left
                self._lines, self._terms = dict(self._lines), dict(self._terms)
            self.tick = max(self.tick, tick)
            if tick == self.known + 1:  # else another process or thread put views in between: they are yet to be loaded
                self.known = tick
            self._lines.update(dict.fromkeys(lines, tick))
            if said is not self._said[0]:
                self._catch_up()
                self._terms.update(dict.fromkeys(said, tick))
            self._said = said, tick
            for new in terms:
                self._terms.update(dict.fromkeys(new, tick))

    def _catch_up(self) -> None:
        """Gives the terms that were said with each view the tick of the last."""
        self._terms.update(dict.fromkeys(*self._said))

    def give(self, ref: str, gaps: tuple[Gap, ...]) -> None:
        """A view of an output was returned, which left these out."""
        with self._lock:
            self.gaps.pop(ref, None)
            self.gaps[ref] = gaps
            if len(self.gaps) > WINDOW:
                del self.gaps[next(iter(self.gaps))]

    def forget(self) -> None:
        """The context was compacted: nothing counts as shown any more."""
        with self._lock:
            self.gaps = {}
            self._lines, self._terms, self._hashed_lines, self._hashed_terms, self._said = {}, {}, {}, {}, (frozenset(), 0)


class _Before:
    """The texts shown up to a tick, within the window: first what is held as text, then what is held as a hash."""

    __slots__ = ("began", "hashed", "live")

    def __init__(self, live: dict[str, int], hashed: dict[bytes, int], began: int) -> None:
        self.live, self.hashed, self.began = live, hashed, began

    def __contains__(self, text: object) -> bool:
        oldest = self.began - WINDOW
        if oldest < self.live.get(text, oldest) <= self.began:  # type: ignore[call-overload]
            return True
        return bool(self.hashed) and isinstance(text, str) and oldest < self.hashed.get(short_hash(text), oldest) <= self.began


class _Both:
    """The texts that two containers hold."""

    __slots__ = ("first", "second")

    def __init__(self, first: Container[str], second: Container[str]) -> None:
        self.first, self.second = first, second

    def __contains__(self, text: object) -> bool:
        return text in self.second and text in self.first


def still(seen: Seen, former: str) -> Seen:
    """What counts as shown where the same call gave another output before: lines that stood in that one, too.

    A line that was shown, then gone, and is back is news: the agent believes what it read last.
    """
    held = set()
    for line in former.split("\n"):
        text = line.strip()
        held.add(text)
        number = len(text) - len(text.lstrip("0123456789"))
        if number and text[number:number + 1] in ("→", "\t", ":", "|", "-"):
            held.add(text[number + 1:].strip())
    return Seen(_Both(seen.lines, held), seen.terms, seen.proven)


def _before(live: dict[str, int], hashed: dict[bytes, int], began: int, bounded: bool) -> Container[str]:
    return _Before(live, hashed, began) if bounded or hashed else live


def _collect(into: dict[bytes, int], hashes: bytes, tick: int) -> None:
    for at in range(0, len(hashes), HASH):
        into[hashes[at:at + HASH]] = tick


def hashes(texts: Iterable[str]) -> bytes:
    """The 8-byte hashes of texts, in order of the hashes, as the store keeps them."""
    return b"".join(sorted(map(short_hash, texts)))


class Session:
    """One agent's calls in one context. Made by `Gateway.session`; safe for many threads, and a context manager.

    name groups calls for retention, filters and the ledger; scope bounds what can be fetched; context is one
    conversation window; task is what the agent was set to do.
    """

    def __init__(self, gateway: Gateway, name: str, scope: str, task: str, context: str, proven: bool) -> None:
        self.name, self.scope, self.task, self.context, self.proven = name, scope, task, context, proven
        self.gateway = gateway

    def begin(self) -> int:
        """Notes that a call begins now. Views returned later do not count as shown for it: pass it to `capture` as began."""
        return self.gateway.began(self.context) if self.proven else 0

    def capture(self, *, tool: str, output: Output, args: Json = None, exit_code: int | None = None, is_error: bool = False,
                call_id: str | None = None, intent: str = "", said: str = "", budget: int | None = None, raw: bool = False,
                began: int | None = None, elapsed: float | None = None, media: Mapping[str, str] | None = None,
                native: int | None = None, aside: Collection[str] = (), layout: Layout | None = None) -> Captured:
        """Stores the output of a call and returns its view.

        output: text, bytes, a binary or text stream, or named parts of these. One that is not named is the part `stdout`
        of a tool that runs commands (Bash, shell, execute_command, ...) and `text` of any other. intent: what the caller
        looks for; said: what the agent wrote just before the call. The same call_id in the same context returns the
        first bytes for ever. budget: at most about so many tokens. raw: pass the output whole, and store it all the
        same. began: what `begin` gave. elapsed: seconds the call took. media: media types by part. native: characters
        of it that the harness itself would show, -1 for all: no more can be saved; where nobody says it, the ledger counts no more
        than the first 30,000 bytes of it. aside: parts that are stored with the others but
        neither shown nor counted, such as images and copies: of them the view holds empty texts. layout: which members of a
        JSON output matter.

        Never fails for a fault of ours: then the raw output passes, `ref` is empty and `warning` says why. Raises
        TypeError for what is no output and `Invalid` for a part's name that no address can carry.
        """
        with span("capture", tool=tool, session=self.name) as traced:
            found = self.gateway.capture(
                self, Call(tool, args, exit_code, is_error, intent, said, self.task, layout), output, call_id=call_id, budget=budget,
                raw=raw, began=began, elapsed=elapsed, media=media, native=native, aside=aside)
            traced.set(ref=found.ref, shape=found.shape, passed=found.passed, gaps=len(found.gaps))
        return found

    def fetch(self, ref: str, at: str | None = None, *, part: str | None = None, max_tokens: int | None = 8000, cursor: str | None = None,
              encoding: str | None = None) -> Page:
        """One page of a stored output: exact bytes, never filtered. See `byref.proxy.reader.fetch`."""
        from byref.proxy.reader import fetch
        with span("fetch", ref=ref[:64], session=self.name) as traced:
            try:
                page = fetch(self.gateway.store, self.scope, ref, at, part=part, max_tokens=max_tokens, cursor=cursor, encoding=encoding,
                             log=lambda page: self.gateway.fetched(self, page))
            except Miss as fault:
                self.gateway.missed(self, fault)
                raise
            traced.set(tool=page.tool, bytes=len(page.data), more=page.cursor is not None)
        return page

    def blocks(self, ref: str, part: str | None = None) -> Iterator[bytes]:
        """All bytes of an output, or of one part, in pieces, checked against the whole hash at the end."""
        from byref.proxy.reader import blocks
        return blocks(self.gateway.store, self.scope, ref, part)

    def search(self, query: str, refs: Sequence[str] | None = None, *, tool: str | None = None, signature: str | None = None,
               outcome: str | None = None, kind: str | None = None, since: str | None = None, session: str | None = None,
               timebox_ms: int = 1000, k: int | None = None, max_tokens: int = 1200, layers: Sequence[str] | None = None,
               emphasis: str = "balanced", explain: bool = False, weights: Mapping[str, float] | None = None, profile: str = "cascade",
               like: str | None = None) -> Found:
        """Where something stands in the outputs of this scope, or in those of refs. See `byref.proxy.searching.search`.

        like: instead of a query, a ref and an address, as `rk7f3qmab2x L10-20`: places that are like it. Raises for it what `fetch` raises.
        layers: also `native:NAME`, which asks an upstream's own search and stores what it answers.
        """
        if layers is not None and any(name.startswith("native:") for name in layers):
            from byref.proxy.discover import load
            asked: Found = load("frontends", "native").search(
                self, query, refs, layers, timebox_ms, tool=tool, signature=signature, outcome=outcome, kind=kind, since=since,
                session=session, k=k, max_tokens=max_tokens, emphasis=emphasis, explain=explain, weights=weights, profile=profile,
                like=like)
            return asked
        from byref.proxy.reader import search, stretch
        place = None if like is None else stretch(self.gateway.store, self.scope, *(like.split(None, 1) or [""]))
        memory = self.gateway.memory(self.context) if self.proven and refs is not None else None
        given = None
        if refs is not None:
            from byref.proxy.unseen import Given
            given = Given(Seen() if memory is None else memory.enter(memory.tick), self._gaps(memory), memory is not None)
        try:
            with span("search", session=self.name, timebox_ms=timebox_ms) as traced:
                found = search(self.gateway.store, self.scope, query, refs, tool=tool, signature=signature, outcome=outcome, kind=kind,
                               since=since, session=session, timebox_ms=timebox_ms, k=k, max_tokens=max_tokens, layers=layers,
                               emphasis=emphasis, explain=explain, weights=weights, like=place, profile=profile,
                               indexes=self.gateway.indexes, given=given)
                traced.set(hits=len(found.hits), outputs=found.outputs, searched=found.searched)
        except Miss as fault:
            self.gateway.missed(self, fault)
            raise
        finally:
            if memory is not None:
                memory.leave()
        self.gateway.searched(self, found)
        return found

    def _gaps(self, memory: Memory | None) -> Callable[[str], Sequence[Gap] | None]:
        """What the last view of a ref left out, here or before this process began; in any context of the scope where ours is not proven."""
        def gaps(ref: str) -> Sequence[Gap] | None:
            held = None if memory is None else memory.gaps.get(ref)
            return held if held is not None else self.gateway.store.gaps(self.scope, ref, None if memory is None else self.context)
        return gaps

    def similar(self, ref: str, at: str | None = None, *, refs: Sequence[str] | None = None, tool: str | None = None,
                signature: str | None = None, outcome: str | None = None, kind: str | None = None, since: str | None = None,
                session: str | None = None, timebox_ms: int = 1000, k: int | None = None, max_tokens: int = 1200,
                layers: Sequence[str] | None = None, emphasis: str = "balanced", explain: bool = False,
                weights: Mapping[str, float] | None = None, profile: str = "cascade") -> Found:
        """What is like a stretch of an output of this scope, or like all of it: places elsewhere, near-duplicates told as such."""
        return self.search("", refs, tool=tool, signature=signature, outcome=outcome, kind=kind, since=since, session=session,
                           timebox_ms=timebox_ms, k=k, max_tokens=max_tokens, layers=layers, emphasis=emphasis, explain=explain,
                           weights=weights, profile=profile, like=f"{ref} {at or ''}")

    def status(self) -> Status:
        """What the scope holds and what was cached lately."""
        from byref.proxy.reader import status
        return status(self.gateway.store, self.scope, indexes=self.gateway.indexes)

    def purge(self, ref: str, *, everywhere: bool = False) -> None:
        """Removes an output and every trace of it from this scope."""
        self.gateway.purge(ref, scope=self.scope, everywhere=everywhere)

    def compacted(self) -> None:
        """The conversation was compacted: what was shown before it no longer counts. First bytes of calls stay."""
        self.gateway.compacted(self)

    def close(self) -> None:
        """The session is over: retention may take its outputs before those of open ones. Its refs stay valid."""
        self.gateway.end(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
