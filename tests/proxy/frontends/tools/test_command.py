"""`byref TOOL`: what its operations take as options, its view on stdout, and an exit code that says how it went."""
from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from recorded import Recorded, recorded

REF = re.compile(rb"\xc2\xab(r[a-z2-7]{10}) ")


@pytest.fixture
def server(byref) -> Iterator[Recorded]:
    with recorded() as found:
        byref.env["BYREF_UPSTREAMS"] = ",".join(f"{name}={found.url}" for name in ("openalex", "exa", "context7"))
        yield found


def test_a_search_prints_the_view_and_every_byte_can_be_fetched(byref, server: Recorded) -> None:
    done = byref("openalex", "works", "--search", "late interaction retrieval")
    assert done.returncode == 0, done.stderr
    assert b"W4400000024|On " in done.stdout and b"meta.count=60" in done.stdout
    found = REF.search(done.stdout)
    assert found is not None
    assert byref("fetch", found[1].decode(), "results[0].id").stdout == b'"https://openalex.org/W4400000000"'
    assert byref("search", "method number 12 needs no index").stdout.count(b"abstracts:L") >= 1
    assert byref("openalex", "works", "late interaction retrieval").stdout == done.stdout


def test_pages_come_one_after_another(byref, server: Recorded) -> None:
    done = byref("openalex", "works", "--search", "a", "--cursor", "*", "--pages", "9")
    assert len(REF.findall(done.stdout)) == 3 and b"page 2 of 9" in done.stderr and done.returncode == 0


def test_an_answer_from_the_store_says_so(byref, server: Recorded) -> None:
    first = byref("context7", "docs", "/example/lib", "cache")
    again = byref("context7", "docs", "/example/lib", "cache", "--max-age", "1h")
    assert first.stdout == again.stdout and b"from the store" in again.stderr and len(server.asked) == 1


def test_exit_codes_tell_an_error_of_the_api_from_one_of_the_caller(byref, server: Recorded) -> None:
    server.fail[:] = [(404, {})]
    done = byref("openalex", "works", "--id", "W1")
    assert done.returncode == 1 and b"status 404" in done.stdout and b"answered 404" in done.stderr
    assert byref("openalex", "works").returncode == 2
    assert byref("openalex", "works", "--search", "a", "--per-page", "1000").returncode == 2
    assert byref("exa", "search", "a").returncode == 2  # no key
    byref.env["BYREF_UPSTREAMS"] = "openalex=http://127.0.0.1:1"
    done = byref("openalex", "works", "a")
    assert done.returncode == 1 and b"did not answer" in done.stderr


def test_what_runs_here_has_its_own_exit_code_and_streams(byref) -> None:
    (byref.folder / "a.txt").write_text("one\ntwo\n")
    assert (byref("grep", "two").returncode, byref("grep", "two").stdout) == (0, b"a.txt:2:two\n")
    assert byref("grep", "three").returncode == 1
    done = byref("shell", "echo out; echo err >&2; exit 5")
    assert (done.returncode, done.stdout, done.stderr) == (5, b"out\n", b"err\n")


def test_help_says_what_there_is(byref) -> None:
    assert b"openalex" in byref("--help").stdout
    assert b"works" in byref("openalex", "--help").stdout
    shown = byref("openalex", "works", "--help").stdout
    assert b"--search" in shown and b"--pages" in shown and b"--max-age" in shown
