"""docs/benchmarks.md: a section made again changes nothing else, and what is drawn from all sections follows."""
from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = """# Benchmarks

By hand.

<!-- begin: contents -->
<!-- end: contents -->
<!-- begin: machine -->
unknown
<!-- end: machine -->

## At a glance

<!-- begin: glance -->
<!-- end: glance -->

<!-- begin: sections -->
<!-- end: sections -->

## Last

More by hand.
"""
LLM = ("anthropic {0} bytes, 50 views: p50 0.70 ms direct, 2.91 through, added  {1} (bar 5); "
       "first streamed byte 0.57, 2.94, added  2.37 (bar 5)\n")
NEAREST = "  all   p50  {0} ms  best 4.3 ms\n  float32 in memory, products alone  p50 4.0 ms  best 4.4 ms\n"


def made(document: ModuleType, name: str, said: str) -> dict[str, str]:
    return {name: document.block(document.BY_NAME[name], document.Ran(said, f"bench/{name}.py", 0.5, 12))}


@pytest.fixture
def page(document: ModuleType) -> str:
    both: Any = made(document, "llm", LLM.format(1, 2.22)) | made(document, "nearest", NEAREST.format(11))
    text: str = document.written(PAGE, both, {}, False)
    return text


def test_sections_stand_in_their_order_under_their_groups(page: str) -> None:
    assert re.findall(r"^##+ (.+)$", page, re.M) == ["At a glance", "Search", "Static embeddings", "Ways in", "The LLM proxy", "Last"]
    assert "By hand." in page and page.endswith("## Last\n\nMore by hand.\n") and "unknown" in page


def test_a_section_says_what_is_measured_the_bars_where_and_how(page: str) -> None:
    block = page[page.index("### Static embeddings"):page.index("<!-- end: nearest -->")]
    assert "Beside it: float32" in block and "| all chunks, p50 | 11 ms | ≤ 10 | **missed** |" in block
    assert "| in times of float32 in memory | 2.75 |  |  |" in block
    assert re.search(r"^`bench/nearest.py`: .*, \d+ cores, Python 3\S+, load 0\.5 when it began; byref \S+, .*, \d{4}-\d\d-\d\d; 12 s\.$",
                     block, re.M)


def test_bars_stand_at_a_glance_and_contents_link_to_headings(page: str) -> None:
    assert "| [Static embeddings](#static-embeddings) | all chunks, p50 | 11 ms | ≤ 10 | **missed** |" in page
    assert "| [The LLM proxy](#the-llm-proxy) | added, p50 | 2.22 ms | ≤ 5 | met |" in page
    assert "- [Ways in](#ways-in)\n  - [The LLM proxy](#the-llm-proxy)\n- [Last](#last)\n" in page
    assert page.count("in times of float32 in memory") == 1, "a figure without a bar is no matter for a glance"


def test_one_made_again_leaves_the_others_as_they_were(document: ModuleType, page: str) -> None:
    again = document.written(page, made(document, "nearest", NEAREST.format(8)), {}, False)
    assert "| all chunks, p50 | 8 ms | ≤ 10 | met |" in again and "**missed**" not in again
    assert document.held(again)["llm"] == document.held(page)["llm"] and document.printed(again)["llm"] == LLM.format(1, 2.22)
    assert document.written(again, {}, {}, False) == again, "nothing made, nothing changed"


def test_a_whole_run_tells_the_machine_and_what_was_left_out(document: ModuleType, page: str) -> None:
    whole = document.written(page, {}, {"dashboard": "left out: needs Chromium"}, True)
    assert "unknown" not in whole and "cores" in whole and "zstandard " in whole
    assert "- Left out, and older where it stands below: dashboard: left out: needs Chromium\n" in whole
    assert document.held(whole) == document.held(page)


def test_what_a_benchmark_prints_is_no_heading(document: ModuleType, page: str) -> None:
    found = document.written(page, made(document, "llm", "## not a heading\n" + LLM.format(1, 2)), {}, False)
    assert "not-a-heading" not in found


def test_a_page_without_marks_is_not_written_over(document: ModuleType) -> None:
    with pytest.raises(SystemExit, match="lacks its marks"):
        document.written("# Benchmarks\n", {}, {}, False)


def test_the_page_that_stands_has_all_marks_and_its_links_lead_somewhere(document: ModuleType, root: Path) -> None:
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert document.written(page, {}, {}, False) == page, "python bench/run.py --write makes it again"
    headings = {document.anchor(title) for title in re.findall(r"^#+ (.+)$", page, re.M)}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= headings
    assert [name for name in re.findall(r"\]\(([^)#:]+)\)", page) if not (root / "docs" / name).exists()] == []


def test_links_are_those_that_github_makes(document: ModuleType) -> None:
    assert document.anchor("APIs through `byref serve --upstream`") == "apis-through-byref-serve---upstream"
    assert document.anchor("trajectories-local: 40 sessions, 1361 outputs") == "trajectories-local-40-sessions-1361-outputs"
