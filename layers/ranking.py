"""Ranks what layers found: joined by span, in tiers, then by rank. A pure function of the contributions, in integers.

Basis points: the whole query to the letter, or the very signature or name of a call, 10,000; words 5,000; both 15,000. Where a string
stands, titles go before mentions (`titles`); a misspelt string comes by its likeness. What lies in one tier is ordered by the profile
(`fusion`); then by the words' own score, time (the newer output first) and ref.

Queries that look for a string (an identifier, up to ten characters, operators) keep the tiers exact, words, fuzzy; for all others
words and meaning form one tier, and late interaction orders it. The emphasis says how much a branch counts.
"""
from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from byref.layers import fusion
from byref.layers.contract import Candidates, Hit, Span
from byref.layers.fusion import EMPHASES, WEIGHTED, of_late
from byref.layers.weighted import ORIGINAL, Facts, Way, Weighed, base, explained, of_vectors, weigh
from byref.proxy.contracts import dataclass
from byref.proxy.query import met

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from byref.layers.contract import Scope
    from byref.layers.orchestrator import Answer
    from byref.proxy.contracts import Json
    from byref.proxy.query import Query

EXACT, WORDS = 10_000, 5_000  # bps
CANDIDATES = 50  # that refining layers are given
SHORT = 10  # characters up to which a query is looked for as a string
ALL = 12  # tokens of a query up to which it matters that all are there
NAMED = 100  # score of the layer `names` from which on a call was named, not described
# Bps of likeness from which on a fuzzy hit is the misspelt string itself: in bench/retrieval.py 7500 to 8500 are alike, 9300 is worse.
CLOSE = 8500
STRINGS = frozenset({"exact", "regex", "words", "names", "fuzzy"})  # signals of what stands there, not of what it means
LITERAL = frozenset({"exact", "regex", "words", "names"})
# Times the order of the best place in another output from which on the best is not in doubt: of bench/sets 18 % of the queries that are
# not for strings; all of them were right, with late interaction and without. At 1.3 a third, with an MRR@10 of .90 for .95 with it.
MARGIN = 2
# Of a cosine in 1/10,000 from which on meaning alone is told, where no word of the query stands anywhere: of the right answers to the
# paraphrases of bench/sets 83 % are as near, of the nearest texts to Cranfield's questions among docstrings 53 % (at 2700 92 and 93 %).
SURE = 3500
ALIKE = 2700  # bps of a string's rarer trigrams from which on a chunk is told where nothing judges how alike it is
LEXICAL, CASCADE = "lexical", "cascade"
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
    """A place, with all that was said of it. tier: higher goes first; fused: order within a tier, by the profile.

    close: how like the string is that was misspelt, in bps, where that orders. weighed: in the weighted profile, why.
    """

    hit: Hit
    signals: tuple[str, ...]
    tier: int
    bps: int
    fused: int
    branches: tuple[Branch, ...]
    close: int = 0
    weighed: Weighed | None = None


class Known(NamedTuple):
    """What the weighted profile weighs beside scores. facts: by blob; one_source: as `weighted.weigh` has it."""

    facts: Mapping[str, Facts]
    one_source: bool


def route(query: Query) -> str:
    """How a query is ranked: as a string that stands somewhere, or by words and meaning."""
    text = query.text
    if query.apart:  # what is like a stretch of text, whatever stands in it
        return CASCADE
    if query.compiled is not None or len(text) <= SHORT or _OPERATORS.search(text):
        return LEXICAL
    tokens = text.split()
    return LEXICAL if len(tokens) <= 2 and any(_IDENTIFIER.search(token) for token in tokens) else CASCADE


def candidates(query: Query, scope: Scope, answers: Sequence[Answer], emphasis: str) -> Candidates:
    """The best joined hits, for layers that refine: one a place; and whether that is needed."""
    ranked = rank(query, scope, answers, emphasis)
    return Candidates([one.hit for one in ranked[:CANDIDATES]], _settled(query, ranked))


def _settled(query: Query, ranked: Sequence[Ranked]) -> str:
    """Why nothing is to be refined, if so."""
    if not ranked:
        return ""
    first = ranked[0]
    if route(query) == LEXICAL:
        return "not needed: the string stands there" if first.hit.exact else ""
    second = next((one for one in ranked if one.hit.span.blob != first.hit.span.blob), None)
    clear = second is not None and second.tier <= first.tier and MARGIN * second.fused <= first.fused
    return "not needed: words and vectors leave no doubt" if clear else ""


def rank(query: Query, scope: Scope, answers: Sequence[Answer], emphasis: str, profile: str = fusion.CASCADE,
         known: Known | None = None) -> list[Ranked]:
    """All places, best first. known: for the profile `weighted`; raises `ValueError` where that has none."""
    if profile == WEIGHTED and known is None:
        raise ValueError("the profile weighted needs what is known of the outputs")
    lexical = route(query) == LEXICAL
    # Where the whole query stands, what is merely alike says nothing more.
    places = [(hit, [branch for branch in branches if branch.signal in LITERAL] if hit.exact else branches)
              for hit, branches in _joined(_branches(answers, emphasis, profile))]
    order = _Order(query, lexical, emphasis, profile, known, _best(answers))
    ranked = order.all(places)
    if lexical and any(one.tier for one in ranked):  # a string was asked for and found: what is merely alike says nothing more
        told = LITERAL if any(one.hit.exact for one in ranked) else STRINGS
        places = [(anchor, [branch for branch in branches if branch.signal in told]) for anchor, branches in places]
        ranked = order.all([(anchor, branches) for anchor, branches in places if branches])
        kept = [one for one in ranked if one.tier or one.hit.terms]
    else:
        stands = any(branch.signal in STRINGS for one in ranked for branch in one.branches)
        judged = any(answer.name == "fuzzy" and answer.status == "ran" for answer in answers)
        kept = [one for one in ranked if one.tier or one.hit.terms or (
            one.fused and (stands or _sure(one) or (not judged and _alike(one))))]
    kept.sort(key=lambda one: _place(one, scope))
    return kept


def _alike(one: Ranked) -> bool:
    return any(branch.score >= ALIKE and branch.signal == "trigram" for branch in one.branches)


def _sure(one: Ranked) -> bool:
    """Whether a place that holds no word of the query is like it beyond chance."""
    return any(branch.score >= SURE and of_vectors(branch.signal) for branch in one.branches)


def _best(answers: Sequence[Answer]) -> dict[tuple[str, str, str], int]:
    """The best score of each way."""
    best: dict[tuple[str, str, str], int] = {}
    for answer in answers:
        for hit in answer.contribution.hits:
            way = answer.name, hit.signal, answer.asked
            best[way] = max(best.get(way, 0), hit.score)
    return best


def _branches(answers: Sequence[Answer], emphasis: str, profile: str) -> list[tuple[Branch, Hit]]:
    found: list[tuple[Branch, Hit]] = []
    best = _best(answers)
    for answer in answers:
        ranks: dict[str, int] = {}
        for hit in answer.contribution.hits:
            number = ranks[hit.signal] = ranks.get(hit.signal, 0) + 1
            points = fusion.points(profile, emphasis, answer.name, hit.signal, number, hit.score,
                                   best[answer.name, hit.signal, answer.asked], answer.asked)
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
                    known = known._replace(terms=hit.terms, near=hit.near | hit.terms)
                if hit.title > known.title or (hit.parts and not known.parts):
                    known = known._replace(title=max(hit.title, known.title), parts=known.parts or hit.parts)
                here[at] = known, branches
                inside, at = True, at + 1
            if not inside:
                at = bisect_left(starts, span.start)
                starts.insert(at, span.start)
                here.insert(at, (hit, [branch]))
        places += here
    return places


@dataclass(frozen=True, slots=True)
class _Order:
    """What places are ranked by. best: of each way, its best score."""

    query: Query
    lexical: bool
    emphasis: str
    profile: str
    known: Known | None
    best: Mapping[tuple[str, str, str], int]

    def all(self, places: Sequence[tuple[Hit, list[Branch]]]) -> list[Ranked]:
        late = any(of_late(branch.signal) for _, branches in places for branch in branches)
        return [self._ranked(hit, branches, late) for hit, branches in places]

    def _ranked(self, hit: Hit, branches: list[Branch], late: bool) -> Ranked:
        query, lexical = self.query, self.lexical
        signals = {branch.signal for branch in branches}
        words = bool(hit.terms) or "words" in signals
        literal = hit.exact > 0 or "regex" in signals
        named = any(branch.signal == "names" and branch.score >= NAMED for branch in branches)
        bps = EXACT * (literal or named) + WORDS * words
        every = 0 < len(query.tokens) <= ALL and len(met(query, hit.near)) == len(query.tokens) and (lexical or len(query.tokens) > 1)
        if lexical and every:
            every = _complete(query, hit.near)
        close = max((branch.score for branch in branches if branch.signal == "fuzzy"), default=0)
        tier = 8 * hit.exact + 8 * ("regex" in signals) + 4 * named + 2 * every
        misspelt = lexical and not tier and close >= CLOSE
        shown = ("exact",) * (hit.exact > 0) + ("words",) * words
        shown += tuple(sorted(signals - {"exact", "words"}))
        branches.sort(key=lambda one: (-one.points, one.rank, *one.way))
        weighed = None
        if self.known is not None and self.profile == WEIGHTED:
            ways = [Way(one.layer, one.signal, base(one.score, self.best[one.way]), one.asked) for one in branches]
            weighed = weigh(ways, self.known.facts.get(hit.span.blob, Facts()), self.known.one_source)
            fused = weighed.score
        else:
            fused = fusion.fused(self.profile, self.emphasis, ((one.signal, one.points) for one in branches), late)
        return Ranked(hit, shown, tier or int(misspelt), bps, fused, tuple(branches), close if misspelt else 0, weighed)


def _complete(query: Query, bits: int) -> bool:
    """Whether every word inside every token stands there: then it is the identifier, however it is written."""
    for number in range(len(query.tokens)):
        inner = [bit for bit, term in enumerate(query.terms) if term.tokens >> number & 1]
        pieces = [bit for bit in inner if query.terms[bit].factor == 1] or inner
        if not all(bits >> bit & 1 for bit in pieces):
            return False
    return True


def _place(one: Ranked, scope: Scope) -> tuple[int, ...]:
    held = scope.held[one.hit.span.blob]
    words = max((branch.score for branch in one.branches if branch.signal in ("exact", "words", "regex")), default=0)
    title = one.hit.title if one.hit.exact or one.close else 0
    return -one.tier, -one.close, -title, -one.fused, -words, held.age, held.part, one.hit.span.start


def explanation(query: Query, emphasis: str, answers: Iterable[Answer], ranked: Sequence[tuple[Ranked, str, str]],
                profile: str = fusion.CASCADE) -> dict[str, Json]:
    """The whole chain as JSON: docs/explain-2.schema.json. ranked: with the ref and the address that each is shown under."""
    return {
        "version": 2, "query": query.text, "route": route(query), "profile": profile, "emphasis": emphasis,
        "weights": dict(EMPHASES[emphasis]),
        "layers": [{"name": one.name, "version": one.version, "status": one.status, "hits": len(one.contribution.hits), "note": one.note,
                    "micros": one.micros} for one in answers],
        "hits": [_explained(one, ref, address) for one, ref, address in ranked],
    }


def _explained(one: Ranked, ref: str, address: str) -> dict[str, Json]:
    told: dict[str, Json] = {
        "ref": ref, "address": address, "tier": one.tier, "close": one.close, "title": one.hit.title, "bps": one.bps, "fused": one.fused,
        "signals": list(one.signals),
        "branches": [{"layer": branch.layer, "signal": branch.signal, "rank": branch.rank, "score": branch.score, "points": branch.points,
                      "asked": branch.asked, "span": [branch.span.blob, branch.span.start, branch.span.end]} for branch in one.branches],
        "parts": [{"token": part.token, "score": part.score, "start": part.start, "end": part.end} for part in one.hit.parts],
    }
    if one.weighed is not None:
        told["weighted"] = explained(one.weighed)
    return told
