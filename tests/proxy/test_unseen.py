"""A long query over an output that the context has a view of: told is what the view left out, what it showed is not said again."""
from __future__ import annotations

import argparse
import inspect
from pathlib import Path

import byref
from byref.proxy.text import estimate
from byref.proxy.unseen import LONG

PURPOSE = ("Now I want to see what the parser does with conflicting option strings once an action is added to a group of arguments, "
           "and which handler resolves such a conflict by removing what was there before")
SOURCE = inspect.getsource(argparse)
LINES = SOURCE.split("\n")


def given(proven: bool = True) -> tuple[byref.Session, str, str]:
    session = byref.open("memory:", profile="lean").session("s", proven=proven)
    view = session.capture(tool="Read", args={"file_path": "/usr/lib/argparse.py"}, output=SOURCE)
    assert view.gaps
    return session, view.ref, view.text


def data(text: str) -> list[str]:
    """The lines of an answer, without what is ours."""
    return [line.strip() for line in byref.MARKER.sub("", text).split("\n")[:-2] if len(line.strip()) > 2]


def test_only_what_the_view_left_out_is_said_and_to_the_letter() -> None:
    session, ref, view = given()
    said, shown = data(session.search(PURPOSE, refs=[ref]).text), {line.strip() for line in view.split("\n")}
    assert len(said) > 20 and all(line in SOURCE for line in said)
    assert sum(line in shown for line in said) <= len(said) // 10, "no more than what lies between two that it left out"


def test_what_the_layers_found_goes_first_and_the_rest_says_what_no_other_does() -> None:
    session, ref, _ = given()
    hits = session.search(PURPOSE, refs=[ref]).hits
    assert hits[0].rank == 1 and "words" in hits[0].signals
    unseen = [hit for hit in hits if hit.signals == ("unseen",)]
    assert unseen and not any(hit.rank for hit in unseen)
    words = [set(hit.excerpt.split()) for hit in hits]
    assert all(own - set().union(*words[:i], *words[i + 1:]) for i, own in enumerate(words))


def test_every_address_gives_its_excerpt() -> None:
    session, ref, _ = given()
    for hit in session.search(PURPOSE, refs=[ref]).hits:
        assert session.fetch(ref, hit.address).text.rstrip("\n") == hit.excerpt


def test_the_best_place_is_only_named_where_it_was_shown() -> None:
    session, ref, _ = given()
    best = session.search(PURPOSE, refs=[ref]).hits[0]
    session.capture(tool="Bash", args={"command": "sed"}, output=best.excerpt + "\n")
    found = session.search(PURPOSE, refs=[ref])
    last = found.hits[-1]
    assert (last.address, last.excerpt, last.signals[-1]) == (best.address, best.excerpt, "shown")
    assert best.excerpt not in found.text and f"«{last.address} " in found.text


def test_the_text_to_the_letter_is_said_though_it_was_shown() -> None:
    session, *_ = given()
    whole = " ".join(f"number-{n}" for n in range(LONG + 5))
    ref = session.capture(tool="Bash", args={"command": "cat"}, output=f"{whole}\n{SOURCE}").ref
    session.capture(tool="Bash", args={"command": "head -1"}, output=whole)
    assert whole in session.search(whole, refs=[ref]).hits[0].excerpt and whole in session.search(whole, refs=[ref]).text


def test_short_queries_and_compacted_contexts_get_what_stands_there_whether_shown_or_not() -> None:
    session, ref, _ = given()
    assert len(PURPOSE.split()) > LONG
    for found in (session.search("conflicting option strings", refs=[ref]), session.search(PURPOSE)):
        assert not {"unseen", "shown"} & {signal for hit in found.hits for signal in hit.signals}
    session.compacted()
    unproven = session.gateway.session("another", scope=session.scope, proven=False)
    for one in (session, unproven):
        assert not {"unseen", "shown"} & {signal for hit in one.search(PURPOSE, refs=[ref]).hits for signal in hit.signals}


def test_whoever_is_not_known_gets_what_the_newest_view_left_out_and_the_best_place_whether_shown_or_not() -> None:
    session, ref, view = given()
    best = session.search(PURPOSE, refs=[ref]).hits[0]
    session.capture(tool="Bash", args={"command": "sed"}, output=best.excerpt + "\n")
    unproven = session.gateway.session("a server of tools", scope=session.scope, proven=False)
    found = unproven.search(PURPOSE, refs=[ref])
    assert found.hits[0].rank == 1 and found.hits[0].excerpt in found.text
    unseen = [line.strip() for hit in found.hits if hit.signals == ("unseen",) for line in hit.excerpt.split("\n") if len(line.strip()) > 9]
    shown = {line.strip() for line in view.split("\n")}
    assert len(unseen) > 20 and sum(line in shown for line in unseen) <= len(unseen) // 10


def test_what_was_shown_before_this_process_began_is_known(tmp_path: Path) -> None:
    with byref.open(f"file:{tmp_path}", profile="lean") as gateway:
        session = gateway.session("s", scope="here", context="window")
        ref = session.capture(tool="Read", args={"file_path": "/usr/lib/argparse.py"}, output=SOURCE).ref
        before = {hit.address for hit in session.search(PURPOSE, refs=[ref], layers=["text"]).hits if hit.signals == ("unseen",)}
    with byref.open(f"file:{tmp_path}", profile="lean") as gateway:
        session = gateway.session("s", scope="here", context="window")
        found = session.search(PURPOSE, refs=[ref], layers=["text"])
        assert len(before) > 9 and {hit.address for hit in found.hits if hit.signals == ("unseen",)} == before
        session.compacted()
        assert not {"unseen", "shown"} & {signal for hit in session.search(PURPOSE, refs=[ref]).hits for signal in hit.signals}
        other = gateway.session("another", scope="here", context="another").search(PURPOSE, refs=[ref])
        assert not {"unseen", "shown"} & {signal for hit in other.hits for signal in hit.signals}, "a context that was shown nothing"


def test_the_answer_is_the_same_again_and_keeps_to_its_size() -> None:
    session, ref, _ = given()
    for size in (150, 400, 1500):
        first = session.search(PURPOSE, refs=[ref], max_tokens=size, layers=["text"])
        assert first.text == session.search(PURPOSE, refs=[ref], max_tokens=size, layers=["text"]).text
        assert estimate(first.text) <= size and first.hits


def test_where_all_of_it_was_shown_the_best_place_is_said_again() -> None:
    session = byref.open("memory:").session("s")
    ref = session.capture(tool="Bash", args={"command": "tail"}, output=SOURCE, raw=True).ref
    (hit, *_) = session.search(PURPOSE, refs=[ref], max_tokens=400).hits
    assert hit.rank == 1 and hit.excerpt and not {"shown", "unseen"} & set(hit.signals)


def test_a_long_line_is_told_in_pieces_by_their_bytes() -> None:
    records = ",".join(f'{{"id": {n}, "title": "{"zebra" if n == 300 else "paper"} number {n} on topic {n * 31}"}}' for n in range(600))
    session = byref.open("memory:", profile="lean").session("s")
    view = session.capture(tool="mcp__works__list", args={}, output=f"[{records}]")
    hits = session.search(PURPOSE + " by the title of its paper", refs=[view.ref], max_tokens=800).hits
    assert view.gaps and hits
    assert all(hit.address.startswith("b") and hit.excerpt in f"[{records}]" for hit in hits)
