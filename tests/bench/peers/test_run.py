"""The comparison as one command: what it measures on small recordings, and that an arm which fails takes nothing else with it."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from byref.proxy.ledger.trajectories import Trajectory, Turn

LINES = [f"module_{n}.py:{n}: note: field_{n * 37 % 1000} is never read" for n in range(400)]
OUTPUT = "\n".join(LINES)


def recorded(used: int) -> dict[str, object]:
    """A session whose agent later writes a name from line `used` of a long output."""
    name = LINES[used].split()[2]
    turns = [{"tool": "Bash", "args": {"command": "lint ."}, "output": OUTPUT, "next_action": f"grep -rn {name} src"},
             {"tool": "Bash", "args": {"command": f"grep -rn {name} src"}, "output": f"src/a.py:1: {name} = 1", "next_action": "done"}]
    return {"id": f"s{used}", "source": "made", "task": "tidy up", "turns": turns}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("trajectories-local", "trajectories-open"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(recorded(used)) + "\n" for used in (1, 200, 201, 399)))
    return tmp_path


def test_what_a_cut_loses_of_what_was_used_later_is_seen(run: ModuleType) -> None:
    given = [Trajectory("i", "made", "tidy up", (Turn("Bash", {"command": "lint ."}, OUTPUT, f"grep -rn {LINES[used].split()[2]}"),))
             for used in (1, 200)]
    table = run.arms()
    raw, cut, ours = (run.measured(name, table[name](), given) for name in ("raw", "head+tail 2000", "byref safe"))
    assert (raw.saved, raw.data, raw.need, raw.net) == (0, 1, 0, 0)
    assert cut.saved > 0.8 and cut.data == 0.5 and cut.need > 0 and cut.net < cut.saved
    assert 0 <= ours.saved < cut.saved and ours.data == 1 and ours.milliseconds > 0


def test_sessions_are_spread_over_a_file(run: ModuleType, corpus: Path) -> None:
    path = corpus / "trajectories-local.jsonl"
    assert [one.id for one in run.sessions(path, 2)] == ["s1", "s201"]
    assert [one.id for one in run.sessions(path, None)] == [one.id for one in run.sessions(path, 9)] == ["s1", "s200", "s201", "s399"]


def test_an_arm_that_fails_is_told_and_the_others_stand(
        run: ModuleType, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture = tmp_path / "benchmarks.md", tmp_path / "peers.svg"
    page.write_text(f"before\n{run.BEGIN}\nold\n{run.END}\nafter\n")
    for name, value in (("CORPUS", corpus), ("PAGE", page), ("PICTURE", picture), ("FILES", run.FILES[:1])):
        monkeypatch.setattr(run, name, value)
    missing = next((name for name in run.PACKAGES if not run.version(name)), None)
    if missing is None:
        pytest.skip("all packages are here: none can be missed")
    few = {name: arm for name, arm in run.arms().items() if name in ("raw", "head+tail 2000", missing)}
    monkeypatch.setattr(run, "arms", lambda: few)
    monkeypatch.setattr(sys, "argv", ["run.py", "--write", "--limit", "2"])
    assert run.main() == 1
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text and text == text.replace("\r", "")
    assert f"{missing} is not here: " in text and "| raw | 0.000 | 1.000 |" in text and "| head+tail 2000 | 0." in text
    assert text.count("2 sessions, 4 outputs") == 1 and picture.read_text().startswith("<svg")
    assert "| raw | 0.000 |" in capsys.readouterr().out


def test_an_unknown_arm_is_an_error_that_says_which_there_are(run: ModuleType, monkeypatch: pytest.MonkeyPatch,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "nobody"])
    with pytest.raises(SystemExit):
        run.main()
    assert "no arm nobody; there are raw, spill" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["run.py", "--write", "raw"])
    with pytest.raises(SystemExit):
        run.main()
    assert "--write takes all arms" in capsys.readouterr().err


def test_without_the_recordings_it_says_so(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "CORPUS", tmp_path / "none")
    monkeypatch.setattr(sys, "argv", ["run.py", "--write"])
    assert run.main() == 0 and capsys.readouterr().out.startswith("skipped: no ")


def test_a_page_without_marks_is_not_written_over(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PAGE", tmp_path / "benchmarks.md")
    (tmp_path / "benchmarks.md").write_text("no marks\n")
    with pytest.raises(SystemExit, match="lacks its marks"):
        run.page("text\n")
