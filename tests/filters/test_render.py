"""How a view is written: heads, gaps, repeats, part names; and what cannot be forged in it."""
from __future__ import annotations

from conformance.views import check, look

LONG = "step {0} resolved module alpha, step {0} linked module beta, step {0} wrote object gamma, step {0} checked object delta, " * 4


def test_a_gap_counts_lines_though_a_long_line_is_cut_into_pieces() -> None:
    raw = "".join(LONG.format(i) + "\n" for i in range(60))
    shown = check(look(raw, budget=200))
    assert shown.view.gaps and shown.view.head.endswith(" of 60 lines»\n")


def test_the_count_of_a_repeat_stands_after_the_whole_line_it_counts() -> None:
    line = "ERROR: no space left on device while writing the block, retry later, " * 2 + "x, " * 200 + "end of the report\n"
    raw = line * 5 + "".join(f"ok block {i} written to node {i % 7}\n" for i in range(900))
    shown = check(look(raw, "make", exit_code=2))
    assert any(marker.startswith("«×5 to ") for marker in shown.markers)
