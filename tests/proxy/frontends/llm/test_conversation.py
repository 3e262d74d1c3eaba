"""What stands in requests around that which was really said."""
from __future__ import annotations

import pytest

from byref.proxy.frontends.llm.conversation import asked, first_task, offered, own_length, plain

REMINDER = "<system-reminder>\nBe careful.\n</system-reminder>"


@pytest.mark.parametrize(("text", "own"), [
    ("a\n\n" + REMINDER + "\n", "a"), ("a\n\n\n" + REMINDER, "a\n"), ("a" + REMINDER + "\n" + REMINDER, "a"), ("a", "a"), (REMINDER, ""),
    (REMINDER + "\nmore of the file", REMINDER + "\nmore of the file"), ("no end <system-reminder>", "no end <system-reminder>"),
    ("x </system-reminder>", "x </system-reminder>")])
def test_only_what_a_harness_put_at_the_end_is_not_the_tools_own(text: str, own: str) -> None:
    assert text[:own_length(text)] == own


def test_the_task_is_the_first_thing_that_a_user_said_himself() -> None:
    around = "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"
    assert first_task([REMINDER, around, REMINDER + "\nBuild it.", "Later."]) == "Build it."
    assert first_task([]) == "" and asked("Keep <b>this</b>.") == "Keep <b>this</b>." and len(first_task(["x" * 9999])) == 4000


def test_tools_are_found_as_each_api_declares_them() -> None:
    assert offered([{"name": "a", "description": "A"}, {"type": "function", "function": {"name": "b"}}, {"type": "web_search"}, 7]) == {
        "a": "A", "b": ""}
    assert offered(None) == {} and plain([{"type": "text", "text": "x"}, {"text": "y"}, 1]) == "x\ny" and plain(3) == ""
