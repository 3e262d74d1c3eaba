"""`byref doctor`: all is well, or what to do."""
from __future__ import annotations

from byref.proxy.frontends.doctor import extras


def test_a_sound_place_is_well(byref):
    byref("run", "--", "seq", "2000")
    done = byref("doctor")
    assert done.returncode == 0 and done.stdout.endswith(b"all is well\n") and str(byref.home).encode() in done.stdout
    assert b"1 outputs" in done.stdout and b"BYREF=off" in done.stdout


def test_it_changes_nothing(byref):
    byref("run", "--", "true")
    before = byref("status", "--json").stdout
    byref("doctor")
    assert byref("status", "--json").stdout == before


def test_each_problem_is_named_with_what_to_do(byref):
    byref("run", "--", "seq", "2000")
    next(path for path in byref.home.rglob("*") if path.is_file()).chmod(0o644)
    for change, words in (({}, b"chmod"), ({"BYREF_MAX_AGE": "soon"}, b"BYREF_MAX_AGE"), ({"PATH": "/usr/bin:/bin"}, b"PATH"),
                          ({"BYREF_HOME": "/proc/none"}, b"BYREF_HOME")):
        done = byref("doctor", **change)
        assert done.returncode == 1 and words in done.stdout and b"to mend" in done.stdout and done.stderr == b"", change


def test_extras_are_those_of_the_distribution():
    assert "dev" in dict(extras()) and "pytest" not in dict(extras())["dev"]
