"""Pages: exact, within their budget, cut where a reader would cut."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.errors import Corrupt
from byref.proxy.paging import Piece, Pieces, binary_room, page_end
from byref.proxy.store.source import BytesSource
from byref.proxy.text import estimate


def run_of(*datas: bytes, glue: bytes = b"") -> Pieces:
    return Pieces([Piece(f"p{i}", BytesSource(data), 0, len(data)) for i, data in enumerate(datas)], glue)


def pages(run: Pieces, max_tokens: int) -> list[bytes]:
    found, at = [], 0
    while at < run.size:
        data, end = page_end(run, at, run.size, max_tokens)
        assert end - at == len(data) > 0
        found.append(data)
        at = end
    return found


TEXTS = st.one_of(st.binary(max_size=400), st.text(max_size=300).map(lambda t: t.encode("utf-8", "surrogatepass")),
                  st.lists(st.sampled_from(["x\n", "日本語 テキスト\n", "🙂" * 9, "\r\n", "é"]), max_size=60)
                  .map(lambda t: "".join(t).encode()))


@given(TEXTS, st.integers(2, 90))
def test_pages_put_together_are_the_bytes_and_none_is_over_its_budget(data: bytes, max_tokens: int) -> None:
    found = pages(run_of(data), max_tokens)
    assert b"".join(found) == data
    assert all(estimate(page.decode("utf-8", "surrogateescape")) <= max_tokens for page in found)


@given(st.text(alphabet="aé日🙂\n", max_size=300), st.integers(2, 40))
def test_a_page_ends_after_a_line_or_at_least_after_a_character(text: str, max_tokens: int) -> None:
    found = pages(run_of(text.encode()), max_tokens)
    for page in found[:-1]:
        page.decode()
        assert page.endswith(b"\n") or b"\n" not in page


def test_a_page_is_as_full_as_its_budget_allows() -> None:
    assert [len(page) for page in pages(run_of(b"x" * 100), 3)] == [10] * 10


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=5), st.sampled_from([b"", b"\n", b"--"]), st.data())
def test_a_run_of_pieces_reads_as_their_bytes_with_the_glue_between(datas: list[bytes], glue: bytes, data: st.DataObject) -> None:
    run, whole = run_of(*datas, glue=glue), glue.join(datas)
    assert run.size == len(whole)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    assert run.read(start, end) == whole[start:end]


def test_text_and_binary_do_not_share_a_page() -> None:
    run = run_of(b"text\n", b"\x89PNG\0\1\2", b"more\n", b"text\n")
    assert run.stretch(0) == (5, False)
    assert run.stretch(5) == (12, True)
    assert run.stretch(12) == (22, False)
    assert Pieces([]).stretch(0) == (0, False)


def test_a_stretch_in_one_piece_has_a_place_in_its_part() -> None:
    run = run_of(b"12345", b"678")
    assert run.place(1, 5) == ("p0", 1, 5)
    assert run.place(5, 8) == ("p1", 0, 3)
    assert run.place(4, 6) is None


@given(st.integers(2, 500))
def test_a_binary_page_fits_its_budget_in_base64(max_tokens: int) -> None:
    room = binary_room(max_tokens)
    assert room >= 1 and (max_tokens < 4 or estimate("x" * (-(-room // 3) * 4)) <= max_tokens)


def test_a_whole_part_is_checked_against_its_whole_hash() -> None:
    class Damaged(BytesSource):
        def blocks(self):  # type: ignore[no-untyped-def]
            raise Corrupt("part", "its bytes do not match its hash")

    run = Pieces([Piece("p", Damaged(b"123456"), 0, 6)])
    assert run.read(0, 5) == b"12345"
    with pytest.raises(Corrupt):
        run.read(0, 6)
