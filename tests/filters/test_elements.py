"""Elements: a long line is cut where elements end and nothing of it is lost; a piece is worth what a reader of the page would see."""
from __future__ import annotations

import pydoc
import random
import string

from hypothesis import given
from hypothesis import strategies as st

from byref.filters.elements import cut, weigh
from byref.filters.units import ANCHOR

SOUP = st.lists(st.sampled_from(["<p>", "</p>", "<script>", "</script>", "<h1>", "</h1>", "<br/>", "<!-- ", " -->", "<a href='", "'>",
                                 "x" * 200, "é" * 50, " ", "]]>", "<testcase/>", "<", ">", "word word. "]), max_size=60).map("".join)


@given(SOUP, st.integers(0, 20))
def test_pieces_joined_are_the_row_and_none_is_long(row: str, start: int) -> None:
    pieces = cut(row, start)
    assert "".join(pieces) == row[start:] and all(0 < len(piece) <= 300 for piece in pieces)


def test_a_real_page_is_cut_at_elements() -> None:
    pieces = cut(pydoc.html.page("string", pydoc.html.document(string)).replace("\n", " "), 0)
    assert sum(piece.endswith(">") for piece in pieces) * 2 > len(pieces) > 20
    assert sum(piece.startswith("<h") or "<title" in piece for piece in pieces) >= 1


def test_scripts_and_headings_stand_for_themselves() -> None:
    row = "<p>one</p><script>var a = '</p>';</script><h2>Two</h2><p>three</p>" + "<p>more</p>" * 40
    pieces = cut(row, 0)
    assert pieces[:3] == ["<p>one</p>", "<script>var a = '</p>';</script>", "<h2>Two</h2>"] and pieces[3].startswith("<p>three</p>")


def test_what_a_browser_does_not_show_is_worth_least() -> None:
    rows = ["<h1>Valves</h1>", "<p>The valve was opened at noon.</p>", "<script>", "var opened = true;", "</script>", "<!-- a note",
            "to self -->", "<p>The valve was closed.</p>", '<div class="row"><span></span></div>',
            '<p class="a b c d e f" data-x="a long attribute of no use">Shut.</p>']
    rank, worth = weigh(rows)
    assert rank[0] == ANCHOR and min(worth[1], worth[7]) >= 0 and max(worth[2:5]) <= -40 and worth[6] <= -40 and worth[8] < 0
    assert worth[9] < worth[1], "attributes cost"


def test_navigation_and_lists_of_links() -> None:
    menu = [f'<li><a href="/{word}">{word}</a></li>' for word in ("home", "shop", "blog", "help", "jobs")]
    for rows in (["<nav><ul>", *menu, "</ul></nav>", "<p>Text.</p>"], ["<ul>", *menu, "</ul>", "<p>Text.</p>"]):
        _, worth = weigh(rows)
        assert max(worth[1:6]) <= -12 < worth[7]


def test_data_for_search_engines_is_not_thrown_away_like_code() -> None:
    data = ['<script type="application/ld+json">', '{"name": "Valve 7", "price": 12}', "</script>"]
    _, worth = weigh([*data, "<script>", "x()", "</script>"])
    assert worth[4] < worth[1] < 0


def test_a_tag_may_go_on_over_lines_and_never_end() -> None:
    _, worth = weigh(["<a", '  href="/x"', '  title="y">link</a>', "<p>text that stands</p>", "<a", "  open"])
    assert worth[1] < 0 <= worth[3]
    assert len(weigh(["<" * 1000, "<!--" * 50, "</nav>" * 9, "text"])[1]) == 4


def test_it_takes_the_same_time_a_piece_whatever_stands_there() -> None:
    rows = ["".join(random.Random(7).choices("<>/a\"' -!", k=300)) for _ in range(2000)]
    assert len(weigh(rows)[1]) == 2000 and "".join(cut("".join(rows), 0)) == "".join(rows)
