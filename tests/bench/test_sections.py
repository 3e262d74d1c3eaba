"""The list of benchmarks: none is forgotten, and each figure can be read from what its benchmark prints."""
from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

# Figures of rows that stand only where torch, fastmcp, a model, ripgrep or the recordings are there; with torch, those without it do not.
NOT_EVERYWHERE = {"from sidecars with torch", "from sidecars, in times of the bare kernel", "what it adds, in times of what fastmcp adds",
                  "paraphrases with MiniLM, MRR@10", "a pattern over stored outputs through rg", "Cranfield, nDCG@10 in times of bm25s"}


def test_every_file_is_a_benchmark_with_a_section_or_named_as_something_else(sections: ModuleType, root: Path) -> None:
    there = {f.stem for f in (root / "bench").glob("*.py")}
    assert there - set(sections.BY_NAME) - set(sections.OTHERS) == set(), "say in bench/sections.py what it measures, and beside what"
    assert (set(sections.BY_NAME) | set(sections.OTHERS)) - there == set()
    assert len(sections.BY_NAME) == len(sections.SECTIONS) and not set(sections.BY_NAME) & set(sections.OTHERS)


def test_a_section_says_what_is_measured_and_a_title_is_one_sections(sections: ModuleType) -> None:
    assert [one.name for one in sections.SECTIONS if len(one.text) < 40 or not one.title] == []
    assert len({one.title for one in sections.SECTIONS}) == len(sections.SECTIONS)
    groups = [one.group for one in sections.SECTIONS]
    assert [b for a, b in zip(["", *groups], groups, strict=False) if a != b] == list(dict.fromkeys(groups)), "a group stands together"


def test_a_pattern_has_one_group_or_two(sections: ModuleType) -> None:
    assert [figure.label for one in sections.SECTIONS for figure in one.figures if re.compile(figure.pattern).groups not in (1, 2)] == []


def test_figures_stand_in_what_the_benchmarks_printed_last(sections: ModuleType, document: ModuleType, root: Path) -> None:
    said = document.printed((root / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert said, "docs/benchmarks.md has no section"
    lost = [(name, figure.label) for name, text in said.items() for figure in sections.BY_NAME[name].figures
            if figure.label not in NOT_EVERYWHERE and figure.seen(text) is None]
    assert lost == [], "the benchmark prints something else now"


def test_a_figure_that_need_not_stand_is_one(sections: ModuleType) -> None:
    assert {figure.label for one in sections.SECTIONS for figure in one.figures} >= NOT_EVERYWHERE


def test_the_worst_counts_and_of_several_runs_the_middle(sections: ModuleType) -> None:
    text = "a 3 ms\na 7 ms\nrate 90, 1,200, 100 MB\npart 8 of 4\npart 3 of 0\n"
    figure = sections.Figure
    assert figure("x", r"^a (\d+) ms").seen(text) == 7 and figure("x", r"^a (\d+) ms", more=True).seen(text) == 3
    assert figure("x", r"^rate ([\d, ]+) MB").seen("rate 90, 120, 100 MB") == 100
    assert figure("x", r"^part (\d+) of (\d+)").seen(text) == 2, "a quotient; by nothing there is none"
    assert figure("x", r"^b (\d+)").seen(text) is None


@pytest.mark.parametrize(("more", "before", "now", "by"), [
    (False, 10, 12.5, 0.25), (True, 10, 8, 0.25), (False, 10, 5, -0.5), (False, 0, 1, 1)])
def test_worse_is_by_what_share(sections: ModuleType, more: bool, before: float, now: float, by: float) -> None:
    assert sections.Figure("x", "(x)", more=more).worse(before, now) == pytest.approx(by)


def test_a_bar_is_met_at_the_bar(sections: ModuleType) -> None:
    least, most = sections.Figure("x", "(x)", 5, more=True), sections.Figure("x", "(x)", 5)
    assert least.met(5) and not least.met(4.9) and most.met(5) and not most.met(5.1) and sections.Figure("x", "(x)").met(1e9)
