"""Evidence: what was new in an output and used after it."""
from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.ledger.evidence import _COMMON, Evidence, Old, evidence, lines, old_lines, strings
from byref.proxy.ledger.trajectories import Trajectory, Turn

EDIT = {"file_path": "a.py", "old_string": "def renew_lease(self):\n    return 1\n\n    pass", "new_string": "def renew_lease(self, now):"}


def found(*turns: Turn, task: str = "", first: str = "") -> list[Evidence]:
    return list(evidence(Trajectory("i", "s", task, turns, first)))


def test_strings_are_paths_identifiers_and_numbers() -> None:
    assert strings("see src/a-b/c.py: renew_lease.now = 4711 at 12 of max_lease_age") == {
        "src/a-b/c.py", "renew_lease.now", "4711", "max_lease_age"}


def test_what_is_new_and_written_later_is_used() -> None:
    first, second = found(Turn("Bash", {"command": "ls"}, "renew_lease expire_lease", "hm"),
                          Turn("Bash", {"command": "x"}, "lease_table", "call renew_lease on lease_table"))
    assert first.new == first.used | {"expire_lease"} and first.used == {"renew_lease"} and second.used == {"lease_table"}


def test_what_task_first_action_arguments_and_earlier_outputs_hold_is_not_new() -> None:
    outputs = "task_word first_word argument_word earlier_word result\n"
    turns = (Turn("Bash", {}, "earlier_word"), Turn("Bash", {"command": "argument_word"}, outputs, outputs))
    assert found(*turns, task="task_word", first="first_word")[1].new == frozenset()


def test_what_the_agent_wrote_before_an_output_is_not_new_in_it() -> None:
    turns = (Turn("Bash", {}, "something", "I look for renew_lease"), Turn("Bash", {}, "renew_lease", "renew_lease it is"))
    assert found(*turns)[1].new == frozenset()


def test_lines_lose_their_numbers_and_blanks() -> None:
    every = {"12→    return 1", "return 1", "x", "7", "→"}
    assert lines("  12→    return 1  \nx\n7:\n", every) == {"12→    return 1", "return 1", "x"}
    assert lines("x\n7", {"x", "y"}) == {"x"} and lines("x", ()) == set()


def test_lines_of_an_edit_are_traced_to_the_output_that_held_them_last() -> None:
    code = "1→def renew_lease(self):\n2→    return 1\n"
    first, second = found(Turn("Read", {}, code), Turn("Bash", {}, "other", "edit"), Turn("Edit", EDIT, ""))
    assert first.edited == {"def renew_lease(self):", "return 1"} and second.edited == frozenset()
    assert first.old == () and second.old == (Old("def renew_lease(self):", 0), Old("return 1", 0))
    again = found(Turn("Read", {}, code), Turn("Bash", {}, code, "edit"), Turn("Edit", EDIT, code))
    assert [old.origin for old in again[1].old] == [1, 1] and again[2].old == () and again[2].edited == frozenset()


def test_short_lines_tell_no_place_and_a_call_without_old_lines_is_no_edit() -> None:
    assert old_lines(EDIT) == ["def renew_lease(self):", "return 1"]
    assert old_lines({"old_string": 7}) == old_lines({}) == old_lines("old_string") == []


# As the evaluation beside the checkout has it, and text of which much is such a string or nearly one.
STRING = re.compile(r"(?:[\w.-]*/[\w./-]+\w)|[A-Za-z_][A-Za-z0-9_]{5,}(?:\.[A-Za-z_][A-Za-z0-9_]+)*|\d{4,}")
SIGNS = st.sampled_from(["abcdef", "result", "9876", "a", "1", "é", "\u0661", "\udcff", "/", "-", ".", "_", " ", "\n", "→", "\0"])
TEXT = st.lists(SIGNS, max_size=9).map("".join)
TURN = st.tuples(TEXT, TEXT, TEXT).map(lambda held: Turn("t", {"x": held[0]}, held[1], held[2]))


@given(TEXT)
def test_a_string_is_found_wherever_the_pattern_of_the_evaluation_finds_it(text: str) -> None:
    assert strings(text) == set(STRING.findall(text))


@given(st.lists(TURN, max_size=5), TEXT, TEXT)
def test_new_and_used_are_what_their_definition_says(turns: list[Turn], task: str, first: str) -> None:
    told = [*(STRING.findall(text) for text in (task, first))]
    for item in found(*turns, task=task, first=first):
        turn = turns[item.index]
        before = [one for t in turns[:item.index] if t.output for text in (json.dumps(t.arguments, ensure_ascii=False), t.output, t.said)
                  for one in STRING.findall(text)] + STRING.findall(json.dumps(turn.arguments, ensure_ascii=False))
        new = set(STRING.findall(turn.output)).difference(before, *told, _COMMON)
        assert (item.new, item.used) == (new, {one for one in new if any(one in STRING.findall(t.said) for t in turns[item.index:])})


def test_a_long_row_of_dots_costs_no_more_than_its_length() -> None:
    assert strings("." * 1_000_000 + "a/bc" + "-" * 1_000_000) == {"." * 1_000_000 + "a/bc"}, "minutes, if each dot were tried as a start"


def test_repeats_and_later_requests_are_told() -> None:
    turns = (Turn("Bash", {"command": "make  test"}, "a", "x"), Turn("Bash", {"command": "ls"}, "b", "x"),
             Turn("execute_command", {"command": "make test"}, "c", "y"), Turn("Bash", {"command": "ls"}, "", "z"))
    assert [(e.index, e.repeats, e.later) for e in found(*turns)] == [(0, None, 2), (1, None, 2), (2, 0, 1)]
