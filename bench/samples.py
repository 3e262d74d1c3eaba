"""Recorded logs and API answers, each in a context of its own: what is saved by kind and shape, and whether a failure falls between."""
from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import byref
import signs
from byref.proxy.ledger.counter import TokenCounter

_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_GAP = re.compile(r"^«(?:[\w.-]{1,32}:)?(L\d+(?:-\d+)?|b\d+-\d+)(?: \d+ (?!failures?\b)[a-z]+)?(?: (\d+) failures?\b)?[^»\n]*»$", re.M)
_REPEAT = re.compile(r"^(.*)\n«×(\d+) to [^»\n]*»$", re.M)
_RECORDS = re.compile(r"\s*(?:\{|\[\s*[\[{\"]|<[?!a-zA-Z])")  # one record or element may spread over lines: no line reports anything
_CASE = re.compile(r"filters_(.+?)_test_")  # a case of a filter of that name


@dataclass(frozen=True, slots=True)
class Sample:
    """One file and its view. raw, view: tokens. failing: lines with the format of a failure; lost: those of them that no line of the
    view, no count of repeats and no count of failures in a gap stands for.
    """

    name: str
    kind: str
    shape: str
    raw: int
    view: int
    longer: bool
    failing: int
    lost: tuple[str, ...]

    @property
    def saved(self) -> float:
        """Share of the tokens that the view leaves out."""
        return 1 - self.view / self.raw if self.raw else 0.0


def commands(sources: Path) -> dict[str, str]:
    """The commands that printed the samples, where the list of their sources says so."""
    rows = (line.split(" | ") for line in sources.read_text(encoding="utf-8").splitlines() if line.startswith("| logs/local/"))
    return {row[0].removeprefix("| "): row[-1].removesuffix(" |").partition(" (")[0].partition(", ")[0].replace(" / ", " | ")
            for row in rows}


def samples(corpus: Path, folder: str, profile: str, counter: TokenCounter) -> Iterator[Sample]:
    """All files of one folder of the recordings."""
    told = commands(corpus / "SOURCES.md")
    with byref.open("memory:", profile=profile) as gateway:
        for file in sorted(f for f in (corpus / folder).rglob("*") if f.is_file()):
            name = file.relative_to(corpus).as_posix()
            case = _CASE.match(file.name)
            command = told.get(name) or (re.split(r"-(?=jest|vitest)", case[1])[0].replace("_", " ") if case else "")
            api = folder == "api"
            data = file.read_bytes()
            view = gateway.session(name).capture(tool=file.parent.name if api else "Bash", output=data,
                                                 args={"command": command} if command else {})
            if view.warning:  # the raw output passed for a fault of ours, and no figure should hide that
                raise RuntimeError(f"{name}: {view.warning}")
            text = data.decode("utf-8", "surrogateescape")
            raw, size = counter.count([text, view.text])
            failing, lost = (0, ()) if _RECORDS.match(text) else fallen(text, view.text)
            yield Sample(name, file.parent.name, view.shape, raw, size, len(view.data) > len(data) or size > raw, failing, lost)


def fallen(raw: str, view: str) -> tuple[int, tuple[str, ...]]:
    """How many lines of a text report failures, and those that neither stand in its view nor are counted there."""
    rows = [_CODES.sub("", row).rstrip("\r").rpartition("\r")[2] for row in raw.split("\n")]
    failing = [i for i, row in enumerate(rows, 1) if signs.reports_failure(row)]
    if view == raw or not failing:
        return len(failing), ()
    standing = {row.strip() for row in view.split("\n")}
    repeated = {signs.masked(row) for row, _ in _REPEAT.findall(view)}
    lost: list[str] = []
    starts = [0]
    for row in raw.encode("utf-8", "surrogateescape").split(b"\n"):
        starts.append(starts[-1] + len(row) + 1)
    for at, counted in _GAP.findall(view):
        first, _, last = at[1:].partition("-")
        begin, end = int(first), int(last or first)
        if at[0] == "b":
            begin, end = sum(s <= begin for s in starts), sum(s < end for s in starts)
        hidden: dict[str, str] = {}  # distinct failures in the gap
        for i in failing:
            if begin <= i <= end and rows[i - 1].strip() not in standing and signs.masked(rows[i - 1]) not in repeated:
                hidden.setdefault(signs.masked(rows[i - 1]), rows[i - 1])
        lost += list(hidden.values())[int(counted or 0):]
    return len(failing), tuple(lost)


def table(found: list[Sample], by: str) -> list[str]:
    """Rows of Markdown: files by kind or shape, what is saved, and what must be 0."""
    groups: dict[str, list[Sample]] = {}
    for sample in found:
        groups.setdefault(getattr(sample, by), []).append(sample)
    out = [f"| {by} | files | reduced | tokens | saved p10 | median | p90 | of all tokens | longer | failing lines | lost |",
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for name, rows in [*sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])), ("**all**", found)]:
        shares = sorted(row.saved for row in rows)
        tenth = statistics.quantiles(shares, n=10, method="inclusive") if len(shares) > 1 else shares * 9
        raw, view = sum(row.raw for row in rows), sum(row.view for row in rows)
        out.append(f"| {name} | {len(rows)} | {sum(row.view < row.raw for row in rows)} | {raw} | {tenth[0]:.3f} | "
                   f"{statistics.median(shares):.3f} | {tenth[8]:.3f} | {1 - view / max(1, raw):.3f} | {sum(row.longer for row in rows)} | "
                   f"{sum(row.failing for row in rows)} | {sum(len(row.lost) for row in rows)} |")
    return out
