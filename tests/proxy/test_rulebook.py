"""Rules of a user and of a project: a project's count as long as they are what was trusted."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from byref.proxy import rulebook
from byref.proxy.errors import ConfigError
from byref.proxy.rulebook import Rulebook, distrust, states, trust


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "rules").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".byref" / "rules").mkdir(parents=True)
    return tmp_path / "project"


def put(folder: Path, name: str, text: str = 'argv = ["x"]\n') -> Path:
    path = (folder / ".byref" / "rules" if folder.name == "project" else folder / "rules") / name
    path.write_text(text)
    return path


def names(book: Rulebook, root: Path) -> list[str]:
    return [file.name for file in book.files(f"1000:{root}")]


def standing(home: Path, root: Path) -> dict[str, str]:
    return {os.path.basename(state.path): state.state for state in states(str(home), str(root))}


def test_a_projects_rules_go_before_a_users_and_count_once_they_are_trusted(home: Path, root: Path) -> None:
    put(home, "b.toml"), put(home, "a.toml"), put(root, "z.toml"), put(root, "notes.txt"), put(root, ".hidden.toml")
    book = Rulebook(str(home))
    assert names(book, root) == ["a", "b"] and standing(home, root) == {"z.toml": "new"}
    assert [file.name for file in trust(str(home), str(root))] == ["z"]
    assert names(book, root) == ["z", "a", "b"] and standing(home, root) == {"z.toml": "trusted"}
    assert [file.name for file in book.files("a name")] == ["a", "b"], "a scope that is no folder has no project"


def test_a_file_that_changed_or_came_later_is_not_trusted(home: Path, root: Path) -> None:
    path = put(root, "a.toml")
    trust(str(home), str(root))
    book = Rulebook(str(home))
    assert names(book, root) == ["a"]
    path.write_text('argv = ["y"]\n')
    os.utime(path, ns=(1, 1))  # the size is the same
    put(root, "b.toml")
    assert names(book, root) == [] and standing(home, root) == {"a.toml": "changed", "b.toml": "new"}
    path.write_text('argv = ["x"]\n')
    os.utime(path, ns=(2, 2))
    assert names(book, root) == ["a"], "what was trusted is trusted again"
    path.unlink()
    assert names(book, root) == [] and standing(home, root) == {"a.toml": "gone", "b.toml": "new"}
    trust(str(home), str(root))
    assert standing(home, root) == {"b.toml": "trusted"}


def test_trust_is_taken_back_for_one_project_alone(home: Path, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "second" / "project"
    (other / ".byref" / "rules").mkdir(parents=True)
    put(root, "a.toml"), put(other, "b.toml")
    trust(str(home), str(root)), trust(str(home), str(other))
    assert len(states(str(home))) == 2
    assert distrust(str(home), str(root)) == [str(root / ".byref/rules/a.toml")] and distrust(str(home), str(root)) == []
    assert standing(home, root) == {"a.toml": "new"} and standing(home, other) == {"b.toml": "trusted"}


def test_trust_of_one_file_is_not_trust_of_its_copy_elsewhere(home: Path, root: Path, tmp_path: Path) -> None:
    put(root, "a.toml")
    trust(str(home), str(root))
    put(root, "b.toml")
    assert standing(home, root) == {"a.toml": "trusted", "b.toml": "new"}


def test_nothing_is_read_again_before_it_changes(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(home, "a.toml")
    put(root, "b.toml")
    trust(str(home), str(root))
    book = Rulebook(str(home))
    first = book.files(f":{root}")
    with monkeypatch.context() as patch:
        patch.setattr(rulebook, "read", None)
        patch.setattr(rulebook, "trusted", None)
        assert book.files(f":{root}") is first
    path.write_text('argv = ["another"]\n')
    assert "another" in book.files(f":{root}")[1].text


def test_what_is_no_file_of_a_rule_is_passed_over(home: Path, root: Path) -> None:
    os.mkfifo(root / ".byref" / "rules" / "pipe.toml")
    (root / ".byref" / "rules" / "folder.toml").mkdir()
    put(root, "long.toml", "#" * (rulebook.LIMIT + 1))
    (root / ".byref" / "rules" / "odd.toml").write_bytes(b'argv = ["\xff"]\n')
    assert [file.name for file in trust(str(home), str(root))] == ["odd"]
    assert standing(home, root) == {"pipe.toml": "unreadable", "folder.toml": "unreadable", "long.toml": "unreadable",
                                    "odd.toml": "trusted"}
    assert names(Rulebook(str(home)), root) == ["odd"]
    assert Rulebook(str(home / "none")).files(f":{home}/none") == ()


def test_the_record_is_the_users_alone_and_whole(home: Path, root: Path) -> None:
    put(root, "a.toml")
    trust(str(home), str(root))
    record = home / rulebook.TRUSTED
    assert record.stat().st_mode & 0o777 == 0o600 and record.read_text().startswith("b2:")
    assert sorted(os.listdir(home)) == ["rules", rulebook.TRUSTED]


def test_a_path_that_no_record_can_hold_is_refused(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "a\nb" / "project"
    (root / ".byref" / "rules").mkdir(parents=True)
    put(root, "a.toml")
    with pytest.raises(ConfigError, match="line end"):
        trust(str(home), str(root))
