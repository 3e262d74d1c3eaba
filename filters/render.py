"""From parts to the view: shape, units, selection, then text with markers that say what is left out and where it is."""
from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from operator import not_

from byref.filters import weights
from byref.filters.detect import SAMPLE, detect
from byref.filters.lines import GOES_ON
from byref.filters.narrow import program
from byref.filters.ruling import Rule, apply, chosen, signs
from byref.filters.select import PLANS, Plan, Selection, names, select
from byref.filters.shapes.binary import is_binary
from byref.filters.shapes.binary import units as binary_units
from byref.filters.shapes.diff import SHAPE as PATCH
from byref.filters.sieve import HUGE, sieve
from byref.filters.units import ALWAYS, HIDDEN, MUST, Units
from byref.proxy.contracts import Call, Gap, Part, RuleFile, Seen, Source, View
from byref.proxy.errors import ConfigError
from byref.proxy.text import SMALL, estimate, main_part, mapped, terms_of

# All that is ours in a view: a head starts with a ref; a gap with an address; a repeat with its count; a part's name stands alone.
_NAMES = 2400  # characters of names in one gap: beyond, they are a list and no scent
_ALL = 2  # caps of a view that the names of all gaps together may take
_FAMILY = 3
_NOISE = -20  # quarters of worth by structure, as of progress and of what passed: a quarter of it counts for names
_CANDIDATES = 200  # names that are tried for one gap
_RUNS = (" " * 7, "\t" * 7)
_BLANKS = re.compile(" {7,}|\t{7,}")
_LEAST = 5  # characters of room for a name and the blank before it
_SPARSE = 8  # a gap with fewer terms than one in so many of all names: these are sorted, else all names are looked at
_SHORT = 14  # characters of a program's name in a head
_HEAD = 20  # tokens of a head, at most
_DIGITS = b"0123456789"
_LETTERS = bytes(code if chr(code).isalpha() and code < 128 else 32 for code in range(256))
_JSON_MAX = 32 << 20  # bytes of JSON that are cut into records; beyond, lines are sieved
_PATCH_MAX = 2 << 20  # bytes of a patch that is cut into files
_PART = re.compile(r"[\w.-]{1,32}")
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
MARKER = re.compile(r"«(?:r[a-z2-7]{10}\b|(?:[\w.-]{1,32}:)?(?:L\d|b\d|\$)|×\d|[\w.-]{1,32}»)[^«»\n]*»?")


def view(ref: str, parts: Sequence[tuple[Part, Source]], call: Call, seen: Seen, profile: str = "auto", budget: int | None = None,
         rules: tuple[RuleFile, ...] = (), fault: Callable[[str], None] | None = None) -> View:
    """The view of an output. budget: at most about so many tokens. rules: those that go before ours; `fault` is told of one that
    cannot be used. Raises `ConfigError` for a profile that does not exist."""
    if profile not in PLANS:
        raise ConfigError(f"no profile {profile!r}; there are {', '.join(PLANS)}")
    plan = PLANS[profile]
    if budget is not None:
        plan = replace(plan, cap=max(200, budget * 3 // max(1, sum(source.size > 0 for _, source in parts))))
    main = main_part([part.name for part, _ in parts])
    size = sum(source.size for _, source in parts)
    if size <= SMALL:
        return _whole_view(parts, call)
    known = chosen(call, rules, fault)
    cut = [_part(part, source, call, seen, plan, part.name == main, known) for part, source in parts]
    total = sum(c.size for c in cut)
    reduced = [c for c in cut if c.gaps or c.changed]
    head = _head(ref, call, cut) if reduced else ""
    unnamed = [part for part, _ in parts if not _PART.fullmatch(part.name)]  # no marker could name them
    if not reduced or unnamed or total + len(head) + 1 > size - max(64, size // 16) or sum(c.fewer for c in cut) < _HEAD:
        raws = tuple(c.raw if c.raw is not None else _text(source.read()) for c, (_, source) in zip(cut, parts, strict=True))
        return View("", raws, shape=cut[0].shape if cut else "text", lines=frozenset().union(*(c.all_lines() for c in cut)),
                    terms=frozenset().union(*(c.all_terms() for c in cut)))
    texts = tuple(_prefix(part, parts) + c.text for (part, _), c in zip(parts, cut, strict=True))
    return View(head + "\n", texts, tuple(g for c in cut for g in c.gaps), max(cut, key=lambda c: len(c.units.texts)).shape, False,
                frozenset().union(*(c.shown_lines() for c in cut)), frozenset().union(*(c.shown_terms() for c in cut)))


def _whole_view(parts: Sequence[tuple[Part, Source]], call: Call) -> View:
    """The view of what passes whatever is in it: nothing is weighed, but what it shows counts as shown."""
    raws = [_text(source.read()) for _, source in parts]
    cut = [detect(raw, call, part.media, _sectioned(raw, call), True) for raw, (part, _) in zip(raws, parts, strict=True)]
    lines = frozenset().union(*(units.keys for _, units in cut))
    terms = frozenset().union(*(terms_of("\n".join(units.texts if units.sources is None else units.sources)) for _, units in cut))
    return View("", tuple(raws), shape=cut[0][0] if cut else "text", lines=lines, terms=terms)


class _Cut:
    """One part, cut and chosen: its text, its gaps, and what it shows."""

    __slots__ = ("changed", "fewer", "gaps", "main", "named", "raw", "selection", "shape", "shown", "size", "text", "units")

    def __init__(self, raw: str | None, shape: str, units: Units, selection: Selection, main: bool) -> None:
        self.raw, self.shape, self.units, self.selection, self.main = raw, shape, units, selection, main
        self.gaps: list[Gap] = []
        self.named: set[str] = set()
        self.text, self.changed, self.size = "", False, 0
        self.fewer = 0  # tokens saved at least: a hidden term is one or more, a marker's are counted high

    def shown_lines(self) -> set[str]:
        return set(compress(self.units.keys, self.selection.keep)) - {""}

    def shown_terms(self) -> set[str]:
        return self.selection.visible() | self.named

    def all_lines(self) -> set[str]:
        return set(self.units.keys)

    def all_terms(self) -> set[str]:
        return set().union(*self.selection.rows)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _whole(source: Source, call: Call) -> bool:
    """Whether a huge part is cut whole: JSON, and patches, of which each file has to stand."""
    sample = _text(source.read(0, SAMPLE))
    if sample.lstrip()[:1] in ("{", "["):
        return source.size < _JSON_MAX
    return source.size < _PATCH_MAX and PATCH.match(call, "", sample) > 0


def _sectioned(raw: str, call: Call) -> str:
    """The shape of a text that has the sections which its tool's layout names; else nothing."""
    heading = call.layout.sections if call.layout is not None else ""
    return "markup" if heading and heading in raw else ""


def _part(part: Part, source: Source, call: Call, seen: Seen, plan: Plan, main: bool, rules: Sequence[Rule]) -> _Cut:
    raw = None
    if source.size < HUGE or _whole(source, call):
        raw = _text(source.read())
        named = {rule.shape for rule in rules} - {""}
        shape, units = detect(raw, call, part.media, _sectioned(raw, call) or (named.pop() if len(named) == 1 else ""))
    if raw is None or (source.size >= HUGE and shape not in ("json", "binary", "diff")):
        raw = None
        odd = is_binary(_text(source.read(0, SAMPLE)))
        shape, units = ("binary", binary_units(source.size)) if odd else ("text", sieve(source, *signs(rules)))
    apply(units, rules)
    units.strictness = units.strictness * weights.STRICTNESS.get(shape, 100) // 100 or weights.NARROWED.get(shape, 0)
    cut = _Cut(raw, shape, units, select(units, call, seen, plan), main)
    out: list[str] = []
    keep, n = cut.selection.keep, len(units.texts)
    nameable = names(cut.selection) if 0 in keep else {}
    repeated, failing = sorted(units.repeats), sorted(units.failures)
    hidden = sum([len(text) + 1 for text, flag in zip(units.texts, keep, strict=True) if not flag])
    scent = min(100 * plan.scent, _ALL * plan.cap * 10_000 // hidden) if hidden else 0
    i = 0
    while i < n:
        j = keep.find(not keep[i], i)
        j = j if j >= 0 else n
        if keep[i]:
            _block(out, units, i, j, _among(repeated, i, j))
        else:
            failures = sum([units.failures[k] for k in _among(failing, i, j)])
            out.append(_gap(cut, part, i, j, nameable, scent, failures) + "\n")
        i = j
    text = "".join(out)
    if text.endswith("\n") and source.size and source.read(source.size - 1) != b"\n":
        text = text[:-1]
    if units.rendered:
        shown = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        cut.fewer = (source.size - shown) // 6 - shown // 40  # rows are denser in tokens than what they stand for
        if raw is not None and cut.fewer >= _HEAD and any(run in raw for run in _RUNS):  # each is a token, however long it is
            cut.fewer -= sum([len(run) - 6 for run in _BLANKS.findall(raw)]) // 6
    else:
        cut.fewer += sum(map(len, compress(cut.selection.rows, map(not_, keep)))) * 4 // 3 + _HEAD * units.rank.count(HIDDEN)
        cut.fewer += 2 * sum(keep) if units.labels is not None else 0
        if units.heads is not None:  # a path that stands above its matches; each is a token in eight characters or more
            pairs = zip(units.heads, units.heads[1:], keep, keep[1:], strict=False)
            cut.fewer += sum([len(head) // 8 for head, after, first, second in pairs if head == after and first and second])
        cut.fewer += max(0, source.size - len(text)) // 512  # no token is longer than 128 characters, whatever they are
        if raw is not None and ("\r" in raw or "\x1b" in raw):  # what was overwritten, and codes
            cut.fewer += max(0, _count_words(raw) - _count_words("\n".join(units.texts)))
        if cut.fewer < _HEAD and cut.gaps:
            cut.fewer += max(0, _words(units, keep) - sum(map(len, compress(cut.selection.rows, map(not_, keep)))) * 4 // 3)
    cut.text = text = _printable(text)
    cut.changed = units.rendered or len(text) < source.size - 40
    cut.size = len(text) if text.isascii() else len(text.encode())
    return cut


def _words(units: Units, keep: bytearray) -> int:
    """How many words the hidden units hold, those inside paths and identifiers counted: each is a token or more, in any tokenizer."""
    heads = units.heads or [""] * len(keep)
    hidden = "\n".join([head + text for head, text, flag in zip(heads, units.texts, keep, strict=True) if not flag])
    return _count_words(hidden)


def _count_words(text: str) -> int:
    """Runs of letters."""
    return len(mapped(text, _LETTERS).split())


def _among(places: list[int], i: int, j: int) -> list[int]:
    """Those from i to j-1. places: ascending."""
    return places[bisect_left(places, i):bisect_left(places, j)]


def _block(out: list[str], units: Units, i: int, j: int, repeated: list[int]) -> None:
    """Writes units i to j-1: shared heads once, line numbers at the start, every tenth line, and where counting on fails.

    repeated: those among them that stand for later ones.
    """
    texts, labels, heads, glued = units.texts, units.labels, units.heads, units.glued
    if labels is None and heads is None and glued is None and not repeated:
        out.append(_escaped("\n".join(texts[i:j])) + "\n")
        return
    first = True
    repeat = ""
    before = -2
    k = i
    while k < j:
        begun = ""
        if glued is not None and glued[k] == GOES_ON:
            begun = "" if first else out.pop()[:-1]
        elif repeat:  # after the raw line, of which the unit may be a piece
            out.append(repeat)
            repeat = ""
        if labels is not None and not (glued is not None and glued[k]):
            label = labels[k]
            number = int(label.rstrip("→\t:| ")) if label else -2
            if label and (first or number % 10 == 0 or number > 999 or number != before + 1):
                out.append(label)
            before = number
        if heads is not None and heads[k]:
            head = heads[k]
            m = k
            while m < j and heads[m] == head:
                m += 1
            if m - k > 1:
                out.append(_escaped(head if head[-1] == "/" else head[:-1]) + "\n")
                out.extend(_escaped(texts[x]) + "\n" for x in range(k, m))
            else:
                out.append(_escaped(head + texts[k]) + "\n")
            k = m
            first = False
            continue
        out.append(_escaped(begun + texts[k]) + "\n")  # the joined line, for two pieces could make a marker
        if k in units.repeats:
            count, last = units.repeats[k]
            repeat += f"«×{count} to {last}»\n"
        first = False
        k += 1
    if repeat:
        out.append(repeat)


def _gap(cut: _Cut, part: Part, i: int, j: int, nameable: dict[str, int], scent: int, failures: int) -> str:
    """The marker of units i to j-1: address, count, and the terms inside that stand nowhere else.

    nameable: in the order in which gaps name them, ascending. scent: how much of it they may take, in 1/10,000.
    failures: how many have their first report there.
    """
    units, selection = cut.units, cut.selection
    address = units.address(i, j - 1)
    count = _count(units, i, j)
    cut.gaps.append(Gap(part.name, address, count, units.name))
    hidden = sum(map(len, units.texts[i:j])) + j - i
    if min(units.worth[i:j]) <= _NOISE:
        hidden -= sum([len(text) for text, base in zip(units.texts[i:j], units.worth[i:j], strict=True) if base <= _NOISE]) * 3 // 4
    room = min(_NAMES, hidden * scent // 10_000)
    said: list[str] = []
    families: dict[bytes, int] = {}  # of names that differ in digits alone, two say what the others are
    alone = selection.keep.count(0) == j - i  # then it hides all that has a name
    for term in (list(nameable)[:_CANDIDATES] if alone else _candidates(nameable, selection.rows[i:j])) if room >= _LEAST else ():
        if room < _LEAST:
            break
        if len(term) >= room or "«" in term or "»" in term:
            continue
        family = term.encode().translate(None, _DIGITS)  # what is named prints, so that it is Unicode
        if families.get(family, 0) < _FAMILY:
            families[family] = families.get(family, 0) + 1
            said.append(term)
            room -= len(term) + 1
            cut.named.add(term)
            del nameable[term]
    prefix = "" if cut.main else part.name + ":"
    what = f" {count} {units.name}" if units.name != "lines" and count else ""
    failures += _records(units, i, j) if units.rendered and not units.calm else 0
    if failures:
        what += f" {failures} failures" if failures > 1 else " 1 failure"
    cut.fewer -= 8 + len(what) // 4 + sum(map(len, said)) // 3
    return f"«{prefix}{address}{what}{' ' if said else ''}{' '.join(said)}»"


def _count(units: Units, i: int, j: int) -> int:
    """How many of the output's own units begin among units i to j-1: a piece that goes on within a line is none."""
    if units.counts is not None:
        return sum(units.counts[i:j])
    return units.glued[i:j].count(0) if units.glued is not None else j - i


def _candidates(nameable: dict[str, int], rows: list[list[str]]) -> list[str]:
    """The terms of some units that may be named, in order, as many as are tried."""
    terms = nameable.keys() & set().union(*rows)
    if len(terms) * _SPARSE > len(nameable):
        return [term for term in nameable if term in terms][:_CANDIDATES]
    return sorted(terms, key=nameable.__getitem__)[:_CANDIDATES]


def _records(units: Units, i: int, j: int) -> int:
    """How many of units i to j-1 report a failure by their rank. Ranks tell it of records alone: a heading is no failure."""
    return sum(units.rank[k] in (MUST, ALWAYS) and k not in units.failures for k in range(i, j))


def _escaped(text: str) -> str:
    return MARKER.sub(lambda m: "<" + m[0][1:], text) if "«" in text else text


def _printable(text: str) -> str:
    """Each byte that is not UTF-8 as U+FFFD, on its own: decoded together, bytes around an escape code could become a marker."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _NOT_UTF8.sub("\ufffd", text)
    return text


def _prefix(part: Part, parts: Sequence[tuple[Part, Source]]) -> str:
    return f"«{part.name}»\n" if len(parts) > 1 and part is not parts[0][0] and part.blob.size else ""


def _head(ref: str, call: Call, cuts: list[_Cut]) -> str:
    """The first line of a reduced view: ref, program and exit code where the call failed, how much stands of the parts that are cut
    into the units of the longest one, and how many units report failures where some of those do not."""
    kind = max(cuts, key=lambda c: len(c.units.texts)).units.name
    stands = total = failures = 0
    for units, keep in ((cut.units, cut.selection.keep) for cut in cuts):
        if any([not keep[k] for k in units.failures]):
            failures += units.failing
        if units.name == kind:
            total += units.total if units.total is not None and units.counts is None else _count(units, 0, len(keep))
            if units.counts is not None:
                stands += sum(compress(units.counts, keep))
            else:
                stands += sum(keep) if units.glued is None else bytes(compress(units.glued, keep)).count(0)
    name = program(call)
    who = f" {name}" if len(name) <= _SHORT and name.isascii() else ""
    status = f"{who} exit {call.exit_code}:" if call.exit_code else " error:" if call.is_error else ""
    failing = f" {failures} failures" if failures > 1 else ""
    return f"«{ref}{status} {stands} of {total} {kind}{failing}»"


__all__ = ["MARKER", "estimate", "view"]
