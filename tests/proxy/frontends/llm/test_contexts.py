"""A context is one conversation of one agent; what was shown counts while it can be seen to stand in the request."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy.frontends.llm.contexts import Contexts, name_of
from byref.proxy.frontends.llm.conversation import Conversation
from byref.proxy.frontends.llm.rewriting import Rewriter
from llm_requests import Dialog, results

CODE = "".join(f"def part_{n}(harbour, pilot):\n    return harbour.berth_{n} - pilot.draft_{n * 7}\n\n\n" for n in range(60))
TALK = Conversation("Build it.", "You are an agent. Today is 2026-11-30.", "")
READ: Any = {"file_path": "harbour.py"}
CAT: Any = {"command": "sed -n 1,400p harbour.py"}


def test_an_agent_has_a_context_of_its_own_and_a_day_changes_none() -> None:
    assert name_of(TALK) == name_of(replace(TALK, system="You are an agent. Today is 2026-12-01."))
    others = [replace(TALK, task="Look it up."), replace(TALK, system="You are a reviewer."), replace(TALK, session="s1"),
              replace(TALK, session="s2"), replace(TALK, session="s1", task="Look it up.")]
    assert len({name_of(TALK), *map(name_of, others)}) == 6
    assert name_of(others[2]) == name_of(replace(others[2], system="another one"))


def test_contexts_are_kept_while_they_are_few() -> None:
    contexts = Contexts()
    first = contexts.of(TALK)
    assert contexts.of(TALK) is first
    for n in range(600):
        contexts.of(replace(TALK, session=f"s{n}"))
    assert contexts.of(TALK) is not first


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file:{tmp_path}/store"


def collapsed(url: str, rewriter: Rewriter, dialog: Dialog) -> bool:
    """Whether the code of the newest call is shown as what was shown before."""
    dialog.turn([(f"c{len(dialog.items)}", "Bash", CAT, CODE)])
    text = list(results(dialog.api, rewriter.rewrite(dialog.family, dialog.body()).body).values())[-1]
    return len(text) < len(CODE) / 10


@pytest.mark.parametrize("again", [False, True])
def test_what_a_conversation_was_shown_collapses_also_in_another_process(url: str, again: bool) -> None:
    dialog = Dialog("chat")
    with byref.open(url) as one, byref.open(url) as other:
        first, second = Rewriter(one, "s"), Rewriter(other if again else one, "s")
        dialog.turn([("c1", "Read", READ, CODE)])
        shown = results("chat", first.rewrite(dialog.family, dialog.body()).body)["c1"]
        if not again:
            second = first
        assert len(shown) > len(CODE) / 2
        assert collapsed(url, second, dialog)


@pytest.mark.parametrize("again", [False, True])
def test_what_a_compaction_took_away_is_shown_again(url: str, again: bool) -> None:
    dialog = Dialog("chat")
    with byref.open(url) as one, byref.open(url) as other:
        first = Rewriter(one, "s")
        dialog.turn([("c1", "Read", READ, CODE)])
        dialog.turn([("c2", "Bash", {"command": "ls"}, "harbour.py\n")])
        first.rewrite(dialog.family, dialog.body(messages=dialog.items[:4]))
        kept = results("chat", first.rewrite(dialog.family, dialog.body()).body)["c2"]
        del dialog.items[2:4]  # the call that read the file, and its result
        assert not collapsed(url, Rewriter(other, "s") if again else first, dialog)
        assert results("chat", first.rewrite(dialog.family, dialog.body()).body)["c2"] == kept


def test_a_result_that_the_harness_cleared_no_longer_counts_as_shown(url: str) -> None:
    dialog = Dialog("anthropic")
    with byref.open(url) as gateway:
        rewriter = Rewriter(gateway, "s")
        dialog.turn([("c1", "Read", READ, CODE)])
        rewriter.rewrite(dialog.family, dialog.body())
        dialog.items[2]["content"][0]["content"] = "[Old tool result content cleared]"
        assert not collapsed(url, rewriter, dialog)
        cleared = results("anthropic", rewriter.rewrite(dialog.family, dialog.body()).body)["c1"]
        assert cleared == "[Old tool result content cleared]"


def test_parallel_calls_collapse_in_the_order_of_the_request(url: str) -> None:
    dialog = Dialog("responses")
    with byref.open(url) as gateway:
        dialog.turn([("c1", "Read", READ, CODE), ("c2", "Bash", CAT, CODE)])
        found = results("responses", Rewriter(gateway, "s").rewrite(dialog.family, dialog.body()).body)
        assert len(found["c1"]) > len(CODE) / 2 and len(found["c2"]) < len(CODE) / 10


def test_agents_of_one_session_share_nothing_that_was_shown(url: str) -> None:
    with byref.open(url) as gateway:
        rewriter = Rewriter(gateway, "s")
        main, agent = Dialog("anthropic", "Build it.", session="0a1b2c3d"), Dialog("anthropic", "Look it up.", session="0a1b2c3d")
        main.turn([("c1", "Read", READ, CODE)])
        rewriter.rewrite(main.family, main.body())
        assert not collapsed(url, rewriter, agent) and collapsed(url, rewriter, main)
