"""Lines that say something went wrong, and which of them say the same."""
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

from byref.filters.patterns import any_of, spans
from byref.filters.templates import templates
from byref.filters.units import ALWAYS, ANCHOR, MUST, PLAIN, Units
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

# A sign of failure as a word of its own, or at the end of a CamelCase name: not error_handler.py, failover, default, 0 errors.
_STRONG = "(?im)" + "|".join((
    r"(?:^|[^\w./\n-])(?:error|fatal|failed|failure|fail|panic(?:ked)?|exception|traceback|critical|err|emerg|alert|aborted|killed)(?:$|[^\w/\n-])",
    r"(?-i:\w*(?:Error|Exception|Failure|Fault|Timeout))(?:[:()\t ]|$)", r"\w_(?:error|exception|failure): ",
    r"(?-i:\b(?:KeyboardInterrupt|Failed[A-Z]\w*|\w*BackOff\b|OOMKilled|BUG: (?:unable|soft|kernel|Bad|sched|spin)|Oops:|\w+Sanitizer:)"
    r"|\bORA-\d{5}:|\bSIG(?:SEGV|ABRT|KILL|BUS|ILL|FPE)|ERR_[A-Z_]+"
    r"|\bE(?:CONN(?:REFUSED|RESET|ABORTED)|ADDRINUSE|NOENT|ACCES|PERM|EXIST|PIPE|TIMEDOUT|NOSPC|NOTFOUND|MFILE|RESOLVE|INVAL)\b)",
    r"\b(?:cannot|can't|could ?n[o']t|unable to|did ?n[o']t (?:complete|finish|succeed|converge|match$|start|respond|run successfully)"
    r"|unsuccessful|not successful|terminate called|refus(?:ed|ing) to|(?:was|were) (?:refused|rejected))\b|['\"] does(?: not|n't) exist\b",
    r"\b(?:permission|access) denied"
    r"|no such (?:file|module|table|command|option|container|image|host|user|process|device|column|service|index)"
    r"|(?:command |: |' |symbol\(s\) |\b(?:symbol|library|executable(?: file)?|class|package|signature|driver) )not found\b"
    r"|is (?:not )?a directory$|\bno (?:package '|matching (?:packages|distribution)|required module|installation candidate|tests ran\b)",
    r"\b(?:connection|network|host) (?:refused|reset|(?:is )?unreachable|aborted)|no route to host|not known$|broken pipe|bad gateway",
    r"\b(?:out of memory|no space left|read-only file system|quota exceeded|too many (?:open files|levels of)"
    r"|already (?:in use|allocated)|not permitted|stale file handle|(?:file|resource) busy|argument list too long|temporarily unavailable"
    r"|password is required|database is locked|oom-kill)\b",
    r"\binvalid (?:argument|option|pointer|syntax|token|credentials|password|character|literal|request|reference)\b|incorrect$",
    r"\bmanifest unknown|\b(?:deadline|timeout|limit|quota|retries|timeout of \d+ ?ms) exceeded\b|\bexceeded (?:its|the|your|max\w*)\b"
    r"|\w is not defined$|' is undefined\b|not recognized as\b|\bmultiple definition of\b"
    r"|\bencountered (?:problems|an? (?:error|problem))\b"
    r"|\bwent wrong\b|\bcorrupted\b|\bmalformed (?:patch|packet|header|request)|\bnot in \w+ format\b|\bunhealthy\b"
    r"|\bunmet (?:peer )?dependenc|\bpeer dep missing"
    r"|\bfailing (?:scenarios|tests|examples|specs)\b|\bbad (?:signature|magic|checksum|interpreter|file descriptor|decrypt)\b"
    r"|\bunhandled (?:promise )?(?:rejection|exception)|\b100% packet loss|repeated too quickly|\bmodified by this hook",
    r"\.\.(?:failed|error|failure)\b|\bstatus=[1-9]\d*/[A-Z]|^unexpected success|\"status(?:_?code)?\": ?5\d\d\b"
    r"|^(?:would reformat |Diff in \S+ at |Diff in \S+:\d|Aborting\b|Terminated$|Bail out!|Unauthorized|Forbidden"
    r"|INTERNALERROR|XPASS\(strict\))"
    r"|(?-i:\b(?:SERVFAIL|NXDOMAIN|DATA RACE|[A-Z]+_FAILED|ROLLBACK_[A-Z_]+)\b|UnhandledPromiseRejection)",
    r"\bunknown (?:option|command|argument|flag|host|column|module)\b|\bunexpected (?:eof|end of|token|character|indent)",
    r"\b(?:checksum|hash|hash ?sum|type|size|version|signature) mismatch|undefined (?:reference|symbol|method|variable|control)",
    r"\b(?:segmentation |page |protection |seg)fault\b|core dumped|illegal instruction|breakpoint trap|double free|smashing detected",
    r"\b(?:timed out|conflict|deadlock(?:ed)?|assertion failed|unresolved import|stack overflow|soft lockup|execution halted)\b",
    r"\b(?:connect(?:ion)?|gateway|lock(?: wait)?|operation|read|request|response) timeout\b",
    r"\bcertificate (?:problem|verify|signed by unknown)",
    r"\b[1-9]\d* (?:errors|failures|failing|vulnerabilities)\b|\b(?:errors|failures)\"?[:=] ?\"?[1-9]",
    r"\bnan detected|\bloss\W{1,3}nan\b|^FAILURES!",
    r"^E   ", r"^(?:--- )?FAIL\b", r"✗|✘|✖|✕|❌|💥|⛔|🛑|🚨|❗|^[ \t]*× ", r"^not ok\b", r"^ *● \S.* › ",
    r"^(?:\S+: )?\*\*\* ", r"^ ! \[(?:remote )?rejected\]|^! [A-Z]\w+[ .]", r"\bInvalid (?:read|write|free)\b",
    r"^[EF]\d{4} \d\d:\d\d",
    r"^(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d\.\d+ +\d+ +\d+ [EF] ",  # logcat
    r"^\S+:\d+:\d+: [A-Z]{1,4}\d{3,4}[: ]", r"\.go:\d+:\d+: ",
    r"HTTP/\d(?:\.\d)?\" 5\d\d ", r"^(?:< )?HTTP/\d(?:\.\d)? [45]\d\d\b",
    r"\b[45]\d\d +(?:unauthorized|forbidden|not found|bad |internal |service )",
    r"\"level\": ?(?:50|60)\b", r"\bnon-?zero (?:exit|code|status|return)",
    r"\b(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: code| status)?[ :=]+[1-9]\d*\b",
    r"\b(?:fehler|fehlgeschlagen|erreur|errore|fallo)\b|错误|失败|异常|エラー|失敗|ошибка|сбой|오류|실패"))
_HARMLESS = "(?i)" + "|".join((
    r"\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|failures?|failed|exceptions?|conflicts?)\b", r"\b(?:errors?|failed|failures?)[=:] ?0\b",
    r"\btimeouts? (?:computed|set) "))
# Times, ids and addresses: what may differ between two reports of one fault. Numbers as such stay: an index, a port, a code.
# Each alternative starts where its first character can: that takes a third of the time of a plain list.
_VOLATILE = re.compile(
    r"(?=[\d\[/])(?:"
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|(?<!\S)\[\d+\]|\[\d{3,}\](?=:)"
    # of a temporary path what is made up for one run: below it, the files of a project may well lie
    r"|/tmp/(?:[^\s/:]+/)*(?:\d+|[a-z]+-\d+|tmp[\w.-]{4,}|[^\s/:]*(?:\d{4}|[._-](?=[A-Za-z]*\d)[A-Za-z0-9]{6,10})[^\s/:]*)(?=[/:\s\"'),;]|$)"
    r"|\b(?:\d\d:\d\d:\d\d(?:[.,]\d+)?\b|0x[0-9a-f]{9,}\b|(?<=at )0x[0-9a-f]+\b|1\d{9}(?:\d{3})?\b"
    r"|\d+(?:\.\d+)? ?(?:ms|s|us|µs|ns|sec|seconds)\b))"
    r"|\b(?=[a-z0-9])(?:(?=[0-9a-f]{8})(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b)"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}\b|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? "
    r"|(?:pid|tid|thread)[ =:#]*\d+|port[ =:#]*[3-6]\d{4}\b)", re.I)
# What each of these holds at least, in ASCII, and the rest of its line: RE2 finds the lines that need a look.
_MAY_VARY = ("(?i)(?:" + "|".join((
    r"\d{4}[-/]\d\d[-/]\d\d", r"\d\d:\d\d:\d\d", r"\[\d+\]", r"/tmp/\S", r"0x[0-9a-f]", r"\d ?(?:ms|s|us|ns|sec|seconds)\b",
    r"[0-9a-f]{8}", r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d", r"\b(?:mon|tue|wed|thu|fri|sat|sun),? ",
    r"\b(?:pid|tid|thread)[ =:#]*\d", r"\bport[ =:#]*[3-6]\d{4}")) + ")[^\n]*")
_SUMMARY = any_of(
    r"^(?:BUILD|Finished|Successfully|Build|Done|Total|Installing collected)\b",
    r"^(?:Command|The last command|<returncode>|exit code|returncode|real\t)\b",
    r"^(?:added )?\d+ (?:upgraded|packages?|errors?|warnings?|failures?)\b", flags=re.I)
_COUNT = re.compile(r"\b\d+ (?:failed|passed|errors?|warnings?)\b", re.I)
_COUNTED = ("failed", "passed", "error", "warning")
# A name that places a failure: two that differ in it are two, however many there are.
_PLACED = re.compile(r"[\w/]\.\w{1,8}[:(]\d+|\bline \d+|::")
_POSITION = re.compile(r"[ \t]+\d+:\d+[ \t]")  # line and column of a file that is named above
_SPOT = r"[^\s()\[\]\"':]*[\w/]\.\w{1,8}(?::\d+|\(\d+|\"?,? line \d+)"
# A line that says where: deeper below what it is of (rustc, miette, esbuild, a frame), or above it (OCaml, Biome, ShellCheck, Python).
_BELOW = re.compile(rf"[ \t#][\W_]*(?:(?:at|on|in|from|File)\b\W*(?:\w+ )?)?(?:[^\s()]+ ?\(\W*(?:\w+:/*)?)?{_SPOT}")
_ABOVE = re.compile(rf"([ \t]*)(?:In |(File \"))?{_SPOT}[\d:,)-]*(?:, (?:in|characters) \S+)?(?:\s+[\w@/.-]+){{0,3}}[\W_]*$")
NEAR = 3  # lines between a failure and such a line, at most
_NUMBER = re.compile(r"\d+")
_MANY_MASKS = 4  # lines from which a pass over all of them pays
_TRACEBACK = "Traceback (most recent call last):"
_MANY = 50  # distinct failures of one template, from which a number that is another in most of them is an id
_VALUES = 12  # different values that a number may have and be no id: a code, a host, an attempt
_TELLING = 16  # failures of such a template that stand
FOOT = 12  # lines at the end that may hold a summary
_AROUND = 9  # indented lines to each side of a failure
_BESIDE = 3  # pieces to each side within its line


def masked(line: str) -> str:
    """A line with its volatile fields masked: equal for two reports of one fault at one place."""
    return _VOLATILE.sub("*", line).strip()


def masks(lines: list[str]) -> list[str]:
    """Each line masked. Most hold nothing that varies: one pass over all of them tells which do."""
    text = "\n".join(lines)
    if len(lines) < _MANY_MASKS or text.count("\n") >= len(lines):  # a line end within a line
        return [masked(line) for line in lines]
    if text.isascii():
        out, data = [line.strip() for line in lines], text.encode()
        ends = list(accumulate([len(line) + 1 for line in lines]))
    else:
        out = [line.strip() if line.isascii() else masked(line) for line in lines]
        data = text.encode("utf-8", "surrogateescape")
        ends = list(accumulate([len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines]))
    for start, _ in spans(_may_vary(), data):
        i = bisect_right(ends, start)
        out[i] = masked(lines[i])
    return out


@cache
def _may_vary() -> Pattern:
    return pattern(_MAY_VARY)


@cache
def strong() -> Pattern:
    """What a failing line holds, over bytes: RE2 looks through a megabyte in two milliseconds, `re` takes two hundred."""
    return pattern(_STRONG)


@cache
def _harmless() -> Pattern:
    return pattern(_HARMLESS)


def suspects(texts: list[str]) -> list[int]:
    """Indexes of the lines that say something went wrong, ascending."""
    text = "\n".join(texts)
    data = text.encode("utf-8", "surrogateescape")
    hits = spans(strong(), data)
    if not hits:
        return []
    sizes = map(len, texts if text.isascii() else [row.encode("utf-8", "surrogateescape") for row in texts])
    ends = list(accumulate([size + 1 for size in sizes]))
    found = list(dict.fromkeys([bisect_right(ends, start) for start, _ in hits]))
    harmless = {bisect_right(ends, start) for start, _ in spans(_harmless(), data)}
    if harmless:
        found = [line for line in found if line not in harmless or _counts(texts[line])]
    raised = [_raised(texts, line) for line in found if texts[line].endswith(_TRACEBACK)]
    return sorted({*found, *raised}) if raised else found


def _raised(texts: list[str], line: int) -> int:
    """The line under the frames of a Python traceback, which may all be indented: an exception may have any name."""
    before = texts[line][:-len(_TRACEBACK)]
    end, inside = line + 1, len(before)
    if end < len(texts) and not texts[end].startswith(before):  # of a log, which stamps the first line alone
        before, inside = "", 0
    while end < len(texts) and texts[end].startswith(before) and texts[end][inside:inside + 1] in (" ", "\t"):
        end += 1
    return end if line + 1 < end < len(texts) and texts[end].startswith(before) and texts[end].strip() else line


def is_failure(line: str) -> bool:
    """Whether a line reports a failure, rather than naming one or counting none."""
    return strong().search(line.encode("utf-8", "surrogateescape")) is not None and _counts(line)


def _counts(line: str) -> bool:
    """Whether what looks like a failure is more than a count of none."""
    data = line.encode("utf-8", "surrogateescape")
    none = spans(_harmless(), data)
    for start, end in reversed(none):
        data = data[:start] + data[end:]
    return not none or strong().search(data) is not None


def mark(units: Units, indexes: list[int]) -> None:
    """Ranks failures as MUST; of those that say the same, the first and the last, the first with the count.

    indexes: ascending. Marking more of them later takes in those that were marked before.
    Of many that differ in ids alone the telling ones stand; gaps state the number of the others. What a failure says on further
    lines, and warnings that a rule wants to stand, count as none.
    """
    if not indexes and not units.marked:
        return
    first: dict[str, list[int]] = {}
    if units.marked:  # by a shape before: what says the same is told together
        for i in units.marked:
            units.failures.pop(i, None)
            units.repeats.pop(i, None)
        indexes = sorted({*units.marked, *indexes})
    counted = {i for i in indexes if not _says_more(units, i)}
    units.marked, units.failing = indexes, len(counted)
    spots: dict[int, int] = {}
    for i, (place, spot), text in zip(indexes, _places(units, indexes), masks([units.texts[i] for i in indexes]), strict=True):
        first.setdefault(text + place, []).append(i)
        spots[i] = spot
    ordinary = alike(list(first)) if len(first) > _MANY else frozenset()
    for k, same in enumerate(first.values()):
        if same[0] in counted:
            units.failures[same[0]] = 1
        if len(same) > 2:
            units.repeats[same[0]] = (len(same), units.address(same[-1], same[-1]))
        if k not in ordinary:
            for i in {same[0], same[-1]}:
                _neighbours(units, i)
            for i in (same[0], same[-1]):
                units.rank[i] = max(units.rank[i], MUST)
                if spots[i] >= 0:
                    units.rank[spots[i]] = max(units.rank[spots[i]], MUST)


def _says_more(units: Units, i: int) -> bool:
    """Whether a failing line is no failure of its own: above the frames of a trace, the code of one, a further line of an assertion,
    a warning."""
    text = units.texts[i]
    if text[:4] == "    " and i and units.texts[i - 1].lstrip().startswith('File "'):
        return True
    return text.endswith(_TRACEBACK) or (text[:4] == "E   " and i > 0 and units.texts[i - 1][:4] == "E   ") or (
        i in units.ruled and "warn" in text.casefold())


def _places(units: Units, indexes: list[int]) -> Iterator[tuple[str, int]]:
    """Where each of some failures is, as far as its line does not say it, and the unit that says so, -1 for none: its heading, the
    position above or below it, or the file above it, as eslint prints it. Empty where it is not told. indexes: ascending."""
    texts, heads = units.texts, units.heads
    file, above = "", -1
    for i in indexes:
        if heads is not None and heads[i]:
            yield "\0" + heads[i], -1
        elif _POSITION.match(texts[i]):
            file = next((texts[k] for k in range(i - 1, above, -1) if texts[k][:1] not in ("", " ", "\t")), file)
            above = i
            yield "\0" + file, -1
        else:
            k = beside(texts, i)
            yield "\0" + masked(texts[k]) if k >= 0 else "", k


def beside(texts: list[str], i: int) -> int:
    """The line beside a failure that says where it is; -1 if there is none, or its own line says it."""
    if _PLACED.search(texts[i]):
        return -1
    for k in range(i + 1, min(i + NEAR, len(texts))):
        if _BELOW.match(texts[k]):
            return k
        if texts[k].strip(" \t|│┃║"):
            break
    for k in range(i - 1, max(-1, i - NEAR - 1), -1):
        found = _ABOVE.match(texts[k])
        if found and (found[2] or texts[i].startswith(found[1])):
            return k
    return -1


def alike(failures: list[str]) -> frozenset[int]:
    """Which of these distinct failures say no more than others do: many of one template that differ in ids alone.

    Of those the first, the last, and the first with each value of a number that has few are not among them.
    """
    groups: dict[bytes, list[int]] = {}
    for k, key in enumerate(templates(failures)):
        groups.setdefault(key, []).append(k)
    out: set[int] = set()
    for group in groups.values():
        if len(group) > _MANY and not _PLACED.search(failures[group[0]]):
            columns: dict[int, dict[str, int]] = {}
            for k in group:
                for place, value in enumerate(_NUMBER.findall(failures[k])):
                    columns.setdefault(place, {}).setdefault(value, k)
            telling = {group[0], group[-1]}
            for values in sorted(columns.values(), key=len):
                if len(values) <= _VALUES and len(telling) + len(values) <= _TELLING:
                    telling.update(values.values())
            out.update(k for k in group if k not in telling)
    return frozenset(out)


def is_summary(line: str) -> bool:
    """Whether a line near the end says how a run went as a whole."""
    folded = line.casefold()
    return bool(_SUMMARY.match(line) or (any([word in folded for word in _COUNTED]) and _COUNT.search(line)))


def mark_summary(units: Units, failed: bool = False) -> None:
    """Ranks the summary among the last lines as ALWAYS; of a call that failed, where none says how it went, the last that says why."""
    first = max(0, len(units.texts) - FOOT)
    found = [i for i in range(first, len(units.texts)) if is_summary(units.texts[i])]
    for i in found or [i for i in units.marked[-1:] if failed and i >= first]:
        units.rank[i] = ALWAYS


def _neighbours(units: Units, i: int) -> None:
    """The indented lines around a failure come along: the frames of a trace, what a test logged before it failed. And of a long line,
    what it says before and after the sign of it."""
    if units.glued is not None and not units.rendered:
        k = i
        while k > max(0, i - _BESIDE) and units.glued[k]:
            k -= 1
            units.rank[k] = max(units.rank[k], ANCHOR)
        k = i + 1
        while k < min(len(units.texts), i + 1 + _BESIDE) and units.glued[k]:
            units.rank[k] = max(units.rank[k], ANCHOR)
            k += 1
    for step in (-1, 1):
        for k in range(i + step, i + step * _AROUND, step):
            if not (0 <= k < len(units.texts) and units.texts[k][:1] in (" ", "\t") and units.rank[k] == PLAIN and units.worth[k] >= 0):
                break
            units.rank[k] = ANCHOR
