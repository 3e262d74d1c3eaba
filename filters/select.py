"""Which units a view shows: failures always, then what is worth most to this session, down to a threshold and under a cap.

Integers only, so that a view is the same on every machine. What drives the choice was measured on recorded
sessions: a unit is worth the terms in it that the context has not seen, and what its place says of later edits.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain

from byref.filters.units import ANCHOR, MUST, Units
from byref.proxy.contracts import Call, Seen
from byref.proxy.text import canonical, subwords, terms_by_line


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a profile shows. threshold: score below which a unit is left out. cap: characters of a part's view.
    gap: characters below which a gap is dearer than it saves. shown: the same for lines already shown.
    scent: percent of a gap's characters that its terms may take. thin: leave out most line numbers.
    """

    threshold: int
    cap: int
    gap: int = 200
    shown: int = 80
    scent: int = 30
    thin: bool = True


PLANS = {
    "safe": Plan(threshold=-1, cap=20_000),
    "auto": Plan(threshold=36, cap=12_000),
    "lean": Plan(threshold=60, cap=8_000),
}


_WHOLE, _FULL = 800, 4000  # characters: below the first only what was shown collapses, from the second the threshold is the plan's


@dataclass(slots=True)
class Selection:
    """keep: 1 for each unit that stands. rows: the terms of each unit. worth: of every term new to the context. fresh: all terms."""

    keep: bytearray
    rows: list[set[str]]
    worth: dict[str, int]


# e**(x/4) * 8, rounded, for x from -16 to 12: a term's log odds of later use, in quarters, as an additive worth
_EXP = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 59, 76, 97, 125, 161)


@lru_cache(maxsize=1 << 17)
def _kind(term: str) -> int:
    """Log odds in quarters by the form of a term; -99 for what is never worth naming."""
    if term.isdigit():
        return -7 if len(term) > 3 else -99
    if len(term) < 4:
        return -99
    if "/" in term:
        return -3
    if not any(c.isalpha() for c in term):
        return -99
    if "." in term:
        return -2
    if term.islower() and term.isalpha():
        return 1 if len(term) > 5 else -4
    if term.isupper():
        return -3
    if "_" in term or "-" in term:
        return 0
    return -2 if term[1:] != term[1:].lower() else 0


_subwords = lru_cache(maxsize=1 << 17)(subwords)


def _words(text: str) -> frozenset[str]:
    """The sub-words of a text that say something: three letters or more."""
    return frozenset(w for row in terms_by_line(text) for term in set(row) for w in _subwords(term) if len(w) > 2)


def select(units: Units, call: Call, seen: Seen, plan: Plan) -> Selection:
    """Picks the units of one part. Raises nothing; an empty output keeps nothing."""
    texts = units.sources or units.texts
    n = len(texts)
    rows = [set(row) for row in terms_by_line("\n".join(t.replace("\n", " ") if "\n" in t else t for t in texts))]
    df = Counter(chain.from_iterable(rows))
    sizes = [len(t) + 1 for t in units.texts]
    total = sum(sizes)
    arguments = canonical(call.arguments) if call.arguments is not None else ""
    known = set(chain.from_iterable(terms_by_line(f"{arguments}\n{call.task}\n{call.said}")))
    worth = _weigh(df, known, seen, f"{call.task}\n{call.intent}", f"{arguments}\n{call.said}\n{call.intent}", total)
    value = worth.get
    scores = [sum([value(t, 0) for t in row]) for row in rows]
    if any(units.worth):
        scores = [s + 4 * w for s, w in zip(scores, units.worth, strict=True)]
    shown = _shown(units, seen)
    if shown is not None:
        scores = [0 if hidden else s for s, hidden in zip(scores, shown, strict=True)]
    keep = _pick(scores, sizes, units, shown, plan, total)
    _close(keep, sizes, shown, plan)
    return Selection(keep, rows, worth)


def _weigh(df: Counter[str], known: set[str], seen: Seen, task: str, arguments: str, total: int) -> dict[str, int]:
    task_words, argument_words = _words(task), _words(arguments)
    size = -3 if total > 30_000 else -1 if total > 10_000 else 0
    terms = seen.terms
    worth = {}
    for term, lines in df.items():
        kind = _kind(term)
        if kind == -99 or term in known or term in terms:
            continue
        words = _subwords(term)
        odds = kind + size + (0 if lines > 5 else -4 if lines == 1 else -2)
        if words:
            odds += 4 if task_words.issuperset(words) else 3 if argument_words.issuperset(words) else 0
            if odds < 8 and not task_words.isdisjoint(words) or not argument_words.isdisjoint(words):
                odds += 2
        worth[term] = _EXP[min(28, max(0, odds + 16))]
    return worth


def _shown(units: Units, seen: Seen) -> bytearray | None:
    """1 where a line stood in an earlier view of this context; blank and bracket lines go with their neighbours."""
    if not seen.proven or not units.keys:
        return None
    lines = seen.lines
    flags = bytearray(key in lines for key in units.keys)
    if not any(flags):
        return None
    for i, key in enumerate(units.keys):
        if len(key) < 3:
            flags[i] = 2 if i == 0 or flags[i - 1] else 0  # neutral: joins a run, never makes one
    return flags


def _pick(scores: list[int], sizes: list[int], units: Units, shown: bytearray | None, plan: Plan, total: int) -> bytearray:
    n = len(scores)
    keep = bytearray(n)
    # What a small output saves does not pay for a repeat, whatever it holds.
    threshold = plan.threshold if total >= _FULL else plan.threshold * (total - _WHOLE) // (_FULL - _WHOLE)
    threshold = threshold * units.strictness // 100
    if threshold <= 0:
        keep = bytearray(b"\1") * n
        if shown is not None:
            for i in range(n):
                if shown[i]:
                    keep[i] = 0
        if total <= plan.cap:
            return keep
    sums = [0, *accumulate(scores)]
    smooth = [2 * scores[i] + (sums[min(n, i + 3)] - sums[max(0, i - 2)]) + (sums[min(n, i + 6)] - sums[max(0, i - 5)]) // 2 for i in range(n)]
    rank = units.rank
    used = 0
    for i in range(n):
        if rank[i] == MUST and not (shown is not None and shown[i]):
            keep[i] = 1
            used += sizes[i]
    order = [i for i in range(n) if not keep[i] and (smooth[i] >= threshold or rank[i] == ANCHOR) and not (shown is not None and shown[i])]
    if used + sum(sizes[i] for i in order) > plan.cap:
        order.sort(key=lambda i: (-rank[i], -smooth[i], i))
    for i in order:
        if used + sizes[i] <= plan.cap:
            keep[i] = 1
            used += sizes[i]
    return keep


def _close(keep: bytearray, sizes: list[int], shown: bytearray | None, plan: Plan) -> None:
    """Shows what a gap would not pay for."""
    n = len(keep)
    i = 0
    while i < n:
        if keep[i]:
            i += 1
            continue
        j, size, fresh = i, 0, False
        while j < n and not keep[j]:
            size += sizes[j]
            fresh = fresh or shown is None or not shown[j]
            j += 1
        if size < (plan.gap if fresh else plan.shown):
            keep[i:j] = b"\1" * (j - i)
        i = j
