"""What every list of MCP servers promises to be left like. A harness's own test inherits the suite and gives it a real file:

    class TestCursor(ListsSuite):
        NAME, PATH, PROJECT = "cursor", ".cursor/mcp.json", ".cursor/mcp.json"
        TEXT = '{"mcpServers": {…}}'
        WRAPPED, LEFT = ("git",), ("login",)
        THEIRS = ('"theme": "dark"', '"theme": "light"')

All of it by the command, in the home of a user of the test's own.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from byref.proxy import discover
from byref.proxy.frontends import changes, listed
from byref.proxy.frontends.commands import main
from byref.proxy.frontends.edits import read

COMMENT = re.compile(r"(?<![:\w])//.*|/\*.*?\*/|(?m:^|(?<=\s))#.*")


class User:
    """A user's folder, and the command run in it."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capfd = folder, capfd

    def __call__(self, *words: str, code: int = 0) -> str:
        self.capfd.readouterr()
        done = main(words)
        said = self.capfd.readouterr()
        assert done == code, said
        return said.out + said.err


class ListsSuite:
    """The promises, one test each. TOML where PATH says so. macOS has folders of its own: PATH is that of Linux."""

    NAME: str
    PATH: str  # below the user's folder
    PROJECT = ""  # below a project; empty where there is none
    TEXT: str
    WRAPPED: tuple[str, ...]
    LEFT: tuple[str, ...] = ()
    THEIRS: tuple[str, str]  # what somebody else changes meanwhile: what stands outside of the entries, and what it becomes
    FLAGS: tuple[str, ...] = ()

    @pytest.fixture
    def user(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> User:
        folder = tmp_path / "user"
        folder.mkdir()
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setenv("HOME", str(folder))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR",
                     "GEMINI_CLI_HOME", "BYREF_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(folder)
        return User(folder, capfd)

    @pytest.fixture
    def file(self, user: User) -> Path:
        return self.written(user.folder / self.PATH)

    def written(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.TEXT)
        path.chmod(0o600)
        return path

    def value(self, text: str) -> Any:
        return tomllib.loads(text) if self.PATH.endswith(".toml") else read(text).value

    def entries(self, text: str) -> dict[str, Any]:
        """All entries of a file, by name."""
        value, harness, found = self.value(text), discover.load("harnesses", self.NAME.replace("-", "_")), {}
        for path in harness.lists(value):
            held = value
            for key in path:
                held = held[key]
            found |= held
        return found

    def test_each_server_starts_through_byref_and_all_else_stays(self, user: User, file: Path) -> None:
        said = user("install", self.NAME, *self.FLAGS, "--yes")
        harness = discover.load("harnesses", self.NAME.replace("-", "_"))
        before, after = self.entries(self.TEXT), self.entries(file.read_text())
        assert list(before) == list(after) and set(before) == {*self.WRAPPED, *self.LEFT}
        for name, entry in after.items():
            old, new = harness.listed(before[name]), harness.listed(entry)
            if name in self.LEFT:
                assert entry == before[name] and (f"{name} stays as it is" in said) == (name != "byref"), "byref's own says nothing"
                continue
            assert new.command[:5] == (*listed.PROGRAM, "wrap") and listed.unwrapped(new) == old
            touched = {*harness.relisted(before[name], new)}
            assert {k: v for k, v in entry.items() if k not in touched} == {k: v for k, v in before[name].items() if k not in touched}
        assert file.stat().st_mode & 0o777 == 0o600 and "--- " in said and f"byref uninstall {self.NAME}" in said

    def test_comments_stay_in_their_order(self, user: User, file: Path) -> None:
        comments = COMMENT.findall(self.TEXT)
        user("install", self.NAME, *self.FLAGS, "--yes")
        text = file.read_text()
        places = [text.index(comment) for comment in comments]
        assert places == sorted(places) or self.PATH.endswith(".toml"), "what takes a line's place in TOML stands at the end of its table"

    def test_undone_it_is_as_it_was_byte_for_byte(self, user: User, file: Path) -> None:
        user("install", self.NAME, *self.FLAGS, "--yes")
        assert file.read_text() != self.TEXT
        user("uninstall", self.NAME, *self.FLAGS, "--yes")
        assert file.read_text() == self.TEXT and file.stat().st_mode & 0o777 == 0o600
        home = Path(user.folder / ".local" / "share" / "byref")
        assert list((home / "backups").iterdir()) == [] and changes.record(str(home)) == {}
        assert "no MCP server" in user("uninstall", self.NAME, *self.FLAGS, "--yes")

    def test_twice_is_once(self, user: User, file: Path) -> None:
        user("install", self.NAME, *self.FLAGS, "--yes")
        once = file.read_text()
        assert "already" in user("install", self.NAME, *self.FLAGS, "--yes") and file.read_text() == once
        user("uninstall", self.NAME, *self.FLAGS, "--yes")
        assert file.read_text() == self.TEXT

    def test_another_installation_takes_the_place_of_an_old_one(self, user: User, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as old:
            old.setattr(listed, "PROGRAM", ("/old/python", *listed.PROGRAM[1:]))
            user("install", self.NAME, *self.FLAGS, "--yes")
        assert "/old/python" in file.read_text()
        user("install", self.NAME, *self.FLAGS, "--yes")
        assert "/old/python" not in file.read_text() and file.read_text().count('"wrap"') == len(self.WRAPPED)
        user("uninstall", self.NAME, *self.FLAGS, "--yes")
        assert file.read_text() == self.TEXT

    def test_what_others_changed_meanwhile_stays(self, user: User, file: Path) -> None:
        assert self.TEXT.count(self.THEIRS[0]) == 1
        user("install", self.NAME, *self.FLAGS, "--yes")
        file.write_text(file.read_text().replace(*self.THEIRS))
        user("uninstall", self.NAME, *self.FLAGS, "--yes")
        assert file.read_text() == self.TEXT.replace(*self.THEIRS)

    def test_a_file_that_its_owner_wrote_anew_means_what_it_meant(self, user: User, file: Path) -> None:
        if self.PATH.endswith(".toml"):
            pytest.skip("its owner keeps the lines of TOML as they stand")
        user("install", self.NAME, *self.FLAGS, "--yes")
        file.write_text(json.dumps(self.value(file.read_text())))
        user("uninstall", self.NAME, *self.FLAGS, "--yes")
        assert self.value(file.read_text()) == self.value(self.TEXT)

    def test_without_a_record_the_commands_say_what_they_wrap(self, user: User, file: Path) -> None:
        user("install", self.NAME, *self.FLAGS, "--yes")
        (user.folder / ".local" / "share" / "byref" / changes.RECORD).unlink()
        user("uninstall", self.NAME, *self.FLAGS, "--yes")
        harness = discover.load("harnesses", self.NAME.replace("-", "_"))
        starts = [{name: harness.listed(entry) for name, entry in self.entries(text).items()} for text in (self.TEXT, file.read_text())]
        assert starts[0] == starts[1]

    def test_without_a_yes_nothing_is_changed(self, user: User, file: Path) -> None:
        assert '"wrap"' in user("install", self.NAME, *self.FLAGS, "--dry-run")
        assert file.read_text() == self.TEXT

    def test_a_file_that_cannot_be_read_is_told_and_not_touched(self, user: User, file: Path) -> None:
        for text in (self.TEXT[:self.TEXT.rindex('"')], "{[", '\ufeff{"a" 1}'):
            file.write_text(text)
            for command in ("install", "uninstall"):
                assert str(file) in user(command, self.NAME, *self.FLAGS, "--yes", code=2)
            assert file.read_text() == text

    def test_bytes_that_are_no_text_are_told_and_not_touched(self, user: User, file: Path) -> None:
        file.write_bytes(b'{"a": "\xff"}')
        assert str(file) in user("install", self.NAME, *self.FLAGS, "--yes", code=2) and file.read_bytes() == b'{"a": "\xff"}'

    def test_a_user_without_such_a_file_gets_none(self, user: User) -> None:
        assert "no MCP server to wrap" in user("install", self.NAME, *self.FLAGS, "--yes")
        assert [path for path in user.folder.rglob("*") if path.is_file()] == []

    def test_a_project_s_own_file(self, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
        if not self.PROJECT:
            assert "in a project" in user("install", self.NAME, *self.FLAGS, "--project", "--yes", code=2)
            return
        project = user.folder / "project"
        (project / "below").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        file, other = self.written(project / self.PROJECT), self.written(user.folder / self.PATH)
        monkeypatch.chdir(project / "below")
        user("install", self.NAME, *self.FLAGS, "--project", "--yes")
        assert '"wrap"' in file.read_text() and other.read_text() == self.TEXT
        user("uninstall", self.NAME, *self.FLAGS, "--project", "--yes")
        assert file.read_text() == self.TEXT

    def test_a_file_in_another_place(self, user: User, tmp_path: Path) -> None:
        file = self.written(tmp_path / "elsewhere" / Path(self.PATH).name)
        user("install", self.NAME, "--file", str(file), "--yes")
        assert '"wrap"' in file.read_text()
        user("uninstall", self.NAME, "--file", str(file), "--yes")
        assert file.read_text() == self.TEXT
