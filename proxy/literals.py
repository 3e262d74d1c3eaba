"""Where literal texts stand in bytes, in any case: the matches that RE2 finds of an alternation of them, in less time.

RE2 goes through bytes at 2 GB/s where it looks for one text, and at 0.7 for one of several, or where the first letter folds to one beyond
ASCII. So each text is looked for alone, in lower case, which costs another pass.
"""
from __future__ import annotations

from functools import lru_cache

from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FEW = 3  # texts up to which so many passes are quicker than one: `bench/speed.py --only first`
_LONG = 12  # bytes of a text from which on `bytes.find` is quicker than RE2
_FOLDED = (b"\xc5\xbf", b"\xe2\x84\xaa")  # long s and the Kelvin sign: for RE2 other cases of s and k, for `bytes.lower` none


def pays(texts: Sequence[bytes]) -> bool:
    """Whether these texts, in lower case, are found sooner one by one."""
    return 1 < len(texts) <= FEW or (len(texts) == 1 and texts[0][:1] in (b"s", b"k"))


def literal(data: bytes, texts: Sequence[bytes]) -> bool:
    """Whether `places` finds in the data what RE2 finds of these texts in any case."""
    return all(map(bytes.isascii, texts)) and (data.isascii() or not any(sign in data for sign in _FOLDED))


def places(low: bytes, texts: Sequence[bytes]) -> Iterator[int]:
    """Where a match of `first|second|…` begins: the leftmost one, of several at one place the first of them; none overlaps another.

    low and texts are in lower case, and no text is empty.
    """
    finders = [_finder(text) for text in texts]
    at = [find(low, 0) for find in finders]
    end = 0
    while True:
        chosen = -1
        for number, find in enumerate(finders):
            if 0 <= at[number] < end:
                at[number] = find(low, end)
            if at[number] >= 0 and (chosen < 0 or at[number] < at[chosen]):
                chosen = number
        if chosen < 0:
            return
        yield at[chosen]
        end = at[chosen] + len(texts[chosen])


@lru_cache(64)
def _finder(text: bytes) -> Callable[[bytes, int], int]:
    if len(text) >= _LONG:
        return lambda low, start: low.find(text, start)
    search = pattern("".join(f"\\x{{{byte:x}}}" for byte in text)).search

    def found(low: bytes, start: int) -> int:
        match = search(low, start)
        return -1 if match is None else match.start()
    return found
