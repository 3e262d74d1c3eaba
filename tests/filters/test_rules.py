"""Each file of filters/rules/ holds what it says: a new one is tested by lying there."""
from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from byref.filters import ruling
from byref.filters.checking import Case, cases_of, problems
from byref.filters.select import PLANS
from byref.proxy.contracts import RuleFile
from conformance.views import check, look

FILES = sorted(Path(ruling.FOLDER).glob("*.toml"))


def read(path: Path) -> RuleFile:
    return RuleFile(path.stem, path.read_text(encoding="utf-8"), str(path))


def cases(path: Path) -> list[Case]:
    return cases_of(tomllib.loads(path.read_text(encoding="utf-8")))[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_well_made_and_its_cases_hold(path: Path) -> None:
    assert problems(read(path), [read(other) for other in FILES]) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_views_keep_every_promise(path: Path) -> None:
    for case in cases(path):
        for profile in PLANS:
            for budget in (None, case.budget):
                made = [check(look(case.output, case.command, exit_code=case.exit_code, profile=profile, budget=budget)) for _ in range(2)]
                assert made[0].text == made[1].text


def test_all_files_of_the_folder_are_rules() -> None:
    assert {path.name for path in Path(ruling.FOLDER).iterdir()} == {path.name for path in FILES}
    assert [file.name for file in ruling.builtin()] == [path.stem for path in FILES]
