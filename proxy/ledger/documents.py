"""JSON documents of a file, one after another, lists by element: in memory for the largest element, not for the file.

The decoder is that of the standard library, which reads a value from the middle of a text and says where it ends. Where the text ends
first, more of it is read and the value is tried again, with twice as much each time.
"""
from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

from byref.proxy.contracts import Json

CHUNK = 1 << 20
_CUT = 20  # characters before the end of a text within which a value fails that is cut there, unless in a string
_TAIL = 2  # characters of a number that are none of it where it is cut: `e+`


class Fault(ValueError):
    """What is no JSON, or more than is held at once; nothing after it can be read."""


class Documents:
    """The documents of a file from where it stands. Bytes that are no UTF-8 come as lone surrogates.

    largest: characters of one value that are held; done: takes bytes as they are read. fault: what is wrong with an element of a list;
    the list ends before it, and nothing follows.
    """

    def __init__(self, file: BinaryIO, largest: int, done: Callable[[int], None] = lambda size: None) -> None:
        self._file, self._largest, self._done = file, largest, done
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._raw = json.JSONDecoder().raw_decode
        self.fault = ""
        self._text, self._at, self._ended = "", 0, False
        self._passed, self._line, self._counted = 0, 1, 0  # characters let go of; the line of a place in the text

    @property
    def place(self) -> int:
        """Characters before what comes next."""
        return self._passed + self._at

    @property
    def line(self) -> int:
        """The number of the line of what comes next, from 1."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def sign(self) -> str:
        """The sign with which the next document or element begins; "" at the end of the file."""
        while True:
            sign = self._text[self._at:self._at + 1]
            if sign.isspace():
                self._at += 1
            elif sign or not self._more():
                return sign

    def value(self) -> Json:
        """The next document or element, whole. Raises `Fault`."""
        while True:
            try:
                value: Json
                value, end = self._raw(self._text, self._at)
            except json.JSONDecodeError as fault:
                cut = fault.pos >= len(self._text) - _CUT or fault.msg.startswith("Unterminated string")
                if not (cut and self._more()):
                    line = self.line + self._text.count("\n", self._at, fault.pos)
                    raise Fault(f"no JSON, or half of one: {fault.msg} in line {line}") from None
            except (ValueError, RecursionError) as fault:  # a number of too many digits, what is nested too deeply
                raise Fault(f"no JSON, or half of one: {fault}") from None
            else:
                if end + _TAIL < len(self._text) or not self._more():
                    self._at = end
                    return value

    def elements(self) -> Iterator[Json]:
        """The elements of the list that comes next."""
        sign = ","
        while sign == ",":
            self._at += 1
            sign = self.sign()
            if sign != "]":
                try:
                    value = self.value()
                except Fault as fault:
                    self.fault = str(fault)
                    return
                yield value
                sign = self.sign()
        if sign == "]":
            self._at += 1
        else:
            self.fault = f"no JSON, or half of one: Expecting ',' delimiter in line {self.line}"

    def like_lines(self) -> bool:
        """Whether what follows the line of what comes next begins as an object does, so that each line may be one."""
        return self._text[self._at:].partition("\n")[2].lstrip().startswith("{")

    def _more(self) -> bool:
        """Reads on; False at the end of the file."""
        kept = len(self._text) - self._at
        if self._ended:
            return False
        if kept > self._largest:
            raise Fault(f"a document of more than {self._largest} characters is more than is held at once: "
                        "give each session as a line, or as a file, of its own")
        self._line, self._counted = self.line, 0
        data = self._file.read(max(CHUNK, kept))
        self._ended = not data
        self._done(len(data))
        self._passed += self._at
        self._text, self._at = self._text[self._at:] + self._decode(data, not data), 0
        return True
