"""`byref replay` answers what byref would have saved in sessions that are already there, with the figures of the evaluation."""
from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byref.proxy.frontends import replay
from byref.proxy.frontends.replay import _TOLD

LOG = "".join(f"2026-01-01 step {n} of the build: object file {n * 37 % 500}.o written\n" for n in range(400))


def claude(folder: Path, name: str) -> None:
    """A session as Claude Code writes it: a long log, of which the agent uses the error."""
    usage = {"input_tokens": 4, "cache_read_input_tokens": 10_000, "cache_creation_input_tokens": 2000, "output_tokens": 50}
    head = {"sessionId": name, "isSidechain": False, "version": "2.1.332"}
    rows = [
        {"type": "user", "uuid": name + "1", "message": {"role": "user", "content": "mend the build"}},
        {"type": "assistant", "uuid": name + "2", "message": {"role": "assistant", "id": "m1", "model": "claude-sonnet-4-5", "usage": usage,
         "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]}},
        {"type": "user", "uuid": name + "3", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": LOG + f"ERROR: cannot link beacon_{name}\n"}]}},
        {"type": "assistant", "uuid": name + "4", "message": {"role": "assistant", "id": "m2", "model": "claude-sonnet-4-5", "usage": usage,
         "content": [{"type": "text", "text": f"beacon_{name} cannot be linked"}]}}]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps({**head, **row}) + "\n" for row in rows))


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / "claude" / "projects" / "-home-dev-x"
    folder.mkdir(parents=True)
    for name in "abc":
        claude(folder, name)
    return folder


def test_it_finds_the_users_own_sessions(byref, projects):
    done = byref("replay", "--claude-code", "--jobs", "1", CLAUDE_CONFIG_DIR=str(projects.parent.parent))
    told = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert told.startswith("3 sessions (3 Claude Code), 6 requests, 3 tool outputs.")
    assert "With byref's profile `auto` 9" in told and "Of the whole bill it would have saved" in told
    assert done.stderr == b"", "no bar where there is no terminal"


def test_it_finds_them_where_older_versions_put_them_and_packed_and_beside_what_is_none(byref, tmp_path):
    for folder, name in ((".claude/projects/-home-dev-x", "a"), (".config/claude/projects/-home-dev-y", "b"),
                         (".claude/projects/-home-dev-z/s1/subagents", "c")):
        (tmp_path / folder).mkdir(parents=True)
        claude(tmp_path / folder, name)
    packed = tmp_path / ".config/claude/projects/-home-dev-y/b.jsonl"
    packed.with_name("b.jsonl.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    notes = tmp_path / ".claude/projects/-home-dev-x"
    (notes / "sessions-index.json").write_text('{"version": 1, "entries": []}')
    (notes / "d.jsonl").write_text('{"type": "summary", "summary": "A title", "leafUuid": "x"}\n')
    (notes / "s1").mkdir()
    (notes / "s1" / "tool-results.txt").write_text("x" * 1000)
    done = byref("replay", "--claude-code", "--jobs", "1", HOME=str(tmp_path), CLAUDE_CONFIG_DIR="")
    assert done.stdout.decode().startswith("3 sessions (3 Claude Code), 6 requests, 3 tool outputs.") and done.stderr == b""


def test_without_sessions_it_says_where_it_looked(byref, tmp_path):
    done = byref("replay", "--claude-code", CLAUDE_CONFIG_DIR=str(tmp_path / "none"))
    assert done.returncode == 2 and str(tmp_path / "none/projects").encode() in done.stderr
    assert byref("replay").returncode == 2


def test_a_folder_without_recordings_is_told(byref, tmp_path):
    done = byref("replay", str(tmp_path))
    assert done.returncode == 2 and f"no recording in {tmp_path}".encode() in done.stderr
    assert byref("replay", str(tmp_path), "--limit", "0").returncode == 2


def test_very_many_faults_are_counted_after_the_first(byref, projects):
    for number in range(_TOLD + 5):
        (projects / f"x{number}.jsonl").write_text("broken\n")
    done = byref("replay", str(projects), "--json", "--jobs", "1")
    assert done.stderr.decode().splitlines()[-1].endswith("more faults; --json lists all of them")
    assert len(done.stderr.splitlines()) == _TOLD + 1 and len(json.loads(done.stdout)["faults"]) >= _TOLD + 5


def test_the_bar_tells_what_is_through_and_not_what_is_read(monkeypatch, capsys):
    monkeypatch.setattr(replay, "_BAR", 0.0)
    bar = replay._Progress(8_000_000, True)
    for _ in range(2):
        bar.done(4_000_000)
        bar.given()
    bar.through()
    assert " 50%  1 sessions, 4 of 8 MB, 0 s left" in capsys.readouterr().err.split("\r")[-1]
    bar.through()
    assert "100%  2 sessions" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc to see processes in")
def test_processes_end_with_the_one_that_began_them_however_it_ends(tmp_path):
    script = f"from byref.proxy.frontends.commands import main; main(['replay', {str(tmp_path / 'log.jsonl')!r}, '--jobs', '2'])"
    (tmp_path / "log.jsonl").write_text(json.dumps({"id": "1", "source": "s", "task": "t", "turns": [
        {"tool": "Bash", "args": {"command": f"make {n}"}, "output": LOG, "next_action": f"step {n}"} for n in range(2000)]}) + "\n")
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    below = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    assert eventually(lambda: len(below.read_text().split()) >= 1)
    children = below.read_text().split()
    process.kill()
    process.wait()
    assert eventually(lambda: not any(Path(f"/proc/{child}/stat").exists() for child in children))


def eventually(seen) -> bool:
    """Whether something comes true within half a minute."""
    for _ in range(300):
        if seen():
            return True
        time.sleep(0.1)
    return False


def test_what_cannot_be_read_is_told_by_line_and_the_rest_is_read(byref, projects):
    with (projects / "a.jsonl").open("a") as file:
        file.write('{"type": "user", "mess')
    (projects / "other.json").write_text('{"a": 1}')
    done = byref("replay", str(projects), "--json", "--jobs", "2")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["profiles"]["auto"]["sessions"] == 3
    assert f"{projects}/a.jsonl:5: no JSON".encode() in done.stderr and b"other.json: no format that is known" in done.stderr
    assert len(told["faults"]) == 2


def test_limit_profiles_and_csv(byref, projects):
    done = byref("replay", str(projects), "--csv", "--limit", "2", "--profile", "safe", "--profile", "auto", "--jobs", "1")
    lines = done.stdout.decode().splitlines()
    assert [line.split(",")[:4] for line in lines[1:]] == [[name, "Claude Code", "claude-sonnet-4-5", profile]
                                                           for name in "ab" for profile in ("safe", "auto")]


def test_only_what_changed_lately_is_read_where_that_is_asked(byref, projects):
    os.utime(projects / "a.jsonl", (0, 0))
    done = byref("replay", str(projects), "--days", "2", "--csv", "--jobs", "1")
    assert [line.split(",")[0] for line in done.stdout.decode().splitlines()[1:]] == ["b", "c"]
    for file in projects.iterdir():
        os.utime(file, (0, 0))
    assert byref("replay", str(projects), "--days", "2").returncode == 2


@pytest.mark.parametrize(("words", "told"), [
    (("--days=-1",), b"is no number of days"), (("--days", "nan"), b"is no number of days"), (("--jobs", "99999"), b"256 at most"),
    (("--jobs", "0"), b"1 or more is meant"), (("--limit", "x"), b"1 or more is meant"), (("--json", "--csv"), b"not allowed with")])
def test_what_cannot_be_meant_is_told_before_anything_is_read(byref, projects, words, told):
    done = byref("replay", str(projects), *words)
    assert done.returncode == 2 and told in done.stderr and not done.stdout


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the script leaves its file to be closed for it
@pytest.mark.parametrize(("name", "limit", "profile"), [("local", 8, "auto"), ("open", 6, "lean")])
def test_the_figures_are_those_of_the_evaluation(byref, shared: Path, name: str, limit: int, profile: str):
    pytest.importorskip("toktok", reason="the extra `count` is not installed: the evaluation counts otherwise then")
    path = shared / "corpus" / f"trajectories-{name}.jsonl"
    done = byref("replay", str(path), "--limit", str(limit), "--profile", profile, "--json", "--jobs", "1")
    mine = json.loads(done.stdout)["profiles"][profile]
    spec = importlib.util.spec_from_file_location("evidence", shared / "eval" / "evidence.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    total, shares = module.replay(str(path), module.arm(f"byref@{profile}"), limit, None, False, None)
    count = total["ALL"]
    assert (mine["outputs"], mine["raw_tokens"], mine["view_tokens"], mine["longer"]) == tuple(
        count[key] for key in ("n", "raw", "view", "longer"))
    figures = mine["evidence"]
    for key in ("es", "data"):
        assert figures[key][0] == pytest.approx(sum(shares["ALL"][key]) / len(shares["ALL"][key]))
    assert figures["need"][0] == pytest.approx(1000 * count["need"] / max(1, count["raw"] - count["view"]))
    if count["edits"]:
        assert figures["edit"][0] == pytest.approx(count["edits_kept"] / count["edits"])
