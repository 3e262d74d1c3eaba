"""Plain text: what nothing else claims still keeps every promise; failures count once a call is known to have failed."""
from __future__ import annotations

from byref.filters.detect import detect
from byref.filters.shapes.text import SHAPE
from byref.filters.units import ANCHOR, MUST
from byref.proxy.contracts import Call
from conformance.views import check, look

PROSE = "".join(f"Chapter {i % 12} tells of the river that ran by town number {i * 7} and of its people.\n" for i in range(300))


def test_it_takes_what_nothing_else_claims() -> None:
    assert detect(PROSE, Call("notes"))[0] == "text" and detect("", Call(""))[0] == "text"


def test_long_text_is_cut_under_its_budget_and_first_and_last_lines_stand() -> None:
    shown = check(look(PROSE, tool="notes", arguments={}, budget=400))
    rows = PROSE.splitlines()
    assert not shown.view.passed and len(shown.text) < 3000
    assert rows[0] in shown.lines and rows[-1] in shown.lines


def test_what_the_caller_looks_for_stands() -> None:
    text = PROSE.replace("town number 1050", "the harbour of Valparaiso")
    shown = check(look(text, tool="notes", arguments={"query": "Valparaiso"}, intent="which harbour", budget=400))
    assert "harbour of Valparaiso" in shown.text.replace("\n", " ") and any("harbour of Valparaiso" in line for line in shown.lines)


def test_an_error_in_the_middle_stands_whatever_is_known_of_the_call() -> None:
    text = PROSE + "Stopped: cannot open the gate\n" + PROSE
    for call in ({"exit_code": 1}, {"exit_code": 0}, {"exit_code": None, "is_error": True}, {"exit_code": None}):
        shown = check(look(text, tool="notes", arguments={}, budget=60, **call))  # type: ignore[arg-type]
        assert "Stopped: cannot open the gate" in shown.lines
    rank = SHAPE.units(text, Call("notes")).rank
    assert rank[300] == MUST and rank[0] == rank[-1] == ANCHOR


def test_a_narrowed_output_stays_whole() -> None:
    assert not look(PROSE[:9000], "cat book | head -120").view.gaps
