"""How well each method finds the document that answers a question: hit@1, recall@5, MRR@10, nDCG@10 by set of questions.

usage: retrieval.py [METHOD ...] [--tag SET]

Methods: `bm25s`, the plain reference with its own defaults; each of our layers alone; `search`, all of them as byref ranks them;
`cheap`, without those that run a model; `rrf` and `weighted`, by these profiles. The layer that only refines gets what `words` and
`trigram` found. The sets are those of labelled.py. A set of paraphrases counts only where the reference finds little (MRR@10 <= .40),
one of typing errors where it finds half at most (<= .50): else they were too easy.
"""
from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean
from threading import Event

from labelled import Labelled, Question, labelled

import byref
from byref.layers import dense, embedding
from byref.layers.contract import REFINE, Added, Budget, Held, Scope
from byref.layers.encoders import choice
from byref.layers.encoders.choice import DEFAULT
from byref.layers.fusion import CASCADE, PROFILES
from byref.proxy import discover
from byref.proxy.config import dense_model, late_model, models_folder
from byref.proxy.contracts import Blob, Manifest, Output, Part
from byref.proxy.query import parse
from byref.proxy.searching import search
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest, ref_of

TOP = 10
CANDIDATES = ("bm25", "trigram")  # what finds candidates for a layer that only refines, where it is measured alone
DEAR = frozenset({"late", "dense"})  # layers that run a model
EASY = {"paraphrase": 0.40, "typo": 0.50}  # of the reference's MRR@10
# Given a query: keys of documents, best first, at most TOP of them
Ask = Callable[[str], Sequence[str]]


def bm25s_alone(documents: Mapping[str, str]) -> Ask:
    """The package bm25s as it comes: its tokenizer, its English stop words, its scores."""
    import bm25s
    keys = list(documents)
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(documents.values()), show_progress=False), show_progress=False)

    def ask(query: str) -> Sequence[str]:
        found, scores = index.retrieve(bm25s.tokenize([query], show_progress=False), k=min(TOP, len(keys)), show_progress=False)
        return [keys[number] for number, score in zip(found[0], scores[0], strict=True) if score > 0]
    return ask


def scope_of(documents: Mapping[str, str]) -> tuple[Scope, dict[str, str]]:
    """The documents as outputs of one part each, newest first, and the key of each blob."""
    outputs, held, sources, keys = [], {}, {}, {}
    for age, (key, text) in enumerate(documents.items()):
        data = text.encode()
        blob = Blob(digest(data), len(data), data.count(b"\n"))
        manifest = Manifest("document", "null", (Part("stdout", "text/plain", blob),))
        outputs.append(Output(len(documents) - age, ref_of(manifest), manifest, "", 0.0, "text"))
        held[blob.digest] = Held(blob.digest, blob.size, outputs[-1], age, 0)
        sources[blob.digest] = BytesSource(data)
        keys[blob.digest] = key
    return Scope("bench", outputs, held, sources.__getitem__, False, sum(one.size for one in held.values())), keys


def alone(name: str) -> Callable[[Mapping[str, str]], Ask]:
    """One of our layers, with its index whole and no end of time."""
    def prepared(documents: Mapping[str, str]) -> Ask:
        dense.use(dense_model() or DEFAULT)
        scope, keys = scope_of(documents)
        layers = [discover.load("layers", name).layer(None)]
        if layers[0].roles == {REFINE}:
            layers += [discover.load("layers", other).layer(None) for other in CANDIDATES]
        for layer in layers:
            if lacking := layer.status(scope).missing:
                raise Missing(f"{layer.name}: {lacking}")
            layer.apply([Added(blob, scope.open(blob), "text") for blob in scope.held], (), Event())
        first, *others = layers

        def ask(query: str) -> Sequence[str]:
            parsed, budget = parse(query), Budget(math.inf, Event(), time.monotonic)
            found = None
            if others:
                found = [hit for other in others if other.applies(scope, parsed) for hit in other.search(parsed, scope, budget).hits]
            if not first.applies(scope, parsed):
                return []
            hits = sorted(first.search(parsed, scope, budget, found).hits, key=lambda hit: -hit.score)
            return list(dict.fromkeys(keys[hit.span.blob] for hit in hits))[:TOP]
        return ask
    return prepared


def whole(profile: str = CASCADE, without: Collection[str] = ()) -> Callable[[Mapping[str, str]], Ask]:
    """The search as a user gets it, with every index whole; by another profile, or without some layers."""
    def prepared(documents: Mapping[str, str]) -> Ask:
        gateway = byref.open("memory:", profile="safe")
        session = gateway.session("bench")
        keys = {}
        for key, text in documents.items():
            keys[session.capture(tool="document", output=text, raw=True).ref] = key
        there = gateway.indexes.orchestrator(session.scope)
        there.layers = tuple(layer for layer in there.layers if layer.name not in without)
        gateway.indexes.build(session.scope)

        def ask(query: str) -> Sequence[str]:
            found = search(gateway.store, session.scope, query, timebox_ms=60_000, max_tokens=100_000, k=50, profile=profile,
                           indexes=gateway.indexes)
            return list(dict.fromkeys(keys[hit.ref] for hit in found.hits))[:TOP]
        return ask
    return prepared


class Missing(Exception):
    """What a method needs is not here."""


def methods() -> dict[str, Callable[[Mapping[str, str]], Ask]]:
    """All there are: the layers are found in their folder."""
    return {"bm25s": bm25s_alone, **{name: alone(name) for name in discover.names("layers")},
            "search": whole(), "cheap": whole(without=DEAR), **{profile: whole(profile) for profile in PROFILES if profile != CASCADE}}


def figures(ranked: Sequence[str], answers: Mapping[str, int]) -> tuple[float, float, float, float]:
    """hit@1, recall@5, MRR@10 and nDCG@10 (Järvelin and Kekäläinen 2002, gain = grade) of one answer."""
    first = next((place for place, key in enumerate(ranked[:TOP], start=1) if key in answers), 0)
    gain = sum(answers.get(key, 0) / math.log2(place + 1) for place, key in enumerate(ranked[:TOP], start=1))
    best = sum(grade / math.log2(place + 1) for place, grade in enumerate(sorted(answers.values(), reverse=True)[:TOP], start=1))
    return float(first == 1), sum(key in answers for key in ranked[:5]) / min(5, len(answers)), 1 / first if first else 0.0, gain / best


def measured(method: str, given: Labelled, tags: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Per set: the means of `figures`, and milliseconds a query."""
    rows: dict[str, list[tuple[float, ...]]] = {tag: [] for tag in tags}
    for collection, documents in given.documents.items():
        asked = [question for question in given.questions if question.collection == collection and question.tag in rows]
        if not asked:
            continue
        ask = methods()[method](documents)
        for question in asked:
            began = time.perf_counter()
            ranked = list(dict.fromkeys(ask(question.query)))
            rows[question.tag].append((*figures(ranked, question.answers), 1000 * (time.perf_counter() - began)))
    return {tag: tuple(map(fmean, zip(*found, strict=True))) for tag, found in rows.items() if found}


def tags_of(questions: Sequence[Question]) -> list[str]:
    """The sets, in the order in which they stand."""
    return list(dict.fromkeys(question.tag for question in questions))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD", choices=[*methods(), []])
    parser.add_argument("--tag", action="append")
    chosen = parser.parse_args()
    given = labelled()
    tags = [tag for tag in tags_of(given.questions) if tag in (chosen.tag or [tag])]
    if given.missing:
        print(f"{len(given.missing)} frozen documents are others in this Python and are left out, such as {', '.join(given.missing[:5])}")
    if "cranfield" not in given.documents:
        print("Cranfield is not here: skipped")
    print("questions: " + ", ".join(f"{tag} {sum(question.tag == tag for question in given.questions)}" for tag in tags)
          + "; documents: " + ", ".join(f"{name} {len(held)}" for name, held in given.documents.items()))
    embedding.use(models_folder())
    choice.use(late_model())
    lacking = discover.load("layers", "late").layer(None).status(scope_of({})[0]).missing
    print(f"late interaction {f'is left out of search: {lacking}' if lacking else 'takes part in search'}")
    print(f"{'method':12} {'set':12} hit@1 rec@5 mrr10 ndcg10  ms/query")
    for method in chosen.methods or methods():
        try:
            rows = measured(method, given, tags)
        except Missing as fault:
            print(f"{method:12} skipped: {fault}")
            continue
        for tag, row in rows.items():
            print(f"{method:12} {tag:12} " + " ".join(f"{value:.3f}" for value in row[:4]) + f" {row[4]:9.2f}", flush=True)
            if method == "bm25s" and row[2] > EASY.get(tag, 1):
                print(f"  too easy: {tag} does not count", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
