"""`byref run`: the command's own output or a view of it; every byte is kept; whatever fails in byref, the raw output goes through."""
from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.run import OPTIONS, parse, quote

NUMBERS = b"".join(b"%d\n" % n for n in range(1, 20001))
BOTH = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo out $i; echo err $i >&2; done; exit 3"
# What `byref run -- true` must not load. _sqlite3, written in C, itself loads functools and what that needs.
HEAVY = {"typing", "dataclasses", "re", "json", "pathlib", "subprocess", "tempfile", "argparse", "asyncio", "logging", "contextlib",
         "collections", "enum", "datetime", "functools", "importlib", "urllib", "socket", "sqlite3", "shutil", "signal", "base64",
         "inspect", "threading", "zstandard", "re2", "numpy", "shlex", "tomllib", "platformdirs", "rfc8785"}


def test_a_large_output_becomes_a_view_with_a_ref_that_gives_every_byte(byref, ref):
    done = byref("run", "--", "seq", "20000")
    assert done.returncode == 0 and done.stderr == b"" and len(done.stdout) < len(NUMBERS) / 4
    assert byref("fetch", ref(done.stdout), "--all").stdout == NUMBERS


def test_a_small_output_passes_with_nothing_of_ours(byref):
    for script in ("echo hello", "printf 'no line end'", "printf ''", r"printf '\000\377\n'"):
        done, bare = byref("run", "-c", script), byref.bare("sh", "-c", script)
        assert (done.stdout, done.stderr) == (bare.stdout, b"")


def test_streams_stay_apart_in_the_view_and_in_the_store(byref, ref):
    done, bare = byref("run", "-c", BOTH), byref.bare("sh", "-c", BOTH)
    assert done.returncode == bare.returncode == 3
    assert b"out 3000" in done.stdout and b"err " not in done.stdout.partition(b"\n")[2]
    assert b"err 3000" in done.stderr and b"out " not in done.stderr
    name = ref(done.stdout)
    assert byref("fetch", name, "--part", "stdout", "--all").stdout == bare.stdout
    assert byref("fetch", name, "--part", "stderr", "--all").stdout == bare.stderr


def test_the_same_command_with_the_same_output_has_the_same_view(byref):
    assert len({byref("run", "--", "seq", "20000", PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}) == 1


def test_raw_shows_everything_and_stores_it(byref):
    done = byref("run", "--raw", "--", "seq", "20000")
    assert (done.stdout, done.stderr) == (NUMBERS, b"")
    recent = json.loads(byref("status", "--json").stdout)["recent"]
    assert [one["command"] for one in recent] == ["seq 20000"]
    assert byref("fetch", recent[0]["ref"], "--all").stdout == NUMBERS


def test_a_budget_an_intent_and_a_profile_change_the_view(byref):
    script = "for i in $(seq 4000); do echo line $((i * 7919 % 4001)) of nothing; done; echo needle in line 17"
    (byref.folder / "s").write_text(script)
    plain = byref("run", "--", "sh", "s").stdout
    assert len(byref("run", "--budget", "100", "--", "sh", "s").stdout) <= len(plain)
    assert b"needle" in byref("run", "--intent", "needle", "--", "sh", "s").stdout
    wrong = byref("run", "--profile", "none", "--", "sh", "s")
    assert wrong.returncode == 0 and wrong.stdout == byref.bare("sh", "s").stdout and wrong.stderr.count(b"byref: ") == 1


def test_off_is_the_bare_command(byref):
    done = byref("run", "--", "sh", "-c", "seq 20000; kill -9 $$", BYREF="off")
    assert (done.returncode, done.stdout, done.stderr) == (-9, NUMBERS, b"") and not byref.home.exists()
    missing = byref("run", "--", "no-such-command", BYREF="off")
    assert missing.returncode == 127 and b"command not found" in missing.stderr


@pytest.mark.parametrize("words", [
    [], ["--"], ["--nonsense", "true"], ["--budget"], ["--budget", "x", "true"], ["--raw=1", "true"], ["-c", "a", "b"]])
def test_wrong_use_says_so_and_runs_nothing(byref, words):
    done = byref("run", *words)
    assert done.returncode == 2 and done.stdout == b"" and done.stderr.startswith(b"byref: ") and done.stderr.count(b"\n") == 1


def test_options_of_the_command_are_its_own(byref):
    assert byref("run", "echo", "--raw", "-c", "--", "x").stdout == b"--raw -c -- x\n"
    assert parse(["--budget=8", "--", "--raw"]) == ({"--budget": "8"}, ["--raw"])


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_the_stored_command_line_reads_back_as_the_arguments(words):
    line = " ".join(map(quote, words))
    assert shlex.split(line) == words and [quote(word) for word in words] == [shlex.quote(word) for word in words]


def test_what_memory_does_not_hold_comes_back_exactly_from_its_file(byref, ref):
    script = "import os\nblock = bytes(range(32, 127)) + b'\\n'\n" \
             "for i in range(1200): os.write(1, b'%d ' % i + block * 100); os.write(2, b'%d ' % i + block * 20)"
    done, bare = byref("run", "--", sys.executable, "-c", script), byref.bare(sys.executable, "-c", script)
    assert len(bare.stdout) + len(bare.stderr) > 12 << 20 and len(done.stdout) < 1 << 20
    name = ref(done.stdout)
    assert byref("fetch", name, "--part", "stdout", "--all").stdout == bare.stdout
    assert byref("fetch", name, "--part", "stderr", "--all").stdout == bare.stderr


def test_past_the_limit_all_goes_out_raw_with_one_line_and_nothing_is_stored(byref):
    done = byref("run", "--", "seq", "20000", BYREF_RUN_LIMIT="50000")
    assert (done.returncode, done.stdout) == (0, NUMBERS) and done.stderr.startswith(b"byref: ") and done.stderr.count(b"\n") == 1
    assert json.loads(byref("status", "--json").stdout)["outputs"] == 0


def test_a_command_that_never_stops_streams_through_and_ends_with_its_reader(byref):
    done = subprocess.run(["sh", "-c", "byref run -- yes | head -n 200000 | tail -n 1"], capture_output=True, timeout=60, cwd=byref.folder,
                          env=byref.env | {"BYREF_RUN_LIMIT": "100kB"}, check=False)
    assert done.stdout == b"y\n" and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("fault", [
    {"BYREF_MAX_BYTES": "1000"}, {"BYREF_HOME": "/proc/none"}, {"BYREF_MAX_AGE": "soon"}, {"BYREF_PROFILE": "none"}])
def test_when_byref_cannot_store_the_raw_output_goes_through_with_one_line(byref, fault):
    done, bare = byref("run", "-c", BOTH, **fault), byref.bare("sh", "-c", BOTH)
    assert (done.returncode, done.stdout) == (3, bare.stdout)
    line = done.stderr.removesuffix(bare.stderr) if done.stderr.endswith(bare.stderr) else done.stderr.removeprefix(bare.stderr)
    assert line.startswith(b"byref: ") and line.count(b"\n") == 1


def test_a_damaged_installation_still_runs_commands(byref):
    broken = byref.folder / "broken"
    (broken / "google").mkdir(parents=True)
    (broken / "_sqlite3.py").write_text("raise RuntimeError('broken')")
    done = byref("run", "-c", BOTH, PYTHONPATH=str(broken))
    bare = byref.bare("sh", "-c", BOTH)
    assert (done.returncode, done.stdout) == (3, bare.stdout) and done.stderr.endswith(bare.stderr) and b"byref: " in done.stderr


@pytest.mark.parametrize("script", [
    "byref fetch @ --all", "byref fetch @ --all | cat",
    "env -i PATH=\"$PATH\" BYREF_HOME=\"$BYREF_HOME\" BYREF_INSIDE=\"$BYREF_INSIDE\" byref fetch @ --all",
    "python3 -c \"import subprocess; subprocess.run(['byref', 'fetch', '@', '--all'])\""])
def test_what_an_inner_fetch_returns_is_not_cut_or_stored_again(byref, ref, script):
    name = ref(byref("run", "--", "seq", "20000").stdout)
    done = byref("run", "-c", script.replace("@", name))
    assert (done.returncode, done.stdout, done.stderr) == (0, NUMBERS, b"")
    assert json.loads(byref("status", "--json").stdout)["outputs"] == 1


def test_text_that_looks_like_a_marker_is_cut_as_any_other(byref):
    done = byref("run", "-c", "for i in $(seq 9000); do echo '«rk7f3qmab2x seq: 2 of 9000 lines»'; done")
    assert len(done.stdout) < 20000


def test_a_run_inside_a_run_is_viewed_once(byref, ref):
    done = byref("run", "-c", "byref run -- seq 20000")
    assert byref("fetch", ref(done.stdout), "--all").stdout == NUMBERS
    assert json.loads(byref("status", "--json").stdout)["outputs"] == 1


def test_the_start_loads_nothing_heavy(byref):
    done = subprocess.run([sys.executable, "-X", "importtime", byref.env["PATH"].partition(":")[0] + "/byref", "run", "--", "true"],
                          capture_output=True, timeout=60, cwd=byref.folder, env=byref.env, check=True)
    rows = [line.split("|")[2][1:] for line in done.stderr.decode().splitlines() if line.count("|") == 2]
    names = [(len(row) - len(row.lstrip()), row.strip()) for row in rows]
    loaded, inside = set(), None
    for depth, name in reversed(names):  # a module stands below what it imported
        if inside is not None and depth > inside:
            continue
        inside = depth if name in ("_sqlite3", "site") else None
        loaded.add(name)
    assert {"byref.proxy.store.file", "_sqlite3"} <= loaded
    assert not {name for name in loaded if name in HEAVY or name.partition(".")[0] in HEAVY}


def test_the_help_of_run_names_every_option(byref):
    shown = byref("run", "--help").stdout.decode()
    assert all(option in shown for option in OPTIONS)
