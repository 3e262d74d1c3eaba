"""A session is put together from what was told, said, called and answered, whatever the order in which a format tells it."""
from __future__ import annotations

from byref.proxy.ledger.trajectories import Usage
from byref.proxy.ledger.transcript import Transcript, arguments, blocks, count, filled, text_of


def test_what_the_agent_writes_next_follows_each_result() -> None:
    one = Transcript("i", "s")
    one.told("the task")
    one.said("first", message="m1")
    one.called("a", "Bash", {"command": "ls"}, message="m1")
    one.result("a", "out")
    one.thought("hm", message="m2")
    one.called("b", "Read", {}, message="m2")
    one.told("and then?")
    one.result("b", "text", True)
    found = one.trajectory()
    assert (found.task, found.first_action) == ("the task", 'first\nBash {"command": "ls"}')
    assert [(t.tool, t.output, t.next_action, t.next_thought, t.is_error) for t in found.turns] == [
        ("Bash", "out", "Read {}", "hm", False), ("Read", "text", "", "", True)]


def test_calls_of_one_answer_share_what_follows_even_where_results_come_between_them() -> None:
    one = Transcript("i", "s")
    for key in "ab":
        one.called(key, "Bash", {"command": key}, message="m1")
        one.result(key, key)
    one.said("after", message="m2")
    found = one.trajectory()
    assert [turn.next_action for turn in found.turns] == ["after", "after"]
    assert found.requests() == [1, 1]


def test_a_result_without_its_call_is_kept_and_has_no_tool() -> None:
    one = Transcript("i", "s")
    one.result("lost", "out")
    assert [(turn.tool, turn.output) for turn in one.trajectory().turns] == [("unknown", "out")]


def test_each_answer_is_billed_once_and_the_largest_count_of_its_output_stands() -> None:
    one = Transcript("i", "s")
    one.billed("m1", input=10, read=0, written=90, output=1)
    one.billed("m1", input=10, read=0, written=90, output=50)
    one.billed("m2", input=5, read=100, written=20, output=7)
    one.billed("m2", input=5, read=100, written=20, output=2)
    found = one.trajectory()
    assert (found.usage, found.context) == (Usage(2, 15, 100, 110, 57), 100)


def test_a_session_in_which_nothing_happened_is_left_out() -> None:
    silent = Transcript("i", "s")
    silent.told("hello")
    assert filled([silent]) == []


def test_helpers_read_what_recordings_hold() -> None:
    assert text_of([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, "b"]) == "a\nb"
    assert [arguments('{"a": 1}'), arguments("ls -l"), arguments({"a": 1})] == [{"a": 1}, "ls -l", {"a": 1}]
    assert [count({"a": {"b": 3}}, "a", "b"), count({"a": True}, "a"), count(None, "a"), count({"a": 7.0}, "a")] == [3, 0, 0, 7]
    assert [count({"a": 10**30}, "a"), count({"a": 1e30}, "a"), count({"a": -5}, "a"), count({"a": float("nan")}, "a")] == [0, 0, 0, 0]


def test_calls_of_one_key_are_answered_in_order_and_a_key_that_comes_again_means_the_newer_call() -> None:
    one = Transcript("i", "s")
    for tool in ("a", "b"):
        one.called("", tool, {})
    one.result("", "out a")
    one.result("", "out b")
    one.called("", "c", {})
    one.result("", "out c")
    one.result("", "more of c")
    assert [(turn.tool, turn.output) for turn in one.trajectory().turns] == [
        ("a", "out a"), ("b", "out b"), ("c", "out c"), ("c", "more of c")]


def test_a_call_that_stands_in_the_text_is_not_written_twice() -> None:
    one = Transcript("i", "s")
    one.said("I go: `ls`")
    one.called("1", "ls", {"command": "ls"}, written=True)
    one.result("1", "out")
    assert one.trajectory().first_action == "I go: `ls`"


def test_blocks_of_another_kind_are_told() -> None:
    told: list[str] = []
    assert blocks("text", told.append) == [{"type": "text", "text": "text"}] and blocks(None, told.append) == [] and told == []
    assert blocks(["a", None, {"type": "b"}], told.append) == [{"type": "text", "text": "a"}, {"type": "b"}]
    assert blocks({"type": "text"}, told.append) == []
    assert told == ["content holds null among its blocks", "content is to be a text or an array, not an object"]
