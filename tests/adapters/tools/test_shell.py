"""shell runs what it is given, where it is allowed to, with what it is allowed to see, and ends it whole."""
from __future__ import annotations

import os
import time
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from byref.adapters.tools import shell
from byref.proxy.errors import Invalid
from byref.proxy.operations import Here, Result

RUN = shell.ADAPTER.operations[0].run


def run(place: Path, command: object, *, environ: dict[str, str] | None = None, room: int = 1 << 30, stop: bool = False,
        **more: object) -> tuple[bytes, bytes, Result]:
    assert RUN is not None
    where = Here(str(place), {"PATH": os.environ["PATH"], **(environ or {})}, lambda: stop, room)
    result = RUN({"command": command, **more}, where)  # type: ignore[dict-item]
    with cast(BinaryIO, result.parts["stdout"]) as out, cast(BinaryIO, result.parts["stderr"]) as err:
        return out.read(), err.read(), result


def test_streams_and_the_exit_code_are_the_commands_own(tmp_path: Path) -> None:
    out, err, result = run(tmp_path, "printf 'a\\nb'; printf 'c\\n' >&2; exit 3")
    assert (out, err, result.exit_code) == (b"a\nb", b"c\n", 3)


def test_a_signal_is_told_as_shells_tell_it(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -TERM $$")[2].exit_code == 128 + 15


def test_it_runs_in_the_folder_and_in_no_other(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "away").symlink_to("/")
    assert run(tmp_path, "pwd")[0].decode().strip() == os.path.realpath(tmp_path)
    assert run(tmp_path, "pwd", folder="below")[0].decode().strip() == os.path.realpath(tmp_path / "below")
    for folder in ("..", "/", "below/../..", "away", "missing", "be\0low", 3):
        with pytest.raises(Invalid):
            run(tmp_path, "pwd", folder=folder)


def test_only_variables_that_are_allowed_are_seen(tmp_path: Path) -> None:
    held = {"SECRET_TOKEN": "hush", "WANTED": "yes", "LANG": "C", "LC_TIME": "C"}
    assert b"hush" not in run(tmp_path, "env", environ=held)[0]
    out = run(tmp_path, "env", environ=held | {"BYREF_SHELL_ENV": "WANTED,OTHER"})[0]
    assert b"WANTED=yes" in out and b"LC_TIME=C" in out and b"hush" not in out


def test_at_the_end_of_its_time_the_whole_group_is_gone_and_what_came_stands(tmp_path: Path) -> None:
    began = time.monotonic()
    out, err, result = run(tmp_path, "echo begun; sleep 300 & echo $! > pid; wait", timeout=1)
    assert time.monotonic() - began < 60
    assert out == b"begun\n" and b"longer than 1 seconds" in err and result.exit_code == 124
    assert not _lives(int((tmp_path / "pid").read_text()))


def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    assert run(tmp_path, "sleep 300 & echo $! > pid")[2].exit_code == 0
    assert not _lives(int((tmp_path / "pid").read_text()))


def _lives(pid: int) -> bool:
    """Whether a process that was killed still runs: it may take a moment, and a zombie that nobody has waited for does not count."""
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except FileNotFoundError:
            return False
        time.sleep(0.01)
    return True


def test_an_endless_output_is_ended_and_its_start_kept(tmp_path: Path) -> None:
    out, err, result = run(tmp_path, "yes", room=100_000)
    assert len(out) == 100_000 and b"larger than the 100000 bytes" in err and result.exit_code == 124


def test_it_ends_when_nobody_waits_any_more(tmp_path: Path) -> None:
    _, err, result = run(tmp_path, "sleep 300", stop=True)
    assert b"nobody waits" in err and result.exit_code == 124


def test_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert run(tmp_path, "cat; echo done")[0] == b"done\n"


@pytest.mark.parametrize("more", [{"command": ""}, {"command": " "}, {"command": "a\0b"}, {"command": "\ud800"}, {"command": 3},
                                  {"timeout": 0}, {"timeout": 10**9}, {"timeout": True}, {"timeout": "5"}])
def test_arguments_that_make_no_command_are_told(tmp_path: Path, more: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        run(tmp_path, **{"command": "true", **more})  # type: ignore[arg-type]


def test_an_agent_gets_it_only_where_its_user_asked_for_it() -> None:
    assert shell.ADAPTER.optional and shell.ADAPTER.operations[0].cost
