"""Server-sent events cut out of a stream of bytes, each with the bytes that it came in.

As in https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.6: lines end with CR, LF or both, wherever the
pieces of the stream were cut; an empty line ends an event; `data` may stand on several lines.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_END = re.compile(rb"[\r\n]")
PIECE = 1 << 16  # bytes cut at once: what is left of them is moved with each event
_MARK = b"\xef\xbb\xbf"  # a byte order mark, which may begin a stream


@dataclass(frozen=True, slots=True)
class Event:
    """An event, or a piece between events (comments, ends of lines). lines: (start, start of the value, end, start of the next).

    A value starts at -1 where the line is no `data`.
    """

    raw: bytes | bytearray
    lines: Sequence[tuple[int, int, int, int]] = ()
    message: bool = False  # whether it is of the kind `message`, as those of MCP are

    @property
    def data(self) -> bytes:
        """What the `data` lines say."""
        return b"\n".join(bytes(self.raw[value:end]) for _, value, end, _ in self.lines if value >= 0)

    def saying(self, data: bytes) -> bytes:
        """The event with other data, of one line; its id, its retry and all else as they came."""
        given, put = bytearray(self.raw[:self.lines[0][0]]), False
        for start, value, end, following in self.lines:
            if value < 0:
                given += self.raw[start:following]
            elif not put:
                put = True
                given += b"data: " + data + self.raw[end:following]
        return bytes(given)


class Splitter:
    """Cuts one stream. `left` is what came after the last whole event."""

    def __init__(self) -> None:
        self.left = bytearray()
        self.lost = False  # whether the stream is not cut any more
        self.ids = False  # whether an event had an id: then a client can take the stream up again
        self._at = 0  # where the line that is not whole yet starts
        self._seen = 0  # up to where no end of a line is
        self._skip = False  # whether an LF that comes next belongs to the last CR
        self._first = True
        self._lines: list[tuple[int, int, int, int]] = []
        self._kind = b"message"

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes complete, in order, with nothing lost between them."""
        for begin in range(0, len(data), PIECE):
            yield from self._feed(data[begin:begin + PIECE])

    def _feed(self, data: bytes) -> Iterator[Event]:
        self.left += data
        while True:
            if self._skip and self._at < len(self.left):
                self._skip = False
                if self.left[self._at] == 10:
                    self._at += 1
                    if self._lines:
                        start, value, end, _ = self._lines[-1]
                        self._lines[-1] = start, value, end, self._at
                    self._seen = max(self._seen, self._at)
            found = _END.search(self.left, self._seen)
            if found is None:
                self._seen = len(self.left)
                break
            end, following = found.start(), found.end()
            if self.left[end] == 13:
                if following < len(self.left):
                    following += self.left[following] == 10
                else:
                    self._skip = True
            if event := self._line(end, following):
                yield event
        if self._at and not self._lines:  # an LF that was still to come
            yield self._cut((), False)

    def _line(self, end: int, following: int) -> Event | None:
        start = self._at
        begin = start + len(_MARK) if self._first and self.left.startswith(_MARK) else start
        self._first = False
        self._at = self._seen = following
        if begin == end:
            lines, kind = (*self._lines, (start, -1, end, following)), self._kind
            return self._cut(lines, kind == b"message" and any(value >= 0 for _, value, _, _ in lines))
        colon = self.left.find(b":", begin, end)
        if colon == begin and not self._lines:
            return self._cut((), False)  # a comment before an event waits for nothing
        name_end = end if colon < 0 else colon
        value = end if colon < 0 else colon + 1
        value += value < end and self.left[value] == 32
        name = bytes(self.left[begin:min(name_end, begin + 6)]) if name_end - begin <= 6 else b""
        if name == b"event":
            self._kind = bytes(self.left[value:end]) or b"message"
        elif name == b"id":
            self.ids = True
        self._lines.append((start, value if name == b"data" else -1, end, following))
        return None

    def _cut(self, lines: Sequence[tuple[int, int, int, int]], message: bool) -> Event:
        if self._at == len(self.left):
            raw, self.left = self.left, bytearray()
        else:
            raw, self.left = self.left[:self._at], self.left[self._at:]
        self._at = self._seen = 0
        self._lines, self._kind = [], b"message"
        return Event(raw, lines, message)
