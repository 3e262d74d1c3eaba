"""A result becomes a view where it first appears and stays that for good; nothing else in a request changes."""
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.filters import render
from byref.proxy.frontends.llm.rewriting import Rewriter, family
from llm_requests import FAMILIES, LOG, OURS, Dialog, results

APIS = sorted(FAMILIES)
MAKE: Any = {"command": "make -j"}
CODE = "".join(f"def part_{n}(harbour, pilot):\n    return harbour.berth_{n} - pilot.draft_{n * 7}\n\n\n" for n in range(160))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file:{tmp_path}/store"


@pytest.fixture
def gateway(url: str) -> Iterator[byref.Gateway]:
    with byref.open(url) as made:
        yield made


def sent(rewriter: Rewriter, dialog: Dialog, **more: Any) -> bytes:
    return rewriter.rewrite(dialog.family, dialog.body(**more)).body


@pytest.mark.parametrize("api", APIS)
def test_a_long_result_is_sent_as_a_view_whose_ref_gives_it_back(gateway: byref.Gateway, api: str) -> None:
    dialog = Dialog(api)
    dialog.turn([("c1", "Bash", MAKE, LOG)], "Now the build.")
    text = results(api, sent(Rewriter(gateway, "s"), dialog))["c1"]
    ref = re.match(r"«(r[a-z2-7]{10}) ", text)
    assert ref and len(text) < len(LOG) / 10 and "ERROR: cannot link beacon" in text
    assert gateway.session("x", scope="s").fetch(ref[1], max_tokens=None).data == LOG.encode()


@pytest.mark.parametrize("api", APIS)
def test_it_is_the_view_that_the_library_gives_for_what_the_agent_said(gateway: byref.Gateway, api: str) -> None:
    dialog, said, read = Dialog(api), "Look at part_117 and draft_700.", {"file_path": "x.py"}
    dialog.turn([("c1", "Read", read, CODE)], said)
    text = results(api, sent(Rewriter(gateway, "s"), dialog))["c1"]
    with byref.open("memory:") as plain:
        views = [plain.session(f"s{words}", task=dialog.task).capture(tool="Read", args=read, output=CODE, said=words).text
                 for words in (said, "")]
    assert text == views[0] != views[1]


@pytest.mark.parametrize("api", APIS)
def test_a_result_that_the_harness_changed_later_is_another_one(gateway: byref.Gateway, api: str) -> None:
    dialog, rewriter = Dialog(api), Rewriter(gateway, "s")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    first = results(api, sent(rewriter, dialog))["c1"]
    cleared = dialog.body().replace(json.dumps(LOG).encode(), b'"[cleared]"')
    assert results(api, rewriter.rewrite(dialog.family, cleared).body)["c1"] == "[cleared]"
    assert results(api, sent(rewriter, dialog))["c1"] == first


@pytest.mark.parametrize("api", APIS)
def test_every_byte_around_a_view_stays(gateway: byref.Gateway, api: str) -> None:
    dialog = Dialog(api, "Größe 東京 \\u00e9")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    body = dialog.body().replace(b'": ', b'" : ').replace(b"build", b"b\\u0075ild")
    found = Rewriter(gateway, "s").rewrite(dialog.family, body)
    edit, = found.edits
    raw, new = body.decode(), found.body.decode()
    assert new[:edit.start] == raw[:edit.start] and new[len(new) - len(raw) + edit.end:] == raw[edit.end:]


@pytest.mark.parametrize("api", APIS)
def test_the_same_bytes_stand_in_every_later_request(gateway: byref.Gateway, url: str, api: str) -> None:
    dialog, rewriter = Dialog(api), Rewriter(gateway, "s")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    first = results(api, sent(rewriter, dialog))
    dialog.turn([("c2", "Bash", {"command": "make test"}, LOG.replace("step", "stage"))])
    second = results(api, sent(rewriter, dialog))
    with byref.open(url) as other:  # another process over the same store
        third = results(api, sent(Rewriter(other, "s"), dialog))
    assert second["c1"] == first["c1"] and third == second and len(second["c2"]) < 2000


@pytest.mark.parametrize("api", APIS)
def test_the_first_bytes_outlive_a_new_version_of_views(gateway: byref.Gateway, url: str, api: str, monkeypatch: Any) -> None:
    dialog = Dialog(api)
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    first = results(api, sent(Rewriter(gateway, "s"), dialog))
    made = render.view

    def newer(*args: Any, **more: Any) -> Any:
        found = made(*args, **more)
        return type(found)(found.head, tuple("of another version\n" + text for text in found.texts), found.gaps, found.shape, found.passed)

    monkeypatch.setattr(render, "view", newer)
    dialog.turn([("c2", "Bash", {"command": "make test"}, LOG.replace("step", "stage"))])
    with byref.open(url) as other:
        second = results(api, sent(Rewriter(other, "s"), dialog))
    assert second["c1"] == first["c1"] and "of another version" in second["c2"]


@pytest.mark.parametrize("api", APIS)
def test_what_was_sent_before_byref_came_stays(gateway: byref.Gateway, api: str) -> None:
    dialog, rewriter = Dialog(api), Rewriter(gateway, "s")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    dialog.turn([("c2", "Bash", MAKE, LOG.replace("step", "stage"))])
    for _ in range(2):
        found = results(api, sent(rewriter, dialog))
        assert found["c1"] == LOG and len(found["c2"]) < 2000
        dialog.answers("So far so good.")
        dialog.asks("Go on.")


@pytest.mark.parametrize("api", APIS)
def test_without_our_tools_nothing_new_is_replaced_and_what_was_stays(gateway: byref.Gateway, api: str) -> None:
    dialog, rewriter = Dialog(api), Rewriter(gateway, "s")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    first = results(api, sent(rewriter, dialog))
    dialog.turn([("c2", "Bash", {"command": "make test"}, LOG.replace("step", "stage"))])
    body = dialog.body(tools=[])
    second = results(api, rewriter.rewrite(dialog.family, body).body)
    assert second["c1"] == first["c1"] and second["c2"] == LOG.replace("step", "stage")
    assert rewriter.rewrite(dialog.family, Dialog(api, tools=()).body()).edits == ()


@pytest.mark.parametrize("api", APIS)
def test_what_fetch_returned_is_final_however_long(gateway: byref.Gateway, api: str) -> None:
    dialog = Dialog(api)
    dialog.turn([("c1", OURS, {"ref": "rk7f3qmab2x"}, LOG), ("c2", "Bash", {"command": "cd x && byref fetch rk7f3qmab2x"}, LOG),
                 ("c3", "Bash", {"command": "BYREF=off make"}, LOG)])
    body = dialog.body()
    assert Rewriter(gateway, "s").rewrite(dialog.family, body).body is body


@pytest.mark.parametrize("api", APIS)
def test_stateless_the_same_request_gives_the_same_bytes_on_any_machine(tmp_path: Path, api: str) -> None:
    dialog, bodies = Dialog(api), []
    with byref.open(f"file:{tmp_path}/a") as one, byref.open(f"file:{tmp_path}/b") as other:
        first, second = Rewriter(one, "s", stateless=True), Rewriter(other, "s", stateless=True)
        for n in range(3):
            dialog.turn([(f"c{n}", "Bash", {"command": f"make {n}"}, LOG)], f"Number {n}.")
            bodies.append(sent(first, dialog))
        assert sent(second, dialog) == bodies[-1]  # which has seen no earlier request
        texts = results(api, bodies[-1])
    assert texts["c0"] == results(api, bodies[0])["c0"] and "already" not in texts["c2"]
    assert [len(text) for text in texts.values()] == pytest.approx([len(texts["c0"])] * 3, abs=40), "nothing collapsed as shown before"


def test_what_a_harness_appended_to_a_result_stays_as_it_stands_and_changes_nothing(gateway: byref.Gateway) -> None:
    dialog, rewriter = Dialog("anthropic"), Rewriter(gateway, "s")
    reminder = "\n\n<system-reminder>\nTodo: <é> \"x\"\n</system-reminder>\n"
    dialog.turn([("c1", "Bash", MAKE, LOG + reminder)])
    body = dialog.body().replace(b"<system-reminder>", b"\\u003csystem-reminder\\u003e")
    sent_first = rewriter.rewrite(dialog.family, body).body
    text = results("anthropic", sent_first)["c1"]
    assert text.endswith(reminder) and text.count("Todo") == 1 and b"\\u003csystem-reminder\\u003e" in sent_first
    dialog.items[-1]["content"][0]["content"] = LOG
    assert results("anthropic", sent(rewriter, dialog))["c1"] + reminder == text


def test_blocks_marks_flags_and_images_stay(gateway: byref.Gateway) -> None:
    dialog = Dialog("anthropic")
    dialog.turn([("c1", "Bash", MAKE, LOG)], failed=True)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}
    block = dialog.items[-1]["content"][0]
    block["content"] = [{"type": "text", "text": LOG, "cache_control": {"type": "ephemeral"}}, image, {"type": "text", "text": LOG[::-1]}]
    found = json.loads(sent(Rewriter(gateway, "s"), dialog))["messages"][-1]["content"][0]
    texts = [one for one in found["content"] if one["type"] == "text"]
    assert found["is_error"] is True and found["content"][1] == image and texts[0]["cache_control"] == {"type": "ephemeral"}
    assert texts[0]["text"].startswith("«r") and sum(len(one["text"]) for one in texts) < len(LOG)


def test_a_request_that_is_not_understood_exactly_passes(gateway: byref.Gateway) -> None:
    dialog = Dialog("anthropic")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    whole = dialog.body()
    for body in (b"", b"null", b"[1]", whole[:-1], whole + b"x", whole[:-1] + b',"messages":[]}', b"\xff" + whole,
                 whole.replace(b"999", b"NaN"), b"[" * 100_000):
        assert Rewriter(gateway, "s").rewrite(dialog.family, body).body is body


def test_after_a_fault_of_ours_the_request_passes(gateway: byref.Gateway, monkeypatch: Any) -> None:
    dialog, rewriter = Dialog("chat"), Rewriter(gateway, "s")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    first = results("chat", sent(rewriter, dialog))

    def broken(*args: Any) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(type(gateway.store), "first", broken)
    body = dialog.body()
    assert Rewriter(gateway, "s").rewrite(dialog.family, body).body is body
    dialog.turn([("c2", "Bash", MAKE, LOG)])
    found = results("chat", sent(rewriter, dialog))
    assert found == {"c1": first["c1"], "c2": LOG}, "what is known stands as before"
    monkeypatch.undo()
    dialog.answers("Well.")
    assert results("chat", sent(rewriter, dialog)) == found, "what passed once stays as it is"


def test_the_folder_that_a_harness_names_decides_where_outputs_lie(gateway: byref.Gateway, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    dialog = Dialog("anthropic", system=f"You code.\n<env>\nWorking directory: {tmp_path}\n</env>")
    dialog.turn([("c1", "Bash", MAKE, LOG)])
    assert Rewriter(gateway, "s").rewrite(dialog.family, dialog.body()).scope.endswith(f":{tmp_path}")


def test_only_the_three_routes_are_read() -> None:
    assert [family(path) is not None for path in (
        "/llm/a/v1/messages", "/llm/a/v1/messages?beta=true", "/llm/o/v1/chat/completions", "/llm/o/v1/responses",
        "/llm/a/v1/messages/count_tokens",
        "/llm/a/v1/messages/batches", "/llm/o/v1/models", "/llm/o/v1/responses/resp_1", "/llm/o/v1/files")] == [True] * 4 + [False] * 5


@pytest.mark.parametrize("api", APIS)
def test_what_a_compaction_kept_of_the_newest_results_is_shown_as_a_view_again(gateway: byref.Gateway, url: str, api: str) -> None:
    """OpenCode and Claude Code put a summary before the last turns: what stood there as a view is not sent raw from then on."""
    before, rewriter = Dialog(api), Rewriter(gateway, "s")
    before.turn([("c1", "Bash", MAKE, LOG)], "Now the build.")
    first = results(api, sent(rewriter, before))["c1"]
    after = Dialog(api, task="Half of the work is done.")
    after.turn([("c1", "Bash", MAKE, LOG), ("c2", "Bash", {"command": "ls"}, CODE)], "Now the build.")
    after.answers("It is built.")
    begins = results(api, sent(rewriter, after))
    assert begins["c1"] == first and begins["c2"] == CODE, "what no view was made of before stays as it is"
    with byref.open(url) as other:
        for made in (rewriter, Rewriter(other, "s")):
            after.turn([("d1", "Bash", {"command": "make x"}, "ok")], "More.")
            assert results(api, sent(made, after)) == {**begins, "d1": "ok"}


@pytest.mark.parametrize("api", APIS)
def test_a_conversation_that_goes_on_keeps_what_was_sent_though_another_was_shown_a_view_of_it(gateway: byref.Gateway, api: str) -> None:
    old, rewriter = Dialog(api), Rewriter(gateway, "s")
    old.turn([("c1", "Bash", MAKE, LOG)], "Now the build.")
    old.answers("It is built.")
    assert results(api, sent(rewriter, old))["c1"] == LOG, "it was sent before byref came"
    fork = Dialog(api, task="Another one.")
    fork.turn([("c1", "Bash", MAKE, LOG)], "Now the build.")
    assert results(api, sent(rewriter, fork))["c1"] != LOG
    assert results(api, sent(rewriter, old))["c1"] == LOG
