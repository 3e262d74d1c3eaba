"""How an inner byref tells the run around it."""
from __future__ import annotations

import os

import pytest

from byref.proxy.frontends import nested


def test_an_inner_byref_is_heard_once():
    path = nested.name()
    assert path != nested.name() and not nested.told(path)
    nested.tell(path)
    nested.tell(path)
    assert nested.told(path) and not os.path.exists(path)


@pytest.mark.parametrize("value", ["", "nonsense", "/tmp/byref-x-y", "/tmp/byref-99999999-00", "/tmp/byref-999999999999999999999999-00"])
def test_a_run_that_is_gone_is_told_nothing(value):
    nested.tell(value)
    assert not value or not os.path.exists(value)


@pytest.mark.parametrize(("command", "starts"), [
    ("byref fetch rk7f3qmab2x", True), ("cd x && byref fetch r", True), ("/usr/bin/byref status", True), ("(byref fetch r) | head", True),
    ("BYREF_SCOPE=x byref fetch r", True), ("env A=1 byref fetch r", True), ("echo byref", False), ("grep byref README.md", False),
    ("cat 'byref fetch", False), ("", False), ("echo 'x; byref fetch r'", False)])
def test_a_command_line_that_starts_byref_is_known_by_its_words(command, starts):
    assert nested.starts_byref(command) is starts
