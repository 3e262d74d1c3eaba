"""An encoder for tests: a word is a token, and words that mean the same lie near one another. Nothing is learned, all is repeatable."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from byref.layers.encoders.contract import Encoded

WIDTH = 32
MEANS = {"puppy": "dog", "automobile": "car", "halted": "stopped", "timed": "timeout"}
_WORD = re.compile(r"\w+")


def vector(word: str) -> np.ndarray:
    """Of unit length; words that share a meaning have a cosine of about .9, others one near 0."""
    def drawn(name: str) -> np.ndarray:
        seed = int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "little")
        return np.random.default_rng(seed).standard_normal(WIDTH)
    low = word.lower()
    made = drawn(MEANS.get(low, low)) + (0.5 * drawn("its own " + low) if low in MEANS else 0)
    return (made / np.linalg.norm(made)).astype(np.float32)


class Wordy:
    """See the module. encoded: texts that it was given, one after another."""

    name, origin, mark, width, window, dense = "wordy", "made by hand", "00112233aabbccdd", WIDTH, 512, 0

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.before: Callable[[], object] = lambda: None  # is called before each batch

    def query(self, text: str) -> Encoded:
        return self._one(text)

    def documents(self, texts: Sequence[str], late: Callable[[], bool] | None = None) -> list[Encoded] | None:
        self.before()
        if late is not None and late():
            return None
        self.encoded += texts
        return [self._one(text) for text in texts]

    def pooled(self, texts: Sequence[str], late: Callable[[], bool] | None = None, query: bool = False) -> np.ndarray | None:
        raise NotImplementedError

    def _one(self, text: str) -> Encoded:
        found = list(_WORD.finditer(text))
        vectors = np.stack([vector(one[0]) for one in found]) if found else np.zeros((0, WIDTH), np.float32)
        return Encoded(vectors, np.array([one.span() for one in found], np.int64).reshape(-1, 2), tuple(one[0] for one in found))


class Handle:
    """What `byref.layers.encoders.choice.chosen` gives. encoder: None while it is loading."""

    name = "models/wordy"

    def __init__(self, encoder: Wordy | None = None, fault: str = "") -> None:
        self.encoder, self._fault, self.started = encoder, fault, 0

    def start(self) -> None:
        self.started += 1

    def ready(self) -> Wordy | None:
        return self.encoder

    def wait(self) -> Wordy:
        assert self.encoder is not None
        return self.encoder

    def fault(self) -> str:
        return self._fault
