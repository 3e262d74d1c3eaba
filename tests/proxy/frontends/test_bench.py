"""`byref bench`: an author's questions over files, scored by method and tag, and two runs compared."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from byref.proxy.frontends.bench import LAYER, Row, compare, methods, score


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    lines = [*(f"compiling unit_{n}" for n in range(300)), "ERROR: cannot link beacon_harbour", ""]
    (tmp_path / "logs" / "build.log").write_text("\n".join(lines))
    (tmp_path / "logs" / "notes.txt").write_text("the weather is fine\n" * 20)
    questions = [{"query": "beacon_harbour", "gold": [{"output": "build.log", "at": "L301"}], "tag": "identifier", "id": "link"},
                 {"query": "beacon_harbor", "gold": ["build.log"], "tag": "typo", "id": "typo"},
                 {"query": "weather", "gold": ["notes.txt"], "tag": "words", "id": "weather"}]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    return tmp_path


def test_a_run_is_scored_by_method_and_tag_and_kept(byref, world):
    done = byref("bench", "run", str(world / "q.jsonl"), str(world / "logs"), "--method", "cascade", "--method", "layer:trigram",
                 "--out", str(world / "run.jsonl"))
    table = done.stdout.decode().splitlines()
    assert done.returncode == 0, done.stderr
    assert table[0] == "| method | tag | questions | hit@1 | recall@5 | MRR@10 | ms |"
    rows = {tuple(line.split(" | ")[:2]): line.split(" | ")[2:6] for line in table[2:]}
    assert rows["| cascade", "all"] == ["3", "1.000", "1.000", "1.000"], table
    assert rows["| layer:trigram", "identifier"][:2] == ["1", "1.000"]
    assert byref("bench", "score", str(world / "run.jsonl")).stdout == done.stdout
    told = byref("bench", "compare", f"{world}/run.jsonl:layer:trigram", f"{world}/run.jsonl:cascade").stdout.decode()
    assert "| all | 3 | +" in told and " to +" in told
    same = byref("bench", "compare", f"{world}/run.jsonl", f"{world}/run.jsonl").stdout.decode()
    assert same.count("| all | 3 | +0.000 (+0.000 to +0.000) |") == 2, "two methods, each beside itself"
    twice = byref("bench", "score", str(world / "run.jsonl"), str(world / "run.jsonl")).stdout.decode()
    assert twice.count(f"{world}/run.jsonl\n") == 2 and twice.count("| cascade | all | 3 |") == 2, "runs are not added up"


def test_what_this_project_holds_can_be_asked_too(byref, ref, tmp_path):
    name = ref(byref("run", "--", "seq", "5000").stdout)
    (tmp_path / "q.jsonl").write_text(json.dumps({"query": "4711", "gold": [{"output": name, "at": "L4711"}]}) + "\n")
    done = byref("bench", "run", str(tmp_path / "q.jsonl"), "--method", "cascade")
    assert b"| cascade | all | 1 | 1.000 |" in done.stdout, done.stderr


def test_the_ledger_knows_nothing_of_it_and_no_method_is_given_what_another_computed(byref, ref, tmp_path):
    name = ref(byref("run", "--", "seq", "5000").stdout)
    (tmp_path / "q.jsonl").write_text(json.dumps({"query": "4711", "gold": [name]}) + "\n")
    before = byref("report", "--json").stdout
    done = byref("bench", "run", str(tmp_path / "q.jsonl"), "--method", "cascade", "--method", "rrf", "--method", "rrf")
    assert done.stdout.count(b"| rrf | all | 1 |") == 1, "a method that is named twice runs once"
    assert byref("report", "--json").stdout == before
    assert json.loads(byref("usage", "--json").stdout)["searches"] == 0


def test_a_record_is_met_by_a_hit_that_is_told_in_bytes(byref, tmp_path):
    records = [{"id": n, "title": f"Paper number {n} on caching", "year": 2000 + n % 26} for n in range(300)]
    (tmp_path / "data.json").write_text(json.dumps({"results": records}))
    (tmp_path / "q.jsonl").write_text('{"query": "Paper number 77 on caching", "gold": [{"output": "data.json", "at": "results[77]"}]}\n'
                                      '{"query": "Paper number 77 on caching", "gold": [{"output": "data.json", "at": "results[3]"}]}\n')
    done = byref("bench", "run", str(tmp_path / "q.jsonl"), str(tmp_path / "data.json"), "--method", "layer:text",
                 "--out", str(tmp_path / "run"))
    assert done.returncode == 0 and not done.stderr, done.stderr
    first, second = [json.loads(line)["ranks"] for line in (tmp_path / "run").read_text().splitlines()[1:]]
    assert first == [1] and second != [1], "the first hit covers the one and not the other"


@pytest.mark.parametrize("place", ['{"text": "zzzqqq"}', '{"output": "build.log", "at": "L9000"}',
                                   '{"output": "notes.txt", "at": "nothing[3]"}', '{"output": "notes.txt", "text": "beacon_harbour"}'])
def test_a_place_that_no_method_can_find_is_told(byref, world, place):
    (world / "q.jsonl").write_text(f'{{"query": "link", "gold": [{place}], "id": "q9"}}\n')
    done = byref("bench", "run", str(world / "q.jsonl"), str(world / "logs"), "--method", "layer:text")
    assert done.returncode == 0 and b"question q9: " in done.stderr and b"stands in no output" in done.stderr


def test_a_method_that_is_left_out_says_what_it_lacks(byref, world):
    done = byref("bench", "run", str(world / "q.jsonl"), str(world / "logs"), "--method", "layer:dense")
    assert b"layer:dense is left out: off: set BYREF_DENSE_MODEL" in done.stderr


@pytest.mark.parametrize("line", [b"\xff\xfe\x00", b"[1]", b'{"method": "m", "id": "1", "tag": "t", "ranks": [], "milliseconds": 1}',
                                  b'{"method": "m", "id": "1", "tag": "t", "ranks": [0], "milliseconds": 1}',
                                  b'{"method": "m", "id": "1", "tag": "t", "ranks": [1], "milliseconds": "fast"}', b"[" * 100_000])
def test_what_is_no_run_is_told_with_its_line(byref, tmp_path, line):
    (tmp_path / "run").write_bytes(line + b"\n")
    done = byref("bench", "score", str(tmp_path / "run"))
    assert done.returncode == 2 and b"run:1 is no line of a run" in done.stderr and not done.stdout


def test_an_empty_run_and_one_that_cannot_be_written_are_told(byref, world):
    (world / "empty").touch()
    done = byref("bench", "compare", str(world / "empty"), str(world / "empty"))
    assert done.returncode == 2 and b"empty holds no run" in done.stderr
    done = byref("bench", "run", str(world / "q.jsonl"), str(world / "logs"), "--out", str(world / "none" / "run"))
    assert done.returncode == 1 and b"No such file" in done.stderr and not done.stdout


def test_what_is_missing_is_told(byref, world):
    (world / "q.jsonl").write_text('{"query": "a", "gold": ["none.log"]}\n')
    done = byref("bench", "run", str(world / "q.jsonl"), str(world / "logs"))
    assert done.returncode == 2 and b"no output 'none.log'" in done.stderr
    done = byref("bench", "score", str(world / "q.jsonl"))
    assert done.returncode == 2 and b"q.jsonl:1 is no line of a run" in done.stderr
    done = byref("bench", "run", str(world / "q.jsonl"), str(world / "logs"), "--out", str(world / "q.jsonl"))
    assert done.returncode == 2 and b"a file of its own" in done.stderr and b"none.log" in (world / "q.jsonl").read_bytes()


def test_methods_are_the_profiles_and_each_layer_of_the_folder():
    found = methods()
    assert {"cascade", "rrf", "weighted", LAYER + "bm25", LAYER + "late"} <= set(found)
    assert LAYER + "contract" not in found


def test_a_score_says_all_first_where_there_are_tags():
    rows = [Row("m", "1", "a", (1,), 2.0), Row("m", "2", "b", (None,), 4.0)]
    assert score(rows).splitlines()[2:] == ["| m | all | 2 | 0.500 | 0.500 | 0.500 | 3.0 |", "| m | a | 1 | 1.000 | 1.000 | 1.000 | 2.0 |",
                                            "| m | b | 1 | 0.000 | 0.000 | 0.000 | 4.0 |"]


def test_questions_of_one_run_alone_are_left_out_and_told():
    one, two = [Row("m", str(n), "all", (1,), 0.0) for n in range(3)], [Row("m", str(n), "all", (2,), 0.0) for n in range(1, 5)]
    told = compare(one, two)
    assert "| all | 2 | -1.000 (-1.000 to -1.000) | +0.000 (+0.000 to +0.000) | -0.500 (-0.500 to -0.500) |" in told
    assert "3 questions stand in one" in told and "Intervals of fewer than 20 questions are too narrow" in told
    many = [Row("m", str(n), "all", (1,), 0.0) for n in range(20)]
    assert "too narrow" not in compare(many, many)
