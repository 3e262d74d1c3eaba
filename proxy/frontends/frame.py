"""A JSON head of one line, and bytes after it: how captures and pages travel between the daemon and its clients.

Base64 would cost a third more and a copy; a head and raw bytes cost neither. On the cold path of `byref run`: the head is read
by the scanner in C that `json` itself uses, which is there without the package's 10 ms.
"""
from __future__ import annotations

from _json import make_scanner

from byref.proxy.text import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from byref.proxy.contracts import Json

MEDIA = "application/vnd.byref.frame"


class _Plain:
    """What `make_scanner` asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: dict[str, str] = {}


_scan = make_scanner(_Plain)  # type: ignore[arg-type]  # typeshed names no protocol for it


def encode(head: Json, pieces: Iterable[bytes] = ()) -> bytes:
    """The head as canonical JSON, a line end, and the pieces."""
    return b"".join((canonical(head).encode("utf-8", "surrogatepass"), b"\n", *pieces))


def decode(data: bytes) -> tuple[dict[str, Json], memoryview]:
    """Head and bytes. Raises ValueError for what is no frame."""
    end = data.find(b"\n")
    if end < 0:
        raise ValueError("a frame is a line of JSON and the bytes that follow it")
    return read_head(data[:end]), memoryview(data)[end + 1:]


def read_head(line: bytes) -> dict[str, Json]:
    """The head of a frame, without its line end. Raises ValueError for what is no JSON object."""
    text = line.decode("utf-8", "surrogatepass").strip()
    try:
        head, end = _scan(text, 0)
    except (StopIteration, RecursionError):
        raise ValueError("a head is a JSON object in one line") from None
    if end != len(text) or not isinstance(head, dict):
        raise ValueError("a head is one JSON object in one line")
    return head


def cut(data: memoryview, sizes: Iterable[int]) -> list[bytes]:
    """The pieces of these sizes, in order. Raises ValueError where they are not all there, or more is."""
    pieces, at = [], 0
    for size in sizes:
        pieces.append(bytes(data[at:at + size]))
        at += size
    if at != len(data):
        raise ValueError(f"the head announces {at} bytes, {len(data)} came")
    return pieces
