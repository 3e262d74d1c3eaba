"""Code and other files as read tools show them: numbered lines, or the bare text of a file."""
from __future__ import annotations

import re

from byref.filters import banners, weights
from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.units import Units
from byref.filters.worth import asked_of, task_of
from byref.proxy.contracts import Call
from byref.proxy.text import canonical, subwords

_NUMBERED = re.compile(r"^ *\d+(?:→|\t|: ?|\| ?)", re.M)
_READERS = frozenset({"read", "view", "open", "open_file", "read_file", "notebookread"})
# What an edit prints back is what the next edit starts from: 18 % of its lines are edited again, against 3 % of a whole read's.
_EDITORS = frozenset({"edit", "multiedit", "write", "str_replace_editor", "str_replace_based_edit_tool", "notebookedit", "apply_patch"})
_READ_COMMAND = re.compile(r"^\s*(?:cat|nl|head|tail|sed|less|more|bat|open|goto|scroll_down|scroll_up|edit)\b(?!.*<<)")
_BLAME = re.compile(r"(\^?[0-9a-f]{7,40} (?:[^\n(]*\([^\n]{9,80}? )?)( *\d+\) ?)")  # who wrote a line and when, its number
_LOG = re.compile(r"\.(?:log|out|err)\b")  # files whose failures stand when they are read
_DEFINES = frozenset({
    "class", "def", "function", "func", "fn", "interface", "struct", "enum", "trait", "impl", "module", "namespace", "type", "macro_rules!",
    "export", "public", "private", "protected", "static", "abstract", "async", "pub", "pub(crate)", "describe(", "it("})
_OPENING = frozenset(word[0] for word in _DEFINES)
_DEFINED = re.compile(r"(?:(?:export|default|public|private|protected|static|abstract|async|pub|pub\(crate\)|final|override)\s+)*"
                      r"(?:class|def|function|func|fn|interface|struct|enum|trait|impl|module)\s+(\w+)")
_TESTS = re.compile(r"(?:^|[\s/\\\"'])(?:(?:test|spec)s?[_-][\w.-]*\.\w+|(?:[\w.-]*[_.-])?(?:test|spec)s?\.\w+|\w+(?:Test|Spec)s?\.\w+)"
                    r"(?=$|[\s\"':;|>])")  # a file of tests, by its name
_NAMES = 4000  # characters of a command line that is searched for it
_LAST = 10  # lines at the end of such a file
_SIGNATURE = 24  # lines of a signature, at most


class Code:
    name = "code"
    most = 80

    def match(self, call: Call, media: str, sample: str) -> int:
        tool = call.tool.lower()
        if tool in _EDITORS or (tool in _READERS and not _LOG.search(canonical(call.arguments))):
            return 80
        numbers = len(_NUMBERED.findall(sample))
        if numbers > 4 and numbers * 10 > sample.count("\n") * 8:
            return 70
        if _READ_COMMAND.match(command(call)) and not _LOG.search(command(call)):
            return 60
        if _BLAME.match(sample):
            return 70
        rows = sample.split("\n")
        defined = sum(_first(row) in _DEFINES for row in rows)
        return 30 if defined > 3 and any(row[:1] in (" ", "\t") for row in rows) else 0  # bodies: a list of words has none

    def cut(self, text: str, call: Call) -> Units:
        return _cut(text)[0]

    def units(self, text: str, call: Call) -> Units:
        units, code = _cut(text)
        units.worth = _worth(code, [t.strip() for t in code] if units.heads else units.keys, call)
        units.strictness = 0 if narrowed(call) or call.tool.lower() in _EDITORS else 100
        if units.strictness and any(map(_TESTS.search, _files(call))):
            _next_test(units)
        if call.is_error or call.exit_code:  # a read that failed, or a command that did more than read
            mark(units, suspects(units.texts))
        banners.mark(units)
        return units


def _cut(text: str) -> tuple[Units, list[str]]:
    """The units of a text, and the code in each."""
    lines = split(text)
    texts, labels = _unnumbered(lines.texts, lines.glued)
    n = len(texts)
    keys = [t.strip() for t in texts]
    heads, code = _blamed(texts) if lines.glued is None and _BLAME.match(text) else (None, texts)
    if heads:
        texts = [row[len(head):] for head, row in zip(heads, texts, strict=True)]
    return Units(texts, lines.address, bytearray(n), [0] * n, keys=keys, heads=heads, glued=lines.glued, labels=labels,
                 total=lines.numbers[-1] if lines.numbers else n), code


def _worth(texts: list[str], keys: list[str], call: Call) -> list[int]:
    """Quarters by the structure of code: a definition for its name, the lines inside it where that name was asked for."""
    worth = [0] * len(texts)
    within: dict[int, int] = {}  # what the body of a definition is worth
    for i, key in enumerate(keys):
        if key[:1] in _OPENING and key.split(None, 1)[0] in _DEFINES:
            worth[i] = weights.DEFINITION
            found = _DEFINED.match(key)
            if found and key[-1] in "(,":
                _signature(keys, i, worth)
            if found:
                within[i] = _inside(found[1], call)
    if not any(within.values()):
        return worth
    nested: list[tuple[int, int]] = []  # indentation of the definitions around a line, and what their bodies are worth
    for i, key in enumerate(keys):
        if not key:
            continue
        indent = len(texts[i]) - len(texts[i].lstrip())
        while nested and indent <= nested[-1][0] and key[0] not in ")]}":
            nested.pop()
        if nested and not worth[i]:
            worth[i] = nested[-1][1]
        if i in within:
            nested.append((indent, within[i]))
    return worth


def _signature(keys: list[str], first: int, worth: list[int]) -> None:
    """What a definition takes stands with its first line, where that goes on over several."""
    deep = 0
    for i in range(first, min(len(keys), first + _SIGNATURE)):
        worth[i] = worth[i] or weights.DEFINITION - 1
        deep += keys[i].count("(") - keys[i].count(")")
        if deep <= 0:
            return


def _files(call: Call) -> list[str]:
    """What may name the files that a call reads: its command line, and short arguments."""
    held = call.arguments.values() if isinstance(call.arguments, dict) else [call.arguments]
    return [value for value in held if isinstance(value, str) and len(value) < _NAMES]


def _next_test(units: Units) -> None:
    """The end of a file of tests is where the next one goes: of its last lines 30 % are edited later, of all 3 to 6."""
    for i in [i for i in range(len(units.keys) - 1, -1, -1) if len(units.keys[i]) > 2][:_LAST]:
        units.worth[i] = max(units.worth[i], weights.DEFINITION)


def _inside(name: str, call: Call) -> int:
    """What the lines inside a definition are worth by its name."""
    asked, task = asked_of(call), task_of(call)
    if name in asked[0] or name in task[0]:
        return weights.INSIDE_NAMED
    words = subwords(name)
    return 0 if asked[1].isdisjoint(words) and task[1].isdisjoint(words) else weights.INSIDE_RELATED


def _blamed(rows: list[str]) -> tuple[list[str], list[str]]:
    """Of lines that say who wrote them and when, that, and the code."""
    found = [_BLAME.match(row) for row in rows]
    return [one[1] if one else "" for one in found], [row[one.end():] if one else row for row, one in zip(rows, found, strict=True)]


def _first(row: str) -> str:
    """The first word of a line."""
    words = row.split(None, 1)
    return words[0] if words else ""


def _unnumbered(rows: list[str], glued: bytearray | None) -> tuple[list[str], list[str] | None]:
    """Lines without their numbers, and the numbers as they stand before them; None where lines have none.

    A line has a number where one beside it has the next: ids and sizes at the start of a line are data.
    """
    sign = next((sign for sign in ("→", "\t", ":", "|") if _share(rows[:40], sign) > 50), None)
    if sign is None:
        return rows, None
    cut = [row.partition(sign) for row in rows]
    starts = [k for k in range(len(rows)) if not glued[k]] if glued is not None else range(len(rows))
    if glued is None and sign != ":" and _counted([number.strip(" ") + found for number, found, _ in cut], sign):
        return [text for _, _, text in cut], [number.lstrip() + sign for number, _, _ in cut]
    numbers = [-2, *_numbers(cut if glued is None else [cut[k] for k in starts]), -2]
    texts, labels = rows.copy(), [""] * len(rows)
    for k, before, own, after in zip(starts, numbers, numbers[1:], numbers[2:], strict=False):
        if own >= 0 and (before == own - 1 or after == own + 1):
            number, _, texts[k] = cut[k]
            labels[k] = number.lstrip() + sign
    return texts, labels


def _counted(words: list[str], sign: str) -> bool:
    """Whether words are numbers that count on, one by one, each with the sign behind it."""
    first = words[0][:-1]
    return len(words) > 1 and first.isdecimal() and words == [f"{n}{sign}" for n in range(int(first), int(first) + len(words))]


def _numbers(cut: list[tuple[str, str, str]]) -> list[int]:
    """The number at the start of each line, -2 where there is none. A time (`12:30`) is none."""
    return [int(number) if sign and number.strip(" ").isdecimal() and not (sign == ":" and body[:1].isdigit()) else -2
            for number, sign, body in cut]


def _share(rows: list[str], sign: str) -> int:
    """Percent of the lines that start with a number and this sign."""
    return sum([row.partition(sign)[0].strip().isdigit() for row in rows if sign in row]) * 100 // max(3, len(rows))


SHAPE = Code()
