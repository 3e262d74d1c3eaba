"""`byref search`: where something stands in the outputs of this scope."""
from __future__ import annotations

import argparse
import json

from byref.proxy.contracts import Json
from byref.proxy.frontends.command import Command, say
from byref.proxy.frontends.remote import ShellSession
from byref.proxy.reader import Found
from byref.proxy.searching import EMPHASES, MAX_TOKENS, OUTCOMES, PROFILES


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="words, an exact text, or /regex/ (RE2)")
    options(parser)


def options(parser: argparse.ArgumentParser) -> None:
    """What narrows and bounds a search, whatever it is for."""
    parser.add_argument("--ref", metavar="REF", action="append", help="only in this output; may be given again")
    parser.add_argument("--tool", metavar="NAME", help="only in outputs of this tool")
    parser.add_argument("--signature", metavar="S", help="only in outputs of this very call, by its signature")
    parser.add_argument("--outcome", choices=OUTCOMES, help="only in outputs of calls that went well, or failed")
    parser.add_argument("--kind", metavar="SHAPE", help="only in outputs of this kind: log, tests, json, ...")
    parser.add_argument("--since", metavar="REF", help="only in outputs that came after this one")
    parser.add_argument("--session", metavar="NAME", help="only in outputs of this session")
    parser.add_argument("--timebox", metavar="MS", type=int, default=1000, help="milliseconds after which it answers (1000)")
    parser.add_argument("-k", metavar="N", type=int, help="hits at most")
    parser.add_argument("--max-tokens", metavar="N", type=int, default=MAX_TOKENS, help=f"size of the answer, roughly ({MAX_TOKENS})")
    parser.add_argument("--layer", metavar="NAME", action="append", help="only by this layer; may be given again (byref status lists them)")
    parser.add_argument("--emphasis", choices=EMPHASES, default="balanced", help="what counts more where several layers find something")
    parser.add_argument("--profile", choices=PROFILES, default="cascade", help="how what layers found is put in order (cascade)")
    parser.add_argument("--weight", metavar="WORD=N", action="append", type=_weight, help="what a word of the query weighs: 1 as it is, "
                        "0 as if it were not asked for; may be given again")
    parser.add_argument("--explain", action="store_true", help="as JSON, with how each hit came to its place")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _weight(text: str) -> tuple[str, float]:
    """A word and its weight, from WORD=N."""
    word, sign, number = text.rpartition("=")
    try:
        if sign and word:
            return word, float(number)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is not WORD=N, such as timeout=2")


def as_json(found: Found) -> dict[str, Json]:
    """The answer of a search as JSON, over HTTP too."""
    explained: dict[str, Json] = {} if found.explanation is None else {"explanation": found.explanation}
    return explained | {
        "query": found.query, "outputs": found.outputs, "searched": found.searched, "filters": dict(found.filters),
        "uncovered": list(found.uncovered), "text": found.text,
        "layers": [{"name": one.name, "status": one.status, "hits": one.hits, "note": one.note, "coverage": one.coverage}
                   for one in found.layers],
        "hits": [{"ref": hit.ref, "address": hit.address, "part": hit.part, "excerpt": hit.excerpt, "signals": list(hit.signals),
                  "terms": list(hit.terms), "tool": hit.tool, "age": hit.age, "score": hit.score, "bps": hit.bps, "rank": hit.rank}
                 for hit in found.hits],
    }


def _run(args: argparse.Namespace) -> int:
    return ask(args, args.query)


def ask(args: argparse.Namespace, query: str, like: str | None = None) -> int:
    """Searches and prints the answer. Returns the exit code."""
    with ShellSession() as session:
        found = session.search(
            query=query, refs=args.ref, tool=args.tool, signature=args.signature, outcome=args.outcome, kind=args.kind,
            since=args.since, session=args.session, timebox_ms=args.timebox, k=args.k, max_tokens=args.max_tokens,
            layers=args.layer, emphasis=args.emphasis, explain=args.explain, weights=dict(args.weight) if args.weight else None,
            profile=args.profile, like=like)
    say(json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n" if args.json or args.explain else found.text)
    return 0 if found.hits else 1


SEARCH = Command(
    "search", "find where something stands in what this project holds", _options, _run,
    "Each hit stands under an address that fetch takes. Exit code 1: nothing found.")
