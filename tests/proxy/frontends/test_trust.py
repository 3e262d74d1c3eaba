"""`byref trust`: a project's rules count once its user has said so."""
from __future__ import annotations

import pytest

RULE = 'argv = ["seq"]\ndrop = ["^1"]\nalways = ["^777$"]\n'


@pytest.fixture
def project(byref):
    (byref.folder / ".git").mkdir()
    (byref.folder / ".byref" / "rules").mkdir(parents=True)
    (byref.folder / ".byref" / "rules" / "seq.toml").write_text(RULE)
    return byref


def test_a_projects_rule_shapes_views_once_it_is_trusted_and_as_long_as_it_stays_as_it_was(project):
    file = project.folder / ".byref" / "rules" / "seq.toml"
    run = ("run", "--", "seq", "20000")
    plain = project(*run).stdout
    assert b"\n777\n" not in plain
    assert b"not trusted" in project("trust", "--list").stdout and b"not trusted" in project("rules").stdout
    done = project("trust")
    assert done.returncode == 0 and b"seq.toml (seq)" in done.stdout
    assert b"\n777\n" in project(*run).stdout and b"project  seq" in project("rules").stdout
    file.write_text(RULE.replace("777", "888"))
    assert b"changed" in project("trust", "--list").stdout and b"is not as it was trusted" in project("doctor").stdout
    assert project(*run).stdout == plain
    project("trust", ".")
    assert b"\n888\n" in project(*run).stdout
    assert b"no longer trusted" in project("trust", "--remove").stdout and project(*run).stdout == plain
    assert b"nothing of" in project("trust", "--remove").stdout


def test_a_users_rule_needs_no_trust_and_one_that_cannot_be_used_costs_nothing(project):
    (project.home / "rules").mkdir(parents=True)
    mine = project.home / "rules" / "mine.toml"
    mine.write_text('argv = ["seq"]\nalways = ["^555$"]\n')
    assert b"\n555\n" in project("run", "--", "seq", "20000").stdout
    mine.write_text('argv = ["seq"]\nalways = ["(^555$"]\n')
    done = project("run", "--", "seq", "20000")
    assert done.returncode == 0 and done.stdout.startswith("«r".encode()) and done.stderr == b""
    assert b"mine.toml: invalid: the pattern" in (project.home / "byref.log").read_bytes()
    doctor = project("doctor")
    assert doctor.returncode == 1 and b"mine.toml is skipped: invalid: the pattern" in doctor.stdout


def test_small_outputs_read_no_rules(project):
    (project.home / "rules").mkdir(parents=True)
    (project.home / "rules" / "mine.toml").write_text('argv = ["seq"]\nalways = ["(^555$"]\n')
    assert project("run", "--", "seq", "3").stdout == b"1\n2\n3\n"
    assert not (project.home / "byref.log").exists()


def test_where_there_is_nothing_to_trust_it_says_where_rules_go(byref):
    done = byref("trust")
    assert done.returncode == 1 and b".byref/rules holds no rules" in done.stderr
    assert b"nothing is trusted" in byref("trust", "--list").stdout
    assert byref("trust", "./missing").returncode == 1
