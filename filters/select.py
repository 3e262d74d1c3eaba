"""Which units a view shows: failures always, then what is worth most to this session, down to a threshold and under a cap.

Integers only, so that a view is the same on every machine. What drives the choice was measured on recorded
sessions: a unit is worth the terms in it that the context has not seen, and what its place says of later edits.
"""
from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, chain, compress, count
from operator import not_

from byref.filters import weights
from byref.filters.units import ALWAYS, ANCHOR, HIDDEN, LAST, MUST, Units
from byref.filters.worth import FIRST, UNPOINTED, Words, asked_of, forms_of, sharers, task_of, weigh, words_of
from byref.proxy.contracts import Call, Seen
from byref.proxy.text import terms_by_line


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a profile shows.

    threshold: worth a character, in 1/1024, below which a unit is left out; below 0 only what was already shown is.
    cap: characters of a part's view. gap: characters below which a gap is dearer than what it saves; shown: the
    same for lines already shown. scent: percent of a gap's characters that its terms may take.
    """

    threshold: int
    cap: int
    gap: int = 100
    shown: int = 60
    scent: int = 30


PLANS = {name: Plan(threshold, cap) for name, (threshold, cap) in weights.PROFILES.items()}
_IDENTIFIERS = frozenset({"camel", "dotted", "name"})  # what is named so is meant, where it stands in few lines
_PLACES, _MOST, _FEW = 3, 12, 48  # in so many of any output, at most in so many, and in one line of so many between
_WORDS = 6  # terms that a gap hides at least; its marker costs about as many tokens
_LONG = 300  # characters of a unit from which its size weighs no more: a row, a piece of a line
_NAME = 160  # characters of a name: what is longer is content
_BLOCK = 320  # characters in which units are picked once a cap binds
# by rank: 1 for units that stand whatever they are worth; 1 for those that worth does not decide on
_STANDS = bytes(level in (MUST, ALWAYS) for level in range(256))
_BARRED = bytes(level >= MUST for level in range(256))


@dataclass(slots=True)
class Selection:
    """keep: 1 for each unit that stands. rows: the terms of each unit. worth: of every term that is new to the context and stands in
    no unit that is kept, if it has any; of others perhaps."""

    keep: bytearray
    rows: list[list[str]]
    worth: dict[str, int]
    _visible: set[str] | None = None

    def visible(self) -> set[str]:
        """The terms of the units that stand."""
        if self._visible is None:
            self._visible = set().union(*compress(self.rows, self.keep))
        return self._visible


_REF = re.compile(r"«(r[a-z2-7]{10})\b")


def select(units: Units, call: Call, seen: Seen, plan: Plan) -> Selection:
    """Picks the units of one part. Raises nothing; an empty output keeps nothing."""
    texts = [source.replace("\n", " ") for source in units.sources] if units.sources is not None else units.texts
    text = "\n".join(texts)
    rows = terms_by_line(text) if texts else []
    sizes = units.sizes or [len(text) + 1 for text in units.texts]
    total = sum(sizes)
    shown = _shown(units, seen)
    threshold = _threshold(units, shown, plan, total)
    worth: dict[str, int] | None = None
    if threshold > 0 or total > plan.cap or HIDDEN in units.rank:
        lines = Counter(chain.from_iterable(rows))
        asked, task = asked_of(call), task_of(call)
        worth = weigh(lines, asked, task, seen, total)
        keep = _pick(_scores(rows, lines, worth, asked, task, call, units, shown), sizes, units, shown, plan, threshold)
    elif shown is None:
        return Selection(bytearray(b"\1") * len(sizes), rows, {})
    else:  # only what was shown goes, whatever the rest is worth
        keep = bytearray(not flag or level == ALWAYS for flag, level in zip(shown, units.rank, strict=True))
    _close(keep, sizes, rows, units, shown, plan)
    if 0 not in keep:
        return Selection(keep, rows, {})
    if not units.rendered:
        _fence(keep, units.texts, units.rank)
    if worth is None:  # of what gaps may name, which stands nowhere else
        worth = weigh(Counter(chain.from_iterable(compress(rows, map(not_, keep)))), asked_of(call), task_of(call), seen, total)
    selection = Selection(keep, rows, worth)
    if threshold > 0 or total > plan.cap:
        worth |= _pointed(task_of(call)[0] & lines.keys(), selection.visible())
    if LAST in units.rank or "«r" in text:
        barred = _unnamed(texts, rows, units.rank)
        selection.worth = {term: value for term, value in worth.items() if term not in barred}
    return selection


def _scores(rows: list[list[str]], lines: Counter[str], worth: dict[str, int], asked: Words, task: Words, call: Call, units: Units,
            shown: bytearray | None) -> list[int]:
    """The worth of each unit, by its terms and its place. lines: how often each term stands."""
    # The first line to hold a term counts it in full, every line a share: one mention is evidence, the rest is context.
    share = dict.fromkeys(lines, 0) | worth
    for term, value in worth.items():
        often = lines[term]
        if often > 1:
            share[term] = 4 * value // sharers(often)
    named = list(lines.keys() & asked[0] | lines.keys() & task[0])
    sought = words_of(call.intent)[0] if call.intent else frozenset()
    few = max(_PLACES, min(_MOST, len(rows) // _FEW))
    first: dict[str, int] = {}  # what is named and stands in more lines is sought in the first of a long output
    for term, form in zip(named, forms_of(named), strict=True):
        if form or term in sought:
            told = term in sought or (form in _IDENTIFIERS and lines[term] <= few)
            if not told and few > _PLACES and form in _IDENTIFIERS:
                first[term] = weights.SOUGHT
            share[term] = (weights.SOUGHT if told else weights.NAMED) * 4 // sharers(lines[term])
    given = asked[0] | task[0]
    for term in worth:
        if "." in term and not given.isdisjoint(parts := term.split(".")) and _names_identifier(parts, given):
            share[term] = (weights.SOUGHT if lines[term] <= few else weights.NAMED) * 4 // sharers(lines[term])
    fully = {term: value + share[term] for term, value in worth.items()}
    fully.update(first)
    everywhere, here = share.__getitem__, fully.pop
    scores = [sum(map(here, row, map(everywhere, row))) for row in rows]
    if any(units.worth):
        scores = [score + 4 * base for score, base in zip(scores, units.worth, strict=True)]
    if shown is not None:
        scores = [0 if hidden else score for score, hidden in zip(scores, shown, strict=True)]
    return scores


def _names_identifier(parts: list[str], given: frozenset[str]) -> bool:
    """Whether one of the parts of a dotted term is an identifier that is given: `row.garden_id` where a task says `garden_id`."""
    return not _IDENTIFIERS.isdisjoint(forms_of([part for part in parts if part in given]))


def _pointed(task: frozenset[str], visible: set[str]) -> dict[str, int]:
    """What of the task stands in the output, but in no unit that stands: gaps say first where it is, though it is not new."""
    terms = list(task - visible)
    return {term: FIRST for term, form in zip(terms, forms_of(terms), strict=True) if form not in ("", "number")}


def _unnamed(texts: list[str], rows: list[list[str]], rank: bytearray) -> set[str]:
    """Terms that no gap of ours may name: refs of what looks like a marker, and what only lines ranked LAST say."""
    last = [level == LAST for level in rank]
    ordinary = set().union(*compress(rows, map(not_, last)))
    return set(_REF.findall("\n".join(texts))) | set().union(*compress(rows, last)) - ordinary


def names(selection: Selection) -> dict[str, int]:
    """The terms that gaps may name, with their place in the order in which they do: worth a character.

    What the view shows needs no name. Numbers, times and temporary paths have one only where the call or the task
    points at them, and what does not print has none.
    """
    worth, visible = selection.worth, selection.visible()
    hidden = [term for term in worth if len(term) <= _NAME and term not in visible]
    doubtful = [term for term in hidden if not term.isalpha()]  # a word has a form, and is no number
    hidden = [term for term in hidden if term.isalpha()]
    hidden += [term for term, form in zip(doubtful, forms_of(doubtful), strict=True)
               if worth[term] > UNPOINTED[form] or (form not in ("", "number") and term[:5] != "/tmp/")]
    if not "".join(hidden).isprintable():
        hidden = [term for term in hidden if term.isprintable()]
    hidden.sort()
    hidden.sort(key=lambda term: worth[term] * 64 // (len(term) + 2), reverse=True)  # equals stay in order
    return dict(zip(hidden, count(), strict=False))


def _shown(units: Units, seen: Seen) -> bytearray | None:
    """1 where a line stood in an earlier view of this context; blank and bracket lines go with their neighbours."""
    if not seen.proven or not units.keys:
        return None
    flags = bytearray(map(seen.lines.__contains__, units.keys))
    if 1 not in flags:
        return None
    for i, key in enumerate(units.keys):
        if len(key) < 3:
            flags[i] = 1 if i and flags[i - 1] else 0
    return flags


def _threshold(units: Units, shown: bytearray | None, plan: Plan, total: int) -> int:
    """The worth a character that a unit of this output needs, in 1/1024; nothing is left out for its worth where it is not above 0."""
    threshold = plan.threshold
    if total < weights.FULL:  # what a small output saves does not pay for a repeat
        threshold = threshold * (total - weights.WHOLE) // (weights.FULL - weights.WHOLE)
    threshold = threshold * units.strictness // 100
    if shown is not None and shown.count(1) * 4 >= len(shown) * 3:
        return min(threshold, 0)  # the output was shown before: what is new in it is what has changed since
    return threshold


def _pick(scores: list[int], sizes: list[int], units: Units, shown: bytearray | None, plan: Plan, threshold: int) -> bytearray:
    n = len(scores)
    rank = units.rank
    density = _density(scores, sizes)
    keep, barred = rank.translate(_STANDS), rank.translate(_BARRED)
    if shown is not None:
        for i, flag in enumerate(shown):
            if flag and rank[i] != ALWAYS:
                keep[i], barred[i] = 0, 1
    used = sum(compress(sizes, keep))
    order = [i for i in compress(range(n), map(not_, barred)) if density[i] >= threshold or rank[i] == ANCHOR]
    if used > 4 * plan.cap:
        used = _fewer(keep, sizes, rank, plan, units.ruled)
    if used + sum([sizes[i] for i in order]) <= plan.cap:
        blocks = [order]
    else:
        anchors = [[i] for i in order if rank[i] == ANCHOR]
        ranked = sorted((-(sum([density[i] for i in block]) // len(block)), block) for block in _blocks(order, sizes, rank))
        blocks = anchors + [block for _, block in ranked]
    for block in blocks:
        size = sum([sizes[i] for i in block])
        if used + size <= plan.cap:
            for i in block:
                keep[i] = 1
            used += size
    if keep.count(1) < 2 and (shown is None or shown.count(1) * 4 < n * 3) and not any(compress(rank, keep)):
        _open(keep, sizes, rank, used, min(_BLOCK, plan.cap))
    return keep


def _open(keep: bytearray, sizes: list[int], rank: bytearray, used: int, room: int) -> None:
    """Next to nothing stands, though it is new: how it begins says what it is."""
    for i, size in enumerate(sizes):
        if rank[i] == HIDDEN or used + size > room:
            break
        used += size if not keep[i] else 0
        keep[i] = 1


def _density(scores: list[int], sizes: list[int]) -> list[int]:
    """Worth a character of each unit, in 1/1024, with its neighbours': a long line has to say more than a short one to stand.

    A unit is weighed with its neighbours, so that blocks stay whole: two to each side fully, five at half. Noise, worth
    less than nothing, is no neighbour.
    """
    size = [size if size < _LONG else _LONG for size in sizes]
    if min(scores, default=0) >= 0:
        worth, room = _smooth(scores, scores), _smooth(size, size)
    else:
        worth = _smooth(scores, [score if score > 0 else 0 for score in scores])
        room = _smooth(size, [0 if score < 0 else length for length, score in zip(size, scores, strict=True)])
    return [(value << 10) // length for value, length in zip(worth, room, strict=True)]


def _smooth(own: list[int], around: list[int]) -> list[int]:
    near = [0] * 6 + list(accumulate(around))
    near += near[-1:] * 6
    return [2 * value + c - b + (d - a) // 2 for value, a, b, c, d in zip(own, near, near[3:], near[8:], near[11:], strict=False)]


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


def _fewer(keep: bytearray, sizes: list[int], rank: bytearray, plan: Plan, ruled: set[int]) -> int:
    """Failures alone exceed four budgets: the first and the last stand, the gap between states their number. Names and
    summaries stand too, unless they alone are as many; then a summary is among the last. Those that a rule alone calls so go first."""
    limit = 4 * plan.cap
    used = sum([sizes[i] for i, flag in enumerate(keep) if flag and rank[i] == ALWAYS])
    spared = used <= limit
    used = used if spared else 0
    kept = [i for i, flag in enumerate(keep) if flag and not (spared and rank[i] == ALWAYS)]
    for i in kept:
        keep[i] = 0
    surer = [i for i in kept if i not in ruled]
    size = sum([sizes[i] for i in surer])
    if len(surer) < len(kept) and used + size <= limit:
        for i in surer:
            keep[i] = 1
        used, kept = used + size, [i for i in kept if i in ruled]
    elif surer:
        kept = surer
    room = (limit - used) // 2
    for end in (kept, kept[::-1]):
        taken = 0
        for i in end:
            if taken + sizes[i] > room:
                break
            taken += sizes[i]
            keep[i] = 1
        used += taken
    return used


def _fence(keep: bytearray, texts: list[str], rank: bytearray) -> None:
    """A fence of a Markdown code block stands with its other end: one alone would make code of all that follows."""
    begun = -1
    for i in [i for i, text in enumerate(texts) if "```" in text and text.lstrip().startswith("```") and rank[i] < HIDDEN]:
        if begun < 0:
            begun = i
            continue
        if keep[begun] != keep[i]:
            keep[begun] = keep[i] = 1
        begun = -1


def _close(keep: bytearray, sizes: list[int], rows: list[list[str]], units: Units, shown: bytearray | None, plan: Plan) -> None:
    """Shows what a gap would not pay for."""
    n, rank, worth = len(keep), units.rank, units.worth
    i = keep.find(0)
    while 0 <= i < n:
        j = keep.find(1, i)
        if j < 0:
            j = n
        if HIDDEN not in rank[i:j] and LAST not in rank[i:j]:
            fresh = (shown is None or 0 in shown[i:j]) and max(worth[i:j]) >= 0  # what is noise is as little missed as what was shown
            size = sum(sizes[i:j])
            # a rule of seventy dashes is one token: a gap has to hide words
            if size < (plan.gap if fresh else plan.shown) or (size < 8 * _WORDS and sum(map(len, rows[i:j])) < _WORDS):
                keep[i:j] = b"\1" * (j - i)
        i = keep.find(0, j)
