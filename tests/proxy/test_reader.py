"""Second calls: exact, final, and clear about what is not there."""
from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byref
from byref.proxy.contracts import DERIVED, Store
from byref.proxy.errors import Corrupt, Evicted, Expired, Invalid, Unknown
from byref.proxy.reader import Page
from byref.proxy.text import estimate

LOG = "".join(f"line {i}\n" for i in range(1, 151))
PAGE = json.dumps({"meta": {"count": 3, "big": 7205759403792816603}, "results": [
    {"id": "W1", "title": "Käse", "n": None}, {"id": "W2", "title": "Brot", "n": 1.50}, {"id": "W3", "title": "Öl", "n": 2},
]}, ensure_ascii=False)


@pytest.fixture
def session() -> Iterator[byref.Session]:
    with byref.open("memory:") as gateway:
        yield gateway.session("a")


def put(session: byref.Session, output: Any, **named: Any) -> str:
    return session.capture(tool="shell", args={"command": "x"}, output=output, **named).ref


def pages(session: byref.Session, ref: str, at: str | None = None, **named: Any) -> list[Page]:
    found = [session.fetch(ref, at, **named)]
    while found[-1].cursor:
        found.append(session.fetch(ref, cursor=found[-1].cursor, **named))
    return found


def test_lines_are_inclusive_and_bytes_half_open(session: byref.Session) -> None:
    ref = put(session, LOG)
    assert session.fetch(ref, "L2-3").text == "line 2\nline 3\n"
    assert session.fetch(ref, "L150").data == b"line 150\n"
    assert session.fetch(ref, "b0-6").text == "line 1" and session.fetch(ref, f"b{len(LOG) - 4}-").text == "150\n"


def test_a_range_that_ends_outside_is_cut_and_says_so(session: byref.Session) -> None:
    ref = put(session, LOG)
    page = session.fetch(ref, "L149-400")
    assert page.text == "line 149\nline 150\n" and page.address == "L149-150" and "150 lines" in page.note
    page = session.fetch(ref, "b1240-9999")
    assert page.data == LOG.encode()[1240:] and str(len(LOG)) in page.note and page.address == f"b1240-{len(LOG)}"


@pytest.mark.parametrize(("at", "says"), [
    ("L151", "150 lines, L1-150"), ("L900-901", "L1-150"), ("b1242-1300", f"b0-{len(LOG)}"), ("results[0]", "JSON"), ("stderr:L1", "."),
    ("/(/", "RE2"),
])
def test_a_range_that_starts_outside_is_invalid_and_says_what_there_is(session: byref.Session, at: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        session.fetch(put(session, LOG), at)


def test_the_last_line_needs_no_newline_and_an_empty_output_is_empty(session: byref.Session) -> None:
    ref = put(session, "a\nb")
    assert session.fetch(ref, "L2").text == "b"
    with pytest.raises(Invalid, match="2 lines"):
        session.fetch(ref, "L3")
    empty = put(session, "")
    for at in (None, "L1", "L1-9", "b0-9", "/x/"):
        page = session.fetch(empty, at)
        assert (page.data, page.text, page.cursor) == (b"", "", None)
    with pytest.raises(Invalid, match="0 lines"):
        session.fetch(empty, "L2")


def test_json_paths_give_what_is_written(session: byref.Session) -> None:
    ref = put(session, PAGE)
    assert session.fetch(ref, "results[0].title").text == '"Käse"'
    assert session.fetch(ref, "$.meta.big").text == "7205759403792816603" and session.fetch(ref, "results[1].n").text == "1.5"
    assert session.fetch(ref, "results[0].n").text == "null"
    assert json.loads("[" + session.fetch(ref, "$.results[1:3]").text + "]")[1]["id"] == "W3"
    assert session.fetch(ref, "results[*].id").text == '"W1"\n"W2"\n"W3"'
    with pytest.raises(Invalid, match="title"):
        session.fetch(ref, "results[0].name")


def test_a_slice_that_reaches_beyond_is_cut_and_says_so(session: byref.Session) -> None:
    page = session.fetch(put(session, PAGE), "results[2:90]")
    assert json.loads(page.text)["id"] == "W3" and "3" in page.note


def test_records_are_those_of_the_outputs_own_list(session: byref.Session) -> None:
    page = session.fetch(put(session, PAGE), "records 1-2")
    assert page.address == "$.results[1:3]" and page.text == session.fetch(put(session, PAGE), "$.results[1:3]").text
    lines = put(session, '{"a":1}\n{"a":2}\n{"a":3}\n')
    assert json.loads(session.fetch(lines, "records 1").text) == {"a": 2}
    array = put(session, "[1,2,3,4]")
    assert session.fetch(array, "records 2-").text == "3,4"


def test_a_pattern_gives_its_lines_under_their_numbers(session: byref.Session) -> None:
    ref = put(session, LOG)
    assert session.fetch(ref, "/line 14$/±1").text == "L13-line 13\nL14:line 14\nL15-line 15\n"
    nothing = session.fetch(ref, "/nowhere/")
    assert nothing.data == b"" and "nothing matches" in nothing.note and nothing.cursor is None
    found = pages(session, ref, "/5/", max_tokens=30)
    assert len(found) > 2 and "".join(page.text for page in found) == session.fetch(ref, "/5/").text
    assert all(page.tokens <= 30 for page in found)


def test_parts_are_fetched_apart_and_together(session: byref.Session) -> None:
    ref = put(session, {"stdout": "out 1\nout 2\n", "stderr": b"err \xff\n" * 3, "empty": ""})
    assert session.fetch(ref).data == b"out 1\nout 2\n" + b"err \xff\n" * 3
    assert session.fetch(ref, part="stderr").data == b"err \xff\n" * 3 == session.fetch(ref, "stderr:").data
    assert session.fetch(ref, "stderr:L2").data == session.fetch(ref, "L2", part="stderr").data == b"err \xff\n"
    assert session.fetch(ref, "L2").address == "stdout:L2", "the first part that has it"
    assert session.fetch(ref, "L3").address == "stderr:L3"
    assert session.fetch(ref, "/2|err/").text.splitlines()[0] == "stdout:L2:out 2"
    for wrong in ({"part": "stdin"}, {"at": "stderr:L1", "part": "stdout"}):
        with pytest.raises(Invalid):
            session.fetch(ref, **wrong)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=3), st.integers(2, 60))
def test_pages_put_together_are_the_raw_bytes(datas: list[bytes], max_tokens: int) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        ref = put(session, {f"p{i}": data for i, data in enumerate(datas)})
        found = pages(session, ref, max_tokens=max_tokens)
        assert b"".join(page.data for page in found) == b"".join(datas)
        assert all(page.tokens == estimate(page.text) <= max_tokens or page.binary for page in found)


def test_pages_of_a_range_a_path_and_a_long_line_are_exact_too(session: byref.Session) -> None:
    line = put(session, json.dumps({"rows": list(range(20_000))}))
    raw = session.fetch(line, max_tokens=None).data
    assert b"".join(page.data for page in pages(session, line, max_tokens=1000)) == raw
    rows = session.fetch(line, "rows[100:5000]", max_tokens=None).data
    assert b"".join(page.data for page in pages(session, line, "rows[100:5000]", max_tokens=1000)) == rows
    found = pages(session, put(session, LOG), "L10-90", max_tokens=50)
    assert "".join(page.text for page in found) == "".join(f"line {i}\n" for i in range(10, 91))
    assert all(page.text.endswith("\n") for page in found)


def test_a_page_says_where_its_bytes_lie(session: byref.Session) -> None:
    ref = put(session, LOG)
    for page in pages(session, ref, "L10-90", max_tokens=50):
        assert session.fetch(ref, page.address).data == page.data


def test_a_cursor_is_enough_alone_and_no_other_text_is_one(session: byref.Session) -> None:
    ref = put(session, LOG)
    first = session.fetch(ref, "L10-90", max_tokens=50)
    assert first.cursor and len(first.cursor) < 30
    second = session.fetch(ref, "L10-90", cursor=first.cursor, max_tokens=50)
    assert session.fetch(ref, cursor=first.cursor, max_tokens=50).data == second.data
    with pytest.raises(Invalid, match="cursor"):
        session.fetch(ref, "L1-5", cursor=first.cursor)
    for wrong in ("", "x", "@", "12", "99999@", "-1@", "1.2.3@/x/", "٣@", "²@", "9.9@/x/", "0x1@"):
        with pytest.raises(Invalid):
            session.fetch(ref, cursor=wrong)


def test_text_that_holds_nuls_is_text(session: byref.Session) -> None:
    """As `find -print0`, `grep -z` and `git -z` write it, and a log whose disk was full: what a view shows as text can be read on."""
    for data in (b"\0".join(b"src/module_%d/names.py" % i for i in range(900)), b"a line\n" * 100 + b"\0" * 9 + b"more of the log\n" * 900):
        ref = put(session, data)
        assert (page := session.fetch(ref)).text == data[:len(page.data)].decode() and not page.binary
        assert session.fetch(ref, "b40-80").text == data[40:80].decode()


def test_binary_says_what_it_is_and_comes_as_bytes_or_base64(session: byref.Session) -> None:
    data = b"\x89PNG\r\n\x1a\n\0" + bytes(range(256)) * 40
    ref = put(session, {"stdout": "text first\n", "image": data})
    page = session.fetch(ref, part="image")
    assert page.binary and page.data == data[:len(page.data)] and f"{len(data)} bytes" in page.text and "base64" in page.note
    found = pages(session, ref, part="image", encoding="base64", max_tokens=500)
    assert b"".join(base64.b64decode(page.text) for page in found) == data and all(page.tokens <= 500 for page in found)
    first, *rest = pages(session, ref)
    assert first.text == "text first\n" and not first.binary and b"".join(page.data for page in rest) == data
    with pytest.raises(Invalid, match="base64"):
        session.fetch(ref, encoding="hex")


def test_a_budget_below_one_character_is_invalid(session: byref.Session) -> None:
    with pytest.raises(Invalid, match="max_tokens"):
        session.fetch(put(session, LOG), max_tokens=1)


def test_each_kind_of_miss_keeps_its_own_words() -> None:
    now = [0.0]
    with byref.open("memory:", max_age=600, max_bytes=300_000, clock=lambda: now[0]) as gateway:
        session = gateway.session("a")
        for wrong in ("", "../../etc/passwd", "a'; DROP TABLE outputs; --", "%2e%2e", "r" * 65, "ünknown"):
            with pytest.raises(Invalid, match=r"^invalid: "):
                session.fetch(wrong)
        with pytest.raises(Unknown, match=r"^unknown: "):
            session.fetch("rk7f3qmab2x")
        old = put(session, LOG)
        now[0] = 601
        with pytest.raises(Expired, match=r"^expired: .*again: x"):
            session.fetch(old)
        refs = [put(session, f"{i}\n" * 4000) for i in range(60)]
        with pytest.raises(Evicted, match=r"^evicted: .*again: x"):
            session.fetch(refs[0])
        assert put(session, LOG) == old and session.fetch(old).text == LOG


def test_a_ref_of_another_scope_is_unknown_word_for_word(session: byref.Session) -> None:
    ref = put(session, LOG)
    other = session.gateway.session("b")
    said = []
    for name in (ref, "r" + "a" * 10):
        with pytest.raises(Unknown) as caught:
            other.fetch(name)
        said.append(str(caught.value).replace(name, "REF"))
    assert said[0] == said[1]


def test_damaged_bytes_are_an_error_never_wrong_bytes(tmp_path: Path) -> None:
    import random
    data = random.Random(1).randbytes(400_000).hex().encode()
    with byref.open(f"file:{tmp_path}/store") as gateway:
        session = gateway.session("a")
        ref = put(session, data)
        files = [file for file in (tmp_path / "store" / "blobs").rglob("*") if file.is_file()]
        blob = max(files, key=lambda file: file.stat().st_size)
        content = bytearray(blob.read_bytes())
        content[len(content) // 2] ^= 1
        blob.chmod(0o600)
        blob.write_bytes(content)
    with byref.open(f"file:{tmp_path}/store") as gateway:
        session = gateway.session("a")
        assert session.fetch(ref, "b0-100").data == data[:100], "a range verifies the frames it touches"
        with pytest.raises(Corrupt, match=r"^corrupt: "):
            session.fetch(ref, max_tokens=None)
        with pytest.raises(Corrupt):
            list(session.blocks(ref))
        with pytest.raises(Corrupt):
            pages(session, ref, max_tokens=50_000)


def test_bytes_that_are_missing_are_corrupt_not_unknown(session: byref.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    ref, store = put(session, LOG), session.gateway.store

    def gone(digest: str) -> Any:
        raise Unknown(digest)

    monkeypatch.setattr(store, "open", gone)
    with pytest.raises(Corrupt, match=ref):
        session.fetch(ref)


def test_a_fetch_is_logged_and_neither_stored_nor_shortened(session: byref.Session) -> None:
    big = "".join(f"line {i} of a long log that a view would shorten\n" for i in range(3000))
    ref = put(session, big)
    before = session.gateway.store.usage().outputs
    assert session.fetch(ref, max_tokens=None).text == big
    assert session.gateway.store.usage().outputs == before
    assert session.gateway.report().total.fetched == estimate(big)


def test_a_store_that_cannot_log_still_answers(session: byref.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.proxy.errors import StoreReadOnly
    ref = put(session, LOG)

    def refuse(*_: object) -> None:
        raise StoreReadOnly("read-only")

    monkeypatch.setattr(session.gateway.store, "log", refuse)
    assert session.fetch(ref).text == LOG


def test_status_says_what_is_held_and_what_was_cached_lately() -> None:
    now = [1000.0]
    with byref.open("memory:", clock=lambda: now[0]) as gateway:
        session = gateway.session("a")
        first = session.capture(tool="shell", args={"command": "pytest -x " + "y" * 100}, output=LOG).ref
        now[0] += 90
        second = session.capture(tool="Read", args={"file_path": "a.py"}, output="x").ref
        gateway.session("b").capture(tool="shell", output="of another scope")
        now[0] += 9999
        status = session.status()
        assert (status.outputs, status.size) == (2, len(LOG) + 1)
        assert [(r.ref, r.tool, r.age, r.size) for r in status.recent] == [(second, "Read", 0.0, 1), (first, "shell", 90.0, len(LOG))]
        assert status.recent[1].command.startswith("pytest -x") and len(status.recent[1].command) == 60
        assert first in status.text and "another" not in status.text and "1m" in status.text


def test_status_of_an_empty_scope(session: byref.Session) -> None:
    assert session.status().recent == () and session.status().text.startswith("0 outputs")


def test_blocks_of_a_part(session: byref.Session) -> None:
    ref = put(session, {"stdout": "a" * 3_000_000, "stderr": "b"})
    assert b"".join(session.blocks(ref)) == b"a" * 3_000_000 + b"b" and list(session.blocks(ref, "stderr")) == [b"b"]
    with pytest.raises(Invalid):
        session.blocks(ref, "stdin")


def test_the_store_protocol_is_all_that_reading_needs(session: byref.Session) -> None:
    from byref.proxy import reader
    store: Store = session.gateway.store
    assert reader.fetch(store, "a", put(session, LOG), "L1").text == "line 1\n"


def test_a_part_that_was_made_of_another_is_given_by_name_and_found_and_is_no_part_of_the_whole(session: byref.Session) -> None:
    made = session.capture(tool="t", output={"body": '{"a": [1, 2]}', "notes": "made of the body\n"}, aside=("notes",),
                           media={"body": "application/json", "notes": f"text/plain{DERIVED}"})
    assert session.fetch(made.ref).text == '{"a": [1, 2]}' and b"".join(session.blocks(made.ref)) == b'{"a": [1, 2]}'
    assert session.fetch(made.ref, part="notes").text == "made of the body\n" == session.fetch(made.ref, "notes:L1").text
    assert session.search("made of the body").hits[0].address == "notes:L1"
    assert session.fetch(made.ref, "a[1]").text == "2"
