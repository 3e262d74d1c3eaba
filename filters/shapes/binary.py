"""Bytes that are no text: their number stands, and the address that fetches them."""
from __future__ import annotations

import re

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
    """Whether a tenth or more of it is no text: control characters, or bytes that are no UTF-8. A NUL in a log makes no binary of it,
    nor do bytes that are no UTF-8 where lines end and nothing controls: that is a text in another encoding."""
    odd = 0
    try:
        data = sample.encode()
    except UnicodeEncodeError:
        data, odd = sample.encode("utf-8", "surrogatepass"), len(_NOT_UTF8.findall(sample))
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return (odd + controls) * 10 >= len(sample) > 0 and (controls > 0 or sample.count("\n") * _LINE < len(sample))


_CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r\b\f\x1b")
_LINE = 400  # characters of a line of text, at most on average
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def units(size: int) -> Units:
    """One hidden unit that stands for so many bytes."""
    return Units([""], lambda i, j: f"b0-{size}", bytearray([HIDDEN]), [0], "bytes", keys=[""], counts=[size], sizes=[size])


SHAPE = Binary()
