"""The table of commands: each is found, documented and tested."""
from __future__ import annotations

from byref.proxy.frontends.commands import COMMANDS, parser


def test_every_command_has_a_name_of_its_own_and_a_line_of_help():
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
    assert all(command.help and command.help[0].islower() for command in COMMANDS)
    shown = parser().format_help()
    assert all(command.name in shown and command.help.split()[0] in shown for command in COMMANDS)


def test_a_fault_of_a_file_is_a_line_and_an_exit_code(byref):
    byref("run", "--raw", "--", "seq", "2000")
    name = byref("status").stdout.decode().splitlines()[1].split()[0]
    done = byref("fetch", name, "--out", "/no/such/folder/file")
    assert done.returncode == 1 and done.stderr.startswith(b"byref: /no/such/folder") and done.stderr.count(b"\n") == 1
