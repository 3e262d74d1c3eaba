"""What is like a stretch of a stored output: the stretch that an address names, and which places say nearly the same.

A near-duplicate holds four fifths of the stretch's shingles (Broder, On the resemblance and containment of documents, 1997): three words
in a row each; of a long stretch, of its lines.
"""
from __future__ import annotations

import re
import time

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Corrupt, Invalid, Unknown
from byref.proxy.intake import to_text
from byref.proxy.query import LIKE, like, within_stretch
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from byref.layers.contract import Scope
    from byref.layers.orchestrator import Answer
    from byref.layers.ranking import Ranked
    from byref.proxy.query import Query

NEAR = 8000  # basis points of the stretch from which on a place is a near-duplicate
SHINGLE = 3  # words
LONG = 16 << 10  # bytes of a stretch that is compared by its lines
MOST = 1 << 20  # bytes of a part that is compared with it
SIGNAL = "duplicate"
TIME = 0.1  # seconds that comparing may take
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Stretch:
    """What an address names. address: as fetch writes it. spans: (digest, start, end) in bytes, half-open. data: their bytes."""

    ref: str
    address: str
    spans: tuple[tuple[str, int, int], ...]
    data: bytes


def query_of(stretch: Stretch, weights: Mapping[str, float] | None = None) -> Query:
    """The query for what is like it. Raises `Invalid` where it holds no words, and for weights that are none."""
    query = like(project(to_text(stretch.data[:4 * LIKE])), stretch.spans, weights)
    if not query.terms:
        raise Invalid(f"{stretch.ref} {stretch.address or 'as a whole'} holds no words, so that nothing can be like it")
    return query


def without(answers: Sequence[Answer], query: Query) -> list[Answer]:
    """Answers without what lies in the stretch itself."""
    if not query.apart:
        return list(answers)
    kept = []
    stretch = within_stretch(query)
    for one in answers:
        given = one.contribution
        hits = [hit for hit in given.hits if not stretch(*hit.span)]
        made = type(given)(hits, given.searched, given.whole, given.places, given.faults, given.note, given.uncovered)
        kept.append(one.of(made))
    return kept


def marked(ranked: Sequence[Ranked], stretch: Stretch, scope: Scope, count: int,
           clock: Callable[[], float] = time.monotonic) -> list[Ranked]:
    """The places, the first so many with the signal `duplicate` where they say nearly the same, as far as there is time to look."""
    until = clock() + TIME
    size = len(stretch.data)
    wanted = _units(stretch.data[:MOST], size > LONG)
    found = list(ranked)
    known: dict[str, frozenset[object]] = {}
    for number, one in enumerate(found[:count]):
        if not wanted or clock() >= until:
            break
        blob, start, end = one.hit.span
        try:
            if size > LONG:
                if blob not in known:
                    known[blob] = _units(scope.open(blob).read(0, MOST), True)
                there = known[blob]
            else:
                there = _units(scope.open(blob).read(max(0, start - size), end + size), False)
        except (Corrupt, Unknown):
            continue
        if len(wanted & there) * 10_000 >= NEAR * len(wanted):
            found[number] = one._replace(signals=(SIGNAL, *one.signals))
    return found


def twins(stretch: Stretch, scope: Scope) -> list[str]:
    """Other outputs of the scope, newest first, that hold the very blobs of the stretch."""
    digests = {blob for blob, _, _ in stretch.spans}
    return [output.ref for output in scope.outputs
            if output.ref != stretch.ref and digests <= {part.blob.digest for part in output.manifest.parts}]


def _units(data: bytes, lines: bool) -> frozenset[object]:
    text = to_text(data).lower()
    if lines:
        return frozenset(line for row in text.split("\n") if (line := row.strip()))
    words = _WORD.findall(text)
    return frozenset(tuple(words[at:at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))) if words else frozenset()
