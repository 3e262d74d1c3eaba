"""Which units a view shows: failures always, then what is worth most to this session, down to a threshold and under a cap.

Integers only, so that a view is the same on every machine. What drives the choice was measured on recorded
sessions: a unit is worth the terms in it that the context has not seen, and what its place says of later edits.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, compress, repeat

from byref.filters.units import ALWAYS, ANCHOR, HIDDEN, MUST, Units
from byref.proxy.contracts import Call, Seen
from byref.proxy.text import canonical, subwords, terms_by_line


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a profile shows.

    threshold: score below which a unit is left out; below 0 only what was already shown is.
    cap: characters of a part's view. gap: characters below which a gap is dearer than what it saves; shown: the
    same for lines already shown. scent: percent of a gap's characters that its terms may take.
    """

    threshold: int
    cap: int
    gap: int = 200
    shown: int = 80
    scent: int = 30


PLANS = {
    "safe": Plan(threshold=-1, cap=20_000),
    "auto": Plan(threshold=60, cap=12_000),
    "lean": Plan(threshold=140, cap=8_000),
}
# Characters: what a small output saves does not pay for a repeat. Up to the first only what was shown collapses,
# from the second on the threshold is the plan's.
_WHOLE, _FULL = 800, 4000
_WORDS = 6  # terms that a gap hides at least; its marker costs about as many tokens
_ASKED = 12  # the worth of a line's share in a term that the call or the task itself names
_BLOCK = 320  # characters in which units are picked once a cap binds


@dataclass(slots=True)
class Selection:
    """keep: 1 for each unit that stands. rows: the terms of each unit. worth: of every term that is new to the context."""

    keep: bytearray
    rows: list[list[str]]
    worth: dict[str, int]


# 8 * e**(x/4), rounded, for x from -16 to 12: a term's log odds of later use, in quarters, as a worth that adds up
_EXP = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 59, 76, 97, 125, 161)
_NEVER, _NUMBER = -99, -7
_BELOW = 128  # so that no sum of odds is a negative index
_WORTH = (0,) * (_BELOW - 16) + _EXP + (_EXP[-1],) * 16
_RARE = {1: 4, 2: 2, 3: 2, 4: 2, 5: 2}  # quarters off the odds of a term that stands so often
_HEX = frozenset("0123456789abcdef")
@lru_cache(maxsize=1 << 17)
def _odds(term: str) -> int:
    """Log odds in quarters that a new term of this form is used later; _NEVER for what is not worth naming."""
    size = len(term)
    if size < 4:
        return _NEVER
    if term.isdigit():
        return _NUMBER
    if term.isalpha():
        if term.islower():
            return 1 if size > 5 else -4
        return -3 if term.isupper() else -2 if term[1:] != term[1:].lower() else 0
    if "/" in term:
        return -3
    letters = sum(map(str.isalpha, term))
    if not letters:
        return _NEVER
    if letters * 2 < size or (size > 6 and _HEX.issuperset(term)):
        return _NUMBER  # times, sizes, hashes
    if "." in term:
        return -2
    return -3 if term.isupper() else 0 if "_" in term or "-" in term or term[1:] == term[1:].lower() else -2


_SEPARATORS = {code: " " for code in (*map(ord, "_./-"), *range(48, 58))}


def _split(terms: list[str]) -> list[list[str]]:
    """The words inside each term, in lower case, without its numbers: all in one go, since what is new is seen once."""
    if not terms:
        return []
    lower = "\n".join(terms).lower()
    cut = lower.translate(_SEPARATORS).split("\n")
    for i, (term, low) in enumerate(zip(terms, lower.split("\n"), strict=True)):
        if term != low and term[1:] != low[1:] and not term.isupper():  # camelCase
            cut[i] = " ".join(subwords(term)).translate(_SEPARATORS)
    return list(map(str.split, cut))


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The terms of a text, and the sub-words of them that say something: three letters or more."""
    terms = frozenset(chain.from_iterable(terms_by_line(text)))
    return terms, frozenset(word for words in _split(list(terms)) for word in words if len(word) > 2)


def select(units: Units, call: Call, seen: Seen, plan: Plan) -> Selection:
    """Picks the units of one part. Raises nothing; an empty output keeps nothing."""
    texts = [source.replace("\n", " ") for source in units.sources] if units.sources is not None else units.texts
    rows = terms_by_line("\n".join(texts)) if texts else []
    sizes = units.sizes or [len(text) + 1 for text in units.texts]
    total = sum(sizes)
    lines = Counter(chain.from_iterable(rows))
    worth = _weigh(lines, call, seen, total)
    # The first line to hold a term counts it in full, every line a share: one mention is evidence, the rest is context.
    share = dict.fromkeys(lines, 0)
    share.update({term: 4 * value // (3 + min(lines[term], 30)) for term, value in worth.items() if value})
    for term in share.keys() & (_asked(call)[0] | _task(call)[0]):
        if _odds(term) != _NEVER:
            share[term] = _ASKED * 4 // (3 + min(lines[term], 30))
    everywhere, here, nothing = share.__getitem__, dict(worth).pop, repeat(0)
    scores = [sum(map(everywhere, row)) + sum(map(here, row, nothing)) for row in rows]
    if any(units.worth):
        scores = [score + 4 * base for score, base in zip(scores, units.worth, strict=True)]
    shown = _shown(units, seen)
    if shown is not None:
        scores = [0 if hidden else score for score, hidden in zip(scores, shown, strict=True)]
    keep = _pick(scores, sizes, units, shown, plan, total)
    _close(keep, sizes, rows, units.rank, shown, plan)
    return Selection(keep, rows, worth)


def _weigh(lines: Counter[str], call: Call, seen: Seen, total: int) -> dict[str, int]:
    """The worth of every term that neither the call nor the context holds already. lines: how often each term stands."""
    arguments, task = _asked(call), _task(call)
    seen_terms = seen.terms
    terms = [term for term in lines.keys() - arguments[0] - task[0] if term not in seen_terms]
    base = _BELOW - (3 if total > 30_000 else 1 if total > 10_000 else 0)
    rare = _RARE.get
    places = [form + base - rare(lines[term], 0) for term, form in zip(terms, map(_odds, terms), strict=True)]
    asked = arguments[1] | task[1]
    for i, words in enumerate(_split(terms)):
        if not asked.isdisjoint(words):
            places[i] += 6 if task[1].issuperset(words) else 5 if arguments[1].issuperset(words) else 2
    return dict(zip(terms, map(_WORTH.__getitem__, places), strict=True))


def names(selection: Selection) -> dict[str, int]:
    """The terms that gaps may name, with their place in the order in which they do: worth a character.

    What the view shows needs no name. Numbers, times and temporary paths have one only where the call or the task
    points at them, and what does not print has none.
    """
    worth = selection.worth
    visible = set().union(*compress(selection.rows, selection.keep))
    hidden = sorted([(-(worth[term] * 64 // (len(term) + 2)), term) for term in worth.keys() - visible
                     if worth[term] and (worth[term] > 2 or (_odds(term) > _NUMBER and term[:5] != "/tmp/")) and term.isprintable()])
    return {term: place for place, (_, term) in enumerate(hidden)}


def _asked(call: Call) -> tuple[frozenset[str], frozenset[str]]:
    """The terms and sub-words of what the call itself says it looks for."""
    return _words(f"{canonical(call.arguments) if call.arguments is not None else ''}\n{call.said}\n{call.intent}")


def _task(call: Call) -> tuple[frozenset[str], frozenset[str]]:
    """The same of what the agent was set to do, and of an explicit intent."""
    return _words(f"{call.task}\n{call.intent}")


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
            flags[i] = 1 if i and flags[i - 1] else 0
    return flags


def _pick(scores: list[int], sizes: list[int], units: Units, shown: bytearray | None, plan: Plan, total: int) -> bytearray:
    n = len(scores)
    rank = units.rank
    threshold = plan.threshold if total >= _FULL else plan.threshold * (total - _WHOLE) // (_FULL - _WHOLE)
    threshold = threshold * units.strictness // 100
    if shown is not None and shown.count(1) * 4 >= n * 3:
        threshold = min(threshold, 0)  # the output was shown before: what is new in it is what has changed since
    if threshold <= 0 and total <= plan.cap and HIDDEN not in rank:
        if shown is None:
            return bytearray(b"\1") * n
        return bytearray(not flag or level == ALWAYS for flag, level in zip(shown, rank, strict=True))
    near = [0] * 6 + list(accumulate(scores))
    near += near[-1:] * 6
    # a line is weighed with its neighbours, so that blocks stay whole: two to each side fully, five at half
    smooth = [2 * own + c - b + (d - a) // 2 for own, a, b, c, d in zip(scores, near, near[3:], near[8:], near[11:], strict=False)]
    keep = bytearray(level in (MUST, ALWAYS) for level in rank)
    barred = bytearray(level >= MUST for level in rank)
    if shown is not None:
        for i, flag in enumerate(shown):
            if flag and rank[i] != ALWAYS:
                keep[i], barred[i] = 0, 1
    used = sum(compress(sizes, keep))
    order = [i for i, (score, level, bar) in enumerate(zip(smooth, rank, barred, strict=True))
             if not bar and (score >= threshold or level == ANCHOR)]
    if used > 4 * plan.cap:
        used = _fewer(keep, sizes, rank, plan)
    if used + sum([sizes[i] for i in order]) <= plan.cap:
        blocks = [order]
    else:
        anchors = [[i] for i in order if rank[i] == ANCHOR]
        ranked = sorted((-(sum([smooth[i] for i in block]) // len(block)), block) for block in _blocks(order, sizes, rank))
        blocks = anchors + [block for _, block in ranked]
    for block in blocks:
        size = sum([sizes[i] for i in block])
        if used + size <= plan.cap:
            for i in block:
                keep[i] = 1
            used += size
    return keep


def _blocks(order: list[int], sizes: list[int], rank: bytearray) -> list[list[int]]:
    """Neighbouring units in blocks larger than a gap: single lines would leave gaps that do not pay."""
    blocks: list[list[int]] = []
    size, last = _BLOCK, -2
    for i in order:
        if rank[i] == ANCHOR:
            continue
        if i != last + 1 or size >= _BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(i)
        size += sizes[i]
        last = i
    return blocks


def _fewer(keep: bytearray, sizes: list[int], rank: bytearray, plan: Plan) -> int:
    """Failures alone exceed four budgets: the first and the last stand, the gap between states their number. Names and
    summaries stand too, unless they alone are as many; then a summary is among the last."""
    limit = 4 * plan.cap
    used = sum([sizes[i] for i, flag in enumerate(keep) if flag and rank[i] == ALWAYS])
    spared = used <= limit
    used = used if spared else 0
    room = (limit - used) // 2
    kept = [i for i, flag in enumerate(keep) if flag and not (spared and rank[i] == ALWAYS)]
    for i in kept:
        keep[i] = 0
    for end in (kept, kept[::-1]):
        taken = 0
        for i in end:
            if taken + sizes[i] > room:
                break
            taken += sizes[i]
            keep[i] = 1
        used += taken
    return used


def _close(keep: bytearray, sizes: list[int], rows: list[list[str]], rank: bytearray, shown: bytearray | None, plan: Plan) -> None:
    """Shows what a gap would not pay for."""
    n = len(keep)
    i = keep.find(0)
    while 0 <= i < n:
        j = keep.find(1, i)
        if j < 0:
            j = n
        if HIDDEN not in rank[i:j]:
            fresh = shown is None or 0 in shown[i:j]
            size = sum(sizes[i:j])
            # a rule of seventy dashes is one token: a gap has to hide words
            if size < (plan.gap if fresh else plan.shown) or (size < 8 * _WORDS and sum(map(len, rows[i:j])) < _WORDS):
                keep[i:j] = b"\1" * (j - i)
        i = keep.find(0, j)
