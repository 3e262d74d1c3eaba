"""`byref bench`: how well searches find what an author knows the answer of."""
from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import byref
from byref.proxy import discover
from byref.proxy.contracts import Json
from byref.proxy.errors import ByrefError, ConfigError, Invalid
from byref.proxy.frontends.command import Command, open_session, say
from byref.proxy.frontends.held import complain
from byref.proxy.frontends.questions import FIGURES, TOP, Question, Where, figures, ranks, read, refs_of
from byref.proxy.gateway import Gateway
from byref.proxy.gateway import open as open_gateway
from byref.proxy.ledger.intervals import Interval, bootstrap
from byref.proxy.reader import blocks, stretch
from byref.proxy.searching import LIMIT, PROFILES, search
from byref.proxy.session import Session

LAYER = "layer:"
TIMEBOX = 10_000  # milliseconds: quality is asked for, not haste
_SIZE = 100_000  # tokens of an answer, so that the hits are what bounds it
ALL = "all"
# Questions: of 200 simulated comparisons in which the second run wins a question with .15 or .3 and loses it with .05 or .1, the intervals
# held the truth of 5 questions in 58 and 82 of 100, of 10 in 75 and 91, of 20 in 97 and 94, of 50 in 95 and 95.
FEW = 20
_WRITES = "`byref bench run QUESTIONS FILE... --out RUN` writes one, to a file of its own"


@dataclass(frozen=True, slots=True)
class Row:
    """One question by one method. ranks: of each of its places, None beyond ten."""

    method: str
    id: str
    tag: str
    ranks: tuple[int | None, ...]
    milliseconds: float


def methods() -> tuple[str, ...]:
    """All there are: the profiles of a search, and each layer alone."""
    return (*PROFILES, *(LAYER + name for name in discover.names("layers")))


def run(questions: Sequence[Question], session: Session, names: Mapping[str, str], chosen: Sequence[str], timebox: int) -> Iterator[Row]:
    """Each question by each method, over a scope whose indexes are whole. A method whose layer does not run here is told and left out."""
    for question in questions:
        for gold in question.gold:
            refs_of(gold, names)
    where = _where(session)
    _absent(questions, session, names, where)
    own = session.gateway
    for method in dict.fromkeys(chosen):
        layers = [method.removeprefix(LAYER)] if method.startswith(LAYER) else None
        rows, notes, ran = [], set[str](), False
        for question in questions:
            began = time.perf_counter()
            # Not the session's: no agent asks, so the ledger knows nothing of it. What other methods computed would flatter the later ones.
            found = search(own.store, session.scope, question.query, timebox_ms=timebox, k=4 * TOP, max_tokens=_SIZE, layers=layers,
                           profile=PROFILES[0] if layers else method, indexes=own.indexes, cached=False)
            spent = 1000 * (time.perf_counter() - began)
            states = [one for one in found.layers if layers is None or one.name in layers]
            ran |= any(one.status != "skipped" for one in states)
            notes |= {one.note for one in states if one.note}
            rows.append(Row(method, question.id, question.tag, tuple(ranks(question, found.hits, names, where)), spent))
        if ran:
            yield from rows
        else:
            lacks = {one.missing for one in session.status().layers if layers and one.name in layers and one.missing}
            complain(f"{method} is left out: {'; '.join(sorted(lacks or notes)) or 'it applied to no question'}")


def _where(session: Session) -> Where:
    """What addresses name, read once each."""
    @functools.cache
    def where(ref: str, at: str) -> Sequence[tuple[str, int, int]]:
        try:
            return stretch(session.gateway.store, session.scope, ref, at).spans
        except ByrefError:
            return ()
    return where


def _absent(questions: Sequence[Question], session: Session, names: Mapping[str, str], where: Where) -> None:
    """Tells places that no method can find: no output that they may be in holds them."""
    wanted = [(question, gold, refs_of(gold, names)) for question in questions for gold in question.gold]
    texts = {number: gold.text.encode("utf-8", "surrogateescape") for number, (_, gold, _) in enumerate(wanted)}
    left = set(texts)
    for ref in dict.fromkeys(names.values()):
        here = [number for number in left if ref in wanted[number][2]
                and (not wanted[number][1].at or where(ref, wanted[number][1].at))]
        if any(texts[number] for number in here):
            data = _bytes(session, ref)
            here = [number for number in here if texts[number] in data]
        left.difference_update(here)
    for number in sorted(left):
        complain(f"question {wanted[number][0].id}: {wanted[number][1]} stands in no output, so no method can find it")


def _bytes(session: Session, ref: str) -> bytes:
    try:
        return b"".join(blocks(session.gateway.store, session.scope, ref))
    except ByrefError:
        return b""


def filled(paths: Sequence[str]) -> tuple[Gateway, Session, dict[str, str]]:
    """A store in memory that holds the files, each as an output, and the ref of each by its name."""
    gateway = open_gateway("memory:", profile="safe")
    session, names = gateway.session("bench"), dict[str, str]()
    for path in paths:
        for file in sorted(Path(path).rglob("*")) if Path(path).is_dir() else [Path(path)]:
            if file.is_file():
                captured = session.capture(tool="file", args={"path": str(file)}, output=file.read_bytes(), raw=True)
                if captured.ref:
                    names[str(file)] = captured.ref
    if not names:
        raise ConfigError(f"no file with something in it in {', '.join(paths)}")
    return gateway, session, names


def rows_of(path: str) -> list[Row]:
    """The rows of a run's file. Raises `Invalid` for another."""
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="surrogateescape").split("\n"), 1):
        try:
            if line.strip() and "run" not in (row := _object(json.loads(line))):
                found.append(Row(str(row["method"]), str(row["id"]), str(row["tag"]), _ranks(row["ranks"]), _spent(row["milliseconds"])))
        except (ValueError, KeyError, RecursionError):
            raise Invalid(f"{path}:{number} is no line of a run: {_WRITES}") from None
    if not found:
        raise Invalid(f"{path} holds no run: {_WRITES}")
    return found


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError
    return value


def _ranks(value: Json) -> tuple[int | None, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError
    found: list[int | None] = []
    for rank in value:
        if not (rank is None or (isinstance(rank, int) and rank > 0)):
            raise ValueError
        found.append(rank)
    return tuple(found)


def _spent(value: Json) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ValueError
    return float(value)


def score(rows: Sequence[Row]) -> str:
    """A Markdown table: `FIGURES` and the median milliseconds by method and tag."""
    out = ["| method | tag | questions | " + " | ".join(FIGURES) + " | ms |", "|---|---|---:|" + "---:|" * (len(FIGURES) + 1)]
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        for tag in _tags(mine):
            of = [row for row in mine if tag in (ALL, row.tag)]
            means = [statistics.fmean(column) for column in zip(*(figures(row.ranks) for row in of), strict=True)]
            out.append(f"| {method} | {tag} | {len(of)} | " + " | ".join(f"{mean:.3f}" for mean in means)
                       + f" | {statistics.median(row.milliseconds for row in of):.1f} |")
    return "\n".join(out) + "\n"


def compare(one: Sequence[Row], two: Sequence[Row]) -> str:
    """A Markdown table of how the second differs from the first on the questions of both, with 95 % intervals, by tag."""
    first, second = {row.id: row for row in one}, {row.id: row for row in two}
    shared = [first[key] for key in first if key in second]
    if not shared:
        raise Invalid("the two runs share no question: questions are told apart by their `id`")
    out = ["| tag | questions | " + " | ".join(FIGURES) + " |", "|---|---:|" + "---:|" * len(FIGURES)]
    for tag in _tags(shared):
        of = [row for row in shared if tag in (ALL, row.tag)]
        pairs = [[*(b - a for a, b in zip(figures(row.ranks), figures(second[row.id].ranks), strict=True)), 1.0] for row in of]
        found = bootstrap(pairs, lambda sums: [value / sums[-1] for value in sums[:-1]])
        out.append(f"| {tag} | {len(of)} | " + " | ".join(map(_difference, found)) + " |")
    left = len(first) + len(second) - 2 * len(shared)
    notes = [f"{left} questions stand in one of the two alone and are left out."] if left else []
    if len(shared) < FEW:
        notes.append(f"Intervals of fewer than {FEW} questions are too narrow; where all differ alike, they are a point.")
    return "\n".join(out) + "\n" + "".join(f"\n{note}\n" for note in notes)


def _difference(of: Interval) -> str:
    return f"{of.value:+.3f}" + ("" if of.low != of.low else f" ({of.low:+.3f} to {of.high:+.3f})")


def _tags(rows: Sequence[Row]) -> list[str]:
    tags = list(dict.fromkeys(row.tag for row in rows))
    return tags if len(tags) == 1 else [ALL, *(tag for tag in tags if tag != ALL)]


def _options(parser: argparse.ArgumentParser) -> None:
    below = parser.add_subparsers(dest="what", metavar="run|score|compare", required=True)
    one = below.add_parser("run", help="all methods on all questions", description="Runs all methods on all questions.", allow_abbrev=False)
    one.set_defaults(own=one)
    one.add_argument("questions", metavar="QUESTIONS", help="JSON objects a line: query, gold, tag, id")
    one.add_argument("files", metavar="FILE", nargs="*", help="what is searched: files and folders; what this project holds without one")
    one.add_argument("--method", action="append", choices=methods(), metavar="NAME", help=f"{', '.join(methods())}; all without one")
    one.add_argument("--timebox", type=int, default=TIMEBOX, metavar="MS", help=f"of one search ({TIMEBOX})")
    one.add_argument("--out", metavar="RUN", help="keeps the run in a file, for score and compare")
    two = below.add_parser("score", help="a run's figures as Markdown", description="Prints the figures of runs as Markdown.")
    two.add_argument("runs", metavar="RUN", nargs="+")
    three = below.add_parser("compare", help="two runs, with intervals", description="Prints how the second differs from the first.")
    three.add_argument("runs", metavar="RUN[:METHOD]", nargs=2)


def _run(args: argparse.Namespace) -> int:
    if args.what == "score":
        for path in args.runs:
            say((f"{path}\n\n" if len(args.runs) > 1 else "") + score(rows_of(path)) + ("\n" if len(args.runs) > 1 else ""))
        return 0
    if args.what == "compare":
        return _compare(*args.runs)
    if args.timebox < 1:
        raise ConfigError("--timebox is a number of milliseconds, 1 or more")
    questions = read(args.questions)
    if args.out and Path(args.out).exists() and Path(args.out).samefile(args.questions):
        raise ConfigError("--out names the file of the questions; a run goes to a file of its own")
    if args.out:
        with open(args.out, "a", encoding="utf-8"):
            pass  # what cannot be written is told before the work
    if args.files:
        gateway, session, names = filled(args.files)
    else:
        gateway, session = open_session()
        names = {output.ref: output.ref for output in gateway.store.recent(session.scope, limit=LIMIT)}
    with gateway:
        gateway.indexes.build(session.scope)
        rows = list(run(questions, session, names, args.method or methods(), args.timebox))
    if args.out:
        meta: Json = {"run": {"byref": byref.__version__, "questions": args.questions, "outputs": len(names), "timebox_ms": args.timebox,
                              "python": sys.version.split()[0]}}
        lines = [meta, *({"method": row.method, "id": row.id, "tag": row.tag, "ranks": list(row.ranks),
                          "milliseconds": round(row.milliseconds, 3)} for row in rows)]
        Path(args.out).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    say(score(rows))
    return 0


def _compare(first: str, second: str) -> int:
    """By the methods that are named, else each that both runs have."""
    (one, by), (two, other) = (_named(text) for text in (first, second))
    if by or other:
        say(compare([row for row in one if row.method == (by or other)], [row for row in two if row.method == (other or by)]))
        return 0
    shared = [method for method in dict.fromkeys(row.method for row in one) if any(row.method == method for row in two)]
    if not shared:
        raise Invalid("the two runs share no method: name one of each, as RUN:METHOD")
    for method in shared:
        say(f"{method}\n\n" + compare([row for row in one if row.method == method], [row for row in two if row.method == method]) + "\n")
    return 0


def _named(text: str) -> tuple[list[Row], str]:
    """A run's rows, and the method that stands behind its name."""
    if Path(text).is_file():
        return rows_of(text), ""
    path, method = next(((text[:-len(name) - 1], name) for name in methods() if text.endswith(":" + name)), (text, ""))
    return rows_of(path), method


BENCH = Command(
    "bench", "ask questions with known answers, and score who finds them", _options, _run,
    "Questions: one JSON object a line, {\"query\": ..., \"gold\": [{\"output\": \"build.log\", \"at\": \"L120-130\"}], \"tag\": ..., "
    "\"id\": ...}; examples/questions.jsonl has some. Figures: hit@1, recall@5, MRR@10.")
