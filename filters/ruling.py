"""Rules: what is known of a command's output, as patterns in a TOML file. They say what stands, what goes first, what repeats.

A rule adds ranks and worth to the units that a shape made; it runs no code, and its patterns are RE2, over the whole text at once.
The rules of byref are the files of `filters/rules/`; those of a user or a project are passed in as texts. A file is parsed when a call
is its business: until then only its `argv` is looked at.
"""
from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, compress
from operator import add

from byref.filters.argv import Words, begins, commands, module, name_of
from byref.filters.failures import mark, suspects
from byref.filters.lines import GOES_ON
from byref.filters.patterns import captures, spans
from byref.filters.units import ALWAYS, ANCHOR, MUST, PLAIN, Units
from byref.proxy.contracts import Call, RuleFile
from byref.proxy.errors import ByrefError, ConfigError, Invalid
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

KEYS = ("always", "must", "keep", "drop", "group")
FOLDER = os.path.join(os.path.dirname(__file__), "rules")
NOISE = -40  # quarters: the worth of what a rule drops, as of a passing test
_HEAD = 2048  # bytes of a file in which its argv stands
_ARGV = re.compile(r"^argv\s*=\s*\[((?:[\s,]++|#[^\n]*+|\"[^\"\n\\]*+\"|'[^'\n]*+')*+)\]", re.M)
_TEXT = re.compile(r"#[^\n]*+|\"([^\"\n\\]*+)\"|'([^'\n]*+)'")
ALIKE = -16  # the same of a line between the ends of a group: gaps still say what it names
_STANDS = bytes(level >= MUST for level in range(256))
_ENDS = 2  # lines of a group that stand: the first and the last


@dataclass(frozen=True, slots=True)
class Rule:
    """One file. argv: the word sequences with which its commands start; shape: asked first; the others are RE2 patterns by what they do."""

    name: str
    argv: tuple[Words, ...]
    shape: str = ""
    always: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    group: tuple[str, ...] = ()


# -- finding ----------------------------------------------------------------------------------------

def chosen(call: Call, extra: tuple[RuleFile, ...] = (), fault: Callable[[str], None] | None = None) -> list[Rule]:
    """The rules of the commands that a call runs, in their order, each once. extra: files that go before ours, the first before the next.

    A file that cannot be used is skipped, as if it were not there, and `fault` is told why.
    """
    rules: list[Rule] = []
    for words in commands(call):
        for file in _files(words, extra):
            try:
                rule = usable(file)
            except ByrefError as problem:
                if fault is not None:
                    fault(f"{file.place}: {problem}")
                continue
            if rule not in rules:
                rules.append(rule)
            break
    return rules


def usable(file: RuleFile) -> Rule:
    """The rule in a file, its patterns compiled. Raises `ConfigError` or `Invalid`."""
    rule = parsed(file)
    for key in KEYS:
        compiled(getattr(rule, key))
    return rule


def _files(words: Words, extra: tuple[RuleFile, ...]) -> list[RuleFile]:
    """The files whose argv the words start with, the best first: the longest argv, then the order of the files."""
    table = _table(extra)
    inner = module(words)
    for start in (words, inner) if inner is not words else (words,):
        hits = [(-len(argv), at, order, file) for argv, order, file in table.get(name_of(start[0]), ()) if (at := begins(argv, start))]
        if hits:
            return [file for _, _, _, file in sorted(hits, key=lambda hit: hit[:3])]
    return []


@lru_cache(maxsize=64)
def _table(extra: tuple[RuleFile, ...]) -> dict[str, list[tuple[Words, int, RuleFile]]]:
    """By the first word: argv, place in the order, file. A file hides those of the same name behind it, if its argv can be read."""
    table: dict[str, list[tuple[Words, int, RuleFile]]] = {}
    names: set[str] = set()
    for order, file in enumerate((*extra, *builtin())):
        found = argv_of(file.text)
        if found and file.name not in names:
            names.add(file.name)
            for argv in found:
                table.setdefault(argv[0], []).append((argv, order, file))
    return table


@cache
def builtin() -> tuple[RuleFile, ...]:
    """The rules of byref itself, each with the start of its text alone: enough to find it by."""
    files = []
    for name in sorted(os.listdir(FOLDER)) if os.path.isdir(FOLDER) else ():
        if name.endswith(".toml"):
            place = os.path.join(FOLDER, name)
            files.append(RuleFile(name[:-5], _start(place), place))
    return tuple(files)


def _start(place: str) -> str:
    with open(place, "rb", buffering=0) as file:
        return file.read(_HEAD).decode("utf-8", "replace")


def _whole(file: RuleFile) -> str:
    with open(file.place, encoding="utf-8") as stream:
        return stream.read()


def argv_of(text: str) -> tuple[Words, ...]:
    """The argv of a rule's text by a look at its start; empty where there is none that can be read so."""
    found = _ARGV.search(text)
    if found is None:
        return ()
    texts = [(m[1] or m[2] or "").split() for m in _TEXT.finditer(found[1])]
    return tuple(tuple(words) for words in texts if words)


# -- parsing ----------------------------------------------------------------------------------------

@lru_cache(maxsize=256)
def parsed(file: RuleFile) -> Rule:
    """The rule in a file; its cases are not looked at. Raises `ConfigError`."""
    import tomllib
    text = _whole(file) if file.place.startswith(FOLDER) else file.text
    try:
        table = tomllib.loads(text.partition("\n[[case]]")[0] + "\n")
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"this is no TOML: {problem}") from None
    lists: dict[str, tuple[str, ...]] = {}
    for key in ("argv", *KEYS):
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ConfigError(f"{key}: write a list of texts")
        lists[key] = tuple(value)
    shape = table.get("shape", "")
    if not isinstance(shape, str):
        raise ConfigError("shape: write the name of a shape")
    argv = tuple(tuple(one.split()) for one in lists.pop("argv"))
    return Rule(file.name, argv, shape, **lists)


@lru_cache(maxsize=1024)
def compiled(sources: tuple[str, ...]) -> tuple[Pattern, ...]:
    """Patterns over UTF-8 bytes, ^ and $ at line ends; those that stay within a line as one. Raises `Invalid`."""
    within = [source for source in sources if "\\n" not in source and "(?s" not in source]
    if len(within) > 1:
        try:
            whole = one("|".join([f"(?:{source})" for source in within]))
        except Invalid:
            pass  # which of them it is comes out when they are taken one by one
        else:
            if not matches_nothing(whole):  # that would win at every place
                return (whole, *(one(source) for source in sources if source not in within))
    return tuple(map(one, sources))


def matches_nothing(compiled: Pattern) -> bool:
    """Whether a pattern matches where there is no character."""
    return any([hit.start() == hit.end() for text in (b"", b"a") for hit in compiled.finditer(text)])


@lru_cache(maxsize=1024)
def one(source: str) -> Pattern:
    """One pattern as it is applied. Raises `Invalid`."""
    return pattern(f"(?m){source}")


# -- applying ---------------------------------------------------------------------------------------

class Page:
    """The text of units as a tool printed it, and the units that a match in it covers."""

    __slots__ = ("_barred", "_ends", "_starts", "_units", "data")

    def __init__(self, units: Units) -> None:
        texts, glued = units.texts, units.glued
        for before in (units.heads, units.labels):
            if before is not None:
                texts = [head + text for head, text in zip(before, texts, strict=True)]
        self._units = units
        self._barred = max(units.rank, default=PLAIN) > ALWAYS  # what no rule has a say over
        # what goes on within a long line is joined to it
        joints = [1] * len(texts) if glued is None else [int(flag != GOES_ON) for flag in glued[1:]] + [1]
        text = "\n".join(texts) if glued is None else "".join([row + "\n" * joint for row, joint in zip(texts, joints, strict=True)])
        self.data = text.encode("utf-8", "surrogateescape")
        sizes = map(len, texts if text.isascii() else [row.encode("utf-8", "surrogateescape") for row in texts])
        self._ends = list(accumulate(map(add, sizes, joints)))
        self._starts = None if glued is None else [k for k, flag in enumerate(glued) if flag != GOES_ON] or [0]

    def units(self, sources: tuple[str, ...]) -> set[int]:
        """The units that matches of the patterns cover; none that another part of a view has the say over, as hidden text."""
        found: set[int] = set()
        ends, rank = self._ends, self._units.rank
        for source in compiled(sources) if sources else ():
            for start, end in spans(source, self.data):
                if start < end:  # what matches nothing says nothing
                    first = bisect_right(ends, start)
                    if end <= ends[first]:
                        found.add(first)
                    else:
                        found.update(range(first, bisect_right(ends, end - 1) + 1))
        return {k for k in found if rank[k] <= ALWAYS} if self._barred else found

    def whole(self, units: Iterable[int]) -> set[int]:
        """The units of all lines that some units are part of."""
        return set(units) if self._starts is None else {k for first in units for k in self.line(first)}

    def line(self, k: int) -> range:
        """All units of the line that unit k is part of."""
        if self._starts is None:
            return range(k, k + 1)
        at = bisect_right(self._starts, k)
        return range(self._starts[at - 1], self._starts[at] if at < len(self._starts) else len(self._ends))

    def groups(self, source: str) -> list[list[int]]:
        """The first units of the lines that a pattern matches, by what its groups capture."""
        alike: dict[tuple[bytes | None, ...], list[int]] = {}
        ends, before = self._ends, -1
        data, whole = self.data, self._starts is None
        for (start, end), *groups in captures(one(source), data):
            k = bisect_right(ends, start)
            if start < end and k > before:  # one match a line
                line = (k,) if whole else self.line(k)
                before = line[-1]
                alike.setdefault(tuple([data[a:b] if a >= 0 else None for a, b in groups]), []).append(line[0])
        return list(alike.values())


def signs(rules: Sequence[Rule]) -> tuple[list[Pattern], list[Pattern]]:
    """What rules call failures, and what they keep besides, as patterns: for outputs too large to be cut whole."""
    return ([sign for rule in rules for sign in compiled(rule.must)],
            [sign for rule in rules for sign in (*compiled(rule.always), *compiled(rule.keep))])


def apply(units: Units, rules: Sequence[Rule]) -> None:
    """Ranks and weighs units as rules say. Of several that speak of a line, what shows more wins: always, must, group, keep, drop.

    Records that were rendered anew are no lines: their shape alone knows them.
    """
    if units.rendered or not units.texts or not any([getattr(rule, key) for rule in rules for key in KEYS]):
        return
    page = Page(units)
    rank, worth = units.rank, units.worth
    always, must, keep, drop = ({k for rule in rules for k in page.units(getattr(rule, key))} for key in ("always", "must", "keep", "drop"))
    groups = [same for rule in rules for source in rule.group for same in page.groups(source)]
    fixed = always | must | set(units.marked)
    fixed.update(compress(range(len(rank)), rank.translate(_STANDS)))
    noise = page.whole(drop) - fixed
    doubtful = sorted(noise | page.whole([k for same in groups for k in same]) - fixed)
    fixed |= {doubtful[k] for k in suspects([units.texts[k] for k in doubtful])}  # where the shape does not mark them
    for k in noise - fixed - keep:
        rank[k], worth[k] = PLAIN, min(worth[k], NOISE)
    for k in keep - fixed:
        rank[k], worth[k] = ANCHOR, max(worth[k], 0)
    for same in groups:
        if len(same) > _ENDS:
            _repeat(units, [line for line in map(page.line, same) if fixed.isdisjoint(line)])
    for k in always:
        rank[k], worth[k] = ALWAYS, max(worth[k], 0)
    unknown = {k for k in must - always if rank[k] < MUST and k not in units.failures}.difference(units.marked)
    for k in unknown:
        worth[k] = max(worth[k], 0)
    if unknown:
        new = sorted(unknown)
        units.ruled = unknown.difference([new[k] for k in suspects([units.texts[k] for k in new])])
        mark(units, new)


def _repeat(units: Units, lines: list[range]) -> None:
    """Lines that are alike: the first and the last stand, the first with the count."""
    if len(lines) <= _ENDS:
        return
    rank, worth, repeats = units.rank, units.worth, units.repeats
    for line in lines:
        for k in line:
            rank[k] = PLAIN
            if worth[k] > ALIKE:
                worth[k] = ALIKE
            repeats.pop(k, None)
    for k in (*lines[0], *lines[-1]):
        units.rank[k], units.worth[k] = ANCHOR, 0
    units.repeats[lines[0][-1]] = (len(lines), units.address(lines[-1][0], lines[-1][-1]))
