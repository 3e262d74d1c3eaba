"""What each way to keep token vectors costs in quality: MRR@10 by set of questions, over all chunks and over candidates.

usage: knobs.py [--model SETTING] [--axes FILE.npy] [--cranfield] [--floors] [--cache FOLDER]

The documents of labelled.py are cut and encoded as the layer `late` does it, once, and then kept in each way: float32 as the reference,
bf16, int8, neighbours pooled by 2 and 3 (means of runs, and of clusters by Ward's method as PyLate does it, if scipy is here), projected
on their own first 128 and 48 axes, and with whole documents encoded before they are cut. `all` ranks every chunk; `top 50` reorders what
bm25 and static found, joined by reciprocal rank. --floors: how near words stand to what they met, where they are and where they are not.
"""
from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from threading import Event

import numpy as np
from labelled import Question, labelled, marked
from numpy.typing import NDArray
from retrieval import TOP, Missing, alone, figures, scope_of

from byref.layers import embedding, encoding, maxsim
from byref.layers.contract import Budget
from byref.layers.encoders.choice import chosen
from byref.layers.encoders.contract import Encoder
from byref.layers.pools import narrow
from byref.layers.seeking import Asked
from byref.proxy.config import models_folder
from byref.proxy.query import parse

TAGS = ("paraphrase", "identifier", "typo", "language")
CANDIDATES = 50
Floats = NDArray[np.float32]
Int64 = NDArray[np.int64]


class Chunks:
    """Token vectors of a collection. bounds: of its chunks; owners: the document of each."""

    def __init__(self, rows: Floats, bounds: Int64, owners: Sequence[str]) -> None:
        self.rows, self.bounds, self.owners = rows, bounds, owners

    def kept(self, kind: str) -> Callable[[Floats], Int64]:
        """Scores of all chunks, as the layer has them."""
        numbers, scales = maxsim.stored(self.rows, kind)
        part = maxsim.Tokens(numbers, scales, self.bounds)
        return lambda query: maxsim.scan(query, np.full(len(query), 1000), [part], lambda: False).totals[0]

    def plain(self, query: Floats) -> Floats:
        """The reference in float32."""
        inside = np.flatnonzero(np.diff(self.bounds))
        found = np.full(len(self.owners), -np.inf, np.float32)
        found[inside] = np.maximum.reduceat(self.rows @ query.T, self.bounds[inside], axis=0).sum(axis=1)
        return found


def encoded(encoder: Encoder, documents: Mapping[str, str], whole: bool, cache: Path | None) -> Chunks:
    """As `byref.layers.encoding` makes sidecars, but with the numbers left as they are."""
    file = cache and cache / f"{encoder.mark}-{marked(chr(0).join(documents.values()))}-{whole:d}.npz"
    if file and file.exists():
        held = np.load(file)
        return Chunks(held["rows"], held["bounds"], held["owners"].tolist())
    rows: list[Floats] = []
    sizes: list[int] = []
    owners: list[str] = []
    items = list(documents.items())
    for at in range(0, len(items), 64):
        some = [(key, text.encode()) for key, text in items[at:at + 64]]
        spans = [list(encoding.chunks(data, "text")) for _, data in some]
        cuts = [[(0, len(data))] if whole else own for (_, data), own in zip(some, spans, strict=True)]
        found = iter(encoder.documents([data[a:b].decode() for (_, data), own in zip(some, cuts, strict=True) for a, b in own]) or [])
        for (key, data), own, cut in zip(some, spans, cuts, strict=True):
            mine = [next(found) for _ in cut]
            rows += [one.vectors for one in mine]
            if whole:
                starts = encoding.Text(data).bytes_of(mine[0].spans)[:, 0]
                sizes += np.diff(np.append(np.searchsorted(starts, [a for a, _ in own]), len(starts))).tolist()
            else:
                sizes += [len(one.vectors) for one in mine]
            owners += [key] * len(own)
        print(f"\r{at} of {len(items)} documents encoded", end="", file=sys.stderr, flush=True)
    made = Chunks(np.concatenate(rows), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), owners)
    if file:
        np.savez(file, rows=made.rows, bounds=made.bounds, owners=np.array(owners))
    return made


def pooled(chunks: Chunks, factor: int) -> Chunks:
    rows, _, bounds = encoding.pooled(chunks.rows, np.zeros((len(chunks.rows), 2), np.int64), chunks.bounds, factor)
    return Chunks(rows, bounds, chunks.owners)


def clustered(chunks: Chunks, factor: int) -> Chunks:
    """Pooling as in PyLate (Clavié, Chaffin and Adams 2024): means of Ward's clusters, a factor fewer than there are tokens."""
    from scipy.cluster.hierarchy import fcluster, linkage
    rows: list[Floats] = []
    for start, end in zip(chunks.bounds[:-1].tolist(), chunks.bounds[1:].tolist(), strict=True):
        own = chunks.rows[start:end]
        if len(own) > factor:
            names = fcluster(linkage(1 - own @ own.T, metric="euclidean", method="ward"), max(1, len(own) // factor), criterion="maxclust")
            own = encoding.unit(np.stack([own[names == name].mean(axis=0) for name in np.unique(names)]))
        rows.append(own)
    return Chunks(np.concatenate(rows), np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.int64), chunks.owners)


def ranked(owners: Sequence[str], scores: Floats | Int64, allowed: frozenset[str] | None = None) -> list[str]:
    """Documents by their best chunk."""
    best: dict[str, float] = {}
    for number in np.argsort(-scores, kind="stable").tolist():
        if allowed is None or owners[number] in allowed:
            best.setdefault(owners[number], float(scores[number]))
        if len(best) == TOP:
            break
    return list(best)


def candidates(documents: Mapping[str, str], questions: Sequence[Question]) -> list[frozenset[str]] | None:
    """For each question the 50 documents that bm25 and static put first; None where there is no static model."""
    try:
        asks = [deep(name, documents) for name in ("bm25", "static")]
    except Missing as why:
        print(f"no candidates: {why}")
        return None
    found = []
    for question in questions:
        points: dict[str, float] = {}
        for ask in asks:
            for rank, key in enumerate(ask(question.query), 1):
                points[key] = points.get(key, 0) + 1 / (60 + rank)
        found.append(frozenset(sorted(points, key=lambda key: (-points[key], key))[:CANDIDATES]))
    return found


def deep(name: str, documents: Mapping[str, str]) -> Callable[[str], list[str]]:
    """One of our layers, all that it finds."""
    from byref.layers.contract import Added
    from byref.proxy import discover
    alone(name)  # says what is missing
    scope, keys = scope_of(documents)
    layer = discover.load("layers", name).layer(None)
    if lacking := layer.status(scope).missing:
        raise Missing(f"{name}: {lacking}")
    layer.apply([Added(blob, scope.open(blob), "text") for blob in scope.held], (), Event())

    def ask(query: str) -> list[str]:
        hits = layer.search(parse(query), scope, Budget(math.inf, Event(), time.monotonic)).hits
        return list(dict.fromkeys(keys[hit.span.blob] for hit in hits))
    return ask


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="")
    parser.add_argument("--axes", metavar="FILE", help="fit axes on these documents and write them")
    parser.add_argument("--cranfield", action="store_true")
    parser.add_argument("--floors", action="store_true")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where encoded documents are kept for the next time")
    asked = parser.parse_args()
    cache: Path | None = asked.cache
    embedding.use(models_folder())
    handle = chosen(asked.model)
    if fault := handle.fault():
        print(f"skipped: {fault}")
        return 0
    encoder = handle.wait()
    given = labelled()
    tags = [*TAGS, *(["cranfield"] if asked.cranfield and "cranfield" in given.documents else [])]
    rows: dict[str, dict[tuple[str, str], list[float]]] = {}
    sizes: dict[str, int] = {}
    began, tokens = time.perf_counter(), 0
    for collection, documents in given.documents.items():
        questions = [question for question in given.questions if question.collection == collection and question.tag in tags]
        if not questions:
            continue
        chunks = encoded(encoder, documents, False, cache)
        tokens += len(chunks.rows)
        queries = [encoder.query(question.query).vectors for question in questions]
        found = candidates(documents, questions)
        if asked.floors:
            floors(collection, documents, chunks, encoder, questions)
        for name, ways in ways_of(chunks, lambda: encoded(encoder, documents, True, cache), encoder.width):  # noqa: B023
            score, project, size = ways
            sizes[name] = sizes.get(name, 0) + size
            for number, (question, query) in enumerate(zip(questions, queries, strict=True)):
                scores = score(project(query))
                for where, allowed in (("all", None), ("top 50", found[number] if found else None)):
                    if where == "all" or found:
                        mrr = figures(ranked(chunks.owners, scores, allowed), question.answers)[2]
                        rows.setdefault(name, {}).setdefault((where, question.tag), []).append(mrr)
        if asked.axes and collection == "python":
            np.save(asked.axes, encoding.axes_of(chunks.rows, encoder.width))
    print(f"\n{encoder.name} ({encoder.origin}), {encoder.width} numbers a token, {tokens} tokens in {time.perf_counter() - began:.0f} s")
    heads = [(where, tag) for where in ("all", "top 50") for tag in tags]
    print("| kept as | bytes a token | " + " | ".join(f"{where}: {tag}" for where, tag in heads) + " |")
    print("|---" * (len(heads) + 2) + "|")
    for name, by in rows.items():
        figures_of = [f"{fmean(by[head]):.3f}" if head in by else "" for head in heads]
        print(f"| {name} | {sizes[name] / tokens:.0f} | " + " | ".join(figures_of) + " |")
    return 0


def ways_of(chunks: Chunks, whole: Callable[[], Chunks], width: int):  # type: ignore[no-untyped-def]
    """Name; scores of a query's rows, what is done to these before, and bytes."""
    def same(query: Floats) -> Floats:
        return query
    count = len(chunks.rows)
    yield "float32", (chunks.plain, same, 4 * width * count)
    yield "bf16", (chunks.kept(maxsim.BF16), same, 2 * width * count)
    yield "int8", (chunks.kept(maxsim.INT8), same, (width + 4) * count)
    for factor in (2, 3):
        some = pooled(chunks, factor)
        yield f"int8, runs of {factor}", (some.kept(maxsim.INT8), same, (width + 4) * len(some.rows))
        with contextlib.suppress(ImportError):
            some = clustered(chunks, factor)
            yield f"int8, clusters by {factor}", (some.kept(maxsim.INT8), same, (width + 4) * len(some.rows))
    for fewer in (128, 48):
        if fewer < width:
            axes = encoding.axes_of(chunks.rows, fewer)
            some = Chunks(encoding.unit(chunks.rows @ axes), chunks.bounds, chunks.owners)
            yield f"int8, {fewer} axes", (some.kept(maxsim.INT8), lambda query, axes=axes: encoding.unit(query @ axes), (fewer + 4) * count)
    some = whole()
    yield "int8, whole documents encoded", (some.kept(maxsim.INT8), same, (width + 4) * len(some.rows))


def floors(collection: str, documents: Mapping[str, str], chunks: Chunks, encoder: Encoder, questions: Sequence[Question]) -> None:
    """Thousandths of likeness: of words by whether they stand in the collection, and of whole queries by whether they are of it."""
    text = "\n".join(documents.values()).lower()
    numbers, scales = maxsim.stored(chunks.rows, maxsim.INT8)
    part = maxsim.Tokens(numbers, scales, chunks.bounds)
    there: list[int] = []
    nowhere: list[int] = []
    foreign = [f"{a} {b}" for a in ("zqxvk", "brontide", "ouroboros", "marzipan")
               for b in ("oboe recital", "glacier moraine", "ragout", "zugzwang")]
    right: list[int] = []
    wrong: list[int] = []
    for query, answers in [*((one.query, one.answers) for one in questions), *((one, {}) for one in foreign)]:
        asked = Asked.of(encoder, parse(query))
        near_all = maxsim.scan(asked.vectors, asked.weights, [part], lambda: False)
        best, scores = near_all.best, near_all.totals[0] // (1000 * max(1, len(asked.vectors)))
        for word, inside in asked.words:
            near = sum(int(best[number]) for number in inside) // len(inside)
            (there if word.lower() in text else nowhere).append(near)
        if answers:
            right.append(max(int(scores[number]) for number, owner in enumerate(chunks.owners) if owner in answers))
        else:
            wrong.append(int(scores.max()))
    for name, values in (("words that stand there", there), ("words that do not", nowhere), ("answers", right),
                         ("best for a foreign query", wrong)):
        if values:
            cuts = " ".join(f"{int(np.percentile(values, percent))}" for percent in (5, 25, 50, 75, 95))
            print(f"{collection}: {name} ({len(values)}): percentiles 5 25 50 75 95: {cuts}", flush=True)


if __name__ == "__main__":
    with narrow():
        sys.exit(main())
