"""Sessions: what a context was shown, when it counts, when it is forgotten."""
from __future__ import annotations

import threading
from pathlib import Path

import pytest

import byref
from byref.proxy.errors import ConfigError
from byref.proxy.session import Memory, hashes

CODE = "".join(f"def handler_{i}(request, account_{i}):\n    return account_{i}.ledger.post(request.amount * {i})\n\n" for i in range(60))
READ = {"tool": "Read", "args": {"file_path": "handlers.py"}}


def again(session: byref.Session, **named: object) -> str:
    """The same file read a second time, in another call."""
    return session.capture(**READ, output=CODE + "# end\n", **named).text  # type: ignore[arg-type]


def test_what_was_shown_collapses_and_another_context_sees_it_anew() -> None:
    with byref.open("memory:", profile="safe") as gateway:
        session = gateway.session("a")
        assert session.capture(**READ, output=CODE).text == CODE
        second = again(session)
        assert len(second) < len(CODE) / 4 and "# end" in second
        assert again(gateway.session("a")) == CODE + "# end\n", "a new session is a new context"
        assert again(gateway.session("a", proven=False, context=session.context)) == CODE + "# end\n", "no proof, no collapse"


def test_only_views_that_were_returned_before_the_call_began_count() -> None:
    with byref.open("memory:", profile="safe") as gateway:
        session = gateway.session("a")
        began = session.begin()
        session.capture(**READ, output=CODE, began=began)
        assert again(session, began=began) == CODE + "# end\n", "both calls went out in one turn"
        assert len(again(session, began=session.begin())) < len(CODE) / 4


def test_a_compaction_forgets_and_fetched_lines_do_not_count() -> None:
    with byref.open("memory:", profile="safe") as gateway:
        session = gateway.session("a")
        ref = session.capture(**READ, output=CODE).ref
        session.compacted()
        session.fetch(ref)
        assert again(session) == CODE + "# end\n"


def test_a_context_resumed_in_another_process_knows_what_was_shown(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/store"
    with byref.open("memory:", profile="safe") as gateway:
        session = gateway.session("a")
        session.capture(**READ, output=CODE)
        again(session)
        live = session.capture(**READ, output=CODE + "# fin\n").text
    with byref.open(url, profile="safe") as gateway, gateway.session("a", context="talk-1") as session:
        session.capture(**READ, output=CODE)
        again(session)
    with byref.open(url, profile="safe") as gateway, gateway.session("b", context="talk-1", scope="a") as session:
        assert session.capture(**READ, output=CODE + "# fin\n").text == live, "hashes from the store say the same as the texts did"
        session.compacted()
    with byref.open(url, profile="safe") as gateway, gateway.session("a", context="talk-1") as session:
        assert again(session) == CODE + "# end\n"


def test_views_of_another_process_in_the_same_context_are_seen_without_reopening(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/store"
    with byref.open(url, profile="safe") as one, byref.open(url, profile="safe") as other:
        first, second = (gateway.session("a", context="talk") for gateway in (one, other))
        first.capture(tool="shell", args={"command": "date"}, output="today\n" * 100)
        second.capture(**READ, output=CODE)
        second.capture(tool="shell", args={"command": "x"}, output="y\n")
        assert len(again(first)) < len(CODE) / 4


def test_a_session_has_a_name_and_by_default_it_is_the_scope() -> None:
    with byref.open("memory:") as gateway:
        assert gateway.session("a").scope == "a" and gateway.session("a", scope="s").scope == "s"
        assert gateway.session("a").context != gateway.session("a").context
        with pytest.raises(ConfigError, match="name"):
            gateway.session("")
    with byref.open("memory:", scope="team") as gateway:
        assert gateway.session("a").scope == "team"


def test_memory_counts_a_text_from_the_tick_that_showed_it() -> None:
    memory = Memory()
    memory.add(1, ["one"], ["t"])
    memory.add(2, ["two"], [])
    early, late = memory.enter(1), memory.enter(2)
    assert "one" in early.lines and "two" not in early.lines and "t" in early.terms
    assert "two" in late.lines and "three" not in late.lines
    memory.add(3, ["three"], [])
    assert "three" not in late.lines, "what comes in while a call is in flight does not count for it"
    memory.leave()
    memory.leave()
    memory.forget()
    assert "one" not in memory.enter(3).lines and memory.tick == 3


def test_memory_gives_terms_that_come_with_every_view_the_tick_of_the_last() -> None:
    memory, task = Memory(), frozenset({"lease"})
    memory.add(1, ["a"], {"x"}, said=task)
    memory.add(2, ["b"], {"y"}, said=task)
    assert "x" in memory.enter(1).terms and "lease" not in memory.enter(1).terms and "lease" in memory.enter(2).terms
    memory.add(3, ["c"], {"z"}, said=frozenset({"other"}))
    assert all(term in memory.enter(3).terms for term in ("lease", "other", "z")) and "lease" in memory.enter(2).terms
    memory.forget()
    assert "other" not in memory.enter(3).terms
    memory.add(4, [], said=frozenset({"other"}))
    assert "other" in memory.enter(4).terms


def test_memory_shows_a_single_call_in_flight_nothing_of_one_that_has_ended() -> None:
    memory = Memory()
    other = memory.enter(0)
    own = memory.enter(0)
    memory.leave()  # a call leaves before its view is added
    memory.add(1, ["one"], ["t"])
    assert "one" not in other.lines and "t" not in other.terms and "one" not in own.lines
    assert "one" in memory.enter(1).lines


def test_memory_loads_hashes_and_tells_ticks_apart_there_too() -> None:
    memory = Memory()
    memory.load([(1, hashes(["one"]), hashes(["t"])), (4, hashes(["four"]), b"")])
    assert (memory.tick, memory.known) == (4, 4)
    assert "one" in memory.enter(1).lines and "four" not in memory.enter(1).lines and "four" in memory.enter(4).lines
    memory.add(7, ["own"], [])
    assert memory.known == 4, "ticks 5 and 6 are another's and still to be loaded"
    memory.load([(5, hashes(["five"]), b""), (7, hashes(["own"]), b"")])
    assert "five" in memory.enter(7).lines and memory.known == 7


def test_many_threads_share_a_session(tmp_path: Path) -> None:
    with byref.open(f"file:{tmp_path}/store") as gateway:
        session, refs, faults = gateway.session("a"), {}, []

        def work(n: int) -> None:
            try:
                for i in range(5):
                    text = f"thread {n} step {i}\n" * 60
                    refs[session.capture(tool="shell", args={"command": f"{n} {i}"}, output=text).ref] = text
            except Exception as fault:
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults and len(refs) == 30
        assert all(session.fetch(ref).text == text for ref, text in refs.items())


def test_what_is_new_in_an_output_that_was_shown_before_stands_whatever_it_is_worth() -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        assert session.capture(tool="Read", args={"file_path": "handlers.py"}, output=CODE).passed
        view = session.capture(tool="shell", args={"command": "cat handlers.py"}, output=CODE.replace("* 30)", "* 31)"))
        data = [line for line in view.text.splitlines() if line.strip() and "«" not in line]
        assert "    return account_30.ledger.post(request.amount * 31)" in data and len(data) < 8


@pytest.mark.parametrize("resumed", [False, True])
def test_a_line_counts_as_shown_within_the_window_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumed: bool) -> None:
    monkeypatch.setattr("byref.proxy.session.WINDOW", 5)
    text = "".join(f"{n} the quick brown fox jumps over the lazy dog\n" for n in range(40))
    with byref.open(f"file:{tmp_path}", profile="safe") as gateway:
        def session(turn: int) -> byref.Session:
            return gateway.session("s", context="kept", scope="here") if resumed or not turn else first
        first = session(0)
        assert first.capture(tool="Read", args=0, output=text).passed
        assert not session(1).capture(tool="Read", args=1, output=text).passed, "within it"
        for turn in range(2, 8):
            session(turn).capture(tool="Bash", args=turn, output=f"turn {turn}\n" * 50)
        assert session(8).capture(tool="Read", args=8, output=text).passed, "the lines were shown too long ago"


def test_a_line_that_was_gone_and_is_back_stands_again() -> None:
    rows = ("[harbour]", "berths = 14", "tide_table = north.csv", "pilot = required above nine metres", "[retention]",
            "keep_days = {value}", "quota = ten gibibytes of seekable frames", "sweep = nightly, after the ledger was closed",
            "[alarm]", "siren = two short blasts", "watch = the officer of the day is told by telegraph, and the mate by lamp",
            "fog = bell every thirty seconds, horn where the bell is not heard", "ice = the northern basin closes from December on")

    def version(value: int) -> str:
        return "".join(f"{i}\t{row.format(value=value)}\n" for i, row in enumerate(rows, 1))
    with byref.open("memory:") as gateway:
        session = gateway.session("versions", task="watch the settings")
        for value in (12, 99, 12):
            view = session.capture(tool="Read", args={"file_path": "settings.py"}, output=version(value))
            assert f"keep_days = {value}" in view.text, "what the agent read last is not what stands now"
        again = session.capture(tool="Read", args={"file_path": "settings.py"}, output=version(12))
        assert "keep_days" not in again.text, "and what it read last need not be read again"
