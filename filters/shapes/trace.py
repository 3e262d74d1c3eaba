"""Stack traces of Python, Java and Kotlin, JavaScript, Go, Rust, C and C++, .NET, Ruby, PHP: what was raised and where stands,
frames of the user's own code before those of libraries; identical threads stand once, with their number.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate

from byref.filters.failures import mark, suspects
from byref.filters.lines import split
from byref.filters.narrow import narrowed
from byref.filters.patterns import spans
from byref.filters.units import ALWAYS, ANCHOR, MUST, Units
from byref.proxy.contracts import Call
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

_OTHER, _FRAME, _PART = 0, 1, 2  # a line of no frame; that starts a frame; that belongs to the frame before it
_AT = re.compile(r"at (?:async |new )*(?:\S+ ?\([^()]*\)|[^()]*\S \([^()]+:\d+(?::\d+)?\)|\S+:\d+(?::\d+)?|.+\)(?: in .+:line \d+)?)"
                 r"(?: ~?\[.*\])?(?: \{)?$")
_NUMBER = re.compile(r"#\d+ +(?:0x[0-9a-f]+ |.* at \S+:\d+$|.*\(\d+\): |\{main\}|\[internal|<signal handler|.*\(.*\) from /|\S+ \(.*\)$)")
_RUST = re.compile(r"\d+: +(?:0x[0-9a-f]+ - )?\S")
_LIBRARY = (
    r"site-packages|dist-packages|node_modules|\(?node:|<anonymous>|<frozen |/lib/python\d|/usr/(?:local/)?(?:lib|go)\b|/go/pkg/mod/"
    r"|/go/src/|/rustc/|\.cargo/registry|\.\.?/(?:sysdeps|csu|nptl|stdlib|elf)/|\blib\w+\.so|sanitizer|__interceptor|__libc|/gems/|/vendor/|<internal:"
    r"|\[internal function\]|^\W*(?:\d+: +(?:0x[0-9a-f]+ - )?)?<?(?:std|core|alloc|tokio|__rust\w*|rust_\w+|_start)\b|^runtime\."
    r"|^\W*at (?:async )?(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy|clojure|akka|reactor|System|Microsoft|io\.netty"
    r"|io\.reactivex|org\.(?:springframework|apache|junit|gradle|eclipse|hibernate|mockito|testng|jboss|codehaus|scalatest))[./]")
_CAUSE = re.compile(r"\s*(?:Caused by: |Suppressed: |\[cause\]: |\[errors\]: |Next \S+: |--- End of inner exception |--->|panic: "
                    r"|fatal error: |thread '.*' (?:\(\d+\) )?panicked|.*\(most recent call last\):|During handling of the above"
                    r"|The above exception was"
                    r"|SUMMARY: |==\d+==ERROR: |Program (?:received|terminated)|.*Previous line repeated \d+ more)")
_THREAD = re.compile(r"goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[|\"[^\"]+\" (?:#\d+ |prio=)|Thread \d+ \(|Thread 0x\w+ ")
_NAMES = re.compile(r"\d[\w.]*")  # in a thread's own line: its number, ids and times
_ADDRESSES = re.compile(r"0x[0-9a-fA-F]+\??|(?<=in goroutine )\d+")
_GO = re.compile(r"[^\s:]*[\w)\]}]\(.*\)$|created by \S")
_HEADS = (
    "Traceback (most recent call last):", "panic: ", "Exception in thread ", "Unhandled exception", "stack backtrace:", "Stack trace:")
_RAISED = re.compile(r"^(?:Uncaught )?[\w.$]*(?:Error|Exception)\b", re.M)
_SANITIZER = "ERROR: AddressSanitizer: "
_LONG = 300  # characters of a line that are looked at
_ROWS = 80  # lines that say what kind of output this is
# quarters: frames of own code, of libraries, that stood twice before; threads that are like one before
_OWN, _FOREIGN, _REPEATED, _SAME = 6, -10, -16, -60
_SAID = 8  # lines of a message that stand


class Trace:
    name = "trace"
    most = 72

    def match(self, call: Call, media: str, sample: str) -> int:
        rows = [row[:_LONG] for row in sample.split("\n")[:_ROWS] if row.strip()]
        kinds = _kinds(rows)
        frames = kinds.count(_FRAME)
        if frames < 2:
            return 0
        inside = len(rows) - kinds.count(_OTHER)
        if inside * 10 >= len(rows) * 6:
            return 72
        if inside * 10 >= len(rows) * 4 and (any([head in sample for head in _HEADS]) or _RAISED.search(sample)):
            return 72
        return 72 if _SANITIZER in sample else 0

    def units(self, text: str, call: Call) -> Units | None:
        lines = split(text)
        texts = lines.texts
        kinds = _kinds(texts)
        if _FRAME not in kinds:
            return None
        units = lines.units(strictness=0 if narrowed(call) else 100)
        units.counts, units.name = [kind == _FRAME for kind in kinds], "frames"
        if _SANITIZER in text:
            _shadow(units)
        hidden = _threads(units, kinds)
        raised = _runs(units, kinds, hidden)
        said = [i for i in suspects(texts) if not kinds[i] and i not in hidden and not texts[i].endswith("(most recent call last):")]
        mark(units, sorted({*raised, *said}))
        return units


def _kinds(rows: list[str]) -> bytearray:
    """What each line is in a trace."""
    kinds = bytearray(len(rows))
    python = -1  # the column of a Python frame: what stands deeper below it is its code
    for i, row in enumerate(rows):
        text = row.lstrip(" \t|+-")
        first = text[:1]
        column = len(row) - len(text)
        if first == "F" and text.startswith('File "') and '", line ' in text:
            kinds[i], python = _FRAME, column
            continue
        if python >= 0 and column > python and text:
            kinds[i] = _PART
            continue
        python = -1
        if first == "a" and text.startswith("at ") and column and _AT.match(text):
            # Rust writes a frame's place below its name
            kinds[i] = _PART if i and kinds[i - 1] == _FRAME and _RUST.match(rows[i - 1].lstrip()) else _FRAME
        elif first == "." and text.startswith("... ") and text.endswith((" more", " frames omitted", " common frames omitted")):
            kinds[i] = _PART if i and kinds[i - 1] else _OTHER
        elif row.startswith("\t- ") and i and kinds[i - 1]:  # Java: what a thread holds or waits for
            kinds[i] = _PART
        elif first == "#" and text[1:2].isdigit() and _NUMBER.match(text):
            kinds[i] = _FRAME
        elif row[:1] == "\t" and ".go:" in row and i and _GO.match(rows[i - 1]):
            kinds[i - 1], kinds[i] = _FRAME, _PART
        elif first == "f" and text.startswith("from ") and ":in " in text:
            kinds[i] = _FRAME
        elif first.isdigit() and column and _RUST.match(text):
            kinds[i] = _FRAME if (i + 1 < len(rows) and rows[i + 1].lstrip().startswith("at ")) or (i and kinds[i - 1]) else _OTHER
    return kinds


@cache
def _library() -> Pattern:
    return pattern("(?m)(?:" + _LIBRARY.replace(r"\W", r"[^\w\n]") + r")[^\n]*")


def _foreign(texts: list[str]) -> bytearray:
    """1 for each line that names a library. RE2 tells it of all lines at once; of letters beyond ASCII it has other notions than `re`."""
    out = bytearray(len(texts))
    text = "\n".join(texts)
    data = text.encode("utf-8", "surrogateescape")
    ends = list(accumulate([len(row) + 1 for row in (texts if text.isascii() else data.split(b"\n"))]))
    for start, _ in spans(_library(), data):
        out[bisect_right(ends, start)] = 1
    if not text.isascii():
        library = re.compile(_LIBRARY).search
        for i, row in enumerate(texts):
            if not row.isascii():
                out[i] = library(row) is not None
    return out


def _runs(units: Units, kinds: bytearray, hidden: set[int]) -> list[int]:
    """Ranks the frames; returns the lines that say what was raised: before frames, and in Python behind them."""
    texts, rank, worth = units.texts, units.rank, units.worth
    n = len(texts)
    raised: list[int] = []
    seen: dict[str, int] = {}
    foreign = _foreign(texts)
    library = re.compile(_LIBRARY).search
    for i, text in enumerate(texts):
        if not kinds[i] and i not in hidden and _CAUSE.match(text):
            rank[i] = MUST
    i = 0
    while i < n:
        if kinds[i] != _FRAME or i in hidden:
            i += 1
            continue
        frames: list[tuple[int, int]] = []
        start = i
        while i < n and kinds[i] and i not in hidden:
            end = i + 1
            while end < n and kinds[end] == _PART:
                end += 1
            frames.append((i, end))
            i = end
        own = [not foreign[begin] if end == begin + 1 else not library("\n".join(texts[begin:end])) for begin, end in frames]
        first_own = own.index(True) if True in own else -1
        last_own = len(own) - 1 - own[::-1].index(True) if first_own >= 0 else -1
        for k, (begin, end) in enumerate(frames):
            key = texts[begin].strip()
            seen[key] = seen.get(key, 0) + 1
            value = _REPEATED if seen[key] > 2 else _OWN if own[k] else _FOREIGN
            level = MUST if k in (0, len(frames) - 1, first_own, last_own) else ANCHOR if own[k] and seen[key] <= 2 else 0
            for at in range(begin, end):
                worth[at] = value
                if rank[at] < level:
                    rank[at] = level
        raised += _raised(texts, kinds, start, i, rank)
    if raised:
        rank[raised[-1]] = ALWAYS
    return raised


def _raised(texts: list[str], kinds: bytearray, start: int, end: int, rank: bytearray) -> list[int]:
    """The lines that say what was raised, by a run of frames. What else its message says stands with it."""
    python = texts[start].lstrip(" \t|+-").startswith('File "')
    found = []
    at = end if python else start - 1
    while 0 <= at < len(texts) and not texts[at].strip(" |+-"):
        at += 1 if python else -1
    if 0 <= at < len(texts) and not kinds[at] and abs(at - (end if python else start)) < 3:
        found.append(at)
        if python:
            for k in range(at + 1, min(at + _SAID, len(texts))):
                if not texts[k].strip() or kinds[k]:
                    break
                rank[k] = max(rank[k], ANCHOR)
    return found


def _shadow(units: Units) -> None:
    """The memory around an address, byte by byte, and its legend come last."""
    start = next((i for i, text in enumerate(units.texts) if text.startswith("Shadow byte")), len(units.texts))
    for i in range(start, len(units.texts)):
        units.worth[i] = _FOREIGN if units.texts[i][:1] in (" ", "S") else 0


def _threads(units: Units, kinds: bytearray) -> set[int]:
    """Groups threads whose stacks are the same: the first stands with their number; returns the lines of the others."""
    texts = units.texts
    starts = [i for i, text in enumerate(texts) if text[:1] in ("g", '"', "T") and _THREAD.match(text)]
    groups: dict[str, list[tuple[int, int]]] = {}
    for k, start in enumerate(starts):
        end = start + 1
        limit = starts[k + 1] if k + 1 < len(starts) else len(texts)
        while end < limit and texts[end].strip() and (kinds[end] or texts[start][0] != "g"):
            end += 1
        if k + 1 < len(starts) and end + 1 == limit:
            end = limit  # with the blank line between the two
        frames = "\n".join(texts[start + 1:end]).strip()
        if "0x" in frames or "in goroutine " in frames:
            frames = _ADDRESSES.sub("*", frames)
        groups.setdefault(f"{_NAMES.sub('*', texts[start])}\n{frames}", []).append((start, end))
    hidden: set[int] = set()
    for blocks in groups.values():
        if len(blocks) < 2:
            continue
        first = blocks[0][0]
        begin, end = blocks[-1]
        while end > begin + 1 and not texts[end - 1].strip():
            end -= 1
        units.rank[first] = MUST
        units.repeats[first] = (len(blocks), units.address(begin, end - 1))
        for begin, end in blocks[1:]:
            hidden.update(range(begin, end))
            for i in range(begin, end):
                units.worth[i], units.rank[i] = _SAME, 0
    return hidden


SHAPE = Trace()
