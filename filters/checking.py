"""Whether a rule does what it says: its file is well made, each pattern earns its place, and its cases hold.

A problem is `key: what is wrong; what to do`. Nothing here is needed to make a view.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byref.filters import ruling
from byref.filters.detect import known
from byref.filters.lines import split
from byref.filters.render import view
from byref.filters.ruling import KEYS, Page, Rule
from byref.proxy.contracts import Blob, Call, Part, RuleFile, Seen, Source, View
from byref.proxy.errors import ByrefError
from byref.proxy.text import SMALL, estimate

_KEYS = ("argv", "shape", *KEYS, "case")
_CASE = {"command": str, "output": str, "exit": int, "shows": list, "hides": list}
_REF = "rk7f3qmab2x"
_SHARE, _LEAST = 8, 60  # a case is viewed under an eighth of its output's tokens, never under so many
_QUOTED = 80  # characters of a text that a problem quotes


@dataclass(frozen=True, slots=True)
class Case:
    """A real output of a rule's command. shows, hides: texts that stand, and that do not, in a view under a tight budget."""

    command: str
    output: str
    exit_code: int = 0
    shows: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()

    @property
    def call(self) -> Call:
        return Call("Bash", {"command": self.command}, self.exit_code)

    @property
    def budget(self) -> int:
        """Tokens."""
        return max(_LEAST, estimate(self.output) // _SHARE)


class _Text:
    """The bytes of a case as the part of an output."""

    def __init__(self, text: str) -> None:
        self._data = text.encode()
        self.size = len(self._data)

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        return self._data[start:end]

    def blocks(self) -> Iterator[bytes]:
        yield self._data

    def lines(self, first: int, last: int) -> tuple[int, int]:
        rows = self._data.splitlines(keepends=True)
        return sum(map(len, rows[:first - 1])), sum(map(len, rows[:last]))


def look(case: Case, extra: tuple[RuleFile, ...] = (), profile: str = "auto", budget: int | None = None) -> View:
    """The view of a case as the pipeline makes it."""
    source: Source = _Text(case.output)
    part = Part("stdout", "text/plain", Blob("", source.size, case.output.count("\n")))
    return view(_REF, [(part, source)], case.call, Seen(), profile, budget, extra)


def problems(file: RuleFile, others: Sequence[RuleFile] = ()) -> list[str]:
    """What is wrong with a rule; nothing if all is well. others: the files of the same folder, which may not claim the same commands."""
    import tomllib
    try:
        table = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as fault:
        return [f"toml: {fault}; mend the syntax"]
    found = [f"{key}: there is no such key; take {', '.join(_KEYS)}" for key in table if key not in _KEYS]
    try:
        rule = ruling.parsed(file)
    except ByrefError as fault:
        return [*found, str(fault)]
    found += _argv(rule, file, others)
    if rule.shape and rule.shape not in {shape.name for shape in known()}:
        found.append(f"shape: there is no {rule.shape!r}; take {', '.join(shape.name for shape in known())}")
    cases, wrong = cases_of(table)
    if wrong:
        return found + wrong
    if not cases:
        found.append("case: there is none; add a [[case]] with a real output")
    patterns = _patterns(rule, cases)
    return found + patterns if patterns else found + [text for k, case in enumerate(cases, 1) for text in _case(k, case, rule, file)]


def _argv(rule: Rule, file: RuleFile, others: Sequence[RuleFile]) -> Iterator[str]:
    if not rule.argv or not all(rule.argv):
        yield 'argv: it is missing or holds an empty text; name the commands, such as argv = ["pip install"]'
    elif ruling.argv_of(file.text) != rule.argv:
        yield 'argv: it is found before the file is parsed; let it begin a line near the top, as a list of plain texts in "…" or \'…\''
    for other in others:
        both = set(rule.argv) & set(ruling.argv_of(other.text)) if other.name != file.name else ()
        for argv in sorted(both):
            yield f"argv: {other.name}.toml claims {' '.join(argv)!r} as well; take it out of one of the two"


def cases_of(table: dict[str, object]) -> tuple[list[Case], list[str]]:
    """The cases of a rule's table, and what is wrong with them."""
    cases: list[Case] = []
    wrong: list[str] = []
    given = table.get("case", [])
    for k, one in enumerate(given if isinstance(given, list) else [given], 1):
        if not isinstance(one, dict):
            wrong.append("case: write each as [[case]] with command, output, shows and hides")
            continue
        for key, value in one.items():
            kind = _CASE.get(key)
            if kind is None:
                wrong.append(f"case {k} {key}: there is no such key; take {', '.join(_CASE)}")
            elif not isinstance(value, kind) or (isinstance(value, list) and not all(isinstance(text, str) and text for text in value)):
                wrong.append(f"case {k} {key}: write {'a list of texts' if kind is list else 'a text' if kind is str else 'a number'}")
        if not one.get("command") or not one.get("output"):
            wrong.append(f"case {k}: give it a command and its output")
        if not wrong:
            cases.append(Case(one["command"], one["output"], one.get("exit", 0), tuple(one.get("shows", ())), tuple(one.get("hides", ()))))
    return cases, wrong


def _patterns(rule: Rule, cases: Sequence[Case]) -> list[str]:
    """Patterns that do not compile, match nothing at all, or match no line of any case."""
    found: list[str] = []
    pages = [Page(split(case.output).units()).data for case in cases]
    for key in KEYS:
        for source in getattr(rule, key):
            said = f"{key}: {source[:_QUOTED]!r}"
            try:
                ruling.one(source)
                empty = ruling.matches_nothing(ruling.one(source))
            except ByrefError as fault:
                found.append(f"{said} does not compile: {str(fault).rpartition(' is not RE2: ')[2]}; see the syntax of RE2")
                continue
            if empty:
                found.append(f"{said} matches the empty text; let it ask for a character at least")
            elif not any(hit.start() < hit.end() for data in pages for hit in ruling.one(source).finditer(data)):
                found.append(f"{said} matches no line of any case; add a case that has one, or take it out")
            if key == "group" and "(" not in source.replace("\\(", "").replace("(?:", ""):
                found.append(f"{said} captures nothing; put what is alike in its lines into ( )")
    return found


def _case(k: int, case: Case, rule: Rule, file: RuleFile) -> Iterator[str]:
    """What a case says and its view does not keep."""
    faults: list[str] = []
    if rule not in ruling.chosen(case.call, (file,), faults.append):
        yield f"case {k} command: {case.command!r} does not come to this rule; mend argv or the command{''.join('; ' + f for f in faults)}"
    for text in (*case.shows, *case.hides):
        if text not in case.output:
            yield f"case {k}: {text[:_QUOTED]!r} does not stand in its output; copy it from there"
    made = look(case, (file,), budget=case.budget)
    shown = "".join(made.texts)
    for text in case.shows:
        if text in case.output and text not in shown:
            yield f"case {k} shows: {text[:_QUOTED]!r} does not stand in the view of {case.budget} tokens; add it to must, always or keep"
    for text in case.hides:
        if text in shown:
            size = len(case.output.encode())
            why = "a view this long passes whole" if made.passed and size > SMALL else f"outputs up to {SMALL} bytes pass" if made.passed \
                else "a gap must hide more than it takes, failures always stand"
            yield f"case {k} hides: {text[:_QUOTED]!r} stands in the view of {case.budget} tokens ({why}); add it to drop or group"
