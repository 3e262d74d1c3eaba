"""`byref view`: files through a view, and stored outputs once more."""
from __future__ import annotations

import json

NUMBERS = b"".join(b"%d\n" % n for n in range(1, 20001))


def test_a_file_becomes_a_view_and_every_byte_can_be_fetched(byref, ref):
    (byref.folder / "numbers").write_bytes(NUMBERS)
    done = byref("view", "numbers")
    assert done.returncode == 0 and len(done.stdout) < len(NUMBERS) / 2
    assert byref("fetch", ref(done.stdout), "--all").stdout == NUMBERS


def test_small_files_pass_and_missing_ones_are_named(byref):
    (byref.folder / "a b").write_bytes(b"one\r\n\xff")
    done = byref("view", "a b", "./missing", ".")
    assert (done.returncode, done.stdout) == (1, b"one\r\n\xff")
    assert [line.split(b":")[1].strip() for line in done.stderr.splitlines()] == [b"./missing", b"."]


def test_a_stored_output_is_viewed_again_and_not_stored_or_counted_again(byref, ref):
    first = byref("run", "--", "seq", "20000").stdout
    before = byref("report", "--json").stdout
    assert byref("view", ref(first)).stdout == first
    assert byref("view", "--raw", ref(first)).stdout == NUMBERS
    assert byref("report", "--json").stdout == before
    assert json.loads(byref("status", "--json").stdout)["outputs"] == 1


def test_an_unknown_ref_is_a_miss(byref):
    assert byref("view", "rzzzzzzzzzz").returncode == 3
