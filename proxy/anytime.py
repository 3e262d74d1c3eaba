"""How an answer came to be within its timebox: when each layer was through, and how much of the answer stood by then.

Two shares of the best places of the answer, and neither is what a shorter timebox would have given, where a layer that is cut short
says what it has by then: `named`, those that some layer had named; `standing`, those that the layers which were through would have put
among as many, by the very same ranking. What shorter timeboxes give is measured by searching in them.
"""
from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from byref.layers.contract import Scope
    from byref.layers.orchestrator import Answer
    from byref.layers.ranking import Ranked
    from byref.proxy.contracts import Event, Json

    Rank = Callable[[Sequence[Answer]], Sequence[Ranked]]

BEST = 10  # places of an answer, the best
WHOLE = 10_000  # basis points
SKIPPED = "skipped"
_ENDED, _NAMED = "ended-", "named-"  # numbers of an event, by layer


class Step(NamedTuple):
    """A layer at work. asked: how its query came to be, as in `weighted.QUERIES`. began, ended: microseconds from the search's beginning.

    hits: that it contributed. named: of the best places of the answer, how many no layer had named that was through before.
    """

    layer: str
    asked: str
    status: str
    began: int
    ended: int
    hits: int
    named: int


class Timeline(NamedTuple):
    """How an answer came to be. micros: microseconds until it was there. best: places that are looked at. steps: by their end."""

    micros: int
    best: int
    steps: tuple[Step, ...]

    def numbers(self) -> dict[str, int]:
        """Those of a search's event: what `recorded` reads."""
        found = {"micros": self.micros, "best": self.best}
        for step in self.steps:
            name = step.layer if step.asked == "original" else f"{step.layer}:{step.asked}"
            if step.named or step.asked == "original":
                found[_ENDED + name] = step.ended
            if step.named:
                found[_NAMED + name] = step.named
        return found


def timeline(answers: Sequence[Answer], best: Sequence[Ranked], zero: int, now: int) -> Timeline:
    """The steps of the layers that were asked and did not skip. best: the best places. zero, now: nanoseconds on the process's clock."""
    worked = sorted(((one.began - zero) // 1000 + one.micros, number, one) for number, one in enumerate(answers) if _worked(one))
    left = [{(branch.layer, branch.asked) for branch in place.branches} for place in best]
    steps = []
    for ended, _, one in worked:
        named = [by for by in left if (one.name, one.asked) in by]
        left = [by for by in left if (one.name, one.asked) not in by]
        steps.append(Step(one.name, one.asked, one.status, (one.began - zero) // 1000, ended, len(one.contribution.hits), len(named)))
    return Timeline((now - zero) // 1000, len(best), tuple(steps))


def _worked(answer: Answer) -> bool:
    return answer.began > 0 and answer.status != SKIPPED


def explained(time: Timeline, answers: Sequence[Answer], best: Sequence[Ranked], view: Scope, timebox_ms: int,
              rank: Rank) -> dict[str, Json]:
    """The same as JSON, `time` of docs/explain-2.schema.json: a ranking and a union for each step, so only where it is asked for."""
    by_name = {(one.name, one.asked): one for one in answers}
    through: list[Answer] = []
    looked: set[str] = set()
    told: list[Json] = []
    every = False
    for step in time.steps:
        one = by_name[step.layer, step.asked]
        through.append(one)
        searched = one.contribution.searched
        if searched is not None:
            looked |= searched
        elif step.status == "ran" and step.layer not in ("names", "fuzzy"):
            every = True
        covered = WHOLE if every else WHOLE * len(looked) // max(1, len(view.held))
        told.append(step._asdict() | {"standing": _standing(best, rank(through)[:len(best)]), "covered": covered})
    return {"micros": time.micros, "timebox_ms": timebox_ms, "best": time.best, "steps": told}


def _standing(best: Sequence[Ranked], then: Sequence[Ranked]) -> int:
    """How many of the best places have one of these in them, or lie in one."""
    spans = [one.hit.span for one in then]
    return sum(any(span.blob == one.hit.span.blob and span.start < one.hit.span.end and one.hit.span.start < span.end for span in spans)
               for one in best)


def recorded(ledger: Iterable[Event]) -> Iterator[tuple[Mapping[str, int], list[tuple[int, int]]]]:
    """Of each search that holds times: microseconds until each layer was through, and (microseconds, how many of the best places were
    named by then), in order. A search that found nothing has an empty curve.
    """
    for event in ledger:
        numbers = event.numbers
        if event.kind == "searched" and "micros" in numbers:
            ends = {name.removeprefix(_ENDED): value for name, value in numbers.items() if name.startswith(_ENDED)}
            curve, named = [], 0
            for name in sorted(ends, key=lambda name: ends[name]):
                if count := numbers.get(_NAMED + name, 0):
                    named += count
                    curve.append((ends[name], named))
            yield ends, curve
