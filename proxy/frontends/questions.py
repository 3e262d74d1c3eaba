"""Questions with known answers: how an author writes them, when a hit is one, and the figures of a method over them.

One JSON object a line:

    {"query": "why did the link fail", "gold": [{"output": "build.log", "at": "L120-130"}], "tag": "paraphrase", "id": "link-1"}

Each object in `gold` is a place that answers: `output` (a file's name as given, its last part if that is enough, or a ref), with it
`at` (lines, bytes, or the path of a record; a hit answers whose range meets it) or `text` (what the hit's excerpt holds); `text` may
stand alone. Without `at` and `text` any place of the output will do. `tag` and `id` may be left out.

Figures: hit@1, whether the first hit answers; recall@5, the share of a question's gold among the first five; MRR@10, the mean of 1 / rank
of the first hit that answers, 0 beyond ten (Voorhees, TREC-8 1999).
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.reader import Hit

TOP, FEW = 10, 5
FIGURES = ("hit@1", "recall@5", "MRR@10")
Where = Callable[[str, str], Sequence[tuple[str, int, int]]]  # (ref, address): (hash of a blob, start, end), half-open; none where invalid
_LINES = re.compile(r"L(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class Gold:
    """A place that answers."""

    output: str = ""
    at: str = ""
    text: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.output, self.at, self.text and json.dumps(self.text, ensure_ascii=False))))


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and all places that answer it."""

    id: str
    tag: str
    query: str
    gold: tuple[Gold, ...]


def read(path: str) -> list[Question]:
    """The questions of a file. Raises `Invalid` with the line and what is wrong with it."""
    found: list[Question] = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8-sig", errors="surrogateescape").split("\n"), 1):
        if line.strip():
            found.append(_question(line, f"{path}:{number}", str(number)))
    if not found:
        raise Invalid(f"{path} holds no question")
    known: set[str] = set()
    for question in found:
        if question.id in known:
            raise Invalid(f"{path}: two questions have the id {question.id[:40]!r}, by which runs are compared; without one it is "
                          "the line's number")
        known.add(question.id)
    return found


def _question(line: str, where: str, number: str) -> Question:
    try:
        row: Json = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise Invalid(f"{where} is no JSON: {fault}") from None
    if not isinstance(row, dict) or not isinstance(row.get("query"), str) or not str(row["query"]).strip():
        raise Invalid(f"{where}: an object with a `query` is to stand here")
    gold = row.get("gold")
    if not isinstance(gold, list) or not gold:
        raise Invalid(f"{where}: `gold` is to be a list of at least one place")
    return Question(str(row.get("id") or number), str(row.get("tag") or "all"), str(row["query"]),
                    tuple(_gold(one, f"{where}: gold {i}") for i, one in enumerate(gold)))


def _gold(value: Json, where: str) -> Gold:
    if isinstance(value, str):
        return Gold(value)
    if not isinstance(value, dict) or not value.keys() <= {"output", "at", "text"} or not all(isinstance(v, str) for v in value.values()):
        raise Invalid(f"{where}: a place has `output`, `at` and `text`, each a string")
    gold = Gold(**{key: str(text) for key, text in value.items()})
    if not (gold.output or gold.text) or (gold.at and not gold.output):
        raise Invalid(f"{where}: a place needs an `output`, or a `text`")
    return gold


def refs_of(gold: Gold, names: Mapping[str, str]) -> set[str]:
    """The refs that a place may be in. names: ref by name; the last part of a name will do. Raises `Invalid` where there is none."""
    if not gold.output:
        return set(names.values())
    found = {ref for name, ref in names.items() if gold.output in (name, ref) or name.endswith("/" + gold.output)}
    if not found:
        some = ", ".join(sorted(names)[:5]) + " ..." * (len(names) > 5)
        raise Invalid(f"no output {gold.output[:80]!r} was given; there are {some or 'none'}")
    return found


def ranks(question: Question, hits: Sequence[Hit], names: Mapping[str, str], where: Where = lambda ref, at: ()) -> list[int | None]:
    """For each place the rank of the first hit that is one, None for none among ten; among outputs where any place of one will do.

    where: the bytes that an address of an output names, so that a record is met by a hit that is told in bytes or in lines.
    """
    outputs = list(dict.fromkeys(hit.ref for hit in hits))[:TOP]
    found: list[int | None] = []
    for gold in question.gold:
        refs = refs_of(gold, names)
        if gold.at or gold.text:
            found.append(next((rank for rank, hit in enumerate(hits[:TOP], 1) if hit.ref in refs and _meets(gold, hit, where)), None))
        else:
            found.append(next((rank for rank, ref in enumerate(outputs, 1) if ref in refs), None))
    return found


def _meets(gold: Gold, hit: Hit, where: Where) -> bool:
    if gold.text and gold.text not in hit.excerpt:
        return False
    if not gold.at:
        return True
    mine, theirs = _span(gold.at), _span(hit.address.rpartition(":")[2])
    if mine and theirs:
        return mine[0] <= theirs[1] and theirs[0] <= mine[1]
    pairs = (hit.address, gold.at), (gold.at, hit.address)
    if any(inner == outer or inner.startswith((outer + ".", outer + "[")) for inner, outer in pairs):
        return True
    return any(blob == other and start < last and first < end for blob, start, end in where(hit.ref, gold.at)
               for other, first, last in where(hit.ref, hit.address))


def _span(address: str) -> tuple[int, int] | None:
    found = _LINES.fullmatch(address)
    return (int(found[1]), int(found[2] or found[1])) if found else None


def figures(ranked: Sequence[int | None]) -> tuple[float, float, float]:
    """`FIGURES` of one question, by the ranks of its places."""
    known = [rank for rank in ranked if rank is not None]
    best = min(known, default=0)
    return float(best == 1), sum(rank <= FEW for rank in known) / min(FEW, len(ranked)), 1 / best if best else 0.0
