"""What views save and what they lose, on recorded trajectories, logs and API answers: the tables of docs/figures.md.

usage: corpus.py [TABLE ...] [--write]    TABLE: bars, tools, net, samples; all of them without a name
Needs the recordings that are laid beside the checkout where this project is developed, else it says so and ends well. --write puts
the tables into docs/figures.md, between its two marks; what stands around them stays.
"""
from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from byref.proxy.ledger.bill import bill
from byref.proxy.ledger.counter import TokenCounter, token_counter
from byref.proxy.ledger.economics import REGIMES
from byref.proxy.ledger.replay import Outcome, Replayed, replay
from byref.proxy.ledger.tally import Row, tally
from byref.proxy.ledger.trajectories import read
from library import Library
from samples import samples
from samples import table as sample_table

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
FIGURES = ROOT / "docs" / "figures.md"
BEGIN, END = "<!-- begin: bench/corpus.py --write -->", "<!-- end -->"
FILES = ("trajectories-local", "trajectories-open")
PROFILES = ("safe", "auto", "lean")
DEFAULT = "auto"
# By file and profile: saved, es, data and edit at least, need at most.
BARS = {
    ("trajectories-local", "safe"): {"saved": 0.26, "es": 0.998, "data": 0.998, "need": 0.03, "edit": 0.995},
    ("trajectories-local", "auto"): {"saved": 0.47, "es": 0.995, "data": 0.96, "need": 0.12, "edit": 0.945},
    ("trajectories-open", "safe"): {"saved": 0.16, "es": 0.998, "data": 0.995, "need": 0.03},
    ("trajectories-open", "auto"): {"saved": 0.45, "es": 0.995, "data": 0.97, "need": 0.10},
}
PIECE = 1500  # tokens of a fetch that takes what it needs
FEW, LEAST = 0.01, 1000  # share of a source's tokens, and tokens, below which a tool or shape goes with the others


@cache
def counter() -> TokenCounter:
    """The best there is."""
    return token_counter()


@cache
def replayed(file: str, profile: str) -> tuple[Replayed, ...]:
    """A file once through a profile."""
    return tuple(replay(read(CORPUS / f"{file}.jsonl"), Library(profile), counter()))


def bars() -> list[str]:
    """The figures of each file and profile with what is asked of them."""
    out = ["### Both files by profile", "", "In brackets what is asked; `!` where it is missed.", "",
           "| file | profile | outputs | tokens | saved | es | data | need | edit | made | json | longer |",
           "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for file in FILES:
        for profile in PROFILES:
            row, asked = tally(replayed(file, profile), lambda each, outcome: ("ALL",))["ALL"], BARS.get((file, profile), {})
            cells = [_asked(getattr(row, name), asked.get(name), 2 if name == "need" else 3, name == "need")
                     for name in ("saved", "es", "data", "need", "edit")]
            total = row.total
            out.append(f"| {file} | {profile} | {total.outputs} | {total.raw} | {' | '.join(cells)} | {row.made:.3f} | {row.records:.3f} | "
                       f"{total.longer} |")
    return out


def _asked(figure: float, bar: float | None, digits: int, most: bool) -> str:
    """A figure, rounded as the evaluation prints it, beside what is asked of it."""
    if bar is None:
        return number(figure, digits)
    seen = round(figure, digits)
    missed = seen > bar if most else seen < bar
    return f"{number(figure, digits)} ({'≤' if most else '≥'} {bar:.{digits}f}){' !' if missed else ''}"


def number(figure: float, digits: int = 3) -> str:
    """A figure; a dash where there was nothing to count."""
    return "–" if math.isnan(figure) else f"{figure:.{digits}f}"


def tools() -> list[str]:
    """By source and tool, and by source and shape, at the default profile."""
    out: list[str] = []
    for what, key in (("tool", lambda outcome: outcome.tool), ("shape", lambda outcome: outcome.shape)):
        for file in FILES:
            out += [f"### {file}, {DEFAULT}, by source and {what}", "",
                    f"| source | {what} | outputs | tokens | saved | es | data | need | edit |",
                    "|---|---|---:|---:|---:|---:|---:|---:|---:|", *_by(replayed(file, DEFAULT), key), ""]
    return out[:-1]


def _by(found: Iterable[Replayed], key: Callable[[Outcome], str]) -> list[str]:
    """A row for each source and what of it is large enough to tell; the others of a source together."""
    held = tuple(found)
    sizes = tally(held, lambda each, outcome: (each.trajectory.source, f"{each.trajectory.source}\0{key(outcome)}"))

    def names(each: Replayed, outcome: Outcome) -> tuple[str, str]:
        source = each.trajectory.source
        name = f"{source}\0{key(outcome)}"
        enough = sizes[name].total.raw >= max(LEAST, FEW * sizes[source].total.raw)
        return source, name if enough else f"{source}\0(others)"

    rows = tally(held, names)
    order = sorted(rows, key=lambda name: (-rows[name.partition("\0")[0]].total.raw, "\0" in name, -rows[name].total.raw, name))
    return [_figures(rows[name], *name.split("\0")) for name in order]


def _figures(row: Row, source: str, name: str = "") -> str:
    total = row.total
    source, name = ("", name) if name else (f"**{source}**", "")
    return (f"| {source} | {name} | {total.outputs} | {total.raw} | {number(row.saved)} | {number(row.es)} | {number(row.data)} | "
            f"{number(row.need, 2)} | {number(row.edit)} |")


def net() -> list[str]:
    """The expected net by price regime and profile."""
    out = ["### Expected net by price regime", "",
           "Shares of what tool outputs cost (first and every later request), after one extra request for each output and edit that `need` "
           f"counts: the call made again, with all its output, or a fetch of at most {PIECE} tokens. Break-even: how many extra requests "
           "each of these could bring about before nothing is saved. Most: the share of the whole bill that tool outputs are; of the bill: "
           "net of that. r, w, a: prices of a cached read, a cache write and an output token, in input tokens.", "",
           "| file | prices | r | w | a | profile | gross | net, called again | net, fetched | break-even, again | fetched | most | "
           "of the bill, fetched |", "|---|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|"]
    best = ["", "Best profile by file and prices, called again / fetched:", ""]
    for file in FILES:
        for prices in REGIMES:
            bills = {profile: (bill(replayed(file, profile), prices), bill(replayed(file, profile), prices, PIECE)) for profile in PROFILES}
            winners = [max(PROFILES, key=lambda profile, k=k, bills=bills: bills[profile][k].net) for k in (0, 1)]
            best.append(f"- {file}, {prices.name}: {winners[0]} / {winners[1]}")
            for profile, (again, fetched) in bills.items():
                out.append(f"| {file} | {prices.name} | {prices.read:g} | {prices.write:g} | {prices.output:g} | {profile} | "
                           f"{number(again.gross)} | {number(again.net)} | {number(fetched.net)} | {number(again.break_even, 1)} | "
                           f"{number(fetched.break_even, 1)} | {number(again.most)} | {number(fetched.of_bill)} |")
    return out + best


def logs_and_api() -> list[str]:
    """What is saved of recorded outputs, each in a context of its own, and what must be 0."""
    out: list[str] = []
    for folder in ("logs", "api"):
        found = list(samples(CORPUS, folder, DEFAULT, counter()))
        out += [f"### {folder}, {DEFAULT}, {len(found)} files", "",
                "Each file in a context of its own. Lost: lines with the format of some tool's failure (`bench/signs.py`) that no line of "
                "the view and no count in it stands for.", "", *sample_table(found, "kind"), "", *sample_table(found, "shape"), ""]
        out += [f"Lost in {sample.name}: `{line[:120]}`" for sample in found for line in sample.lost[:3]]
    return out[:-1] if not out[-1] else out


TABLES: dict[str, Callable[[], list[str]]] = {"bars": bars, "tools": tools, "net": net, "samples": logs_and_api}


def page(text: str) -> str:
    """docs/figures.md with these tables between its marks."""
    held = FIGURES.read_text(encoding="utf-8") if FIGURES.is_file() else f"# Figures\n\n{BEGIN}\n{END}\n"
    before, begin, rest = held.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{FIGURES} lacks its marks: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--write", action="store_true", help="put all tables into docs/figures.md")
    asked = parser.parse_args()
    if not CORPUS.is_dir():
        print(f"skipped: no {CORPUS}; the recordings are laid beside the checkout where this project is developed")
        return 0
    chosen = list(TABLES) if asked.write or not asked.table else asked.table
    out = [f"Made by `make tables` (`bench/corpus.py --write`). Tokens: {counter().name}.", ""]
    for name in chosen:
        out += [*TABLES[name](), ""]
    text = "\n".join(out)
    print(text)
    if asked.write:
        FIGURES.write_text(page(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
