"""What an output held that the agent used later: the evidence that a view is to keep, known by hindsight.

A string is evidence where it is new in an output, in no earlier message, and the agent writes it after that: in a call, in text,
in a thought. The agent had seen the raw output, so this bounds no success rate; it compares views of the same bytes. Strings are
paths, identifiers of six characters or more, and numbers of four digits or more; words that any text holds do not count.
"""
from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from byref.proxy.contracts import Json
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.signature import signature
from byref.proxy.text import terms_of, terms_said

# A path is looked for from the first of its characters alone: where there is none from there, there is none from a later one.
_STRING = re.compile(r"(?<![\w.-])[\w.-]*/[\w./-]+\w|[A-Za-z_][A-Za-z0-9_]{5,}(?:\.[A-Za-z_][A-Za-z0-9_]+)*|\d{4,}")
_ASCII = re.compile(_STRING.pattern, re.ASCII)  # the same where there are no other characters, sooner
_WORDS = (
    "return import output command should function method params config default result results string number object string content "
    "before after class python error update create should would because information available following please search answer "
    "question")
_COMMON = frozenset(_WORDS.split())
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|:|-|\|)")
_SHORTEST = 8  # characters of an old line that tells one place from another


@dataclass(frozen=True, slots=True)
class Old:
    """A line that an edit replaces. origin: the turn whose output held it last."""

    text: str
    origin: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """One output of a trajectory, and what became of it.

    index: of its turn. before: what the agent wrote just before the call. new: strings that no earlier message held. used: those of
    them that the agent writes later. edited: lines of the output that a later edit replaces. old: lines that the edit called next
    replaces and that some output so far held. repeats: the turn whose call this one makes again, as by its signature.
    later: requests that follow the one that first held the output.
    """

    index: int
    before: str
    new: frozenset[str]
    used: frozenset[str]
    edited: frozenset[str]
    old: tuple[Old, ...]
    repeats: int | None
    later: int


def strings(text: str) -> set[str]:
    """The strings of a text that can be evidence."""
    return set(_STRING.findall(text))


def _strings(terms: Iterable[str]) -> set[str]:
    """The strings in terms: none goes across what ends a term, so that what was seen of a term holds wherever it stands."""
    text = " ".join(terms)
    return set((_ASCII if text.isascii() else _STRING).findall(text))


def lines(text: str, among: Collection[str]) -> set[str]:
    """Those of some lines that a text holds: stripped, as they stand or without a line number before them."""
    if not among:
        return set()
    stripped = set(map(str.strip, text.split("\n")))
    found = stripped.intersection(among)
    for line in stripped:
        if line[:1].isdigit() and (number := _NUMBERED.match(line)) and (row := line[number.end():].lstrip()) in among:
            found.add(row)
    return found


def old_lines(arguments: Json) -> list[str]:
    """The lines that an edit replaces, stripped, by the arguments of its call; none where it is no edit."""
    old = arguments.get("old_string") if isinstance(arguments, dict) else None
    return [row for row in map(str.strip, old.split("\n")) if len(row) >= _SHORTEST] if isinstance(old, str) else []


def evidence(trajectory: Trajectory) -> Iterator[Evidence]:
    """What each output of a trajectory held, in order. Turns without output have none."""
    turns = trajectory.turns
    said = [terms_said(turn.said) for turn in turns]
    written, replaced = _last_written(said), _last_replaced(trajectory)
    seen = terms_of(trajectory.task) | terms_of(trajectory.first_action)
    known = _strings(seen) | _COMMON
    held: dict[str, int] = {}  # line: the turn whose output held it last
    called: dict[str, int] = {}
    requests = trajectory.requests()

    def fresh(terms: Set[str]) -> set[str]:
        """The strings of terms that were not seen before; those of the others are known."""
        new = terms - seen
        seen.update(new)
        return _strings(new)
    for i, turn in enumerate(turns):
        if not turn.output:
            continue
        known |= fresh(terms_of(json.dumps(turn.arguments, ensure_ascii=False)))
        new = fresh(terms_of(turn.output)) - known
        here = lines(turn.output, replaced)
        held.update(dict.fromkeys(here, i))
        old = old_lines(turns[i + 1].arguments) if i + 1 < len(turns) else []
        same = signature(turn.tool, turn.arguments)
        yield Evidence(i, trajectory.before(i), frozenset(new), frozenset([one for one in new if written.get(one, -1) >= i]),
                       frozenset([row for row in here if replaced[row] > i]),
                       tuple(Old(row, held[row]) for row in old if row in held), called.get(same), requests[-1] - requests[i])
        called[same] = i
        known |= new
        known |= fresh(said[i])


def _last_written(said: Sequence[Set[str]]) -> dict[str, int]:
    """For each string that the agent writes after an output, the last turn after which it does. said: the terms of what it writes."""
    last: dict[str, int] = {}
    for i, terms in enumerate(said):
        last.update(dict.fromkeys(terms, i))
    by_turn: list[list[str]] = [[] for _ in said]
    for term, i in last.items():
        by_turn[i].append(term)
    found: dict[str, int] = {}
    for i, terms_of_turn in enumerate(by_turn):
        found.update(dict.fromkeys(_strings(terms_of_turn), i))
    return found


def _last_replaced(trajectory: Trajectory) -> dict[str, int]:
    """For each line that an edit replaces, the last turn whose call does."""
    return {row: i for i, turn in enumerate(trajectory.turns) for row in old_lines(turn.arguments)}
