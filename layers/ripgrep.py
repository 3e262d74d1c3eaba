"""ripgrep as a sieve for patterns: it says where nothing stands, so that RE2, which says what stands where, need not look there.

Answers are the same with and without it: a pattern is written anew for it, so that all that RE2 matches is matched, and one of which
that is not certain is left to RE2. It reads the bytes from a pipe and prints the offset of each line with a match.
"""
from __future__ import annotations

import os
import re
import time
from bisect import bisect_left
from itertools import islice
from threading import Event
from typing import NamedTuple

from byref.layers import workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from byref.proxy.text import Pattern


_ALNUM = re.compile(r"[0-9A-Za-z]")
_REPEAT = re.compile(r"(?:[*+?]|\{(\d{1,3})(,\d{0,3})?\})\??")
_SPACE = r"\t\n\x0C\r "
_ESCAPES = {  # to: what RE2 means by it, whether it may be a line's end
    "d": ("[0-9]", False), "D": ("0-9", True), "w": ("[0-9A-Za-z_]", False), "W": ("0-9A-Za-z_", True),
    "s": (f"[{_SPACE}]", True), "S": (_SPACE, False), "t": (r"\t", False), "n": (r"\n", True), "r": (r"\r", False),
    "f": (r"\x0C", False)}
_INSIDE = {"d": "0-9", "w": "0-9A-Za-z_", "s": _SPACE, "t": r"\t", "n": r"\n", "r": r"\r", "f": r"\x0C"}
# What RE2 takes for any character beyond ASCII: more than UTF-8 has, as its compiler joins ranges of bytes (re2/compile.cc, Add_80_10ffff).
_WIDE = r"(?-u:[\xC2-\xDF][\x80-\xBF]|[\xE0-\xEF][\x80-\xBF]{2}|[\xF0-\xF4][\x80-\xBF]{3})"
_ARGUMENTS = ("--no-config", "--text", "--encoding", "none", "--no-filename", "--no-heading", "--no-line-number", "--color", "never",
              "--no-messages", "--byte-offset")
SLOW = 800  # megabytes a second below which RE2 alone is slow
DENSE = 40  # matches in a piece of 128 KiB that are many
SEPARATOR = b"\n\xff\n"  # between parts: a byte that no character holds, on a line of its own


class Sieve(NamedTuple):
    """A pattern as ripgrep takes it. crosses: a match may hold a line's end."""

    pattern: str
    crosses: bool


class _Other(Exception):
    """Here the two may differ."""


def sieve(pattern: str) -> Sieve | None:
    """Of an RE2 pattern as `byref.proxy.query` compiles it; None where ripgrep may read it otherwise, or where nothing matches it."""
    head = re.match(r"\(\?m(i?)\)", pattern)
    if head is None or (head[1] and not pattern.isascii()):
        return None
    reader = _Reader(pattern, head.end())
    try:
        written, least = reader.either()
        if reader.at < len(pattern) or not least:
            return None
    except (_Other, IndexError, RecursionError):
        return None
    return Sieve(f"(?{head[1]}:{written})" if head[1] else written, reader.crosses)


class _Reader:
    """Reads a pattern from left to right. Each method gives what it read, as ripgrep takes it, and the least length of a match."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.crosses = text, at, False

    def either(self) -> tuple[str, int]:
        found = [self.sequence()]
        while self.text[self.at:self.at + 1] == "|":
            self.at += 1
            found.append(self.sequence())
        return "|".join(written for written, _ in found), min(least for _, least in found)

    def sequence(self) -> tuple[str, int]:
        out, length = [], 0
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            written, least = self.atom()
            repeat = _REPEAT.match(self.text, self.at)
            if repeat is not None:
                if written in ("^", "$") or written.startswith(r"(?-u:\b") or written.startswith(r"(?-u:\B"):
                    raise _Other
                self.at = repeat.end()
                if self.text[self.at:self.at + 1] in ("*", "+", "?", "{"):
                    raise _Other
                written += repeat[0]
                least *= 0 if repeat[0][0] in "*?" else 1 if repeat[0][0] == "+" else int(repeat[1])
            out.append(written)
            length += least
        return "".join(out), length

    def atom(self) -> tuple[str, int]:
        sign = self.text[self.at]
        self.at += 1
        if sign == "(":
            if self.text[self.at] == "?":
                if self.text[self.at:self.at + 2] != "?:":
                    raise _Other
                self.at += 2
            written, least = self.either()
            if self.text[self.at] != ")":
                raise _Other
            self.at += 1
            return f"(?:{written})", least
        if sign == "[":
            return self.bracket(), 1
        if sign == ".":
            return _other_than(r"\n"), 1
        if sign in "^$":
            return sign, 0
        if sign in "*+?" or (sign == "{" and self.text[self.at:self.at + 1].isdigit()):
            raise _Other
        if sign == "\\":
            return self.escape()
        self.crosses |= sign == "\n"
        return _literal(sign), 1

    def escape(self) -> tuple[str, int]:
        sign = self.text[self.at]
        self.at += 1
        if sign in "bB":
            return rf"(?-u:\{sign})", 0
        if sign in _ESCAPES:
            written, crosses = _ESCAPES[sign]
            self.crosses |= crosses
            return _other_than(written) if sign in "DWS" else written, 1
        if _ALNUM.match(sign) or not sign.isascii():
            raise _Other
        return _literal(sign), 1

    def bracket(self) -> str:
        negative = self.text[self.at] == "^"
        self.at += negative
        out: list[str] = []
        ended = holds = False
        while not ended:
            item, wide = self.item(first=not out)
            holds |= item in (r"\n", _SPACE)
            if not wide and self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                high, wide = self.item(first=False)
                if wide or ord(self.char) < ord(self.low):
                    raise _Other
                holds |= self.low <= "\n" <= self.char
                item = f"{item}-{high}"
            out.append(item)
            ended = self.text[self.at] == "]"
        self.at += 1
        self.crosses |= holds != negative
        if negative and not "".join(out).isascii():
            raise _Other
        return _other_than("".join(out)) if negative else f"[{''.join(out)}]"

    low = char = ""

    def item(self, first: bool) -> tuple[str, bool]:
        """One character or escape of a class; whether it stands for several."""
        sign = self.text[self.at]
        self.at += 1
        self.low, self.char = self.char, sign
        if sign == "[" and self.text[self.at] in ":.=":
            raise _Other
        if sign == "]" and not first:
            raise _Other
        if sign != "\\":
            return _literal(sign), False
        sign = self.text[self.at]
        self.at += 1
        if sign in _INSIDE:
            self.char = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(sign, "")
            return _INSIDE[sign], sign in "dws"
        if _ALNUM.match(sign) or not sign.isascii():
            raise _Other
        self.char = sign
        return _literal(sign), False


def _other_than(items: str) -> str:
    """Any character but these, which are ASCII."""
    return rf"(?:[\x00-\x7F&&[^{items}]]|{_WIDE})"


def _literal(sign: str) -> str:
    if sign == "\n":
        return r"\n"
    return sign if _ALNUM.match(sign) or not sign.isascii() else f"\\x{ord(sign):02X}"


def finder(compiled: Pattern, asked: Sieve, places: Sequence[int]) -> Callable[[int, bytes], Iterable[re.Match[bytes]]]:
    """Of matches in the windows of a part, by RE2, where lines that ripgrep named begin in them. Windows come in order."""
    ended = True  # whether the window before did with a line

    def find(base: int, data: bytes) -> Iterable[re.Match[bytes]]:
        nonlocal ended
        begins, ended = ended, data.endswith(b"\n")
        at = bisect_left(places, base)
        if places and (asked.crosses or not begins or (at < len(places) and places[at] < base + len(data))):
            return compiled.finditer(data)
        return ()

    return find


def pays(compiled: Pattern, data: bytes) -> bool:
    """Whether RE2 is slow at a pattern, as some bytes show, and rarely finds anything: where it does, it soon has enough."""
    began = time.thread_time_ns()
    found = sum(1 for _ in islice(compiled.finditer(data), DENSE))
    return found < DENSE and len(data) * 1000 < SLOW * (time.thread_time_ns() - began)


def offsets(there: str, asked: Sieve, parts: Iterable[Iterable[bytes]], go_on: Callable[[], bool]) -> list[list[int]] | None:
    """Where lines with matches begin in each part, as far as parts were read before `go_on` said no; None where ripgrep failed.

    there: its path. A part may be named for what stands there only beside the separator: it is for RE2 to say.
    """
    import subprocess
    command = [there, *_ARGUMENTS, *(("--multiline",) if asked.crosses else ()), "--regexp", asked.pattern, "-"]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
    except OSError:
        return None
    printed: list[bytes] = []
    read = Event()

    def listen() -> None:
        try:
            while process.stdout is not None and (data := process.stdout.read(1 << 16)):
                printed.append(data)
        except (OSError, ValueError):  # it ended early, and its pipe was closed
            pass
        finally:
            read.set()

    workers.start(listen)
    ends: list[int] = []
    try:
        with process:
            size = 0
            assert process.stdin is not None
            for part in parts:
                for block in part:
                    _write(process.stdin.fileno(), block)
                    size += len(block)
                _write(process.stdin.fileno(), SEPARATOR)
                size += len(SEPARATOR)
                ends.append(size)
                if not go_on():
                    break
            process.stdin.close()
            read.wait()
    except BrokenPipeError:
        return None
    finally:
        if process.poll() is None:
            process.kill()
    if process.returncode not in (0, 1):
        return None
    return _by_part(b"".join(printed), ends)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


def _by_part(printed: bytes, ends: Sequence[int]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in ends]
    number = begin = 0
    for line in printed.split(b"\n")[:-1]:
        at = int(line.split(b":", 1)[0])
        while at >= ends[number]:
            begin, number = ends[number], number + 1
        found[number].append(at - begin)
    return found
