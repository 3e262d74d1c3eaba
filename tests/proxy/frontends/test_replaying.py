"""Sessions in many processes give what they give in one, in order; what cannot be replayed is told and stops nothing."""
from __future__ import annotations

import pytest

from byref.proxy.errors import ByrefError
from byref.proxy.frontends import replaying
from byref.proxy.frontends.replaying import _BATCH, Views, Work, worked
from byref.proxy.ledger.summary import Summary
from byref.proxy.ledger.trajectories import Trajectory, Turn

LOG = "".join(f"2026-01-01 step {n} of the build: object file {n * 37 % 500}.o written\n" for n in range(400))


def session(number: int) -> Trajectory:
    return Trajectory(f"s{number}", "test", "mend the build", (
        Turn("Bash", {"command": f"make {number}"}, LOG + f"ERROR: cannot link beacon_{number}\n", f"beacon_{number}"),
        Turn("mcp__byref__fetch", {"ref": "r"}, LOG)))


def plain(results: list[list[Summary] | str]) -> list[tuple[str, int, int]]:
    return [(one.id, one.total.count.raw, one.total.count.view) for result in results if not isinstance(result, str) for one in result]


def test_two_processes_say_what_one_says() -> None:
    sessions = [session(n) for n in range(_BATCH + 1)]  # two calls each, so that there are three batches
    work = Work(["auto", "safe"], "estimate", 700)
    one, two = plain(list(worked(sessions, work, 1))), plain(list(worked(sessions, work, 2)))
    assert one == two
    assert [name for name, _, _ in one] == [f"s{n}" for n in range(_BATCH + 1) for _ in range(2)]
    assert all(view < raw for _, raw, view in one[::2])


def test_second_calls_of_ours_are_shown_as_they_are() -> None:
    (found,) = Work(["auto"], "estimate")(session(1))
    assert isinstance(found, Summary)
    ours = found.tools["mcp__byref__fetch"].count
    assert (ours.raw, found.tools["Bash"].count.view < ours.raw) == (ours.view, True)


def test_what_was_a_view_when_it_was_recorded_stays_and_is_counted() -> None:
    turns = Turn("Bash", {"command": "make"}, "«rk7f3qmab2x make» 400 lines\n" + LOG), Turn("Bash", {"command": "make all"}, LOG)
    (found,) = Work(["auto"], "estimate")(Trajectory("s", "test", "mend", turns))
    assert isinstance(found, Summary) and found.already == 1
    assert 0.5 < found.total.count.view / found.total.count.raw < 0.9, "the other one is shown as a view"


def test_what_hooks_do_not_change_is_not_saved() -> None:
    turns = (Turn("Bash", {"command": "make"}, LOG, is_error=True), Turn("Edit", {"file_path": "a"}, LOG.replace("step", "line")),
             Turn("Bash", {"command": "make all"}, LOG.replace("step", "part")))

    def views(source: str) -> list[bool]:
        (found,) = Work(["auto"], "estimate")(Trajectory("s", source, "t", turns[:1]))
        (other,) = Work(["auto"], "estimate")(Trajectory("s", source, "t", turns[1:]))
        assert isinstance(found, Summary) and isinstance(other, Summary)
        return [of.count.view < of.count.raw for of in (found.tools["Bash"], other.tools["Edit"], other.tools["Bash"])]
    assert views("Claude Code") == [False, False, True] and views("OpenCode") == [False, True, True]
    assert views("Codex") == views("test") == [True, True, True], "a failure comes as a view"
    (patched,) = Work(["auto"], "estimate")(Trajectory("s", "Codex", "t", (Turn("apply_patch", {}, LOG),)))
    assert isinstance(patched, Summary) and patched.total.count.view == patched.total.count.raw


@pytest.mark.parametrize("before", ['<cell id="view">\n', "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n"])
def test_a_view_is_one_behind_what_a_harness_puts_before_it(before: str) -> None:
    view = Turn("Read", {}, before + "«rk7f3qmab2x make» 400 lines\n" + LOG)
    (found,) = Work(["auto"], "estimate")(Trajectory("s", "test", "t", (view,)))
    assert isinstance(found, Summary) and found.already == 1


def test_a_session_whose_view_fails_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object, **named: object) -> None:
        raise ByrefError("no view")
    monkeypatch.setattr(replaying, "open_gateway", fail)
    assert Work(["auto"], "estimate")(session(7)) == "session s7: no view"


def test_sessions_share_nothing() -> None:
    arm = Views("auto")
    first = replaying.replay([session(1), session(1)], arm, replaying.token_counter("estimate"))
    one, two = ([outcome.view for outcome in each.outcomes] for each in first)
    assert one == two, "what the first was shown is not known to the second"
    arm.close()
