"""The command line finds its commands, and importing it costs nothing."""
from __future__ import annotations

import subprocess
import sys

import byref as package
from byref.proxy.frontends import cli


def test_the_installed_program_says_its_version_and_commands(byref):
    assert byref("--version").stdout.decode() == f"byref {package.__version__}\n"
    shown = byref("--help").stdout.decode()
    for name in ("run", "pipe", "view", "fetch", "status", "report", "gc", "purge", "verify", "doctor"):
        assert f"\n    {name} " in shown
        assert byref(name, "--help").returncode == 0


def test_wrong_use_says_so():
    for words in ([], ["nonsense"], ["fetch"], ["fetch", "r", "--nonsense"]):
        program = [sys.executable, "-c", "from byref.proxy.frontends.cli import main; main()"]
        done = subprocess.run([*program, *words], capture_output=True, timeout=60, check=False)
        assert done.returncode == 2 and b"usage" in done.stderr


def test_it_can_be_called_from_python(capfd):
    assert cli.main(["--version"]) == 0
    assert capfd.readouterr().out.startswith("byref ")


def test_a_closed_standard_output_harms_nobody(byref):
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        done = byref.bare("sh", "-c", f"byref run -- sh -c 'echo x; exit 3' {closed}")
        assert done.returncode == 3, closed


def test_a_reader_that_goes_away_is_no_traceback(byref):
    byref("run", "--raw", "--", "seq", "20000")
    done = byref.bare("sh", "-c", "byref fetch $(byref status | sed -n '2s/ .*//p') --all | head -n 1")
    assert (done.stdout, done.stderr) == (b"1\n", b"")
