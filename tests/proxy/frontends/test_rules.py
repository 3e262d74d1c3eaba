"""`byref rules`: what is in force, and whether a file does what it says."""
from __future__ import annotations

from pathlib import Path

from byref.filters import ruling

SOUND = "argv = ['frob']\ndrop = ['^step']\n[[case]]\ncommand = 'frob'\noutput = '''\n" + "".join(
    f"step {k} of many alpha{k}\n" for k in range(99)) + "'''\nhides = ['step 50']\n"


def test_the_list_names_those_of_byref_the_users_and_what_they_hide(byref):
    own = sorted(path.stem for path in Path(ruling.FOLDER).glob("*.toml"))
    listed = byref("rules").stdout.decode().splitlines()
    assert [line.split()[:2] for line in listed] == [["byref", name] for name in own]
    (byref.home / "rules").mkdir(parents=True)
    (byref.home / "rules" / "frob.toml").write_text(SOUND)
    (byref.home / "rules" / f"{own[0]}.toml").write_text(SOUND.replace("frob", "grob"))
    listed = byref("rules", "list").stdout.decode().splitlines()
    assert "user     frob             frob" in listed
    assert next(line for line in listed if line.startswith(f"byref    {own[0]} ")).endswith("(another of this name goes before it)")


def test_check_says_what_is_wrong_and_fails(byref):
    (byref.folder / "frob.toml").write_text(SOUND)
    done = byref("rules", "check", "frob.toml")
    assert (done.returncode, done.stdout) == (0, b"1 rule checked, all is well\n")
    (byref.folder / "frob.toml").write_text(SOUND.replace("^step", "^stop"))
    done = byref("rules", "check", "frob.toml", "none.toml")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert lines[0] == "frob.toml:drop: '^stop' matches no line of any case; add a case that has one, or take it out"
    assert lines[1].startswith("none.toml:toml: ") and lines[2] == "2 rules checked, 2 to mend"


def test_check_without_files_takes_those_in_force(byref):
    (byref.home / "rules").mkdir(parents=True)
    (byref.home / "rules" / "frob.toml").write_text(SOUND.replace("['step 50']", "['none such']"))
    done = byref("rules", "check")
    assert done.returncode == 1 and b"frob.toml:case 1: 'none such' does not stand" in done.stdout
    assert byref("rules", "list", "x").returncode == 2
