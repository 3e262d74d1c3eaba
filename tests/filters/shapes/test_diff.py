"""Patches: every file, mode, rename, binary and hunk is named, and small changes stand whole beside big ones."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from byref.filters.detect import detect
from byref.filters.shapes.diff import SHAPE
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


# -- other kinds of patches, made by the real commands ------------------------------------------------

def sh(folder: Path, *argv: str) -> str:
    done = subprocess.run(argv, cwd=folder, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "surrogateescape")


BODY = [f"line {i} of the module with value_{i}" for i in range(400)]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit that says much, a lock file that changes everywhere, and a merge with a conflict resolved."""
    repo = tmp_path_factory.mktemp("history")

    def git(*argv: str) -> None:
        subprocess.run(["git", "-c", "user.name=Ann", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main", *argv], cwd=repo,
                       capture_output=True, check=True)

    def write(name: str, lines: list[str]) -> None:
        (repo / name).write_text("\n".join(lines) + "\n")

    git("init", "-q")
    write("app.sql", ["-- the first", *BODY, "-- the last"])
    write("package-lock.json", [f'"pkg-{i}": "1.{i}.0", "integrity": "sha512-{i * 7919:x}"' for i in range(900)])
    git("add", "-A")
    git("commit", "-qm", "begin")
    git("checkout", "-qb", "side")
    write("app.sql", ["-- the first", *BODY[:200], "side says one", *BODY[200:], "-- the last"])
    git("commit", "-qam", "side")
    git("checkout", "-q", "main")
    write("app.sql", ["-- the first", *BODY[:200], "main says two", *BODY[200:]])
    write("package-lock.json", [f'"pkg-{i}": "1.{i}.{i % 3}", "integrity": "sha512-{i * 7907:x}"' for i in range(900)])
    git("commit", "-qam", "Lower the lifetime to zero\n\n" + "\n".join(f"reason {i} is long" for i in range(90)))
    # A merge wants a name, too: without one it ends before it begins.
    merge = ["git", "-c", "user.name=Ann", "-c", "user.email=a@example.org", "merge", "-q", "side"]
    assert b"CONFLICT" in subprocess.run(merge, cwd=repo, capture_output=True, check=False).stdout
    write("app.sql", ["-- the first", *BODY[:200], "both say three", *BODY[200:]])
    git("-c", "core.editor=true", "commit", "-qam", "merged")
    return repo


def test_a_commit_with_its_statistics_and_a_lock_file(history: Path) -> None:
    shown = check(look(sh(history, "git", "show", "--stat", "-p", "HEAD^1"), "git show --stat -p HEAD^1"))
    assert shown.view.shape == "diff" and not shown.view.passed
    text = "\n".join(shown.lines)
    for stands in ("Author: Ann", "    Lower the lifetime to zero", " 2 files changed", "+main says two", "--- the last",
                   "+++ b/package-lock.json"):
        assert stands in text, stands
    assert sum("sha512" in line for line in shown.lines) < 40, "what a tool wrote comes last"


def test_the_result_of_a_merge(history: Path) -> None:
    raw = sh(history, "git", "show", "HEAD") + "".join(f"trailing context line {i}\n" for i in range(400))
    shown = check(look(raw, "git show HEAD", budget=120))
    assert shown.view.shape == "diff"
    for stands in ("diff --cc app.sql", "++both say three", "- main says two", " -side says one"):
        assert stands in shown.lines, shown.lines
    assert any(line.startswith("@@@ ") for line in shown.lines)


def test_a_removed_line_that_looks_like_a_header_is_a_removed_line(history: Path) -> None:
    raw = sh(history, "git", "diff", "HEAD~1^", "HEAD", "--", "app.sql")
    cut = SHAPE.units(raw, Call("Bash", {"command": "git diff"}))
    assert cut is not None
    at = cut.texts.index("--- the last")
    assert cut.worth[at] > 0, "it is a change of the hunk, no file's name"


@pytest.mark.parametrize("option", ["-r", "-ru", "-rc"])
def test_two_folders(tmp_path: Path, option: str) -> None:
    for name, lines in (("a", BODY), ("b", [*BODY[:150], "one more", *BODY[151:]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.py").write_text("\n".join(lines) + "\n")
        (tmp_path / name / "big.txt").write_text("\n".join(f"{name} {i} of the data" for i in range(700)) + "\n")
        (tmp_path / name / f"only_{name}.txt").write_text("x\n")
    raw = sh(tmp_path, "diff", option, "a", "b")
    shown = check(look(raw, f"diff {option} a b"))
    assert shown.view.shape == "diff" and not shown.view.passed
    text = "\n".join(shown.lines)
    assert "Only in a: only_a.txt" in text and "Only in b: only_b.txt" in text and f"diff {option} a/x.py b/x.py" in text
    assert "one more" in text and sum("of the data" in line for line in shown.lines) < 900


DATA = "".join(f"+row {i} of the data\n" for i in range(600))
SVN = f"""Index: src/auth.c
{"=" * 67}
--- src/auth.c\t(revision 12)
+++ src/auth.c\t(working copy)
@@ -1,3 +1,3 @@
 int a;
-int life = 3600;
+int life = 0;
 int b;
Index: data.txt
{"=" * 67}
--- data.txt\t(revision 12)
+++ data.txt\t(working copy)
@@ -1,0 +1,600 @@
{DATA}
Property changes on: run.sh
{"_" * 67}
Added: svn:executable
+*
"""
MAIL = """From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001
From: Ann <a@example.org>
Date: Sun, 1 Nov 2026 10:00:00 +0000
Subject: [PATCH 1/2] Lower the lifetime to zero

""" + "".join(f"Long reason {i} for it.\n" for i in range(120)) + f"""---
 src/auth.c | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/src/auth.c b/src/auth.c
index 1..2 100644
--- a/src/auth.c
+++ b/src/auth.c
@@ -1,3 +1,3 @@
 int a;
-int life = 3600;
+int life = 0;
 int b;
--{" "}
2.40.0

""" + "".join(f"diff --git a/d{i}.txt b/d{i}.txt\n--- a/d{i}.txt\n+++ b/d{i}.txt\n@@ -1,0 +1,600 @@\n{DATA}" for i in range(12))


@pytest.mark.parametrize(("raw", "stands"), [
    (SVN, ["Index: src/auth.c", "-int life = 3600;", "+int life = 0;", "Index: data.txt", "Property changes on: run.sh",
           "Added: svn:executable"]),
    (MAIL, ["From: Ann <a@example.org>", "Subject: [PATCH 1/2] Lower the lifetime to zero", " src/auth.c | 2 +-", "-int life = 3600;",
            "+int life = 0;", "diff --git a/d11.txt b/d11.txt"])], ids=["subversion", "mail"])
def test_patches_of_other_tools(raw: str, stands: list[str]) -> None:
    shown = check(look(raw, "cat change.patch | cat", budget=700))
    assert shown.view.shape == "diff" and not shown.view.passed
    assert [line for line in stands if line not in shown.lines] == []


def test_many_commits_show_their_files_before_their_hunks() -> None:
    raw = "".join(
        f"commit {i:040x}\nAuthor: Ann <a@example.org>\nDate:   Sun Nov 1 10:00:{i % 60:02} 2026\n\n    Change number_{i}\n\n"
        f"diff --git a/m{i}.py b/m{i}.py\nindex 1..2 100644\n--- a/m{i}.py\n+++ b/m{i}.py\n@@ -{i},3 +{i},3 @@ def f_{i}():\n"
        f"     a = {i}\n-    old_{i} = {i}\n+    new_{i} = {i}\n     b = {i}\n\n" for i in range(300))
    shown = check(look(raw, "git log -p"))
    assert all(f"diff --git a/m{i}.py b/m{i}.py" in shown.lines for i in range(300))
    assert len(shown.text) < len(raw) * 4 // 5


def test_what_stands_beside_a_patch_and_says_that_something_failed_stands() -> None:
    hunks = "".join(f"diff --git a/m{k}.py b/m{k}.py\n--- a/m{k}.py\n+++ b/m{k}.py\n@@ -1,40 +1,40 @@\n"
                    + "".join(f"-    error_{i} = fatal({k}, {i * k})\n+    fatal_{i} = error({k}, {i})\n" for i in range(40))
                    for k in range(12))
    raised = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nStop: 4\n"
    shown = check(look(hunks + "fatal: bad revision 'x'\n" + raised, "git diff; git show x; python a.py"))
    assert shown.view.shape == "diff" and shown.view.gaps and {"fatal: bad revision 'x'", "Stop: 4"} <= set(shown.lines)
    assert not any("failure" in marker for marker in shown.markers), "what a patch holds is none"
