"""An author's questions are read or told by line; a hit answers where it stands at the place, and figures are those of the books."""
from __future__ import annotations

from pathlib import Path

import pytest

from byref.proxy.errors import Invalid
from byref.proxy.frontends.questions import Gold, Question, figures, ranks, read, refs_of
from byref.proxy.reader import Hit

NAMES = {"logs/build.log": "raaaaaaaaaa", "works.json": "rbbbbbbbbbb"}


def hit(ref: str, address: str, excerpt: str = "") -> Hit:
    return Hit(ref, address, "", excerpt, (), (), "file", 0, 0)


HITS = [hit("rbbbbbbbbbb", "results[3].title", "Sparse attention"), hit("raaaaaaaaaa", "L40-49", "ok"),
        hit("raaaaaaaaaa", "L118-122", "ERROR: cannot link beacon")]


@pytest.mark.parametrize(("gold", "rank"), [
    (Gold("logs/build.log"), 2), (Gold("build.log"), 2), (Gold("raaaaaaaaaa"), 2), (Gold("works.json", "results[3]"), 1),
    (Gold("works.json", "results[30]"), None), (Gold("build.log", "L120-130"), 3), (Gold("build.log", "L50-117"), None),
    (Gold("build.log", "L49"), 2), (Gold(text="cannot link"), 3), (Gold("works.json", text="cannot link"), None)])
def test_a_hit_answers_where_it_stands_at_the_place(gold: Gold, rank: int | None) -> None:
    assert ranks(Question("q", "t", "why", (gold,)), HITS, NAMES) == [rank]


def test_addresses_of_two_kinds_meet_where_they_name_the_same_bytes() -> None:
    named = {"results[3]": (("b2:a", 100, 200),), "b150-160": (("b2:a", 150, 160),), "b200-260": (("b2:a", 200, 260),)}
    gold = Question("q", "t", "why", (Gold("works.json", "results[3]"),))
    hits = [hit("rbbbbbbbbbb", "b200-260"), hit("rbbbbbbbbbb", "b150-160")]
    assert ranks(gold, hits, NAMES, lambda ref, at: named.get(at, ())) == [2]
    assert ranks(gold, hits, NAMES) == [None]


def test_figures() -> None:
    assert figures([1, None]) == (1.0, 0.5, 1.0)
    assert figures([3]) == (0.0, 1.0, pytest.approx(1 / 3))
    assert figures([7, 9]) == (0.0, 0.0, pytest.approx(1 / 7))
    assert figures([5, 6]) == (0.0, 0.5, 0.2), "the fifth is among five, the sixth is not"
    assert figures([None]) == (0.0, 0.0, 0.0)
    assert figures([1, 2, 3, 4, 5, 6, 7])[1] == 1.0, "five places cannot hold seven"


def test_questions_are_read_with_what_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"query": "a", "gold": ["build.log"]}\n\n{"query": "b", "gold": [{"text": "x"}], "tag": "typo", "id": "two"}\n')
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors begin a file
    assert read(str(path)) == [Question("1", "all", "a", (Gold("build.log"),)), Question("two", "typo", "b", (Gold(text="x"),))]


@pytest.mark.parametrize(("line", "told"), [
    ("", "holds no question"), ("{", ":1 is no JSON"), ('{"gold": ["a"]}', ":1: an object with a `query`"),
    ('{"query": "a", "gold": []}', "`gold` is to be a list"), ('{"query": "a", "gold": [{"at": "L1"}]}', "gold 0: a place needs"),
    ('{"query": "a", "gold": [{"file": "x"}]}', "gold 0: a place has")])
def test_a_question_that_is_none_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "q.jsonl").write_text(line + "\n")
    with pytest.raises(Invalid, match=r"q\.jsonl") as fault:
        read(str(tmp_path / "q.jsonl"))
    assert told in str(fault.value)


def test_two_questions_with_one_id_are_refused_since_runs_are_compared_by_it(tmp_path: Path) -> None:
    (tmp_path / "q").write_text('{"id": "2", "query": "a", "gold": ["x"]}\n{"query": "b", "gold": ["x"]}\n')
    with pytest.raises(Invalid, match="two questions have the id '2'"):
        read(str(tmp_path / "q"))


def test_a_place_in_an_output_that_is_not_there_is_told() -> None:
    with pytest.raises(Invalid, match=r"no output 'other\.log' was given; there are logs/build\.log"):
        refs_of(Gold("other.log"), NAMES)
