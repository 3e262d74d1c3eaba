"""Ranks what layers found: joined by span, in tiers, then by rank. A pure function of the contributions, in integers.

Basis points: the whole query to the letter, or the very signature or name of a call, 10,000; words 5,000; both 15,000. What lies in
one tier is ordered by reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009: 1 / (60 + rank), the first 20 of each branch),
a branch being one layer's one signal; then by the words' own score, time (the newer output first) and ref.

Queries that look for a string (an identifier, up to ten characters, operators) keep the tiers exact, words, fuzzy; for all others
words and meaning form one tier. The profile says how much a branch counts.
"""
from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from byref.layers.contract import WHOLE, Hit, Span
from byref.layers.weighted import ORIGINAL, QUERIES
from byref.proxy.query import met

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from byref.layers.contract import Scope
    from byref.layers.orchestrator import Answer
    from byref.proxy.contracts import Json
    from byref.proxy.query import Query

RRF, TOP = 60, 20
POINT = 1_000_000  # what 1 is in the sums of 1 / (60 + rank)
EXACT, WORDS = 10_000, 5_000  # bps
CANDIDATES = 50  # that refining layers are given
SHORT = 10  # characters up to which a query is looked for as a string
ALL = 12  # tokens of a query up to which it matters that all are there
NAMED = 100  # score of the layer `names` from which on a call was named, not described
CLOSE = 8500  # bps of likeness from which on a fuzzy hit is the misspelt string itself
STRINGS = frozenset({"exact", "regex", "words", "names", "fuzzy"})  # signals of what stands there, not of what it means
LITERAL = frozenset({"exact", "regex", "words", "names"})
SURE = 2700  # of a cosine in 1/10,000 from which on meaning alone is told, where no word of the query stands anywhere
LEXICAL, CASCADE = "lexical", "cascade"
# How much a branch counts in the fusion, by emphasis; any other signal counts 2. A tie-break, the tiers go before.
PROFILES: Mapping[str, Mapping[str, int]] = {
    "balanced": {"words": 4, "static": 4, "trigram": 1, "fuzzy": 2, "names": 2},
    "precision": {"words": 6, "static": 2, "trigram": 1, "fuzzy": 1, "names": 2},
    "recall": {"words": 4, "static": 5, "trigram": 2, "fuzzy": 3, "names": 3},
}
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\w[._/:\\-]\w|\w_|\d[a-zA-Z]|[a-zA-Z]\d|^[A-Z][A-Z0-9_]+$")
_OPERATORS = re.compile(r"[(){}\[\]<>=|&^$*+\\!?%@#~`;\"]|::|->|--|(?:^|\s)(?:AND|OR|NOT|NEAR)(?:\s|$)")


class Branch(NamedTuple):
    """One layer's one signal on a hit. rank: from 1, within the branch; points: what it adds to the fusion.

    asked: how the query came to be that found it; what another form of it finds counts as much less as `weighted.QUERIES` says.
    """

    layer: str
    signal: str
    rank: int
    score: int
    points: int
    span: Span
    asked: str = ORIGINAL

    @property
    def way(self) -> tuple[str, str, str]:
        return self.layer, self.signal, self.asked


class Ranked(NamedTuple):
    """A place, with all that was said of it. tier: higher goes first; fused: order within a tier."""

    hit: Hit
    signals: tuple[str, ...]
    tier: int
    bps: int
    fused: int
    branches: tuple[Branch, ...]


def route(query: Query) -> str:
    """How a query is ranked: as a string that stands somewhere, or by words and meaning."""
    text = query.text
    if query.apart:  # what is like a stretch of text, whatever stands in it
        return CASCADE
    if query.compiled is not None or len(text) <= SHORT or _OPERATORS.search(text):
        return LEXICAL
    tokens = text.split()
    return LEXICAL if len(tokens) <= 2 and any(_IDENTIFIER.search(token) for token in tokens) else CASCADE


def candidates(query: Query, scope: Scope, answers: Sequence[Answer], profile: str) -> list[Hit]:
    """The best joined hits, for layers that refine: one a place."""
    return [one.hit for one in rank(query, scope, answers, profile)[:CANDIDATES]]


def rank(query: Query, scope: Scope, answers: Sequence[Answer], profile: str) -> list[Ranked]:
    """All places, best first."""
    weights = PROFILES[profile]
    # Where the whole query stands, what is merely alike says nothing more.
    places = [(hit, [branch for branch in branches if branch.signal in LITERAL] if hit.exact else branches)
              for hit, branches in _joined(_branches(answers, weights))]
    lexical = route(query) == LEXICAL
    ranked = [_ranked(query, anchor, branches, lexical) for anchor, branches in places]
    if lexical and any(one.tier for one in ranked):  # a string was asked for and found: what is merely alike says nothing more
        told = LITERAL if any(one.hit.exact for one in ranked) else STRINGS
        places = [(anchor, [branch for branch in branches if branch.signal in told]) for anchor, branches in places]
        ranked = [_ranked(query, anchor, branches, lexical) for anchor, branches in places if branches]
        kept = [one for one in ranked if one.tier or one.hit.terms]
    else:
        stands = any(branch.signal in STRINGS for one in ranked for branch in one.branches)
        kept = [one for one in ranked if one.tier or one.hit.terms or (one.fused and (stands or one.branches[0].score >= SURE))]
    kept.sort(key=lambda one: _order(one, scope))
    return kept


def _branches(answers: Sequence[Answer], weights: Mapping[str, int]) -> list[tuple[Branch, Hit]]:
    found: list[tuple[Branch, Hit]] = []
    for answer in answers:
        ranks: dict[str, int] = {}
        for hit in answer.contribution.hits:
            number = ranks[hit.signal] = ranks.get(hit.signal, 0) + 1
            points = POINT * weights.get(hit.signal, 2) // (RRF + number) * QUERIES[answer.asked] // WHOLE if number <= TOP else 0
            found.append((Branch(answer.name, hit.signal, number, hit.score, points, hit.span, answer.asked), hit))
    return found


def _joined(found: Sequence[tuple[Branch, Hit]]) -> list[tuple[Hit, list[Branch]]]:
    """Places with the branches that meet in them. What is said of a long span is said of every shorter one inside."""
    by_blob: dict[str, list[tuple[Branch, Hit]]] = {}
    for pair in found:
        by_blob.setdefault(pair[1].span.blob, []).append(pair)
    places: list[tuple[Hit, list[Branch]]] = []
    for pairs in by_blob.values():
        # Lines come first as the finest; a name says something of a whole output, so it goes last.
        pairs.sort(key=lambda pair: (pair[1].signal == "names", pair[1].last < 0, pair[1].span.end - pair[1].span.start,
                                     pair[1].span.start, pair[0][:3]))
        starts: list[int] = []
        here: list[tuple[Hit, list[Branch]]] = []
        for branch, hit in pairs:
            span = hit.span
            at = bisect_left(starts, span.start)
            if at and here[at - 1][0].span.end > span.start:
                at -= 1
            inside = False
            if hit.signal == "names" and here:
                for _, branches in here:
                    branches.append(branch)
                continue
            while at < len(here) and here[at][0].span.start < span.end:
                known, branches = here[at]
                if all(one.way != branch.way or one.rank > branch.rank for one in branches):
                    branches[:] = [one for one in branches if one.way != branch.way] + [branch]
                if not known.terms and hit.terms:
                    here[at] = known._replace(terms=hit.terms, near=hit.near | hit.terms), branches
                inside, at = True, at + 1
            if not inside:
                at = bisect_left(starts, span.start)
                starts.insert(at, span.start)
                here.insert(at, (hit, [branch]))
        places += here
    return places


def _ranked(query: Query, hit: Hit, branches: list[Branch], lexical: bool) -> Ranked:
    signals = {branch.signal for branch in branches}
    words = bool(hit.terms) or "words" in signals
    literal = hit.exact > 0 or "regex" in signals
    named = any(branch.signal == "names" and branch.score >= NAMED for branch in branches)
    bps = EXACT * (literal or named) + WORDS * words
    fused = sum(branch.points for branch in branches)
    every = 0 < len(query.tokens) <= ALL and len(met(query, hit.near)) == len(query.tokens) and (lexical or len(query.tokens) > 1)
    if lexical and every:
        every = _complete(query, hit.near)
    close = max((branch.score for branch in branches if branch.signal == "fuzzy"), default=0)
    tier = 8 * hit.exact + 8 * ("regex" in signals) + 4 * named + 2 * every
    if lexical and not tier and close >= CLOSE:
        tier = 1
    shown = ("exact",) * (hit.exact > 0) + ("words",) * words
    shown += tuple(sorted(signals - {"exact", "words"}))
    branches.sort(key=lambda one: (-one.points, one.rank, *one.way))
    return Ranked(hit, shown, tier, bps, fused, tuple(branches))


def _complete(query: Query, bits: int) -> bool:
    """Whether every word inside every token stands there: then it is the identifier, however it is written."""
    for number in range(len(query.tokens)):
        inner = [bit for bit, term in enumerate(query.terms) if term.tokens >> number & 1]
        pieces = [bit for bit in inner if query.terms[bit].factor == 1] or inner
        if not all(bits >> bit & 1 for bit in pieces):
            return False
    return True


def _order(one: Ranked, scope: Scope) -> tuple[int, ...]:
    held = scope.held[one.hit.span.blob]
    words = max((branch.score for branch in one.branches if branch.signal in ("exact", "words", "regex")), default=0)
    return -one.tier, -one.fused, -words, held.age, held.part, one.hit.span.start


def explanation(query: Query, profile: str, answers: Iterable[Answer], ranked: Sequence[tuple[Ranked, str, str]]) -> dict[str, Json]:
    """The whole chain as JSON: docs/explain-1.schema.json. ranked: with the ref and the address that each is shown under."""
    return {
        "version": 1, "query": query.text, "route": route(query), "profile": profile,
        "weights": dict(PROFILES[profile]),
        "layers": [{"name": one.name, "version": one.version, "status": one.status, "hits": len(one.contribution.hits), "note": one.note,
                    "micros": one.micros} for one in answers],
        "hits": [{"ref": ref, "address": address, "tier": one.tier, "bps": one.bps, "fused": one.fused, "signals": list(one.signals),
                  "branches": [{"layer": branch.layer, "signal": branch.signal, "rank": branch.rank, "score": branch.score,
                                "points": branch.points, "asked": branch.asked,
                               "span": [branch.span.blob, branch.span.start, branch.span.end]}
                               for branch in one.branches]} for one, ref, address in ranked],
    }
