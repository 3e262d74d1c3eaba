"""The questions of bench/sets are as many and as they say, and the figures over them are the field's."""
from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

FEWEST = {"paraphrase": 60, "identifier": 60, "typo": 60, "language": 20}


@pytest.fixture(scope="module")
def bench(root: Path) -> ModuleType:
    if not (root / "bench").is_dir():
        pytest.skip("the folder bench is not here, as in an unpacked sdist")
    sys.path.insert(0, str(root / "bench"))
    try:
        return importlib.import_module("labelled")
    finally:
        sys.path.remove(str(root / "bench"))


@pytest.fixture(scope="module")
def retrieval(bench: ModuleType, root: Path) -> ModuleType:
    sys.path.insert(0, str(root / "bench"))
    try:
        return importlib.import_module("retrieval")
    finally:
        sys.path.remove(str(root / "bench"))


def rows(bench: ModuleType) -> list[list[str]]:
    return [line.split("\t") for line in (bench.SETS / "questions.tsv").read_text(encoding="utf-8").splitlines()]


def distance(a: str, b: str) -> int:
    """Optimal string alignment: an insertion, a deletion, another letter or two letters swapped each count one."""
    table = [[i + j if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def test_there_are_enough_questions_and_none_twice(bench: ModuleType) -> None:
    found = rows(bench)
    for tag, least in FEWEST.items():
        assert sum(row[0] == tag for row in found) >= least
    assert len({row[2] for row in found}) == len(found)


def test_a_typing_error_is_one_error_in_an_identifier_of_the_sets(bench: ModuleType) -> None:
    found = rows(bench)
    right = {row[3]: row[2] for row in found if row[0] == "identifier"}
    assert len(right) == sum(row[0] == "typo" for row in found)
    for tag, _, query, keys in found:
        if tag == "typo":
            assert distance(query, right[keys]) == 1, (query, right[keys])


def test_a_paraphrase_holds_no_name_of_its_answer(bench: ModuleType) -> None:
    for tag, _, query, keys in rows(bench):
        if tag == "paraphrase":
            names = [key.rpartition(" ")[2].rpartition(".")[2].lstrip("-").lower() for key in keys.split()]
            assert not set(query.lower().split()) & {name for name in names if "-" in name or "_" in name or len(name) > 8}, query


def test_every_question_has_an_answer_that_this_python_and_the_files_hold(bench: ModuleType) -> None:
    given = bench.labelled()
    frozen = (bench.SETS / "python.tsv").read_text(encoding="utf-8").count("\n")
    assert len(given.documents["python"]) + len(given.missing) == frozen
    if not given.missing:
        assert sum(question.collection != "cranfield" for question in given.questions) == len(rows(bench))
    for question in given.questions:
        assert question.answers.keys() <= given.documents[question.collection].keys()


def test_figures_are_those_of_the_field(retrieval: ModuleType) -> None:
    answers = {"a": 1, "b": 1}
    assert retrieval.figures(["a", "b", "c"], answers) == (1.0, 1.0, 1.0, 1.0)
    assert retrieval.figures([], answers) == (0.0, 0.0, 0.0, 0.0)
    first, recall, reciprocal, gain = retrieval.figures(["x", "a", "y", "z", "w", "b"], answers)
    assert (first, recall, reciprocal) == (0.0, 0.5, 0.5)
    assert gain == pytest.approx((1 / 1.58496 + 1 / 2.80735) / (1 + 1 / 1.58496), abs=1e-4)
    assert retrieval.figures(["x"] * 10 + ["a"], answers)[2] == 0.0, "only ten places count"
