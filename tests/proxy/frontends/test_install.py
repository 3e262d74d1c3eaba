"""`byref install` and `uninstall`: shown first, done once, undone byte for byte."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byref.proxy.frontends import changes, install

SETTINGS = b'{\n    // mine\n    "model": "opus",\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}\n'


class User:
    """A user's folder, and the program run in it."""

    def __init__(self, shell: Any) -> None:
        self.shell, self.folder = shell, shell.folder.parent / "user"
        self.folder.mkdir()
        self.settings, self.servers = self.folder / ".claude" / "settings.json", self.folder / ".claude.json"

    def __call__(self, *words: str, code: int = 0, **env: str) -> str:
        done = self.shell(*words, HOME=str(self.folder), **env)
        assert done.returncode == code, done.stdout + done.stderr
        return str((done.stdout + done.stderr).decode())

    def files(self) -> dict[str, tuple[bytes, int]]:
        return {str(p.relative_to(self.folder)): (p.read_bytes(), p.stat().st_mode) for p in self.folder.rglob("*") if p.is_file()}


@pytest.fixture
def user(byref: Any) -> User:
    return User(byref)


def with_settings(user: User) -> None:
    user.settings.parent.mkdir()
    user.settings.write_bytes(SETTINGS)
    user.settings.chmod(0o600)
    user.servers.write_bytes(b'{"numStartups": 3, "mcpServers": {"t": {"command": "t"}}}')


def test_a_home_with_settings_is_as_it_was_byte_for_byte(user: User) -> None:
    with_settings(user)
    before = user.files()
    said = user("install", "claude-code", "--yes")
    assert "+" in said and "hook.py" in said and "byref uninstall claude-code" in said
    servers = json.loads(user.servers.read_text())
    assert set(servers["mcpServers"]) == {"t", "byref"} and servers["numStartups"] == 3
    assert "// mine" in user.settings.read_text() and user.settings.stat().st_mode & 0o777 == 0o600
    assert (user.folder / ".claude" / "skills" / "byref" / "SKILL.md").is_file()
    user("uninstall", "claude-code", "--yes")
    assert user.files() == before


def test_an_empty_home_is_empty_again(user: User) -> None:
    user("install", "claude-code", "--yes")
    assert len(user.files()) == 3
    user("uninstall", "claude-code", "--yes")
    assert list(user.folder.iterdir()) == [] and list(user.shell.home.glob("backups/*")) == []


def test_without_a_yes_nothing_is_changed(user: User) -> None:
    with_settings(user)
    before = user.files()
    assert "hook.py" in user("install", "claude-code", "--dry-run")
    assert "--yes" in user("install", "claude-code", code=2)
    assert user.files() == before and not (user.shell.home / changes.RECORD).exists()


def test_twice_is_once_and_undone_once(user: User) -> None:
    with_settings(user)
    before = user.files()
    user("install", "claude-code", "--yes")
    once = user.files()
    assert "already" in user("install", "claude-code", "--yes") and user.files() == once
    user("uninstall", "claude-code", "--yes")
    assert user.files() == before and "not set up" in user("uninstall", "claude-code", "--yes")


def test_what_others_changed_since_stays(user: User) -> None:
    with_settings(user)
    user("install", "claude-code", "--yes")
    user.settings.write_text(user.settings.read_text().replace('"opus"', '"haiku"'))
    changed = json.loads(user.servers.read_text()) | {"numStartups": 4}
    user.servers.write_text(json.dumps(changed))
    user("uninstall", "claude-code", "--yes")
    assert user.settings.read_bytes() == SETTINGS.replace(b"opus", b"haiku")
    assert json.loads(user.servers.read_text()) == {"numStartups": 4, "mcpServers": {"t": {"command": "t"}}}


def test_a_home_that_lost_our_record_is_cleaned_all_the_same(user: User) -> None:
    with_settings(user)
    user("install", "claude-code", "--yes")
    (user.shell.home / changes.RECORD).unlink()
    user("uninstall", "claude-code", "--yes")
    assert "byref" not in user.settings.read_text() and "hook.py" not in user.settings.read_text()
    assert json.loads(user.servers.read_text())["mcpServers"] == {"t": {"command": "t"}}
    assert not (user.folder / ".claude" / "skills" / "byref" / "SKILL.md").exists()


def test_another_installation_takes_the_place_of_an_old_one(user: User) -> None:
    with_settings(user)
    user("install", "claude-code", "--yes")
    for path in (user.settings, user.servers):
        path.write_text(path.read_text().replace("/python", "/old/python"))
    user("install", "claude-code", "--yes")
    assert "/old/python" not in user.settings.read_text() + user.servers.read_text()
    user("uninstall", "claude-code", "--yes")
    assert user.settings.read_bytes() == SETTINGS


def test_a_project_is_set_up_in_its_own_folder(user: User) -> None:
    subprocess.run(["git", "init", "-q", str(user.shell.folder)], check=True)
    below = user.shell.folder / "src"
    below.mkdir()
    user.shell.folder, project = below, user.shell.folder
    user("install", "claude-code", "--project", "--yes")
    assert "byref" in json.loads((project / ".mcp.json").read_text())["mcpServers"]
    assert json.loads((project / ".claude" / "settings.json").read_text())["enabledMcpjsonServers"] == ["byref"]
    assert user.files() == {} and "not set up" in user("uninstall", "claude-code", "--yes")
    user("uninstall", "claude-code", "--project", "--yes")
    assert sorted(p.name for p in project.iterdir()) == [".git", "src"]


def test_a_folder_that_was_there_stays_though_it_is_empty(user: User) -> None:
    user.settings.parent.mkdir()
    user.shell.folder = empty = user.folder.parent / "empty"
    empty.mkdir()
    user("install", "claude-code", "--project", "--yes")
    user("uninstall", "claude-code", "--project", "--yes")
    user("install", "claude-code", "--yes")
    user("uninstall", "claude-code", "--yes")
    assert list(empty.iterdir()) == [] and list(user.settings.parent.iterdir()) == []


def test_a_folder_of_settings_that_was_moved_is_honoured_and_links_are_followed(user: User, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    (elsewhere / "settings.json").write_bytes(SETTINGS)
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "settings.json").symlink_to(elsewhere / "settings.json")
    user("install", "claude-code", "--yes", CLAUDE_CONFIG_DIR=str(moved))
    assert (moved / "settings.json").is_symlink() and b"hook.py" in (elsewhere / "settings.json").read_bytes()
    assert (moved / ".claude.json").is_file() and user.files() == {}
    user("uninstall", "claude-code", "--yes", CLAUDE_CONFIG_DIR=str(moved))
    assert (elsewhere / "settings.json").read_bytes() == SETTINGS and [p.name for p in moved.iterdir()] == ["settings.json"]


def test_settings_that_cannot_be_read_are_not_touched(user: User) -> None:
    user.settings.parent.mkdir()
    user.settings.write_text('{"model": ')
    said = user("install", "claude-code", "--yes", code=2)
    assert str(user.settings) in said and user.settings.read_text() == '{"model": ' and not user.servers.exists()


def test_an_unknown_harness_is_told_with_those_there_are(user: User) -> None:
    assert "claude-code" in user("install", "emacs", "--yes", code=2)


def test_a_hook_whose_program_is_gone_stops_no_tool(tmp_path: Path) -> None:
    command = install.hook_command("claude-code").replace("hook.py", "gone.py")
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, cwd=tmp_path, check=False, env={"PATH": os.defpath})
    assert done.returncode == 0 and done.stdout == b""


def test_doctor_says_what_is_filtered_since_when_and_how_to_turn_it_off(user: User) -> None:
    assert "byref install claude-code" in user("doctor")
    user("install", "claude-code", "--yes")
    said = user("doctor")
    assert "since 20" in said and str(user.settings.parent) in said and "BYREF=off" in said and "[off]" in said
    (user.shell.home / "config.toml").write_text('[off]\ntools = ["WebFetch"]\n')
    (user.shell.home / "config.toml").chmod(0o600)
    assert "tools: WebFetch" in user("doctor")
    user.settings.write_text("{}")
    assert "no more" in user("doctor", code=1)
