"""docs/benchmarks.md: sections between marks, made again one by one, and what is drawn from all of them: contents, and bars at a glance.

What stands outside of marks is written by hand and stays.
"""
from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sections import BY_NAME, SECTIONS, Section

import byref

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("zstandard", "google-re2", "numpy", "rapidfuzz", "simsimd", "onnxruntime", "tokenizers", "aiohttp", "mcp", "toktok-rs", "bm25s")
PROGRAMS = ("rg", "chromium", "git")
BLOCKS = ("contents", "machine", "glance", "sections")
_BLOCK = re.compile(r"<!-- begin: (\w+) -->\n.*?<!-- end: \1 -->\n", re.S)
_PRINTED = re.compile(r"^```\n(.*?)^```$", re.S | re.M)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a benchmark printed, and when, where and how."""

    said: str
    command: str
    load: float
    seconds: float


def processor() -> str:
    """The model of this machine's processor."""
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def memory() -> str:
    """Main memory of this machine."""
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def commit() -> str:
    """The commit that is measured, with a word where files differ from it; what git does not know is no commit."""
    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    name = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return f"commit {name}{' and changes' if changed else ''}" if name else "no commit"


def machine() -> str:
    """The machine and the versions on it."""
    packages = []
    for name in PACKAGES:
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"no {name}")
    programs = []
    for name in PROGRAMS:
        said = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout if shutil.which(name) else ""
        number = re.search(r"\d+(?:\.\d+)+", said)
        programs.append(f"{name} {number[0]}" if number else f"no {name}")
    return (f"{here()}, {memory()}; {platform.system()} {platform.release()}; {', '.join(programs)}; {', '.join(packages)}.")


def here() -> str:
    """The machine in short."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def block(section: Section, ran: Ran) -> str:
    """A section between its marks: what is measured, the bars, and what was printed."""
    where = (f"`{ran.command}`: {here()}, load {ran.load:.1f} when it began; byref {byref.__version__}, {commit()}, "
             f"{datetime.now(UTC):%Y-%m-%d}; {ran.seconds:.0f} s.")
    lines = [f"<!-- begin: {section.name} -->", f"### {section.title}", "", section.text, ""]
    if rows := bars(section, ran.said):
        lines += ["| | seen | bar | |", "|---|---:|---:|---|", *rows, ""]
    printed_now = "\n".join(line.rstrip() for line in ran.said.strip("\n").split("\n"))
    return "\n".join([*lines, where, "", "```", printed_now, "```", f"<!-- end: {section.name} -->", ""])


def bars(section: Section, said: str) -> list[str]:
    """A row for each figure that stands in what was printed."""
    rows = []
    for figure in section.figures:
        value = figure.seen(said)
        if value is not None:
            met = "" if figure.bar is None else "met" if figure.met(value) else "**missed**"
            rows.append(f"| {figure.label} | {told(value)} {figure.unit}".rstrip() + f" | {asked(figure.bar, figure.more)} | {met} |")
    return rows


def told(value: float) -> str:
    """A number as one reads it: three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def asked(bar: float | None, more: bool) -> str:
    return "" if bar is None else f"{'≥' if more else '≤'} {bar:,g}"


def held(page: str) -> dict[str, str]:
    """The sections that stand in a page, by name."""
    return {found[1]: found[0] for found in _BLOCK.finditer(_inside(page, "sections"))}


def printed(page: str) -> dict[str, str]:
    """What the benchmarks printed that a page tells of, by name."""
    return {name: found[1] for name, text in held(page).items() if (found := _PRINTED.search(text))}


def _inside(page: str, name: str) -> str:
    return page.partition(f"<!-- begin: {name} -->\n")[2].partition(f"<!-- end: {name} -->")[0]


def _replaced(page: str, name: str, text: str) -> str:
    before, begin, rest = page.partition(f"<!-- begin: {name} -->\n")
    _, end, after = rest.partition(f"<!-- end: {name} -->")
    if not begin or not end:
        raise SystemExit(f"docs/benchmarks.md lacks its marks: <!-- begin: {name} --> and <!-- end: {name} -->")
    return f"{before}{begin}{text}{end}{after}"


def written(page: str, made: Mapping[str, str], left_out: Mapping[str, str], whole: bool) -> str:
    """The page with these sections in their places; all others stay as they were. left_out: why, by name. whole: all were asked for."""
    there = {**held(page), **made}
    names = [section.name for section in SECTIONS] + sorted(set(there) - set(BY_NAME))
    lines, group = [], ""
    for name in names:
        if name not in there:
            continue
        mine = BY_NAME[name].group if name in BY_NAME else "Others"
        lines += [f"## {mine}\n\n"] * (mine != group) + [there[name], "\n"]
        group = mine
    page = _replaced(page, "sections", "".join(lines))
    page = _replaced(page, "glance", glance(page))
    if whole:
        said = [f"The last whole run: {datetime.now(UTC):%Y-%m-%d}, byref {byref.__version__}, {commit()}, load "
                f"{os.getloadavg()[0]:.1f} when it ended. {machine()}\n"]
        said += [f"- Left out, and older where it stands below: {name}: {why}\n" for name, why in sorted(left_out.items())]
        page = _replaced(page, "machine", "".join(said))
    return _replaced(page, "contents", contents(page))


def glance(page: str) -> str:
    """All bars, and whether they are met."""
    lines = ["| | figure | seen | bar | |\n|---|---|---:|---:|---|\n"]
    for name, said in printed(page).items():
        if name in BY_NAME:
            title = f"[{BY_NAME[name].title}](#{anchor(BY_NAME[name].title)})"
            lines += [f"| {title} {row}\n" for row in bars(BY_NAME[name], said) if "| ≤ " in row or "| ≥ " in row]
    return "".join(lines)


def contents(page: str) -> str:
    """Headings of the second and third level, as links."""
    lines = []
    for mark, title in re.findall(r"^(##|###) (.+)$", re.sub(r"^```.*?^```$", "", page, flags=re.S | re.M), re.M):
        lines.append(f"{'  ' * (mark == '###')}- [{title}](#{anchor(title)})\n")
    return "".join(lines)


def anchor(title: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
