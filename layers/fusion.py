"""What a branch adds to the order of places within one tier, by profile. Pure, in whole numbers.

cascade (the default): words and vectors choose, late interaction orders, and what it alone found comes after that. Words and vectors
are fused by scores and not by ranks, each as a share of the best that its layer gave (Bruch, Gai, Ingber: An Analysis of Fusion
Functions for Hybrid Retrieval, TOIS 2023): over the sets of `bench/retrieval.py` that was better than ranks in every one. Of several
layers of one signal the best counts.
rrf: reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009): 1 / (60 + rank), the first 20 of each branch, all added.
weighted: `weighted`.
"""
from __future__ import annotations

from byref.layers.contract import WHOLE
from byref.layers.weighted import QUERIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CASCADE, RECIPROCAL, WEIGHTED = "cascade", "rrf", "weighted"
PROFILES = (CASCADE, RECIPROCAL, WEIGHTED)
RRF, TOP = 60, 20
POINT = 1_000_000  # what 1 is in the sums of 1 / (60 + rank)
DEEP = 200  # ranks of a branch that count in the cascade
LATE = "late"  # signal of late interaction; of a further model's with its name behind a sign
STEPS = 9_000  # shares of the best late score that are told apart: closer ones are a tie, which the fusion resolves
FINE = 1000  # of what the fusion may add to that
LINES = "text"  # layer of words in single lines: no frequencies of chunks, so it counts half beside one that has them
# How much a signal counts, by emphasis; any other counts 2. Fitted by `bench/retrieval.py`: words to vectors from 3:1 to 4:3 are alike.
EMPHASES: Mapping[str, Mapping[str, int]] = {
    "balanced": {"words": 4, "static": 2, "dense": 4, "trigram": 1, "fuzzy": 2, "names": 2},
    "precision": {"words": 6, "static": 1, "dense": 2, "trigram": 1, "fuzzy": 1, "names": 2},
    "recall": {"words": 4, "static": 4, "dense": 6, "trigram": 2, "fuzzy": 3, "names": 3},
}
OTHER = 2


def points(profile: str, emphasis: str, layer: str, signal: str, rank: int, score: int, best: int, asked: str) -> int:
    """What a branch adds. rank: from 1; best: score of its first; asked: how the query came to be, as in `weighted.QUERIES`."""
    weight = EMPHASES[emphasis].get(signal, OTHER)
    if profile == RECIPROCAL:
        return POINT * weight // (RRF + rank) * QUERIES[asked] // WHOLE if rank <= TOP else 0
    if rank > DEEP or best <= 0 or score <= 0:
        return 0
    if of_late(signal):
        return STEPS * score // best * QUERIES[asked] // WHOLE
    return weight * WHOLE * score // best * QUERIES[asked] // WHOLE // (2 if layer == LINES else 1)


def fused(profile: str, emphasis: str, added: Iterable[tuple[str, int]], late: bool) -> int:
    """The order of a place by what each branch adds: (signal, points). late: whether late interaction scored any place."""
    if profile == RECIPROCAL:
        return sum(count for _, count in added)
    best: dict[str, int] = {}
    for signal, count in added:
        best[signal] = max(best.get(signal, 0), count)
    rest = sum(count for signal, count in best.items() if not of_late(signal))
    if not late:
        return rest
    most = WHOLE * (sum(EMPHASES[emphasis].values()) + OTHER)
    order = max((count for signal, count in best.items() if of_late(signal)), default=0)
    return FINE * order + min(FINE - 1, FINE * rest // most) if rest else order


def of_late(signal: str) -> bool:
    return signal == LATE or signal.startswith((LATE + "-", LATE + ":"))
