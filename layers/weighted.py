"""The weighted profile: what a place is worth by how it was found and by what is known of its output. Pure, in whole numbers.

    base * query * source * sub-source * signals * age

base: the score of a way as a share of the best that its layer gave in this answer. query: 1.0 as it was asked, .7 with a synonym,
.5 as a model put it. source: .4, .3, .2, .1 by the kind of output in the order of the user's `sources.toml` (`Sources`), 1.0 where all
that was found is of one source. sub-source: 1.0 by vectors, .8 by words. signals: see `SIGNALS`. age: e^(-.01 h), h being the hours
from the capture to the newest one of the scope, .1 at least. Where several ways meet in one place, it is worth the best of them and
30 % of each further one. Factors are basis points, products are exact and rounded down once.

`sources.toml` in byref's home maps outputs to sources, the first table that fits; the first source named weighs .4, the next .3, .2, .1:

    [[source]]
    name = "code"
    tools = ["Read", "Grep", "mcp__*__search"]   # shell patterns of tools' names; without it any tool
    kinds = ["code", "matches"]                  # names of shapes; without it any
    documented = true                            # the signals `documented` and `authentication`; both are false if not said
    authentication = false
"""
from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from byref.layers.contract import WHOLE
from byref.proxy.contracts import dataclass
from byref.proxy.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from byref.proxy.contracts import Json

ORIGINAL, SYNONYM, MODEL = "original", "synonym", "model"  # how a query came to be
QUERIES: Mapping[str, int] = {ORIGINAL: 10_000, SYNONYM: 7_000, MODEL: 5_000}
SOURCES = (4_000, 3_000, 2_000, 1_000)  # by place in the user's file; the last for all after it, and for what fits none
VECTOR, KEYWORD = 10_000, 8_000
VECTORS = frozenset({"static", "dense", "late", "sparse"})  # signals of vectors, also with a model's name behind a sign
FURTHER = 3_000  # of the score of each way but the best
LEAST_AGE = 1_000
HOUR = 100  # hours after which e^(-.01 h) is 1/e
FAST_MS, SLOW_MS = 1_000, 5_000
OFTEN = 3  # fetches; more make the signal
RELIABLE, UNRELIABLE = 9_000, 5_000  # bps of a tool's calls that succeeded: above, below
SIGNALS: Mapping[str, int] = {
    "success": 12_000, "failure": 7_000, "fast": 12_000, "slow": 8_000, "fetched": 11_000, "documented": 10_500, "authentication": 9_000,
    "reliable": 11_000, "unreliable": 8_000,
}
POINT = 1_000_000  # what 1 is in a score
_FINE = 10**18  # what 1 is in the sum for an age


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an output beside its bytes; what is not known weighs nothing.

    source, weight: of its kind, in bps. success: whether its call succeeded. elapsed_ms: of the call. fetches: pages that were fetched
    of it. rate: bps of its tool's calls in the scope that succeeded, None where they are too few. age: whole seconds from its capture
    to the newest of the scope.
    """

    source: str = ""
    weight: int = WHOLE
    success: bool | None = None
    elapsed_ms: int | None = None
    fetches: int = 0
    rate: int | None = None
    documented: bool = False
    authentication: bool = False
    age: int = 0


class Source(NamedTuple):
    """A kind of output. tools, kinds: what fits it, all where empty."""

    name: str
    weight: int
    tools: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    documented: bool = False
    authentication: bool = False


class Way(NamedTuple):
    """One layer's one signal on a place, for one form of the query. base: `base(score, best)`; asked: a key of `QUERIES`."""

    layer: str
    signal: str
    base: int
    asked: str = ORIGINAL


class Weighed(NamedTuple):
    """What a place is worth, in millionths, and why: each way with its own score and its factors by name in bps, best first."""

    score: int
    ways: tuple[tuple[Way, int, tuple[tuple[str, int], ...]], ...]


def sources(table: Mapping[str, Json], place: str) -> tuple[Source, ...]:
    """The sources of a file that was read. place: of the file. Raises `ConfigError` for what is none."""
    given = table.get("source", ())
    if set(table) - {"source"} or not isinstance(given, (list, tuple)):
        raise ConfigError(f"{place}: it holds tables [[source]] and nothing else")
    found: list[Source] = []
    names: dict[str, int] = {}
    for one in given:
        if not isinstance(one, dict) or set(one) - {"name", "tools", "kinds", "documented", "authentication"}:
            raise ConfigError(f"{place}: [[source]] has name, tools, kinds, documented and authentication, not {str(one)[:60]}")
        name, tools, kinds = one.get("name"), one.get("tools", ()), one.get("kinds", ())
        if not isinstance(name, str) or not name or not all(
                isinstance(texts, (list, tuple)) and all(isinstance(text, str) for text in texts) for texts in (tools, kinds)):
            raise ConfigError(f"{place}: a [[source]] needs a name; tools and kinds are lists of texts, in {str(one)[:60]}")
        if not all(isinstance(one.get(sign, False), bool) for sign in ("documented", "authentication")):
            raise ConfigError(f"{place}: documented and authentication are true or false, in [[source]] {name[:40]!r}")
        weight = SOURCES[min(names.setdefault(name, len(names)), len(SOURCES) - 1)]
        found.append(Source(name, weight, tuple(tools), tuple(kinds), bool(one.get("documented")), bool(one.get("authentication"))))
    return tuple(found)


def source_of(known: Sequence[Source], tool: str, kind: str) -> Source:
    """The source of an output by its tool and its shape; one of no name where none fits."""
    for one in known:
        if (not one.kinds or kind in one.kinds) and (not one.tools or any(fnmatchcase(tool, pattern) for pattern in one.tools)):
            return one
    return Source("", SOURCES[-1] if known else WHOLE)


def base(score: int, best: int) -> int:
    """A score as a share of the best that its layer gave under this signal, in bps; 1 at least."""
    return max(1, WHOLE * score // best) if best > 0 else 1


def weigh(ways: Sequence[Way], facts: Facts, one_source: bool = True) -> Weighed:
    """What a place is worth. one_source: all that was found is of one source, so that sources make no difference."""
    known = (("source", WHOLE if one_source else facts.weight), *_signals(facts), ("age", age(facts.age)))
    told = []
    for way in ways:
        factors = (("base", way.base), ("query", QUERIES[way.asked]), ("sub-source", VECTOR if of_vectors(way.signal) else KEYWORD), *known)
        product = POINT
        for _, factor in factors:
            product *= factor
        told.append((way, product // WHOLE ** len(factors), factors))
    told.sort(key=lambda one: (-one[1], one[0]))
    scores = [score for _, score, _ in told]
    return Weighed(sum(scores[:1]) + FURTHER * sum(scores[1:]) // WHOLE, tuple(told))


def of_vectors(signal: str) -> bool:
    """Whether a signal says what a text means, not what stands in it."""
    return signal.replace(":", "-").partition("-")[0] in VECTORS


def age(seconds: int) -> int:
    """max(.1, e^(-.01 h)) in bps, rounded down: the series of e^x in whole numbers, all terms positive, and one division."""
    if seconds <= 0:
        return WHOLE
    unit = 3600 * HOUR
    if seconds >= 24 * unit // 10:  # e^-2.4 is below .1
        return LEAST_AGE
    term = total = _FINE
    number = 0
    while term:
        number += 1
        term = term * seconds // (unit * number)
        total += term
    return max(LEAST_AGE, WHOLE * _FINE // total)


def explained(weighed: Weighed) -> dict[str, Json]:
    """The score and every factor, as JSON: `weighted` of a hit in docs/explain-2.schema.json."""
    return {"score": weighed.score, "ways": [
        {"layer": way.layer, "signal": way.signal, "query": way.asked, "score": score, "share": FURTHER if number else WHOLE,
         "factors": dict(factors)} for number, (way, score, factors) in enumerate(weighed.ways)]}


def _signals(facts: Facts) -> list[tuple[str, int]]:
    """Those that are present, in the order of `SIGNALS`."""
    elapsed, rate = facts.elapsed_ms, facts.rate
    present = {
        "success": facts.success is True, "failure": facts.success is False, "fast": elapsed is not None and elapsed < FAST_MS,
        "slow": elapsed is not None and elapsed > SLOW_MS, "fetched": facts.fetches > OFTEN, "documented": facts.documented,
        "authentication": facts.authentication, "reliable": rate is not None and rate > RELIABLE,
        "unreliable": rate is not None and rate < UNRELIABLE,
    }
    return [(name, factor) for name, factor in SIGNALS.items() if present[name]]
