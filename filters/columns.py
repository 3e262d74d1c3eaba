"""Columns: how a table is written, told from its first lines: aligned, ruled, boxed, or with a sign between its cells."""
from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from byref.filters.narrow import program
from byref.proxy.contracts import Call
from byref.proxy.text import canonical

ALIGNED, RULED, RECORDS = "", "|", "record"  # how cells are told apart, beside a comma, a semicolon or a tab between them
ROWS = 60  # lines that say what kind of output this is
_LINE = "-=+|:~ ┌┬┐├┼┤└┴┘─│╔╦╗╠╬╣╚╩╝═║╒╤╕╞╪╡╘╧╛┏┳┓┣╋┫┗┻┛━┃╭╮╰╯┡╇┩╟╢╤╧╪"  # what rules are drawn with
_DRAWN = re.compile(r"--|==|──|══|━━|~~")
_CORNER = tuple("+┌╔╒┏╭")
BARS = frozenset("|│┃║")  # what stands between the cells of a ruled row
_RECORDS = frozenset("-*─")  # what RECORD begins with
RECORD = re.compile(r"[-*─]+\[ RECORD \d+ \]|\*+ \d+\. row \*+")
# The name of a column in capitals, as ps, docker and kubectl print it
_CAPITAL = re.compile(r"[%#(]?[A-Z][A-Z0-9%/()_.:+-]*(?<!:)")
TOTAL = re.compile(
    r"[|│ ]*(?:\(\d+ rows?\)|\d+ rows? in set|\(\d+ rows? affected\)|(?:sub)?totals?\b|showing \d+|query ok"
    r"|\d[\d,]* (?:loaded units|packages?|rows?|records?|items?)\b)", re.I)
GAP = re.compile(r" {2,}|\t")
_SIGNS = re.compile(r"[\"'=;{}<>]|\d\d")  # no name of a column has any
_PROGRAMS = frozenset({
    "ps", "df", "docker", "podman", "kubectl", "oc", "helm", "psql", "sqlite3", "mysql", "duckdb", "lsblk", "lsof", "netstat", "ss", "free",
    "top", "vmstat", "iostat", "dpkg", "systemctl", "column", "gh", "pip", "pip3", "conda", "npm", "aws", "gcloud", "csvlook"})
_BETWEEN = ("\t", ",", ";", "|")  # cells
_MEDIA = frozenset({"text/csv", "text/tab-separated-values"})
_FILE = re.compile(r"\.(?:csv|tsv|tab)\b", re.I)
_TAKEN = bytes(code not in b" \t" for code in range(256))  # 0 for a blank, 1 for all else
_NAME = 40  # characters of a column's name, at most
_WIDE = 4000  # characters of a line that are looked at
_BEFORE = 8  # lines that may stand before the heading


@dataclass(slots=True)
class Form:
    """How a table is written: what stands between its cells, its first heading line and the line after its last one, how sure this is."""

    between: str
    first: int
    after: int
    sure: int


def form_of(rows: list[str], call: Call, media: str) -> Form | None:
    """The form of the table that these first lines of an output show, if any."""
    rows = [row[:_WIDE] for row in rows]
    places = [i for i, row in enumerate(rows) if row.strip()][:ROWS]
    if len(places) < 3:
        return None
    for k, i in enumerate(places[:_BEFORE]):
        row = rows[i]
        if row[0] in _RECORDS and RECORD.match(row):
            return Form(RECORDS, i, i, 86) if k < 2 else None
        if is_rule(row):
            form = _ruled(rows, places, k)
            return form if form and _is_main(rows, places, form, _asked(call)) else None
    delimited = _delimited(rows, places, call, media)
    if delimited:
        return delimited
    for k, i in enumerate(places[:_BEFORE]):
        if in_capitals(rows[i]) and _fits(rows, places[k:]):
            return Form(ALIGNED, i, i + 1, 82 if _asked(call) else 74)
    if _columns(rows, places):
        return Form(ALIGNED, places[0], places[0] + 1, 80 if _asked(call) else 66)
    return None


def _asked(call: Call) -> bool:
    """Whether a call runs a program that prints tables."""
    return program(call) in _PROGRAMS


def _ruled(rows: list[str], places: list[int], k: int) -> Form | None:
    """A table whose heading a rule underlines, or that a rule opens."""
    i, row = places[k], rows[places[k]].strip()
    if row.startswith(_CORNER) and not rows[i].startswith("+++"):
        after = next((j for j in places[k + 1:k + 6] if is_rule(rows[j])), None)
        return Form(RULED, i, after + 1, 86) if after is not None else None
    if k == 0:  # reStructuredText: a rule above the heading and one below
        after = next((j for j in places[1:4] if is_rule(rows[j])), None)
        return Form(ALIGNED, i, after + 1, 70) if after is not None and len(row.split()) > 1 else None
    head = rows[i - 1]
    if not head.strip():
        return None
    if row.startswith("|") or any(sign in row for sign in ("+-", "-|-", ":|", "- | -", "┼")):
        if rows[i].startswith("+++-"):
            return Form(ALIGNED, places[0], i + 1, 86)
        return Form(RULED, i - 1, i + 1, 86) if "|" in head or "│" in head else None
    groups = len(row.split())
    if groups > 1 or len(GAP.split(head.strip())) > 1:
        return Form(ALIGNED, i - 1, i + 1, 82 if groups > 1 and groups == len(GAP.split(head.strip())) else 70)
    total = any(TOTAL.match(rows[j]) for j in places[-3:])
    return Form(ALIGNED, i - 1, i + 1, 80) if total and len(row) > 2 and head.startswith(" ") else None


def _is_main(rows: list[str], places: list[int], form: Form, asked: bool) -> bool:
    """Whether most lines below the heading, up to a blank one, look like rows; of a program that is not known, most of all lines."""
    least = {80: 1, 82: 2}.get(form.sure, 0)  # words in a row; else cells, two at least
    until = next((i for i in range(form.after, len(rows)) if not rows[i].strip()), len(rows))
    good = block = total = 0
    for i in places:
        if i < form.after:
            continue
        row = rows[i]
        if form.between == RULED:
            fits = not BARS.isdisjoint(row)
        else:
            fits = len(row.split()) >= least if least else len(GAP.split(row.strip())) > 1
        fits = fits or is_rule(row) or TOTAL.match(row) is not None
        total += fits and (form.between == RULED or i < until)
        if i < until:
            good += fits
            block += 1
    return block > 1 and good * 10 >= block * 7 and (asked or total * 2 >= sum(i >= form.after for i in places))


def _delimited(rows: list[str], places: list[int], call: Call, media: str) -> Form | None:
    """CSV and its kin: the same number of delimiters in nearly every line, below names of columns."""
    text = "\n".join(rows)
    plain = '"' not in text or not any([rows[i].count('"') & 1 for i in places])  # each line is a row
    if plain and not any([text.count(sign) * 10 >= len(places) * 7 for sign in _BETWEEN]):
        return None
    whole = _joined(rows, places)
    for sign in _BETWEEN:
        if sum([sign in row for row in whole.values()]) * 10 < len(whole) * 7:  # most have none
            continue
        kind = media.partition(";")[0].strip().lower()
        named = kind in _MEDIA or bool(_FILE.search(canonical(call.arguments) if call.arguments else ""))
        asked = named or _asked(call)
        counts = [_count(row, sign) for row in whole.values()]
        usual, often = Counter(counts).most_common(1)[0]
        if usual < (1 if asked else 2) or often * 10 < len(counts) * (7 if named else 9):
            continue
        first = counts.index(usual)
        at = list(whole)[first]
        cells = [cell.strip(' "') for cell in rows[at].split(sign)]
        heading = len(set(cells)) == len(cells) and all(_is_name(cell) for cell in cells)
        indented = sum(rows[i][:1] in ("\t", " ") for i in places)
        if first > 2 or indented * 10 > len(places) or (not heading and not named and sign != "\t"):
            continue
        if not heading and not asked and (usual < 2 or often != len(counts)):
            continue
        sure = 95 if kind in _MEDIA else 86 if _asked(call) else 78 if named else 74
        return Form(sign, at, at + int(heading), sure)
    return None


def _joined(rows: list[str], places: list[int]) -> dict[int, str]:
    """Lines with those below them that a quoted cell runs on over."""
    out: dict[int, str] = {}
    begun = -1
    for i in places:
        if begun >= 0:
            out[begun] += rows[i]
            begun = begun if rows[i].count('"') % 2 == 0 else -1
        else:
            out[i] = rows[i]
            begun = i if rows[i].count('"') % 2 else -1
    return out


def _count(row: str, sign: str) -> int:
    """Delimiters in a line, those within quotes aside."""
    return row.count(sign) if '"' not in row or sign == "\t" else sum([part.count(sign) for part in row.split('"')[::2]])


def _is_name(cell: str) -> bool:
    return 0 < len(cell) <= _NAME and not cell[0].isdigit() and len(cell.split()) < 5 and not cell.endswith((".", "(", "{", ";", ")"))


def in_capitals(row: str) -> bool:
    """Whether a line names columns in capitals: two words or more."""
    if not row.isupper():
        return False
    words = row.split()
    return len(words) > 1 and all(map(_CAPITAL.fullmatch, words)) and sum([len(word) > 1 for word in words]) > 1


def _fits(rows: list[str], places: list[int]) -> bool:
    """Whether most lines below a heading have as many words as it has, or nearly."""
    wanted = len(rows[places[0]].split())
    below = [len(rows[i].split()) for i in places[1:]]
    return len(below) > 1 and sum([words >= max(2, wanted // 2) for words in below]) * 10 >= len(below) * 8 \
        and sum([words + 2 >= wanted for words in below]) * 10 >= len(below) * 5


def _columns(rows: list[str], places: list[int]) -> bool:
    """Whether lines are aligned: two blank columns through all of them, and a column of numbers below a word."""
    head = rows[places[0]]
    width = min(len(head.rstrip()), 200)
    if len(places) < 4 or width < 8 or "  " not in head or _SIGNS.search(head):
        return False
    body = [rows[i] for i in places[1:]]
    if sum(["  " in row for row in body]) * 10 < len(body) * 8:
        return False
    block = "".join([row[:width].ljust(width) for row in (head, *body)])
    taken, count = int.from_bytes(block.encode("latin-1", "replace").translate(_TAKEN), "big"), len(places)
    while count > 1:  # one half of the lines laid over the other, until it is one line
        count = (count + 1) // 2
        bits = 8 * width * count
        taken = taken >> bits | taken & ((1 << bits) - 1)
    spans = [found.span() for found in re.finditer(b"\1+", taken.to_bytes(width, "big"))]
    if len(spans) < 3:
        return False
    columns = [[row[a:b].strip() for row in body] for a, b in spans[:-1]]
    numbers = [all(map(_is_number, cells)) and sum(map(bool, cells)) * 2 > len(cells) for cells in columns]
    return any(numeric and head[a:b].strip()[:1].isalpha() for numeric, (a, b) in zip(numbers, spans, strict=False))


def _is_number(cell: str) -> bool:
    return cell.rstrip("%KMGTBi").replace(".", "", 1).replace(",", "").lstrip("-+$").isdecimal() or cell in ("", "-", "NaN")


def is_rule(row: str) -> bool:
    """Whether a line is drawn: it holds no cell."""
    return not row.strip(_LINE) and _DRAWN.search(row) is not None
