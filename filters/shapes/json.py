"""JSON: records as rows, members one by one, long strings in pieces; also in a string, as a Python literal or in a repr, a value a line."""
from __future__ import annotations

import re
from collections import Counter

from byref.filters.failures import mark, suspects
from byref.filters.layouts import laid
from byref.filters.narrow import command
from byref.filters.scanner import REPR, Document, Level, read
from byref.filters.sheet import Sheet
from byref.filters.steering import demote
from byref.filters.units import Units
from byref.filters.vast import SIZE, vast
from byref.proxy.contracts import Call, Layout
from byref.proxy.errors import Invalid

# repr() of an MCP CallToolResult or of a list of its blocks
_RESULT = re.compile(r"(?:meta=|content=|CallToolResult\(|\[?TextContent\()")
_TEXT = re.compile(r"""\btext=('(?:[^'\\]++|\\.)*+(?:'|\Z)|"(?:[^"\\]++|\\.)*+(?:"|\Z))""", re.S)
_OPEN = re.compile(r"[\s\ufeff]*(?:\{\s*[\"'}]|\[\s*(?:[\"'{\[\]]|-?\d+(?:\.\d+)?\s*[,\]]|(?:true|false|null)\s*[,\]]))")
_FILE = re.compile(r"\b(?:cat|head|tail|sed|less|nl|bat)\b[^|;&]*\.json\b")
_KEY = re.compile(r"^([ \t]*+\"[^\"\\\n]++\":)", re.M)  # with its depth
_AGAIN = 6


class Json:
    name = "json"
    most = 92

    def match(self, call: Call, media: str, sample: str) -> int:
        kind = media.partition(";")[0].strip().lower()
        if kind.endswith(("json", "+json", "ndjson", "jsonl")):
            return 95
        if _RESULT.match(sample) and _TEXT.search(sample):
            return 92
        if _OPEN.match(sample):
            # A file that is read line by line may be edited by its lines.
            if sample.count("\n") > len(sample) // 160 and (_FILE.search(command(call)) or call.tool.lower() in ("read", "view", "open")):
                return 90 if _holds_records(sample) else 0
            return 90
        return 0  # JSON after words stays text: rows in the midst of raw lines would not tell which of the two a line is

    def units(self, text: str, call: Call) -> Units | None:
        sheet = Sheet(text)
        try:
            if call.layout is not None and not call.is_error and _laid(sheet, text, call.layout, call):
                units = sheet.units()
                units.calm = True
                return units
            done = _result(sheet, text) if _RESULT.match(text) else _plain(sheet, text)
        except (RecursionError, Invalid):
            return None
        if not done or not sheet.texts:
            return None
        units = sheet.units()
        if call.is_error or call.exit_code:  # lines of a string that holds a log
            mark(units, suspects(units.texts))
        demote(units)
        return units


def _holds_records(sample: str) -> bool:
    """Whether what begins here is a list of records: the same key at the same depth, again and again."""
    return max(Counter(_KEY.findall(sample)).values(), default=0) >= _AGAIN


def _laid(sheet: Sheet, text: str, layout: Layout, call: Call) -> bool:
    """One JSON value by its tool's layout."""
    document = Document(text)
    start = len(document.text) - len(document.text.lstrip(" \t\r\n\ufeff"))
    found = read(document.text, start, document.literal) if document.text[start:start + 1] in ("{", "[") else None
    if found is None:
        return False
    value, end, complete = found
    if not complete or document.text[end:].strip():
        return False
    document.know(-1, [(start, start, start, end)])
    document.whole = sheet.places.pure = True
    return laid(sheet, document, value, layout, call)


def _plain(sheet: Sheet, text: str) -> bool:
    """JSON from the first character, with what follows it as text."""
    start = len(text) - len(text.lstrip(" \t\r\n\ufeff"))
    if text[start:start + 1] not in ("{", "["):
        return False
    document = Document(text)
    end = vast(sheet, document) if len(text) > SIZE and not document.literal else sheet.values(document)
    stop = document.raw(end)
    if end == 0 or (stop - start) * 10 < len(text.strip()) * 3:
        return False
    rest = bool(text[stop:].strip())
    if rest:
        sheet.words(stop, len(text))
    sheet.places.pure = not rest
    return True


def _result(sheet: Sheet, text: str) -> bool:
    """The text blocks of a CallToolResult's repr, each as the JSON or the lines it holds."""
    at = 0
    for found in _TEXT.finditer(text):
        quote = found[1][0]
        start, end = found.start(1) + 1, found.end(1) - (found[1][-1] == quote and len(found[1]) > 1)
        sheet.words(at, start)
        level = REPR if quote == "'" else Level('\\"', "\\\\", "\\")
        sheet.block(Document(text[start:end], level, start))
        at = end
    if at == 0:
        return False
    sheet.words(at, len(text))
    return True


SHAPE = Json()
