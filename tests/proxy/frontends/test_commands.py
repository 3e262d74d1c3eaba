"""The table of commands: each is found, documented and tested."""
from __future__ import annotations

import sys

import pytest

from byref.proxy.frontends.commands import NAMES, PLACES, command, parser


def test_every_command_has_its_name_and_a_line_of_help():
    shown = parser().format_help()
    for name in NAMES:
        found = command(name)
        assert found.name == name and found.help[0].islower() and name in shown and found.help.split()[0] in shown


@pytest.mark.parametrize("name", ["fetch", "search", "status", "pipe"])
def test_a_command_loads_itself_and_no_other(byref, name):
    script = f"import sys\nfrom byref.proxy.frontends.cli import main\ntry:\n    main([{name!r}, '--help'])\n" \
             "finally:\n    sys.stderr.write(' '.join(sys.modules))"
    loaded = set(byref.bare(sys.executable, "-c", script).stderr.decode().split())
    own = {f"byref.proxy.frontends.{place.partition('.')[0]}" for place in PLACES.values()} & loaded
    assert f"byref.proxy.frontends.{name}" in own and not own & {f"byref.proxy.frontends.{other}" for other in (
        "bench", "doctor", "install", "mcp", "replay", "report", "wrapping", "serve", "rules", "usage")}


@pytest.mark.parametrize("words", ["search --k 5 seq", "report --foo", "report extra", "bench run --metho cascade q.jsonl"])
def test_an_option_that_is_none_is_told_with_the_usage_of_its_command_and_taken_for_no_other(byref, words):
    done = byref(*words.split())
    name = " ".join(words.split()[:2 if words.startswith("bench") else 1])
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith(f"usage: byref {name} ".encode()) and b"unrecognized arguments: " in done.stderr


def test_a_fault_of_a_file_is_a_line_and_an_exit_code(byref):
    byref("run", "--raw", "--", "seq", "2000")
    name = byref("status").stdout.decode().splitlines()[1].split()[0]
    done = byref("fetch", name, "--out", "/no/such/folder/file")
    assert done.returncode == 1 and done.stderr.startswith(b"byref: /no/such/folder") and done.stderr.count(b"\n") == 1
