"""Evidence: what was new in an output and used after it."""
from __future__ import annotations

from byref.proxy.ledger.evidence import Evidence, Old, evidence, lines, old_lines, strings
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
    assert lines("  12→    return 1  \nx") == {"12→    return 1", "return 1", "x"}


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


def test_repeats_and_later_requests_are_told() -> None:
    turns = (Turn("Bash", {"command": "make  test"}, "a", "x"), Turn("Bash", {"command": "ls"}, "b", "x"),
             Turn("execute_command", {"command": "make test"}, "c", "y"), Turn("Bash", {"command": "ls"}, "", "z"))
    assert [(e.index, e.repeats, e.later) for e in found(*turns)] == [(0, None, 2), (1, None, 2), (2, 0, 1)]
