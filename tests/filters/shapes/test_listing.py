"""Listings: folders and totals stand, what is left out is counted and named, and a heading is never misread as a path."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.detect import detect
from byref.filters.shapes.listing import SHAPE
from byref.proxy.contracts import Call
from conformance.outputs import KINDS, SHARED, made
from conformance.views import Shown, check, look

STDLIB = sysconfig.get_path("stdlib")
FOLDERS = ("json", "email", "asyncio", "logging", "xml", "unittest", "http", "wsgiref", "ctypes", "curses")


def run(*argv: str, cwd: Path | str | None = None) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"no {argv[0]} here")
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd, env=os.environ | {"LC_ALL": "C.UTF-8"}, check=False).stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project with one folder of many siblings."""
    root = tmp_path_factory.mktemp("project")
    names = [*(f"src/app/{n}.py" for n in ("main", "routes", "models")), *(f"migrations/{n:04}_change_{n}.sql" for n in range(90)),
             *(f"docs/guide/chapter-{n}.md" for n in range(30)), "docs/index.md", "README.md", "assets/logo.svg", "src/app/error.log"]
    for name in names:
        root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(name).write_text(name)
    return root


def full(shown: Shown) -> list[str]:
    """The paths that a view of a path list says there are: bare names are in the folder above them, up to a path of its own."""
    out, head = [], ""
    for line in shown.text.splitlines():
        if line.endswith("/") or "/" in line or line.startswith("«"):
            head = line if line.endswith("/") else ""
        if not line.endswith("/") and not line.startswith("«"):
            out.append(head + line)
    return out


@pytest.mark.parametrize(("command", "entries"), [
    ("ls -lR", 133), ("ls -R", 133), ("find .", 134), ("find . -type f", 127), ("find . -ls", 134), ("du -a", 133), ("tree", 134),
    ("tree --charset=ascii", 134), ("tar cv .", 133)])
def test_what_real_tools_print(project: Path, command: str, entries: int) -> None:
    raw = run(*command.split(), *(("-f", os.devnull) if command.startswith("tar") else ()), cwd=project)
    shown = check(look(raw, command))
    assert shown.view.shape == "listing" and len(shown.text) < len(raw) * 2 // 3
    assert shown.view.head.endswith(f" of {entries} entries»\n"), "one entry is one file or folder"
    assert int(shown.view.head.split()[1]) + sum(gap.count for gap in shown.view.gaps) == entries
    for name in ("migrations", "guide", "assets", "README.md", "main.py", "routes.py"):
        assert name in shown.text, "folders stand or are named"


def test_the_summary_of_a_tree_and_its_folders_stand(project: Path) -> None:
    raw = run("tree", str(project))
    shown = check(look(raw, "tree", budget=60))
    assert {line for line in raw.splitlines() if re.search(r"^\d+ directories", line)} <= set(shown.lines)
    shown = check(look(raw, "tree"))
    for folder in ("── docs", "── guide", "── migrations", "── src", "── assets"):
        assert folder in "\n".join(shown.lines)


def test_each_folder_of_a_long_listing_stands_above_what_it_holds() -> None:
    raw = run("ls", "-lR", *(f"{STDLIB}/{name}" for name in FOLDERS))
    shown = check(look(raw, "ls -lR"))
    heads = [line for line in raw.splitlines() if line.endswith(":") and "__pycache__" not in line]
    assert len(heads) > 10 and set(heads) <= set(shown.lines)
    assert not set(heads[1:]) & set(check(look(raw, "ls -lR", budget=30)).lines) or len(shown.text) < len(raw) // 2


def test_gaps_name_what_is_in_them(project: Path) -> None:
    shown = check(look(run("find", ".", "-type", "f", cwd=project), "find . -type f"))
    siblings = next(gap for gap in shown.markers if "change" in gap and "entries" in gap)
    assert int(re.search(r" (\d+) entries ", siblings)[1]) >= 80  # type: ignore[index]


def test_both_ends_of_many_siblings_show_what_they_are_like() -> None:
    rows = [f"-rw-r--r-- 1 root root {70_000 + n} Aug  8 05:24 part-{n:05}-of-10000.jsonl" for n in range(400)]
    remark = "Only the first files are shown."
    shown = check(look("\n".join(["total 818680", *rows, remark, ""]), "ls -la sample"))
    assert {rows[0], rows[-1], remark} <= set(shown.lines) and len(shown.lines) < 20


def test_what_the_task_names_stands_among_its_siblings(project: Path) -> None:
    raw = run("find", ".", "-type", "f", cwd=project)
    name = sorted(Path(line).name for line in raw.splitlines() if "change" in line)[40]
    assert name in "\n".join(check(look(raw, "find . -type f", task=f"Undo what {name} did.")).lines)


@pytest.mark.parametrize("profile", ["safe", "auto", "lean"])
@pytest.mark.parametrize("command", ["find . -type f", "git ls-files", "fd .", "git status --short"])
def test_a_folder_stands_once_and_no_path_is_misread(project: Path, command: str, profile: str) -> None:
    raw = run("find", ".", "-type", "f", cwd=project)
    if command != "find . -type f":
        rows = sorted(line[2:] for line in raw.splitlines())
        raw = "".join(("?? " if "status" in command else "") + row + "\n" for row in rows)
    raw = "".join(line + "\n" for line in raw.splitlines() for line in (line, line.replace("change", "data").replace("chapter", "part")))
    shown = check(look(raw, command, profile=profile))
    assert len(shown.text) < len(raw) * 9 // 10
    assert set(full(shown)) <= set(raw.splitlines()), "a bare name is under the heading above it, a path is its own"
    if profile == "safe":
        assert not shown.view.gaps and full(shown) == raw.splitlines()


def test_a_name_at_the_root_is_not_put_under_the_heading_before() -> None:
    rows = [f"{folder}/module_number_{n}.py" for folder in ("src/alpha", "src/beta", "src/gamma") for n in range(90)]
    rows.insert(90, "between.txt")
    shown = check(look("\n".join([*rows, "setup.py", ""]), "git ls-files", profile="safe"))
    assert {"between.txt", "setup.py", "src/beta/"} <= set(shown.lines) and full(shown) == [*rows, "setup.py"]


def test_paths_that_are_each_one_word_are_worth_leaving_out() -> None:
    raw = "".join(f"vendor/modules/{a}-{b}-{c}/package.json\n" for a in ("left", "right", "upper", "lower") for b in ("pad", "trim", "fold")
                  for c in ("core", "util", "types", "parser", "loader", "writer", "reader", "cache", "stream", "buffer", "router", "log"))
    shown = check(look(raw, "find vendor -name package.json"))
    assert len(shown.text) < len(raw) // 2 and "entries" in shown.markers[1]


def test_a_short_list_keeps_its_paths_whole(project: Path) -> None:
    raw = "".join(f"./src/app/module_{n}.py\n" for n in range(60))
    shown = check(look(raw, "find src", profile="safe"))
    assert shown.text == raw, "a later call copies a path as it stands"


def test_a_listing_that_the_caller_narrowed_stands_whole(project: Path) -> None:
    raw = run("find", ".", "-type", "f", cwd=project)
    assert not check(look(raw, "find . -type f | head -500")).view.gaps


@pytest.mark.parametrize(("raw", "command", "failure"), [
    ("find: ‘/root’: Permission denied\n", "find / -name x", "Permission denied"),
    ("ls: cannot access 'missing': No such file or directory\n", "ls -la missing", "cannot access"),
    ("UU src/app/merge_me.py\n", "git status --short", "UU src/app/merge_me.py"),
    ("├── UNMET DEPENDENCY left-pad@^1.3.0\n", "npm ls", "UNMET DEPENDENCY"),
    ("|    \\--- org.lost:lost:1.0 FAILED\n", "gradle dependencies", "FAILED"),
    ("└── jest@29.1.0 invalid: \"^30\" error\n", "npm ls", "invalid"),
])
def test_what_went_wrong_stands_in_the_middle_of_a_list(raw: str, command: str, failure: str) -> None:
    row = {"npm": "├── package-{}@1.0.{}\n", "gradle": "|    +--- org.example:part-{}:1.{}\n", "git": " M src/app/part_{}_{}.py\n",
           "ls": "-rw-r--r-- 1 root root 14 Aug  8 06:50 part_{}_{}.py\n"}.get(command.split()[0], "/usr/lib/part/file_{}_{}.py\n")
    rows = [row.format(n, n * 7) for n in range(300)]
    rows.insert(150, raw)
    shown = check(look("".join(rows), command, budget=None if command.startswith("git") else 80, exit_code=1))
    assert shown.view.shape == "listing" and failure in "\n".join(shown.lines)


def test_a_file_called_error_is_no_failure() -> None:
    raw = "".join(f"-rw-r--r-- 1 root root {n} Aug  8 06:50 {'error' if n % 2 else 'fatal'}_{n}.log\n" for n in range(200)) \
        + "".join(f"-rw-r--r-- 1 root root {n} Aug  8 06:50 error.{n}\n" for n in range(200))
    shown = check(look(raw, "ls -la logs"))
    assert len(shown.text) < len(raw) // 3 and "failure" not in "".join(shown.markers)


@pytest.mark.parametrize("text", [
    "".join(KINDS["match"](None, i) + "\n" for i in range(60)),
    "".join(f"2026-11-0{1 + i % 9} 12:00:00 INFO /var/lib/thing_{i} written\n" for i in range(60)),
    "".join(f"    import package.module_{i}\n" for i in range(60)), "".join(f"| {i} | a/b |\n" for i in range(60)),
    "".join(f"https://example.org/a/{i}\n" for i in range(60)), "".join(f"word number {i} of a text, and more\n" for i in range(60)),
])
def test_other_outputs_are_left_to_their_shapes(text: str) -> None:
    assert detect(text, Call("Bash", {"command": "cat notes"}))[0] != "listing"


@pytest.mark.parametrize(("tool", "arguments"), [("Glob", {"pattern": "**/*.py"}), ("mcp__filesystem__list_directory", {"path": "."})])
def test_tools_that_list(tool: str, arguments: dict[str, str]) -> None:
    row = "/srv/project/src/module_{}.py" if tool == "Glob" else "[FILE] module_{}.py"
    raw = "".join(row.format(n) + "\n" for n in range(200))
    shown = check(look(raw, tool=tool, arguments=arguments))
    assert shown.view.shape == "listing" and " of 200 entries»" in shown.view.head


@given(st.integers(0, 10**6), st.sampled_from(["ls -la", "find .", "tree", "git ls-files", "du -a", "npm ls"]),
       st.sampled_from(["safe", "auto", "lean"]))
def test_whatever_a_command_that_lists_prints(seed: int, command: str, profile: str) -> None:
    check(look(made(seed, 40), command, profile=profile))


def test_many_lines_and_long_lines() -> None:
    for raw in ("".join(f"./a/b{n % 700}/c{n}.py\n" for n in range(100_000)), "./a/" + "x" * 2_000_000 + "\n" + "./b/y\n" * 9,
                "/" * 500_000 + "\n./a\n" * 9):
        units = SHAPE.units(raw, Call("Bash", {"command": "find ."}))
        assert units is None or len(units.texts) >= 9


@pytest.mark.parametrize("name", ["ls_lR", "find_type_f", "find_node_modules", "npm_ls_all", "git_status_porcelain"])
def test_recorded_listings(name: str) -> None:
    file = SHARED / "corpus" / "logs" / "local" / f"{name}.txt"
    if not file.is_file():
        pytest.skip(f"no {file.name}: it is laid beside the checkout where this project is developed")
    command = {"ls": "ls -lR", "find": "find .", "npm": "npm ls --all", "git": "git status --porcelain"}[name.partition("_")[0]]
    raw = file.read_bytes()
    shown = check(look(raw, command))
    assert shown.view.shape == "listing" and len(shown.text.encode()) * 4 < len(raw) * 3
