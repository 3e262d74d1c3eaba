"""Patches: every file, mode, rename, binary and hunk is named, and small changes stand whole beside big ones."""
from __future__ import annotations

import subprocess

import pytest

from byref.filters.detect import detect
from byref.proxy.contracts import Call, Seen
from conformance.views import check, look


@pytest.fixture(scope="module")
def patch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A patch of git with a rename, a binary, a mode, a new, a deleted and a generated file, and a small change."""
    repo = tmp_path_factory.mktemp("repo")

    def git(*argv: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", "-C", str(repo), *who, *argv], capture_output=True, check=True).stdout.decode()

    body = "".join(f"line {i} of the module with value_{i}\n" for i in range(90))
    files = {"old_name.py": body, "run.sh": "echo a\n", "gone.txt": "last words\n", "auth.py": body, "data.csv": body}
    git("init", "-q")
    for name, text in files.items():
        (repo / name).write_text(text)
    (repo / "logo.png").write_bytes(b"\x89PNG\0\1" * 50)
    git("add", "-A")
    git("commit", "-qm", "first")
    (repo / "old_name.py").rename(repo / "new_name.py")
    (repo / "run.sh").chmod(0o755)
    (repo / "gone.txt").unlink()
    (repo / "logo.png").write_bytes(b"\x89PNG\0\2" * 70)
    (repo / "auth.py").write_text(body.replace("value_40", "lifetime_zero"))
    (repo / "data.csv").write_text("".join(f"{i};generated;{i * i % 977}\n" for i in range(900)))
    (repo / "fresh.py").write_text("answer = 42\n")
    git("add", "-A")
    return git("diff", "--cached", "-M")


@pytest.mark.parametrize("budget", [None, 60, 400])
def test_every_file_and_small_change_stands(patch: str, budget: int | None) -> None:
    shown = check(look(patch, "git diff", budget=budget))
    assert shown.view.shape == "diff" and not shown.view.passed
    headers = ("diff --git ", "rename ", "old mode", "new mode", "Binary files", "deleted file", "new file", "similarity", "@@ ", "+++ ")
    assert {line for line in patch.split("\n") if line.startswith(headers)} <= set(shown.lines)
    small = {"-line 40 of the module with value_40", "+line 40 of the module with lifetime_zero", "+answer = 42", "-last words"}
    assert small <= set(shown.lines)
    assert sum("generated" in line for line in shown.lines) < 700


def test_a_patch_is_told_from_text_that_mentions_one(patch: str) -> None:
    assert detect(patch, Call("Bash", {"command": "git diff"}))[0] == "diff"
    assert detect("--- a\n" * 50, Call("Bash", {"command": "cat x"}))[0] != "diff"
    assert detect("a hunk starts like this:\n@@ -1,3 +1,4 @@ def f():\n" * 9, Call("Bash", {"command": "notes"}))[0] != "diff"


def test_a_short_patch_stands_whole(patch: str) -> None:
    assert not look(patch[:8000], "git diff").view.gaps


def test_what_was_shown_is_no_failure(patch: str) -> None:
    first = look(patch, "git diff", profile="safe")
    again = check(look(patch, "git diff", seen=Seen(first.view.lines, first.view.terms, True)))
    assert not any("failure" in marker for marker in again.markers)
