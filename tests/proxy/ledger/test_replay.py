"""What a replay says of each view, and that its figures are those of the evaluation beside the checkout."""
from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import byref
from byref.proxy.contracts import Call
from byref.proxy.ledger.counter import token_counter
from byref.proxy.ledger.replay import Outcome, Raw, Replayed, Shown, replay
from byref.proxy.ledger.tally import tally
from byref.proxy.ledger.trajectories import Trajectory, Turn, read

ESTIMATE = token_counter("estimate")


class Cut:
    """Shows the first and the last characters of an output, or what a function makes of it."""

    marker = re.compile(r"^\.\.\. .*$", re.M)

    def __init__(self, of: int | Callable[[str], str]) -> None:
        self.of = of
        self.calls: list[Call] = []

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        def view(call: Call, output: str) -> Shown:
            self.calls.append(call)
            n = self.of
            if not isinstance(n, int):
                return Shown(n(output), "made")
            omitted = f"\n... {len(output) - n} characters omitted ...\n"
            return Shown(output if len(output) <= n else output[:n // 2] + omitted + output[-n // 2:], "cut")
        return view


class Library:
    """byref as a library, told what the evaluation tells it."""

    marker = byref.MARKER

    def __init__(self) -> None:
        self.gateway = byref.open("memory:")

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        session = self.gateway.session(trajectory.id, task=trajectory.task)

        def view(call: Call, output: str) -> Shown:
            found = session.capture(tool=call.tool, args=call.arguments, output=output, said=call.said)
            return Shown(found.text, found.shape)
        return view


def outcomes(of: Callable[[str], str], *turns: Turn) -> tuple[Outcome, ...]:
    return only(Trajectory("i", "s", "the task", turns, "first", 100), Cut(of)).outcomes


def only(trajectory: Trajectory, arm: Cut | Raw) -> Replayed:
    (found,) = replay([trajectory], arm, ESTIMATE)
    return found


def test_an_arm_is_told_what_the_agent_knew_and_wrote() -> None:
    arm = Cut(10)
    only(Trajectory("i", "s", "the task", (Turn("Bash", {"command": "ls"}, "a", "look"), Turn("Read", {}, "b"))), arm)
    assert [(c.tool, c.arguments, c.said, c.task) for c in arm.calls] == [
        ("Bash", {"command": "ls"}, "", "the task"), ("Read", {}, "look\n", "the task")]


def test_a_used_string_is_data_or_named_or_lost() -> None:
    turns = Turn("Bash", {}, "renew_lease\nexpire_lease\nrevoke_lease\nunused_lease", "renew_lease expire_lease revoke_lease"),
    (found,) = outcomes(lambda output: "renew_lease\n... expire_lease", *turns)
    assert found.evidence.used == {"renew_lease", "expire_lease", "revoke_lease"}
    assert (found.lost, found.named) == ({"expire_lease", "revoke_lease"}, {"expire_lease"})
    assert (found.tool, found.shape, found.told, found.made) == ("Bash", "made", 0, 0)


def test_the_raw_arm_loses_and_saves_nothing() -> None:
    (found,) = only(Trajectory("i", "s", "t", (Turn("Bash", {}, "renew_lease", "renew_lease"),)), Raw()).outcomes
    assert (found.raw, found.lost, found.longer, found.made) == (found.view, frozenset(), False, 0)


def test_what_is_made_up_and_what_is_longer_is_told() -> None:
    (found,) = outcomes(lambda output: "a line of the output\nnobody printed this line\nshort", Turn("Bash", {}, "a line of the output\n"))
    assert (found.told, found.made, found.longer, found.records) == (2, 1, True, False)
    coloured = Turn("Bash", {}, "\x1b[1mtwo lines\x1b[0m of text\nand another line\n")
    (shown,) = outcomes(lambda output: "two lines of text\n... x\n", coloured)
    assert (shown.told, shown.made, shown.longer) == (1, 0, False), "what a terminal would not show is no part of the text"
    assert outcomes(lambda output: "x", Turn("Bash", {}, '[{"a": 1}]'))[0].records


def test_old_lines_of_an_edit_count_as_seen_where_any_view_before_showed_them() -> None:
    code = "def renew_lease(self):\n    return self.renewed\n"
    edit = Turn("Edit", {"old_string": code, "new_string": ""}, "ok")
    assert [len(o.unseen) for o in outcomes(lambda output: output, Turn("Read", {}, code), edit)] == [0, 0]
    assert [o.text for o in outcomes(lambda output: output[:24], Turn("Read", {}, code), edit)[0].unseen] == ["return self.renewed"]


def test_a_repeat_of_a_call_whose_view_hid_something_is_told() -> None:
    turns = Turn("Bash", {"command": "make"}, "long output"), Turn("Bash", {"command": "make"}, "short")
    assert [o.hid for o in outcomes(lambda output: output[:5], *turns)] == [False, True]
    assert [o.hid for o in outcomes(lambda output: output, *turns)] == [False, False]


def test_requests_and_the_prefix_are_those_of_the_trajectory() -> None:
    turns = (Turn("Bash", {}, "x" * 100, "y" * 10), Turn("Bash", {}, "x" * 100, "y" * 10), Turn("Bash", {}, "x" * 100, "z" * 20))
    found = only(Trajectory("i", "s", "t" * 10, turns, "f" * 10, 100), Cut(lambda output: "x" * 50))
    assert (found.context, found.requests, found.said) == (3 + 30, 3, ((3, 2), (4, 1), (7, 0)))  # an end of line between text and thought
    assert [o.prefix for o in found.outcomes] == [33 + 3, 33 + 3 + 15, 33 + 3 + 4 + 30]
    assert only(Trajectory("i", "s", "t", turns, "", 100, 9000), Raw()).context == 9000, "as the provider counted it"


def test_a_trajectory_without_calls_is_replayed_too() -> None:
    assert only(Trajectory("i", "s", "t", ()), Raw()).outcomes == ()


@pytest.fixture(scope="module")
def evaluation(shared: Path) -> ModuleType:
    """The script of the evaluation."""
    spec = importlib.util.spec_from_file_location("evidence", shared / "eval" / "evidence.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the script leaves its file to be closed for it
@pytest.mark.parametrize(("name", "source", "limit", "arm"), [
    ("local", "Claude Code", 4, "headtail2000"), ("local", "terminal-bench", 6, "headtail2000"), ("open", "LiveMCP", 8, "byref@auto"),
    ("local", "Claude Code", 3, "byref@auto"), ("open", "tau", 6, "byref@auto")])
def test_the_figures_are_those_of_the_evaluation(shared: Path, evaluation: ModuleType, name: str, source: str, limit: int,
                                                 arm: str) -> None:
    pytest.importorskip("toktok", reason="the extra `count` is not installed: the evaluation counts otherwise then")
    path = shared / "corpus" / f"trajectories-{name}.jsonl"
    total, shares = evaluation.replay(str(path), evaluation.arm(arm), limit, source, False, None)
    theirs = total["ALL"]
    mine = tally(replay(read(path, source=source, limit=limit), Cut(2000) if arm == "headtail2000" else Library(), token_counter()),
                 lambda replayed, outcome: ("ALL",))["ALL"]
    count = mine.total
    assert (count.outputs, count.raw, count.view, count.used, count.need, count.longer) == tuple(
        theirs[key] for key in ("n", "raw", "view", "used", "need", "longer"))
    assert (count.used - count.lost, count.edits, count.edits - count.unseen) == (theirs["kept"], theirs["edits"], theirs["edits_kept"])
    assert (count.told, count.made, count.told_records, count.made_records) == tuple(
        theirs[key] for key in ("told", "made", "told_json", "made_json"))
    for figure, values in ((mine.es, shares["ALL"]["es"]), (mine.data, shares["ALL"]["data"])):
        assert figure == pytest.approx(sum(values) / len(values))
    assert theirs["used"] > 40
