"""What it adds to views that layers score their units by an intent: `data` and `edit` at equal `saved`, on recorded trajectories.

usage: scored.py FILE [FILE ...] [--every N] [--maxsim]

Intents: `said`, what the agent wrote before the call, repeated as an explicit one; `next`, what it wrote after the output, without
every string that is new in it: the best that a caller could have said who knew what to look for, and did not know the answer. Arms:
`terms`, the intent as `select` takes it; `+words`, on top of that a line's share of the intent's words, rarer ones first; `+static`,
its cosine with the intent (the static layer, int8); with --maxsim also `+maxsim`, the mean over the intent's tokens of the best cosine
with a token of the line, for the 24 lines of an output that come first by words, then by length (some seconds an output). All add worth
in proportion to a line's size, best line of the output first.

Each arm saves otherwise, so it is compared at the same `saved`, between the figures of others at other thresholds: `terms` with what
no intent keeps, the arms on top of it with `terms`.
"""
from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from fit import Direct

from byref.filters import select, weights
from byref.filters.units import Units
from byref.layers import embedding
from byref.layers.encoders.choice import DEFAULT, chosen
from byref.proxy.config import models_folder
from byref.proxy.contracts import Call
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.evidence import evidence, strings
from byref.proxy.ledger.replay import Shown, replay
from byref.proxy.ledger.tally import tally
from byref.proxy.ledger.trajectories import Trajectory, read
from byref.proxy.text import subwords, terms_by_line

LONGEST = 600  # characters of an intent
THRESHOLDS = (35, 60, 100, 160)  # percent of the profile's, for the curves that arms are compared with
WORTH = (40, 120)  # worth a character that the best line of an output gains, in 1/1024: the threshold is about 150
CANDIDATES, LINE = 24, 300  # lines of an output that MaxSim scores, and characters of one
LIKE = 0.35  # of its mean: below it says nothing
SURE = 2500  # 1/10,000: a cosine below says nothing

Score = Callable[[Sequence[str], str], list[int]]  # of lines by an intent, 0 to 1,024


def words(lines: Sequence[str], intent: str) -> list[int]:
    """The summed rarity of the intent's words in each line, as a share of the most."""
    asked = {word for row in terms_by_line(intent) for term in row for word in subwords(term) if len(word) > 2}
    found = [asked.intersection(word for term in row for word in subwords(term)) for row in terms_by_line("\n".join(lines))]
    often = Counter(word for row in found for word in row)
    scores = [sum((len(lines) // often[word]).bit_length() for word in row) for row in found]
    most = max(scores, default=0)
    return [1024 * score // most for score in scores] if most else scores


class Static:
    """Cosines, with the vectors of lines kept: the same lines come in every arm."""

    def __init__(self) -> None:
        self.table = embedding.load(str(Path(models_folder()) / "potion-base-8M"))
        self.known: dict[str, tuple[np.ndarray, int]] = {}

    def __call__(self, lines: Sequence[str], intent: str) -> list[int]:
        """How far above the middle line, as a share of the best."""
        new = [line for line in dict.fromkeys((*lines, intent)) if line not in self.known]
        if new:
            vectors, lengths = self.table.vectors(new)
            self.known.update(zip(new, zip(vectors, lengths.tolist(), strict=True), strict=True))
        asked, length = self.known[intent]
        cosines = [10_000 * (int(vector.astype(np.int64) @ asked) << 16) // max(1, own * length)
                   for vector, own in (self.known[line] for line in lines)]
        middle, best = sorted(cosines)[len(cosines) // 2], max(cosines)
        if best < SURE or best == middle:
            return [0] * len(lines)
        return [max(0, 1024 * (cosine - middle) // (best - middle)) for cosine in cosines]


class MaxSim:
    """Late interaction by the stand-in model of `make models`: the best candidates by words are re-scored, so many of each output."""

    def __init__(self) -> None:
        self.encoder = chosen(DEFAULT).wait()
        self.known: dict[str, np.ndarray] = {}

    def __call__(self, lines: Sequence[str], intent: str) -> list[int]:
        """How far above the middle one of the candidates, as a share of the best."""
        asked = self.encoder.query(intent).vectors
        first = words(lines, intent)
        best = sorted(range(len(lines)), key=lambda i: (-first[i], -len(lines[i]), i))[:CANDIDATES]
        texts = {i: lines[i][:LINE] for i in best}
        new = [text for text in dict.fromkeys(texts.values()) if text not in self.known]
        self.known.update(zip(new, (one.vectors for one in self.encoder.documents(new) or ()), strict=True))
        held = {i: self.known[text] for i, text in texts.items()}
        scores = {i: float((asked @ tokens.T).max(axis=1).mean()) for i, tokens in held.items() if len(tokens) and len(asked)}
        most, middle = max(scores.values(), default=0.0), sorted(scores.values())[len(scores) // 2] if scores else 0.0
        if most < LIKE or most == middle:
            return [0] * len(lines)
        return [max(0, int(1024 * (scores.get(i, 0.0) - middle) / (most - middle))) for i in range(len(lines))]


@dataclass(frozen=True, slots=True)
class Arm:
    """name and intent as in the table; score: what adds worth, if anything, and how much the best line gains."""

    name: str
    intent: str = ""
    score: Score | None = None
    most: int = 0


class Intended(Direct):
    """Views with an intent, and units scored by it."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A fresh context. Outputs are asked in order."""
        shown = super().start(trajectory)
        intents = iter([intent_of(trajectory, item.index, item.before, item.new, self.arm.intent) for item in evidence(trajectory)])
        original = select._pick
        asked = ""

        def weighed(scores: list[int], sizes: list[int], units: Units, shown: bytearray | None, plan: select.Plan, total: int) -> bytearray:
            if self.arm.score is not None and asked and total > weights.WHOLE and len(sizes) > 3:
                gains = self.arm.score(units.sources or units.texts, asked)
                scores = [score + gain * min(size, 300) * self.arm.most // (1024 * 1024) if not shown or not shown[i] else score
                          for i, (score, gain, size) in enumerate(zip(scores, gains, sizes, strict=True))]
            return original(scores, sizes, units, shown, plan, total)

        def view(call: Call, output: str) -> Shown:
            nonlocal asked
            asked = next(intents)
            select._pick = weighed
            try:
                return shown(replace_intent(call, asked), output)
            finally:
                select._pick = original
        return view


def replace_intent(call: Call, intent: str) -> Call:
    """The same call with an explicit intent."""
    return Call(call.tool, call.arguments, call.exit_code, call.is_error, intent, call.said, call.task)


def intent_of(trajectory: Trajectory, index: int, before: str, new: frozenset[str], kind: str) -> str:
    """What a caller would have said it looks for."""
    if kind == "said":
        return before[-LONGEST:]
    if kind == "next":
        turn = trajectory.turns[index]
        text = turn.next_thought or re.split(r"[{\n]", turn.next_action, maxsplit=1)[0]
        for string in sorted(strings(text) & new, key=len, reverse=True):
            text = text.replace(string, " ")
        return text[:LONGEST].strip()
    return ""


def measured(trajectories: Sequence[Trajectory], arm: Arm) -> tuple[float, float, float]:
    """saved, data and edit."""
    row = tally(list(replay(trajectories, Intended(arm), token_counter())), lambda each, outcome: ("all",))["all"]
    return row.saved, row.data, row.edit


def curve(trajectories: Sequence[Trajectory], arm: Arm) -> list[tuple[float, float, float]]:
    """The same by threshold, ascending by what is saved."""
    plan = select.PLANS["auto"]
    found = []
    for percent in THRESHOLDS:
        select.PLANS["auto"] = replace(plan, threshold=plan.threshold * percent // 100)
        found.append(measured(trajectories, arm))
    select.PLANS["auto"] = plan
    return sorted(found)


def against(found: tuple[float, float, float], other: Sequence[tuple[float, float, float]]) -> str:
    """How much more data and edit than the other has where it saves as much."""
    saved = [row[0] for row in other]
    if not saved[0] <= found[0] <= saved[-1]:
        return "outside the curve"
    return " ".join(f"{found[i] - float(np.interp(found[0], saved, [row[i] for row in other])):+.4f}" for i in (1, 2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every Nth trajectory")
    parser.add_argument("--maxsim", action="store_true", help="late interaction, too")
    given = parser.parse_args()
    embedding.use(models_folder())
    arms: list[tuple[str, Score]] = [("+words", words), ("+static", Static())]
    arms += [("+maxsim", MaxSim())] if given.maxsim else []
    print(f"{'file':20} {'intent':6} {'arm':12} saved  data   edit   data and edit at equal saved")
    for file in given.files:
        trajectories = list(read(file))[::given.every]

        def tell(intent: str, name: str, found: tuple[float, float, float], other: Sequence[tuple[float, float, float]] = (),
                 title: str = file.stem) -> None:
            figures = " ".join(f"{value:.4f}" for value in found)
            print(f"{title:20} {intent:6} {name:12} {figures} {against(found, other) if other else ''}".rstrip(), flush=True)
        plain = curve(trajectories, Arm("none"))
        for row in plain:
            tell("-", "none", row)
        for intent in ("said", "next"):
            terms = curve(trajectories, Arm("terms", intent))
            for row in terms:
                tell(intent, "terms", row, plain)
            for most in WORTH:
                for name, score in arms:
                    tell(intent, f"{name} {most}", measured(trajectories, Arm(name, intent, score, most)), terms)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
