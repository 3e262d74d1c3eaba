"""Recorded trajectories through an arm: for each output, what its view keeps of what the agent used later.

`byref.proxy.ledger.tally` makes figures of it, `byref.proxy.ledger.bill` prices.
"""
from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from byref.proxy.contracts import Call
from byref.proxy.ledger.counter import TokenCounter
from byref.proxy.ledger.evidence import Evidence, Old, evidence, lines
from byref.proxy.ledger.trajectories import Trajectory

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])")
_RECORDS = re.compile(r"\s*[\[{]")
_IN_TEXT = re.compile(r"text=['\"]\s*[\[{]|\\n\s*\\?\"")
_TOLD = 12  # characters; a shorter line of a view says too little to be made up
_SYSTEM = 10, 3  # characters and tokens of a system prompt of which only the characters are known


@dataclass(frozen=True, slots=True)
class Shown:
    """What an arm shows of an output. shape: the kind it took it for, if it says so."""

    text: str
    shape: str = ""


class Arm(Protocol):
    """A way to show outputs. marker matches all of a view that is the arm's own words: markers, gaps, names in gaps."""

    @property
    def marker(self) -> re.Pattern[str]: ...
    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A fresh context. What it returns is asked once for each output, in order, with its call and its raw text."""


class Raw:
    """The arm that shows everything."""

    marker = re.compile(r"(?!)")

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """Shows each output as it is."""
        return lambda call, output: Shown(output)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a view kept of one output.

    raw, view: tokens. named: used strings that only the arm's own words still hold. lost: used strings that the view's data does not
    hold, named or not. unseen: old lines of the edit called next that no view so far showed. prefix: tokens of all that came before.
    told: lines of the view's data; made: those that do not stand in the raw text; records: it is JSON or holds it, where a declared
    re-rendering is no fault. longer: in tokens or in bytes. hid: a repeat of a call whose view had left something out.
    nanoseconds: what the view took.
    """

    tool: str
    shape: str
    evidence: Evidence
    raw: int
    view: int
    prefix: int
    named: frozenset[str]
    lost: frozenset[str]
    unseen: tuple[Old, ...]
    told: int
    made: int
    records: bool
    longer: bool
    hid: bool
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """A trajectory once through an arm. context: tokens of its first request; said: of what the agent wrote, once a request, with the
    number of requests after it; requests: how many there were.
    """

    trajectory: Trajectory
    outcomes: tuple[Outcome, ...]
    context: int
    said: tuple[tuple[int, int], ...]
    requests: int


def replay(trajectories: Iterable[Trajectory], arm: Arm, counter: TokenCounter) -> Iterator[Replayed]:
    """Each trajectory once through the arm, in order."""
    for trajectory in trajectories:
        yield _replayed(trajectory, arm, counter)


def _replayed(trajectory: Trajectory, arm: Arm, counter: TokenCounter) -> Replayed:
    turns, view = trajectory.turns, arm.start(trajectory)
    found = list(evidence(trajectory))
    shown: list[tuple[Shown, int]] = []
    for item in found:
        turn = turns[item.index]
        call = Call(turn.tool, turn.arguments, None, turn.is_error, "", item.before, trajectory.task)
        began = time.perf_counter_ns()
        shown.append((view(call, turn.output), time.perf_counter_ns() - began))
    numbers = trajectory.requests()
    answers = [i for i, number in enumerate(numbers) if i + 1 == len(numbers) or numbers[i + 1] != number]
    texts = [trajectory.task, trajectory.first_action, *(turns[i].said for i in answers)]
    texts += [turns[item.index].output for item in found]
    changed = [k for k, (text, _) in enumerate(shown) if text.text != turns[found[k].index].output]
    sizes = counter.count([*texts, *(shown[k][0].text for k in changed)])
    task, said, raws = sizes[0], sizes[1:2 + len(answers)], sizes[2 + len(answers):len(texts)]
    views = list(raws)
    for k, size in zip(changed, sizes[len(texts):], strict=True):
        views[k] = size
    spoken = [0, *itertools.accumulate(said)]
    requests = len(answers) + 1
    context = trajectory.context or task + trajectory.system * _SYSTEM[1] // _SYSTEM[0]
    outcomes, seen, hiding = [], set[str](), set[int]()
    replaced = {old.text for item in found for old in item.old}
    outputs_before = 0
    for item, (text, spent), raw, size in zip(found, shown, raws, views, strict=True):
        turn = turns[item.index]
        seen |= lines(text.text, replaced)
        if text.text != turn.output:
            hiding.add(item.index)
        prefix = context + outputs_before + spoken[numbers[item.index]]
        outcomes.append(_outcome(turn.tool, turn.output, text, item, (raw, size), prefix, arm, seen, item.repeats in hiding, spent))
        outputs_before += size
    return Replayed(trajectory, tuple(outcomes), context, tuple((n, requests - 1 - k) for k, n in enumerate(said)), requests)


def _outcome(tool: str, output: str, shown: Shown, item: Evidence, sizes: tuple[int, int], prefix: int, arm: Arm, seen: set[str],
             hid: bool, spent: int) -> Outcome:
    view, told, made, longer = shown.text, 0, 0, sizes[1] > sizes[0]
    if view == output:
        data = output
    else:
        data = arm.marker.sub("\n", view)
        told, made = _made(data, output)
        longer = longer or len(view.encode("utf-8", "replace")) > len(output.encode("utf-8", "replace"))
    lost = frozenset(text for text in item.used if text not in data)
    return Outcome(tool, shown.shape, item, sizes[0], sizes[1], prefix, frozenset(text for text in lost if text in view), lost,
                   tuple(old for old in item.old if old.text not in seen), told, made, _holds_records(output), longer, hid, spent)


def _made(data: str, output: str) -> tuple[int, int]:
    """How many lines a view's data tells, and how many of them do not stand in the output. Most stand in it in its order."""
    rows = [row for row in map(str.strip, data.split("\n")) if len(row) > _TOLD]
    clean = _ESCAPES.sub("", output) if "\x1b" in output else output
    clean = _OVERWRITTEN.sub("", clean) if "\r" in clean else clean  # it looks at every line, so it is asked for none
    made = end = 0
    for row in rows:
        at = output.find(row, end)
        if at >= 0:
            end = at + len(row)
        elif row not in output and row not in clean:
            made += 1
    return len(rows), made


def _holds_records(output: str) -> bool:
    """Whether it is JSON, or a text that holds it in a string."""
    return bool(_RECORDS.match(output) or (("text=" in output or "\\n" in output) and _IN_TEXT.search(output)))
