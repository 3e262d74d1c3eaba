"""Figures add up, whatever they are added up by."""
from __future__ import annotations

import math
import re
from collections.abc import Callable

from byref.proxy.contracts import Call
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.replay import Replayed, Shown, replay
from byref.proxy.ledger.tally import Count, Row, tally
from byref.proxy.ledger.trajectories import Trajectory, Turn

CODE = "def renew_lease(self):\n    return self.renewed\n"
NAMES = "\n... third_name"  # of what is hidden


class Half:
    """Shows the first line of what Read gives and one name in it, and all else whole."""

    marker = re.compile(r"^\.\.\. .*$", re.M)

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        return lambda call, output: Shown(output.split("\n")[0] + NAMES, "code") if call.tool == "Read" else Shown(output, "text")


def replayed() -> list[Replayed]:
    one = Trajectory("1", "a", "t", (
        Turn("Read", {"p": 1}, CODE, "nothing"), Turn("Bash", {}, "first_name", "first_name"), Turn("Edit", {"old_string": CODE}, "fine")))
    two = Trajectory("2", "b", "t", (Turn("Read", {"p": 2}, "second_name first_thing\nthird_name fourth_name\n",
                                            "second_name first_thing third_name fourth_name"),))
    return list(replay([one, two], Half(), token_counter("estimate")))


def test_rows_by_tool_add_up_to_the_whole() -> None:
    rows = tally(replayed(), lambda each, outcome: ("ALL", outcome.tool))
    whole = Count()
    for name, row in rows.items():
        if name != "ALL":
            whole.add(row.total)
    whole.nanoseconds = rows["ALL"].total.nanoseconds
    assert whole == rows["ALL"].total and set(rows) == {"ALL", "Read", "Bash", "Edit"}


def test_shares_of_strings_are_means_over_trajectories_and_of_lines_over_all() -> None:
    rows = tally(replayed(), lambda each, outcome: ("ALL", each.trajectory.source))
    assert (rows["a"].data, rows["b"].data, rows["ALL"].data, rows["ALL"].edit) == (1.0, 0.5, 0.75, 0.5)
    assert (rows["a"].es, rows["b"].es, rows["ALL"].es) == (1.0, 0.75, 0.875), "of two lost names one is named"
    total = rows["ALL"].total
    assert total.need == 2 and rows["ALL"].need == 2000 / (total.raw - total.view) and rows["ALL"].saved == 1 - total.view / total.raw


def test_a_lost_line_counts_where_the_output_that_held_it_does() -> None:
    rows = tally(replayed(), lambda each, outcome: (outcome.tool,))
    assert (rows["Read"].total.edits, rows["Read"].total.unseen, rows["Read"].total.need) == (2, 1, 2)
    assert rows["Bash"].total.edits == 0 and math.isnan(rows["Bash"].edit)


def test_a_row_of_counts_drawn_again_has_figures() -> None:
    counts = tally(replayed(), lambda each, outcome: ("ALL",))["ALL"].counts
    assert len(counts) == 2 and Row([counts[1]] * 3).data == 0.5 and Row([counts[1]] * 3).total.raw == 3 * counts[1].raw


def test_figures_of_nothing_are_no_numbers() -> None:
    assert all(math.isnan(figure) for figure in (Row().saved, Row().es, Row().data, Row().edit, Row().made, Row().records))
    assert Row().need == 0 and Row().milliseconds == 0
