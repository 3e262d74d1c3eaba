"""Lines that address the agent: text written by others may not gain weight by ordering it about."""
from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import accumulate

from byref.filters.patterns import spans
from byref.filters.units import LAST, Units
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

_STEERS = "(?m)" + "|".join((
    r"(?i:\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:earlier|previous|prior|preceding|above|all|system|your)\b.{0,20}"
    r"\b(?:instructions?|prompts?|rules|directions|messages)\b)",
    r"\b(?:AGENTS?|ASSISTANTS?|AI|LLM|MODEL) (?:MUST|SHALL|SHOULD)\b",
    r"(?i:\b(?:AI|LLM) (?:agents?|assistants?|models?) (?:must|should|reading)\b)",
    r"^\s*(?:System|SYSTEM|Assistant|ASSISTANT|Human|HUMAN)\s?: .*\b(?:you|your|call|run|fetch|post|send|reply)\b",
    r"</?(?:tool_result|function_results|system|system-reminder)>", r"<\|(?:im_start|im_end|system|assistant)\|>", r"\[/?INST\]"))


@cache
def _steers() -> Pattern:
    return pattern(_STEERS)


def demote(units: Units) -> None:
    """Ranks lines that address the agent LAST, whatever they say of failures: they stand where all does, and no gap names them."""
    texts = units.texts
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    ends: list[int] = []
    for start, _ in spans(_steers(), data):
        if not ends:
            ends = list(accumulate(len(row.encode("utf-8", "surrogatepass")) + 1 for row in texts))
        i = bisect_right(ends, start)
        units.rank[i] = LAST
        units.failures.pop(i, None)
