"""JSON of many megabytes: a long array is scanned, not parsed. Its first and last records stand, those that are
much longer than the rest, and those that failed; all others are counted and addressed.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from byref.filters.outcome import failed
from byref.filters.records import Path
from byref.filters.scanner import Document, Member, Value, read, value_end
from byref.filters.sheet import Sheet

SIZE = 1_500_000  # characters from which an output is scanned: parsing takes 30 ms a megabyte
_PIECE = 100_000  # characters up to which a value is read whole
_HEAD, _TAIL, _ODD, _FAILED = 30, 3, 8, 40  # records that stand: first, last, much longer, failed
_STRING = r'"[^"]*+"'  # folded text holds no escapes
_FLAT = rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING})*+[\]}}]'
_DEEP = rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING}|{_FLAT})*+[\]}}]'
_DEEPER = rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING}|{_DEEP})*+[\]}}]'
_ITEM = re.compile(rf'[\s,]*+({_DEEPER}|{_STRING}|[^\s,:\[\]{{}}"]++)')
_NAME = re.compile(rf'[\s,]*+({_STRING})\s*+:\s*+')
# Members that may say so; what they hold decides. In folded text no string has an escape.
_SUSPECT = re.compile(
    r'"(?:[\w.-]*_)?(?:status|state|conclusion|outcome|level|severity)"\s*:\s*"(?:fail|error|fatal|critical|abort|crash|time)|'
    r'"(?:[\w.-]*[_.-])?(?:errors?|exceptions?|fault|failures?|fatal|traceback|stack_?trace)"\s*:\s*(?!null|false|0[,\s}]|""|\[\s*\]|\{\s*\})|'
    r'"(?:success|succeeded|ok|passed)"\s*:\s*false|"isError"\s*:\s*true', re.I)
_NAMED = re.compile(r'"(?:[\w.-]*_)?(?:status|state|conclusion|outcome|level|severity|errors?|exceptions?|fault|failures?|fatal|traceback|'
                    r'success|ok)"', re.I)
_SIGNS = ('"error', '"fail', '"exception', "_error")


def vast(sheet: Sheet, document: Document) -> int:
    """Cuts a document into units of a sheet; returns where in its text the JSON ends, 0 if it is none."""
    text = document.text
    start = len(text) - len(text.lstrip(" \t\r\n\ufeff"))
    if text[start:start + 1] not in ("{", "["):
        return 0
    first = _ITEM.match(text, start, start + _PIECE)
    if first is not None and text[first.end():first.end() + 200].strip()[:1] in ("{", "["):  # a value a line
        spans, end = _items(text, start)
        document.know(-1, [(s, s, s, e) for s, e in spans])
        _records(sheet, document, spans, (), "", 0)
        return end
    end = _container(sheet, document, start, (0,), "", 0)
    document.know(-1, [(start, start, start, end)])
    return end


def _container(sheet: Sheet, document: Document, start: int, path: Path, label: str, depth: int) -> int:
    """Cuts the container that opens at start, member by member; returns its end."""
    text = document.text
    if text[start] == "[":
        spans, end = _items(text, start + 1)
        document.know(start, [(s, s, s, e) for s, e in spans])
        _records(sheet, document, spans, path, label, depth)
        return end + 1 if text[end:end + 1] == "]" else end
    if label:
        sheet.head(document, path, label + "{", depth)
        depth += 1
    members: list[Member] = []
    at = start + 1
    while name := _NAME.match(text, at):
        begin = name.end()
        key = text[name.start(1):name.end(1)]
        shown = f"{document.write(key)}:"
        place = (*path, len(members))
        item = _ITEM.match(text, begin, begin + _PIECE)
        if item is not None and item.start(1) == begin:
            at = item.end()
            found = read(text, begin)
            if found is not None:
                sheet.value(document, found[0], place, shown, depth, key[1:-1])
        elif text[begin:begin + 1] in ("{", "["):
            at = _container(sheet, document, begin, place, shown, depth)
        else:
            at = value_end(text, begin)
            if at <= begin:
                break
            sheet.value(document, text[begin + 1:at - 1], place, shown, depth, key[1:-1])
        members.append((name.start(1), name.end(1), begin, at))
    document.know(start, members)
    end = text.find("}", at)
    return end + 1 if end >= 0 and not text[at:end].strip() else at


def _items(text: str, at: int) -> tuple[list[tuple[int, int]], int]:
    """The spans of the values in an array, or at the top, from a position on; and where they end."""
    spans: list[tuple[int, int]] = []
    n = len(text)
    while True:
        for item in _ITEM.finditer(text, at):
            if item.start() != at:
                break
            at = item.end()
            spans.append(item.span(1))
        begin = n - len(text[at:at + 1000].lstrip(" \t\r\n,")) - (n - min(n, at + 1000))
        if begin >= n or text[begin] not in '[{"':
            return spans, begin
        at = value_end(text, begin)  # deeper than the pattern, or cut off
        if at <= begin:
            return spans, begin
        spans.append((begin, at))


def _records(sheet: Sheet, document: Document, spans: list[tuple[int, int]], path: Path, label: str, depth: int) -> None:
    """The telling ones of many values, and the runs between them as hidden units."""
    text, n = document.text, len(spans)
    if not n:
        sheet.head(document, path, label + "[]", depth)
        return
    failures = _failures(text, spans)
    sizes = sorted(end - start for start, end in spans)
    usual = sizes[n * 999 // 1000]
    odd: list[tuple[int, int]] = []
    if sizes[-1] * 4 > usual * 5:
        odd = sorted((start - end, i) for i, (start, end) in enumerate(spans) if (end - start) * 4 > usual * 5)[:_ODD]
    chosen = sorted({*range(min(n, _HEAD)), *range(max(0, n - _TAIL), n), *(i for _, i in odd), *failures[:_FAILED], *failures[-1:]})
    chosen = [i for i in chosen if spans[i][1] - spans[i][0] <= _PIECE]
    values = [found[0] if found else None for found in (read(text, spans[i][0]) for i in chosen)]
    _shown(sheet, document, chosen, values, path, label, depth, n)
    bad = set(failures) - set(chosen)
    for first, last in _runs(chosen, n):
        inside = sum(first <= i <= last for i in bad) if bad else 0
        sheet.hide(document, (*path, first), last, last - first + 1, spans[last][1] - spans[first][0], inside)


def _shown(sheet: Sheet, document: Document, chosen: list[int], values: list[Value], path: Path, label: str, depth: int, n: int) -> None:
    records = [((*path, i), f"{i}: ", value) for i, value in zip(chosen, values, strict=True) if isinstance(value, tuple)]
    if len(records) == len(chosen) and len(records) > 1:
        sheet.records(document, records, path, label, depth, 0, total=n)
        return
    sheet.head(document, path, f"{label}[{n}", depth)
    for i, value in zip(chosen, values, strict=True):
        sheet.value(document, value, (*path, i), f"{i}: ", depth + 1)


def _failures(text: str, spans: list[tuple[int, int]]) -> list[int]:
    """The records that say something failed, ascending."""
    step = max(1, len(spans) // 100)
    sample = "".join([text[start:min(end, start + 2000)] for start, end in spans[::step]])
    if not any(sign in text for sign in _SIGNS) and not _NAMED.search(sample):
        return []
    starts = [start for start, _ in spans]
    found: set[int] = set()
    for sign in _SUSPECT.finditer(text, spans[0][0], spans[-1][1]):
        i = bisect_right(starts, sign.start()) - 1
        if i not in found:
            value = read(text, starts[i])
            if value is not None and failed(value[0]):
                found.add(i)
    return sorted(found)


def _runs(chosen: Iterable[int], n: int) -> list[tuple[int, int]]:
    """The runs of 0 to n-1 between the chosen numbers."""
    out: list[tuple[int, int]] = []
    at = 0
    for i in [*chosen, n]:
        if i > at:
            out.append((at, i - 1))
        at = i + 1
    return out
