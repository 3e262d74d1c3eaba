"""Bytes that are no text: their number stands, and the address that fetches them."""
from __future__ import annotations

from byref.filters.units import HIDDEN, Units
from byref.proxy.contracts import Call


class Binary:
    name = "binary"
    most = 100

    def match(self, call: Call, media: str, sample: str) -> int:
        return 100 if is_binary(sample) else 0

    def units(self, text: str, call: Call) -> Units | None:
        return units(len(text.encode("utf-8", "surrogateescape"))) if text else None


def is_binary(sample: str) -> bool:
    """Whether a tenth or more of it is no text: control characters, or bytes that are no UTF-8. A NUL in a log makes no binary of it."""
    odd = len(sample) - len(sample.translate(_ODD))
    return odd * 10 >= len(sample) > 0


_ODD = dict.fromkeys([*(code for code in range(32) if chr(code) not in "\t\n\r\b\f\x1b"), 127, *range(0xDC80, 0xDD00)])


def units(size: int) -> Units:
    """One hidden unit that stands for so many bytes."""
    return Units([""], lambda i, j: f"b0-{size}", bytearray([HIDDEN]), [0], "bytes", keys=[""], counts=[size], sizes=[size])


SHAPE = Binary()
