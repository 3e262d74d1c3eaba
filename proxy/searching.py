"""Search: where something stands in the outputs of a scope, by all layers there are; ranked, bounded, accounted for.

Each hit has an address that fetch takes. Scores are integers; what is scored alike comes newest first, by the catalog's own
sequence numbers. A search that was not cut by its timebox gives the same answer on every machine.
"""
from __future__ import annotations

import time

from byref.layers import fusion, ranking
from byref.layers.fusion import of_late
from byref.layers.orchestrator import ABORTED, RAN, SKIPPED
from byref.layers.workers import prompt
from byref.proxy import anytime, likeness
from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid, Miss
from byref.proxy.excerpts import Hit, fitting
from byref.proxy.facts import facts, known_sources
from byref.proxy.indexing import Indexes, scope_of
from byref.proxy.opened import Opened
from byref.proxy.places import places
from byref.proxy.query import AS_IT_IS, parse
from byref.proxy.rephrasing import Forms
from byref.proxy.signature import tool_kind
from byref.proxy.text import check_ref, estimate
from byref.proxy.unseen import unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byref.layers.contract import Scope
    from byref.layers.orchestrator import Answer
    from byref.layers.ranking import Ranked
    from byref.proxy.anytime import Timeline
    from byref.proxy.contracts import Json, Output, Store
    from byref.proxy.likeness import Stretch
    from byref.proxy.query import Query
    from byref.proxy.unseen import Given

LIMIT = 5000  # outputs of one search that a session or a signature narrows
_SHORTEST = 60  # tokens of a hit, roughly: no more of them are looked into than an answer can hold
_CUT = 100  # best hits of a layer that are ranked for candidates, and where time is over
HITS = 50  # where neither k nor the size bounds them before
MAX_TOKENS = 1200
LEAST = 100  # tokens: a head, a line, and what ran
LONGEST = 86_400_000  # milliseconds of a timebox: a day. What no clock can wait for would be a fault
USAGE = "say what to look for: words, an exact text, or /regex/ (RE2)\n"
OLDER = "older outputs were not listed in time: search again"
OUTCOMES = ("success", "failure")
EMPHASES = tuple(fusion.EMPHASES)
PROFILES = fusion.PROFILES
_NOT_THROUGH = ("names", "fuzzy")  # layers that do not look through outputs
_TWINS = 3  # outputs that are named as holding the very same
_MISSED = 12  # tokens that are named as not found
_OF_MANY = 4  # the same where far more are not: such a query is prose


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search. hits: best first. layers: what became of each. uncovered: tokens of the query found nowhere;
    where no layer looked for words, those that nothing comes near.

    searched of outputs were looked at whole. text: all of it as an agent reads it. explanation: where it was asked for, how each
    hit came to its place, as docs/explain-2.schema.json says. timeline: when each layer was through; equal answers may differ in that.
    """

    query: str
    hits: tuple[Hit, ...]
    layers: tuple[Ran, ...]
    uncovered: tuple[str, ...]
    outputs: int
    searched: int
    filters: Mapping[str, str]
    text: str
    explanation: Mapping[str, Json] | None = None
    timeline: Timeline | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Found) and self._told() == other._told()

    __hash__ = None  # type: ignore[assignment]  # it holds mappings

    def _told(self) -> tuple[object, ...]:
        return (self.query, self.hits, self.layers, self.uncovered, self.outputs, self.searched, self.filters, self.text, self.explanation)


@dataclass(frozen=True, slots=True)
class Ran:
    """A layer and what became of it. status: ran, aborted (time was over), skipped. hits: places that it contributed.

    coverage: of the outputs searched, in basis points, how many it looked at whole.
    """

    name: str
    status: str
    hits: int
    note: str = ""
    coverage: int = 10_000


@prompt()
def search(store: Store, scope: str, text: str, refs: Sequence[str] | None = None, *, tool: str | None = None, signature: str | None = None,
           outcome: str | None = None, kind: str | None = None, since: str | None = None, session: str | None = None,
           timebox_ms: int = 1000, k: int | None = None, max_tokens: int = MAX_TOKENS, layers: Sequence[str] | None = None,
           emphasis: str = "balanced", profile: str = fusion.CASCADE, explain: bool = False,
           weights: Mapping[str, float] | None = None, like: Stretch | None = None, indexes: Indexes | None = None,
           given: Given | None = None, cached: bool = True, clock: Callable[[], float] = time.monotonic) -> Found:
    """Where a text, a pattern between slashes, or words stand in the outputs of a scope, or in those of refs.

    tool, signature, outcome (success, failure), kind (a shape's name), since (a ref: what came after it) and session
    narrow the outputs, for every layer alike. timebox_ms: after that, a day at most, the answer is what was found so far. k: hits at most;
    max_tokens: of the text, by estimate. layers: only these, by name. emphasis: precision, recall or balanced. profile: what
    orders places of one tier, as `fusion` has it: cascade, rrf or weighted. weights: what words of
    the query weigh, 1 being as they are and 0 as if they were not asked for. like: instead of a query, the stretch of an output that
    places are to be like; it is none of them, and a near-duplicate has the signal `duplicate`.
    indexes: of the store; without them nothing is indexed,
    and only layers that need none find anything. given: what the caller's context was shown, where that is proven. cached: layers may
    give what they answered before. Raises a `Miss` for a ref that cannot be read and `Invalid` for a filter, bound or weight that is
    none; a query raises nothing.
    """
    if outcome not in (None, *OUTCOMES):
        raise Invalid(f"outcome is success or failure, not {str(outcome)[:20]!r}")
    if timebox_ms < 1 or max_tokens < LEAST or (k is not None and k < 1):
        raise Invalid(f"timebox_ms and k are at least 1, max_tokens at least {LEAST}")
    timebox_ms = min(timebox_ms, LONGEST)
    if emphasis not in EMPHASES:
        raise Invalid(f"emphasis is one of {', '.join(EMPHASES)}, not {str(emphasis)[:20]!r}")
    if profile not in PROFILES:
        raise Invalid(f"profile is one of {', '.join(PROFILES)}, not {str(profile)[:20]!r}")
    filters = {name: value for name, value in (
        ("tool", tool), ("signature", signature), ("outcome", outcome), ("kind", kind), ("since", since), ("session", session)) if value}
    if like is not None and text.strip():
        raise Invalid("a search is for a query, or for what is like an address: give one of them")
    query = parse(text, weights) if like is None else likeness.query_of(like, weights)
    if not query.text:
        return Found("", (), (), (), 0, 0, filters, USAGE)
    zero = time.perf_counter_ns()
    held = indexes or Indexes(store, None, lambda where, fault: None)
    held.asked()
    orchestrator = held.orchestrator(scope) if cached else held.uncached(scope)
    orchestrator.check(layers)
    began = clock()
    view = _scope(store, scope, refs, filters, held, time.monotonic() + timebox_ms / 2000)
    timebox = max(0.0, timebox_ms / 1000 - (clock() - began))

    def ask(form: Query, seconds: float) -> Sequence[Answer]:
        return likeness.without(orchestrator.search(form, view, seconds, layers, clock, lambda found: ranking.candidates(form, view, [
            one.cut(_CUT) for one in likeness.without(found, form)], emphasis)), form)
    forms = Forms(query)
    answers = ask(query, timebox)
    whole, every = forms.joined(answers, ask, lambda: timebox_ms / 1000 - (clock() - began))
    # Each hit costs the ranking some microseconds: an answer that was cut is not to be late for what nobody will see.
    best = [one.cut(_CUT) for one in every] if any(one.status == ABORTED for one in every) else every
    known = _known(store, held, view, best) if profile == fusion.WEIGHTED else None
    limit = max(10, max_tokens // _SHORTEST) if k is None else max(10, min(2 * k, max_tokens // _SHORTEST))
    ranked = _still(store, scope, ranking.rank(whole, view, best, emphasis, profile, known), filters, refs, held, limit)
    if like is not None:
        ranked = likeness.marked(ranked, like, view, limit)
    counts = [sum(column) for column in zip(*(one.contribution.places for one in answers if one.contribution.places), strict=True)]
    missed = tuple(token for number, token in enumerate(query.tokens) if not any(
        count for count, term in zip(counts, query.terms, strict=False) if term.tokens >> number & 1))
    if not counts:  # no layer looked for words: what those that go by meaning say, where they agree
        missed = _uncovered(answers)
    if query.compiled is not None or like is not None or any(one.hit.exact for one in ranked):
        missed = ()
    searched = _searched(view, answers)
    ran = tuple(_ran(answer, view) for answer in answers)
    room = max_tokens - _room(query, missed, ran) - sum(map(estimate, forms.notes))
    found = places(ranked, view, whole, counts, limit)
    rest = None if given is None or like is not None else unseen(ranked, found, view, query, given, room)
    hits, shown = fitting(found if rest is None else rest, query, min(k or HITS, HITS) if k is None else k, room, rest is not None)
    tail = _tail(query, ran, missed, len(hits), len(view.outputs), searched, filters, () if like is None else likeness.twins(like, view),
                 forms.notes + [OLDER] * view.older, "nowhere" if counts else "nothing like")
    if indexes is not None and not view.named:
        indexes.used(scope, [ranked[hit.rank - 1].hit.span.blob for hit in hits if hit.rank])
    course = anytime.timeline(every, ranked[:anytime.BEST], zero, time.perf_counter_ns())
    explanation = None
    if explain:
        explanation = ranking.explanation(
            query, emphasis, answers, [(ranked[hit.rank - 1], hit.ref, hit.address) for hit in hits if hit.rank], profile)
        explanation["time"] = anytime.explained(course, best, ranked[:anytime.BEST], view, timebox_ms,
                                                lambda some: ranking.rank(whole, view, some, emphasis, profile, known))
    asked = query.whole if like is None else f"like {like.ref} {like.address}".rstrip()
    return Found(asked, hits, ran, missed, len(view.outputs), searched, filters, shown + tail, explanation, course)


def _scope(store: Store, scope: str, refs: Sequence[str] | None, filters: Mapping[str, str], indexes: Indexes, until: float) -> Scope:
    """What is searched: the outputs that pass, newest first; of a scope that was never listed, those that are until then."""
    older = False
    if refs is None and not filters:
        view = indexes.everything(scope, until)
    else:
        if refs is not None:
            found: Sequence[Output] = list({ref: store.resolve(scope, check_ref(ref)) for ref in refs}.values())
        elif "session" in filters or "signature" in filters:
            found = store.recent(scope, session=filters.get("session"), signature=filters.get("signature"), limit=LIMIT)
        else:
            every = indexes.everything(scope, until)
            found, older = every.outputs, every.older
        after = store.resolve(scope, check_ref(filters["since"])).seq if "since" in filters else 0
        chosen = sorted((output for output in found if output.seq > after and _passes(output, filters)), key=lambda output: -output.seq)
        view = scope_of(scope, chosen, store, refs is not None, older)
    return type(view)(view.name, view.outputs, view.held, Opened(view.open), view.named, view.total, indexes.worded(view), view.older)


def _known(store: Store, indexes: Indexes, view: Scope, answers: Sequence[Answer]) -> ranking.Known:
    """What is known of the outputs in which anything was found. Raises `ConfigError` for a file of sources that cannot be used."""
    blobs = dict.fromkeys(hit.span.blob for answer in answers for hit in answer.contribution.hits)
    return ranking.Known(*facts(store, indexes.everything(view.name, 0.0), view, blobs, known_sources()))


def _passes(output: Output, filters: Mapping[str, str]) -> bool:
    manifest = output.manifest
    failed = manifest.is_error or manifest.exit_code not in (None, 0)
    return (("tool" not in filters or tool_kind(manifest.tool) == tool_kind(filters["tool"]))
            and ("outcome" not in filters or failed == (filters["outcome"] == "failure"))
            and ("kind" not in filters or output.shape == filters["kind"])
            and ("signature" not in filters or output.signature == filters["signature"]))


def _still(store: Store, scope: str, ranked: Sequence[Ranked], filters: Mapping[str, str], refs: Sequence[str] | None,
           indexes: Indexes, limit: int) -> list[Ranked]:
    """Without what the store let go while it was listed, or since: a hit whose ref fails on the next fetch is none."""
    if refs is not None:
        return list(ranked)
    view = indexes.everything(scope, 0.0)
    there: dict[str, bool] = {}
    kept: list[Ranked] = []
    for one in ranked:
        held = view.held.get(one.hit.span.blob)
        ref = held.output.ref if held is not None else ""
        if ref not in there:
            if len(there) == limit:
                break
            try:
                there[ref] = bool(ref) and _passes(store.resolve(scope, ref), filters)
            except Miss:
                there[ref] = False
                indexes.lost(scope)
        if there.get(ref):
            kept.append(one)
    return kept


def _searched(view: Scope, answers: Sequence[Answer]) -> int:
    """Outputs that some layer looked at whole."""
    looked: set[str] = set()
    for one in answers:
        if one.status == SKIPPED or one.note == "still running" or one.name in _NOT_THROUGH:
            continue
        if one.contribution.searched is None:
            return len(view.outputs)
        looked |= one.contribution.searched
    missing = {held.output.ref for blob, held in view.held.items() if blob not in looked}
    return len(view.outputs) - len(missing)


def _uncovered(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Words of the query that nothing covers, as all layers say that went through the whole scope and tell it."""
    told = [one.contribution.uncovered for one in answers if one.status == RAN and one.contribution.searched is None and of_late(one.name)]
    return tuple(word for word in (told[0] if told else ()) if all(word in others for others in told))


def _ran(answer: Answer, view: Scope) -> Ran:
    contribution = answer.contribution
    covered = 10_000
    if contribution.searched is not None:
        covered = 10_000 * len(contribution.searched) // max(1, len(view.held))
    elif answer.status != RAN:
        covered = 0
    return Ran(answer.name, answer.status, len(contribution.hits), answer.note, covered)


def _room(query: Query, missed: Sequence[str], ran: Sequence[Ran]) -> int:
    """Tokens of the last line, at most."""
    return 40 + 20 * bool(query.apart) + estimate(" ".join((*_short(missed), *(f"{one.name} 99999 (aborted)" for one in ran))))


def _short(missed: Sequence[str]) -> list[str]:
    named = missed[:_MISSED] if len(missed) <= 2 * _MISSED else missed[:_OF_MANY]
    return [token if len(token) <= 40 else token[:37] + "..." for token in named]


def _tail(query: Query, ran: Sequence[Ran], missed: Sequence[str], shown: int, outputs: int, searched: int,
          filters: Mapping[str, str], twins: Sequence[str] = (), notes: Sequence[str] = (), lacks: str = "nowhere") -> str:
    """The last line: what ran and found how much, where, and what of the query stands nowhere."""
    said = ", ".join(f"{one.name} {one.hits}" + (f" ({one.status})" if one.status == ABORTED else
                     f" ({max(1, one.coverage // 100)}%)" if one.coverage < 10_000 else "") for one in ran if one.status != SKIPPED)
    where = f"{searched} of {outputs} outputs searched" if outputs != 1 else f"1 output searched{'' if searched else ' in part'}"
    told = [f"{shown} shown" if shown else "no match", f"found: {said}", where]
    skipped = " ".join(one.name for one in ran if one.status == SKIPPED)
    if skipped:
        told.append(f"skipped: {skipped}")
    told += dict.fromkeys(one.note for one in ran if one.note.startswith("unreadable"))
    if query.fault:
        told.append("no RE2 pattern, so searched as text")
    told += notes
    if twins:
        told.append("the very same in " + " ".join(twins[:_TWINS]) + (f" and {len(twins) - _TWINS} more" if len(twins) > _TWINS else ""))
    if query.weights:
        told.append("weights " + " ".join(f"{word[:40]} {weight / AS_IT_IS:g}" for word, weight in query.weights[:_MISSED]))
    if filters:
        told.append("only " + ", ".join(f"{name} {value[:60]}" for name, value in filters.items()))
    if missed:
        named = _short(missed)
        rest = len(missed) - len(named)
        told.append(f"{lacks}: " + " ".join(named) + (f" and {rest} more" if rest > 0 else ""))
    return f"[{'; '.join(told)}]\n"
