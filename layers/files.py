"""Files of an index: readable by their owner alone, gone once, and with arrays at the multiples that a map of them wants."""
from __future__ import annotations

import os

EDGE = 64  # bytes; arrays begin at a multiple


def private(path: str, flags: int) -> int:
    """An opener for `open`: a file that nobody else may read."""
    return os.open(path, flags, 0o600)


def unlink(path: str) -> None:
    """Removes a file, if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def padded(data: bytes) -> bytes:
    """Filled with zeros to a multiple of `EDGE`."""
    return data + b"\0" * (-len(data) % EDGE)
