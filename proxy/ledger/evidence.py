"""What an output held that the agent used later: the evidence that a view is to keep, known by hindsight.

A string is evidence where it is new in an output, in no earlier message, and the agent writes it after that: in a call, in text,
in a thought. The agent had seen the raw output, so this bounds no success rate; it compares views of the same bytes. Strings are
paths, identifiers of six characters or more, and numbers of four digits or more; words that any text holds do not count.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from byref.proxy.contracts import Json
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.signature import signature

_STRING = re.compile(r"(?:[\w.-]*/[\w./-]+\w)|[A-Za-z_][A-Za-z0-9_]{5,}(?:\.[A-Za-z_][A-Za-z0-9_]+)*|\d{4,}")
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


def lines(text: str) -> set[str]:
    """The lines of a text, stripped: as they stand, and without a line number before them."""
    found = set()
    for line in text.split("\n"):
        found.add(line.strip())
        found.add(_NUMBERED.sub("", line).strip())
    return found


def old_lines(arguments: Json) -> list[str]:
    """The lines that an edit replaces, stripped, by the arguments of its call; none where it is no edit."""
    old = arguments.get("old_string") if isinstance(arguments, dict) else None
    return [row for row in map(str.strip, old.split("\n")) if len(row) >= _SHORTEST] if isinstance(old, str) else []


def evidence(trajectory: Trajectory) -> Iterator[Evidence]:
    """What each output of a trajectory held, in order. Turns without output have none."""
    turns = trajectory.turns
    written = [strings(turn.said) for turn in turns]
    after: list[set[str]] = [set()] * (len(turns) + 1)  # what is written from each turn on
    replaced: list[set[str]] = [set()] * (len(turns) + 1)
    for i in reversed(range(len(turns))):
        after[i] = after[i + 1] | written[i]
        replaced[i] = replaced[i + 1] | set(old_lines(turns[i].arguments))
    known = strings(trajectory.task) | strings(trajectory.first_action)
    held: dict[str, int] = {}  # line: the turn whose output held it last
    called: dict[str, int] = {}
    requests = trajectory.requests()
    for i, turn in enumerate(turns):
        if not turn.output:
            continue
        known |= strings(json.dumps(turn.arguments, ensure_ascii=False))
        have = strings(turn.output)
        new = have - known - _COMMON
        here = lines(turn.output)
        held.update(dict.fromkeys(here, i))
        old = old_lines(turns[i + 1].arguments) if i + 1 < len(turns) else []
        same = signature(turn.tool, turn.arguments)
        yield Evidence(i, trajectory.before(i), frozenset(new), frozenset(new & after[i]), frozenset(here & replaced[i + 1]),
                       tuple(Old(row, held[row]) for row in old if row in held), called.get(same), requests[-1] - requests[i])
        called[same] = i
        known |= have | written[i]
