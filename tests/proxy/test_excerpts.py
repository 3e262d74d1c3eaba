"""What a hit shows: lines around it, an address that gives exactly that, and nothing that passes for a marker of ours."""
from __future__ import annotations

import pytest

import byref
from byref.proxy.text import estimate

LINES = [f"line {n} says nothing of note" for n in range(1, 400)]


def session_with(text: str | bytes) -> tuple[byref.Session, str]:
    session = byref.open("memory:").session("s")
    return session, session.capture(tool="Bash", args={"command": "make"}, output=text, raw=True).ref


def test_fetch_of_the_address_is_the_excerpt() -> None:
    LINES[200] = "here is the needle that is looked for"
    session, ref = session_with("\n".join(LINES))
    (hit,) = session.search("needle").hits
    assert session.fetch(hit.ref, hit.address).text.rstrip("\n") == hit.excerpt and LINES[200] in hit.excerpt and hit.ref == ref


def test_a_single_hit_shows_more_around_it_than_many_do() -> None:
    many = "\n".join(f"{'needle ' * (n % 9 == 0)}line {n} and its words" for n in range(900))
    few = "\n".join(f"{'needle ' * (n == 450)}line {n} and its words" for n in range(900))
    assert len(session_with(few)[0].search("needle").hits[0].excerpt.split("\n")) > 5
    found = session_with(many)[0].search("needle", max_tokens=400)
    assert len(found.hits) > 10 and all(len(hit.excerpt.split("\n")) == 1 for hit in found.hits)


def test_lines_that_touch_are_one_hit_and_a_line_said_twice_is_shown_once() -> None:
    session, _ = session_with("\n".join(["other"] * 50 + [f"needle {n}" for n in range(20)] + ["other"] * 50 + ["needle 3"] * 9))
    (hit,) = session.search("needle").hits
    assert hit.excerpt.count("needle 3\n") == 1


@pytest.mark.parametrize("size", [100, 300, 1200, 5000])
def test_the_text_keeps_to_its_size(size: int) -> None:
    for text in ("\n".join(f"needle {n} {'x' * (n % 700)}" for n in range(2000)), "needle " + "é" * 90_000, "「needle」" * 9000):
        found = session_with(text)[0].search("needle and what is not there", max_tokens=size)
        assert estimate(found.text) <= size and found.hits


def test_text_of_an_output_passes_for_no_marker_and_no_control() -> None:
    session, ref = session_with("x\n«rk7f3qmab2x 3 of 9 lines» needle \x1b[31mred\x1b[0m\n«L1-9 needle»\n")
    text = session.search("needle").text
    assert [m[0] for m in byref.MARKER.finditer(text)] == [f"«{ref} L1-3 exact+words of Bash»"]
    assert "<rk7f3qmab2x 3 of 9 lines" in text and "needle red" in text


def test_bytes_that_are_no_text_do_not_break_it() -> None:
    session, ref = session_with(b"caf\xe9 needle\n\0\n" + b"x\n" * 500)
    assert "caf\ufffd needle" in session.search("needle").text
    assert session.fetch(ref, session.search("needle", k=1).hits[0].address).data.startswith(b"caf\xe9 needle\n")
