"""Fits what `select` weighs with on recorded trajectories, and writes filters/weights.py.

usage: fit.py FILE [FILE ...] [--terms | --keep-terms] [--rounds N] [--write]

First the log odds that a new term is used later (a logistic regression; a used term of a trajectory with many weighs less),
then thresholds, caps and the other integers, one after the other, for the most saved with a floor under what views keep.
With two files or more, both are fitted on each file alone first and measured on the others: what holds there is no accident.
--terms stops after the odds, --keep-terms leaves them as they are; --rounds: how often all integers are tried (1). Without --write
nothing is written.
"""
from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from byref.filters import render, select, weights, worth
from byref.proxy.contracts import Blob, Call, Part, Seen
from byref.proxy.ledger.bill import bill
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.evidence import evidence, strings
from byref.proxy.ledger.replay import Replayed, Shown, replay
from byref.proxy.ledger.tally import tally
from byref.proxy.ledger.trajectories import Trajectory, read
from byref.proxy.store.source import BytesSource
from byref.proxy.text import terms_by_line

TABLE = Path(weights.__file__)
PROFILE = "auto"
PRICES = REGIMES[3]
FETCHED = 1500  # tokens that an extra request brings
FLOORS = {"es": 0.9955, "data": 0.965, "edit": 0.955}  # what views are to keep; a point below costs ten of saving
CEILING = 0.105  # of need
STEEP = 10
LEAST_GAIN = 0.0005  # of the goal; less is noise
LEAST = 1500  # characters of an output whose terms are fitted: smaller ones pass, or nearly
EVEN = 0.5  # 0: each used term counts the same, 1: each trajectory's together
PRIOR = 3.0  # of the logistic regression, as so many observations a weight

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Direct:
    """Views straight from the filters: what a gateway does, without its store."""

    marker = render.MARKER

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A fresh context."""
        lines: set[str] = set()
        terms: set[str] = set()

        def view(call: Call, output: str) -> Shown:
            data = output.encode("utf-8", "surrogateescape")
            part = Part("text", "text/plain", Blob("", len(data), data.count(b"\n")))
            made = render.view("raaaaaaaaaa", [(part, BytesSource(data))], call, Seen(lines, terms, True), PROFILE)
            lines.update(made.lines)
            terms.update(made.terms)
            return Shown(made.head + "".join(made.texts), made.shape)
        return view


@dataclass(frozen=True, slots=True)
class Figures:
    """What a table of weights comes to on some trajectories."""

    saved: float
    net: float
    need: float
    es: float
    data: float
    edit: float

    @property
    def goal(self) -> float:
        """What is saved, less what falls below the floors. A recording without edits has no floor for them."""
        kept = {"es": self.es, "data": self.data, "edit": self.edit}
        return self.saved - STEEP * (sum(max(0.0, floor - kept[name]) for name, floor in FLOORS.items()) + max(0.0, self.need - CEILING))

    def __str__(self) -> str:
        return (f"goal {self.goal:.4f} net {self.net:.4f} saved {self.saved:.4f} es {self.es:.4f} data {self.data:.4f} "
                f"need {self.need:.4f} edit {self.edit:.4f}")


def measure(trajectories: Sequence[Trajectory]) -> Figures:
    """The figures of the weights as they are set now."""
    replayed: list[Replayed] = list(replay(trajectories, Direct(), token_counter()))
    row = tally(replayed, lambda each, outcome: ("all",))["all"]
    return Figures(row.saved, bill(replayed, PRICES, FETCHED).net, row.need, row.es, row.data, row.edit)


FEATURES = (*(f"form {name}" for name in weights.FORM), "task", "asked", "partly", "once", "few", *(f"large {n}" for n, _ in weights.LARGE))


def observed(trajectories: Sequence[Trajectory]) -> tuple[Ints, Floats, Floats]:
    """Features of every new term, whether it is used later, and how much that counts."""
    number = {name: i for i, name in enumerate(FEATURES)}
    rows: list[list[int]] = []
    used: list[float] = []
    mass: list[float] = []
    for trajectory in trajectories:
        seen: set[str] = set()
        found = list(evidence(trajectory))
        uses = sum(len(item.used) for item in found)
        for item in found:
            turn = trajectory.turns[item.index]
            lines = terms_by_line(turn.output)
            often = Counter(chain.from_iterable(lines))
            if len(turn.output) >= LEAST:
                call = Call(turn.tool, turn.arguments, said=item.before, task=trajectory.task)
                asked, task = worth.asked_of(call), worth.task_of(call)
                new = [term for term in often if len(term) >= worth.SHORT and not {term} & (seen | asked[0] | task[0])]
                large = [number[f"large {size}"] for size, _ in weights.LARGE if len(turn.output) > size][:1]
                for term, form, inside in zip(new, worth.forms_of(new), worth.insides(new), strict=True):
                    if form:
                        words = inside.split()
                        row = [number[f"form {form}"], *large]
                        row += [number["once"]] if often[term] == 1 else [number["few"]] if often[term] < 6 else []
                        if not (asked[1] | task[1]).isdisjoint(words):
                            row.append(number["task" if task[1].issuperset(words) else "asked" if asked[1].issuperset(words) else "partly"])
                        rows.append(row)
                        use = not item.used.isdisjoint(strings(term))
                        used.append(use)
                        mass.append(uses ** -EVEN if use else 0.0)
            seen.update(often)
    width = max(map(len, rows))
    table = np.array([row + [len(FEATURES)] * (width - len(row)) for row in rows])
    labels, masses = np.array(used), np.array(mass)
    masses *= labels.sum() / masses.sum()
    return table, labels, np.where(labels > 0, masses, 1.0)


def regress(table: Ints, labels: Floats, mass: Floats) -> tuple[Floats, float]:
    """Weights and intercept of a logistic regression with a quadratic prior, by gradient steps of bounded size."""
    found = np.zeros(len(FEATURES) + 1)
    share = float((labels * mass).sum() / mass.sum())
    base = float(np.log(share / (1 - share)))
    bound = np.bincount(table.ravel(), minlength=len(found)) * share * (1 - share) * table.shape[1] * 0.6 + PRIOR
    for _ in range(400):
        chance = 1 / (1 + np.exp(-(base + found[table].sum(1))))
        off = (chance - labels) * mass
        found -= (np.bincount(table.ravel(), weights=np.repeat(off, table.shape[1]), minlength=len(found)) + PRIOR * found) / bound
        found[-1] = 0.0  # stands for no feature
        base -= 0.5 * float(off.mean()) / (share * (1 - share))
    return found, base


def ranked(scores: Floats, labels: Floats) -> float:
    """The chance that a used term scores above one that is not used."""
    order = np.argsort(scores, kind="stable")
    place = np.empty(len(scores))
    place[order] = np.arange(len(scores))
    ones = float(labels.sum())
    above = float(place[labels > 0].sum()) - ones * (ones - 1) / 2
    return above / (ones * (len(labels) - ones))


def odds(found: Floats, base: float) -> dict[str, object]:
    """Log odds as quarters, the odds of a plain word that nothing points at set to what they add to the common level."""
    quarter = {name: round(4 * value) for name, value in zip(FEATURES, found, strict=False)}
    level = quarter["form word"] - weights.FORM["word"]
    return {
        "FORM": {name: max(-9, quarter[f"form {name}"] - level) if name != "short" else -4 for name in weights.FORM},
        "TASK": max(0, quarter["task"]), "ASKED": max(0, quarter["asked"]), "PARTLY": max(0, quarter["partly"]),
        "RARE": {1: max(0, -quarter["once"]), **dict.fromkeys(range(2, 6), max(0, -quarter["few"]))},
        "LARGE": tuple((size, max(0, -quarter[f"large {size}"])) for size, _ in weights.LARGE),
    }


def _scaled(*shares: float) -> Callable[[int], list[int]]:
    return lambda value: [round(value * share) for share in shares]


def _moved(*steps: int) -> Callable[[int], list[int]]:
    return lambda value: [value + step for step in steps if value + step >= 0]


# What is tried for each integer, by the path to it within the table.
TRIED: dict[tuple[str, ...], Callable[[int], list[int]]] = {
    ("PROFILES", PROFILE, "0"): _scaled(0.7, 0.85, 1.15, 1.3), ("PROFILES", PROFILE, "1"): _scaled(0.7, 0.85, 1.2, 1.4),
    ("STRICTNESS", "text"): _scaled(0.75, 1.25, 1.5), ("STRICTNESS", "json"): _scaled(0.75, 1.25, 1.5),
    ("STRICTNESS", "code"): _scaled(0.75, 1.25, 1.5), ("STRICTNESS", "markup"): _scaled(0.75, 1.25, 1.5),
    ("STRICTNESS", "log"): _scaled(0.6, 1.4), ("STRICTNESS", "tests"): _scaled(0.6, 1.5), ("STRICTNESS", "matches"): _scaled(0.6, 1.5),
    ("NARROWED", "tests"): _moved(-30, 30, 60), ("NARROWED", "code"): _moved(15, 30), ("NARROWED", "matches"): _moved(30, 60),
    ("FULL",): _scaled(0.6, 1.4), ("WHOLE",): _scaled(0.75, 1.25), ("NAMED",): _scaled(0.5, 1.5),
    ("DEFINITION",): _moved(-1, 1, 2), ("INSIDE_NAMED",): _moved(-1, 1, 2), ("INSIDE_RELATED",): _moved(-1, 1),
}
_DEFAULTS = {"STRICTNESS": 100, "NARROWED": 0}


def get(path: tuple[str, ...]) -> int:
    """An integer of the table."""
    value = getattr(weights, path[0])
    for key in path[1:]:
        value = value[int(key)] if isinstance(value, tuple) else value.get(key, _DEFAULTS.get(path[0], 0))
    return int(value)


def put(path: tuple[str, ...], value: int) -> None:
    """Sets an integer of the table, for all views from now on."""
    held = getattr(weights, path[0])
    if len(path) == 1:
        setattr(weights, path[0], value)
    elif len(path) == 2:
        held[path[1]] = value
    else:
        row = list(held[path[1]])
        row[int(path[2])] = value
        held[path[1]] = tuple(row)
    select.PLANS.update({name: select.Plan(*row) for name, row in weights.PROFILES.items()})


def climb(sets: Sequence[Sequence[Trajectory]], rounds: int) -> float:
    """Sets each integer to the best of what is tried for it, one after the other. The goal is the mean over the sets."""
    def goal() -> float:
        return sum(measure(trajectories).goal for trajectories in sets) / len(sets)

    best = goal()
    for _ in range(rounds):
        for path, tried in TRIED.items():
            before = kept = get(path)
            for value in tried(before):
                put(path, value)
                found = goal()
                if found > best + LEAST_GAIN:
                    best, kept = found, value
            put(path, kept)
            if kept != before:
                print(f"  {'.'.join(path)} {before} -> {kept}: goal {best:.4f}", flush=True)
    return best


def names() -> list[str]:
    """The constants of the table."""
    return [name for name in vars(weights) if name.isupper()]


def write() -> None:
    """Writes the constants as they are set now into the file, and leaves its comments."""
    text = TABLE.read_text(encoding="utf-8")
    for line in re.findall(r"^[A-Z_, ]+ = .*$", text, re.M):
        held = line.partition(" = ")[0].split(", ")
        values = [getattr(weights, name) for name in held]
        text = text.replace(line, f"{', '.join(held)} = {', '.join(_literal(value) for value in values)}")
    TABLE.write_text(text, encoding="utf-8")


def _literal(value: object) -> str:
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 1000 else str(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ")"
    assert isinstance(value, dict)
    return "{" + ", ".join(f"{_quoted(key)}: {_literal(item)}" for key, item in value.items()) + "}"


def _quoted(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) else str(key)


def settle(table: dict[str, object]) -> None:
    """Puts odds into use."""
    for name, value in table.items():
        setattr(weights, name, value)
    importlib.reload(worth)
    for module in (select, importlib.import_module("byref.filters.shapes.code")):
        for name in vars(worth):
            if name in vars(module) and callable(getattr(worth, name)):
                setattr(module, name, getattr(worth, name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--terms", action="store_true")
    parser.add_argument("--keep-terms", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    missing = [file for file in given.files if not file.is_file()]
    if missing:
        print(f"there is no {missing[0]}; give recorded trajectories, one JSON object a line", file=sys.stderr)
        return 2
    sets = {file.stem: list(read(file)) for file in given.files}
    seen = {name: observed(trajectories) for name, trajectories in sets.items()}
    start = {name: getattr(weights, name) for name in names()}
    runs = [(name, [name]) for name in sets] if len(sets) > 1 else []
    for title, used in [*runs, ("all", list(sets))]:
        for name, value in start.items():
            setattr(weights, name, dict(value) if isinstance(value, dict) else value)
        tables = [seen[name] for name in used]
        width = max(table.shape[1] for table, _, _ in tables)
        rows = np.concatenate([np.pad(t, ((0, 0), (0, width - t.shape[1])), constant_values=len(FEATURES)) for t, _, _ in tables])
        found, base = regress(rows, np.concatenate([t[1] for t in tables]), np.concatenate([t[2] for t in tables]))
        print(f"fitted on {title}: " + ", ".join(f"{name} {value:+.2f}" for name, value in zip(FEATURES, found, strict=False)))
        for name, (table, labels, _) in seen.items():
            print(f"  on {name}: a used term is before another in {ranked(base + found[table].sum(1), labels):.3f} of pairs")
        if not given.keep_terms:
            settle(odds(found, base))
        for name, value in odds(found, base).items():
            print(f"  {name} = {_literal(value)}")
        if given.terms:
            continue
        climb([sets[name] for name in used], given.rounds)
        for name, trajectories in sets.items():
            print(f"  {'fitted' if name in used else 'held out'} {name}: {measure(trajectories)}", flush=True)
    if given.write:
        write()
        print(f"wrote {TABLE.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
