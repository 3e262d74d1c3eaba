"""`byref gc`, `purge` and `verify`."""
from __future__ import annotations

import pytest

from byref.proxy.frontends.upkeep import size


@pytest.mark.parametrize(("number", "text"), [
    (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (10 << 30, "10.0 GiB"), (1 << 60, "1048576.0 TiB")])
def test_sizes_read_well(number, text):
    assert size(number) == text


def test_gc_applies_the_age_and_keeps_the_rest(byref):
    byref("run", "--", "seq", "2000")
    assert b"0 outputs removed" in byref("gc").stdout
    assert b"1 outputs removed" in byref("gc", BYREF_MAX_AGE="0.001").stdout


def test_purge_leaves_no_byte_behind(byref):
    secret = "hunter2-correct-horse"
    byref("run", "--", "sh", "-c", f"for i in 1 2 3; do echo {secret}; done")
    name = byref("status").stdout.decode().splitlines()[1].split()[0]
    assert byref("purge", name).returncode == 0
    assert not [path for path in byref.home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert byref("purge", "rzzzzzzzzzz").returncode == 3


def test_verify_is_content_with_a_sound_store(byref):
    byref("run", "--", "seq", "20000")
    done = byref("verify")
    assert done.returncode == 0 and b"0 damaged" in done.stdout
