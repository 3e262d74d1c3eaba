"""`byref fetch`: exact bytes by every kind of address, page by page or all at once, and misses that can be told apart."""
from __future__ import annotations

import base64
import sqlite3

import pytest

NUMBERS = b"".join(b"%d\n" % n for n in range(1, 20001))


@pytest.fixture
def stored(byref, ref):
    """The ref of the numbers from 1 to 20,000."""
    return ref(byref("run", "--", "seq", "20000").stdout)


def test_addresses_give_exactly_what_they_name(byref, stored):
    assert byref("fetch", stored, "L100-102").stdout == b"100\n101\n102\n"
    assert byref("fetch", stored, "b0-4").stdout == b"1\n2\n"
    assert byref("fetch", stored, "stdout:L5").stdout == byref("fetch", stored, "L5", "--part", "stdout").stdout == b"5\n"
    assert b"19999" in byref("fetch", stored, "/^19999$/").stdout


def test_pages_put_together_are_the_bytes(byref, stored):
    words, pages = [], []
    while True:
        done = byref("fetch", stored, "--max-tokens", "8000", *words)
        pages.append(done.stdout)
        if not done.stderr:
            break
        assert done.stderr.startswith(b"byref: ") and done.stderr.count(b"\n") == 1
        words = ["--cursor", done.stderr.decode().split("--cursor ")[1].split(",")[0]]
    assert len(pages) > 2 and b"".join(pages) == NUMBERS
    assert byref("fetch", stored, "--all", "--max-tokens", "3000").stdout == NUMBERS


def test_a_file_gets_all_of_it_and_a_miss_leaves_the_old_one(byref, stored):
    target = byref.folder / "out"
    assert byref("fetch", stored, "--out", "out").stdout == b"" and target.read_bytes() == NUMBERS
    assert byref("fetch", "runknown234", "--out", "out").returncode == 3 and target.read_bytes() == NUMBERS
    assert [path.name for path in byref.folder.iterdir()] == ["out"]


def test_binary_comes_exactly_and_as_base64(byref):
    data = bytes(range(256)) * 40
    (byref.folder / "data").write_bytes(data)
    byref("run", "--raw", "--", "cat", "data")
    name = byref("status").stdout.decode().splitlines()[1].split()[0]
    assert byref("fetch", name, "--all").stdout == data
    text = byref("fetch", name, "--all", "--base64").stdout
    assert base64.b64decode(text) == data and max(map(len, text.splitlines())) == 76


@pytest.mark.parametrize(("words", "code", "word"), [
    (["runknown234"], 3, b"unknown"), (["../../etc/passwd"], 2, b"invalid"), (["r'; DROP TABLE outputs; --"], 2, b"invalid"),
    (["STORED", "L30000-30001"], 2, b"invalid"), (["STORED", "L9-3"], 2, b"invalid"), (["STORED", "/(/"], 2, b"invalid"),
    (["STORED", "--part", "nothing"], 2, b"invalid"), (["STORED", "--cursor", "x"], 2, b"invalid"),
    (["STORED", "--max-tokens", "0"], 2, b"invalid")])
def test_a_miss_says_which_and_nothing_on_stdout(byref, stored, words, code, word):
    done = byref("fetch", *(stored if one == "STORED" else one for one in words))
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.startswith(b"byref: " + word) and done.stderr.count(b"\n") == 1


def test_a_ref_of_another_project_is_unknown_word_for_word(byref, stored):
    other = byref("fetch", stored, BYREF_SCOPE="elsewhere")
    never = byref("fetch", "rzzzzzzzzzz", BYREF_SCOPE="elsewhere")
    assert other.returncode == never.returncode == 3
    assert other.stderr.replace(stored.encode(), b"REF") == never.stderr.replace(b"rzzzzzzzzzz", b"REF")


def test_purged_and_expired_outputs_are_told_apart(byref, stored):
    assert byref("purge", stored).returncode == 0
    done = byref("fetch", stored)
    assert done.returncode == 5 and b"evicted" in done.stderr and b"seq" not in done.stderr
    byref("run", "--", "seq", "20000")
    assert byref("fetch", stored, "L1").stdout == b"1\n"
    byref("gc", BYREF_MAX_AGE="0.001")
    done = byref("fetch", stored)
    assert done.returncode == 4 and b"expired" in done.stderr and b"seq 20000" in done.stderr


def test_damaged_bytes_are_an_error_and_verify_says_which(byref, stored):
    (blob,) = [path for path in byref.home.rglob("*") if path.is_file() and "blobs" in path.parts and path.stat().st_size > 5000]
    data = bytearray(blob.read_bytes())
    data[len(data) // 3] ^= 1
    blob.chmod(0o600)
    blob.write_bytes(data)
    done = byref("fetch", stored, "--all")
    assert done.returncode == 6 and b"corrupt" in done.stderr and NUMBERS.startswith(done.stdout)
    assert byref("verify").returncode == 6


def test_a_store_that_cannot_be_used_says_so(byref, stored):
    for catalog in byref.home.glob("*.db"):
        with sqlite3.connect(catalog) as database:
            database.execute("PRAGMA user_version = 9999")
        database.close()
    done = byref("fetch", stored)
    assert done.returncode == 7 and done.stderr.startswith(b"byref: ") and done.stderr.count(b"\n") == 1
