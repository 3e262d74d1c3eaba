"""Events come out of a stream with all their bytes, wherever it was cut, and one can be given other words."""
from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.wrap.events import PIECE, Event, Splitter

STREAM = ('\ufeffevent: message\nid: 1\nretry: 500\ndata: {"a":\ndata:  "é 東京 🚀"}\n\n'
          ': a comment\n\nid: 2\n\ndata\n\ndata: two\r\n\r\ndata: three\r\revent: ping\ndata: {}\n\n').encode()
SAID = [(b'{"a":\n "\xc3\xa9 \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9a\x80"}', True), (b"", True),
        (b"two", True), (b"three", True), (b"{}", False)]


def cut(stream: bytes, at: list[int]) -> tuple[list[Event], bytes, Splitter]:
    split, events = Splitter(), []
    places = [0, *sorted(at), len(stream)]
    for start, end in itertools.pairwise(places):
        events += split.feed(stream[start:end])
    return events, bytes(split.left), split


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_no_byte_is_lost_and_no_event_is_missed_wherever_the_stream_is_cut(at: list[int]) -> None:
    events, left, split = cut(STREAM, at)
    assert b"".join(bytes(event.raw) for event in events) + left == STREAM
    assert [(event.data, event.message) for event in events if event.lines and any(v >= 0 for _, v, _, _ in event.lines)] == SAID
    assert split.ids


@given(st.binary(max_size=300) | st.text("\r\n:adt ", max_size=80).map(str.encode), st.lists(st.integers(0, 300), max_size=6))
def test_any_bytes_pass_whole(stream: bytes, at: list[int]) -> None:
    events, left, _ = cut(stream, [min(place, len(stream)) for place in at])
    assert b"".join(bytes(event.raw) for event in events) + left == stream


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_event_ends_with_its_empty_line_and_not_with_the_next_bytes(end: str) -> None:
    split = Splitter()
    assert [event.data for event in split.feed(f"data: x{end}{end}".encode())] == [b"x"]


def test_a_comment_between_events_waits_for_nothing() -> None:
    assert [bytes(event.raw) for event in Splitter().feed(b": keep-alive\n")] == [b": keep-alive\n"]


def test_an_event_with_other_words_keeps_its_id_its_retry_and_the_ends_of_its_lines() -> None:
    (event,) = Splitter().feed(b"id: 7\r\n: note\r\ndata: old\r\ndata: words\r\nretry: 9\r\n\r\n")
    assert event.saying(b"new") == b"id: 7\r\n: note\r\ndata: new\r\nretry: 9\r\n\r\n"


def test_an_event_larger_than_any_piece_is_one() -> None:
    words = b"x" * (5 * PIECE)
    events, left, _ = cut(b"data: " + words + b"\n\ndata: y\n\n", [3, 70_000, 200_001])
    assert [event.data for event in events] == [words, b"y"] and not left


def test_a_stream_without_ids_says_so() -> None:
    assert not cut(b"data: x\n\n", [])[2].ids
