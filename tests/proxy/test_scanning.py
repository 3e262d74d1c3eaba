"""Where words stand: at word boundaries, inside identifiers, in lines, and in lines of megabytes."""
from __future__ import annotations

import pytest

from byref.proxy import scanning
from byref.proxy.contracts import Source
from byref.proxy.query import parse
from byref.proxy.scanning import LONG, OTHER, SAME, WINDOW, Scanned, near, scan
from byref.proxy.store.source import BytesSource


def found(text: str | bytes, query: str) -> Scanned:
    source: Source = BytesSource(text if isinstance(text, bytes) else text.encode())
    return scan(source, parse(query), lambda: False)


def shown(text: str, query: str) -> list[str]:
    return [text.encode()[unit.start:unit.end].decode() for unit in found(text, query).units]


@pytest.mark.parametrize(("text", "query", "stands"), [
    ("retryOnConflictDelayMs", "conflict retries", True), ("HTTPResponse", "response", True), ("my_response2", "response", True),
    ("RESPONSE", "response", True), ("connection", "on x", False), ("pythonic", "hon x", False), ("v2beta", "2 x", True),
    ("v12", "2 x", False), ("delayed", "delay x", True), ("tests", "test x", True), ("onwards", "on x", False),
    ("最长等待时间", "等待 x", True), ("\u0130 ÄNDERN Ä", "no x", False), ("zu ÄNDERN", "ändern x", True), ("ИМЯ", "имя x", True),
])
def test_a_word_stands_where_a_word_begins(text: str, query: str, stands: bool) -> None:
    assert bool([unit for unit in found(text, query).units if unit.terms]) is stands


def test_the_whole_text_is_told_from_the_same_in_other_case() -> None:
    assert [unit.exact for unit in found("a Big cat\nno\na big cat\n", "big cat").units] == [OTHER, SAME]


def test_units_are_lines_with_their_numbers() -> None:
    units = found("one\ntwo three\n\nfour three\n", "three").units
    assert [(unit.line, unit.start, unit.end) for unit in units] == [(2, 4, 13), (4, 15, 25)]


def test_lines_beside_each_other_share_their_words() -> None:
    scanned = found("alpha\nbeta\n\nalpha\n", "alpha beta")
    both = scanned.units[0].terms | scanned.units[1].terms
    assert near(scanned.units) == [both, both, scanned.units[2].terms]


def test_a_long_line_is_found_in_pieces_that_cut_no_record_and_no_character() -> None:
    line = "[" + ",".join(f'{{"sku":"ZX-{n:05}","note":"größe é"}}' for n in range(9000)) + "]"
    (piece,) = shown(line, "/ZX-07123/") or [""]
    assert "ZX-07123" in piece
    pieces = {text: unit for text, unit in zip(shown(line, "ZX-07123"), found(line, "ZX-07123").units, strict=True) if unit.exact}
    (piece,) = pieces
    assert '{"sku":"ZX-07123","note":"größe é"}' in piece and len(piece) < LONG and pieces[piece].line == 0
    assert shown("é" * 5000 + " needle " + "é" * 5000, "needle")


def test_line_numbers_hold_over_windows() -> None:
    text = "".join(f"line {n} of it\n" for n in range(1, 200_000)) + "needle\n"
    assert len(text) > 2 * WINDOW and [unit.line for unit in found(text, "needle").units] == [200_000]


def test_a_pattern_gives_lines_too() -> None:
    assert [(unit.line, unit.last) for unit in found("a\nb1\nc\nb2\n", r"/b\d/").units] == [(2, 2), (4, 4)]


def test_where_time_is_over_the_rest_is_not_looked_at() -> None:
    scanned = scan(BytesSource(b"word\n" * WINDOW), parse("word"), lambda: True)
    assert scanned.units and not scanned.whole


WORDS = ("session", "token", "cache", "retry", "lease", "shard")
NOISE = "".join(f"{n} {WORDS[n % 6]} and {WORDS[n % 6]} took {n % 97} ms\n" for n in range(20_000))


@pytest.mark.parametrize(("line", "query"), [
    ("2026 ERROR lease 7f refused by peer", "refused"), ("HTTPResponse was Refused", "refused response"), ("größe ÄNDERN jetzt", "ändern"),
    ("a [b](c) d", "[b](c)"), ("call retryOnConflictDelayMs(3)", "conflict delay"), ("the Quick Brown fox", "quick brown fox")])
def test_a_line_among_thousands_is_found_as_it_would_be_alone(line: str, query: str) -> None:
    alone = found(line + "\n", query).units
    text = NOISE[:NOISE.index("\n", 300_000) + 1] + line + "\n" + NOISE[300_000:]
    (unit,) = [unit for unit in found(text, query).units if text.encode()[unit.start:unit.end].decode() == line]
    assert (unit.terms, unit.exact) == (alone[0].terms, alone[0].exact)
    assert unit.line == text.encode().count(b"\n", 0, unit.start) + 1


def test_of_common_words_lines_that_hold_both_are_found_and_all_are_counted() -> None:
    text = NOISE + "zz session beside lease zz\n" + NOISE
    scanned = found(text, "session lease")
    assert "zz session beside lease zz" in [text[unit.start:unit.end] for unit in scanned.units]
    assert all(count > 1000 for count in scanned.places)


def test_words_that_stand_nowhere_have_no_place_in_a_large_part() -> None:
    many = " ".join(f"absent{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(60))
    scanned = found(NOISE, f"{many} session")
    assert not any(scanned.places[:-1]) and scanned.places[-1] and not found(NOISE, many).units


def test_a_query_that_is_no_text_is_found_in_a_large_part() -> None:
    asked = b"\xff\xfe raw".decode("utf-8", "surrogateescape")
    (unit,) = [unit for unit in found(NOISE.encode() + b"a \xff\xfe raw b\n", asked).units if unit.exact]
    assert unit.exact == SAME


@pytest.mark.parametrize("pattern", [r"/lease and \w+ took 9\d ms/", r"/took 96 ms\n\d+ session/", "/^777[0-9] /", r"/\bretry\b.*$/"])
def test_a_pattern_finds_in_windows_what_it_finds_in_the_whole(pattern: str) -> None:
    text = NOISE * 4
    assert len(text) > 2 * WINDOW
    compiled = parse(pattern).compiled
    assert compiled is not None
    starts: dict[int, None] = {}
    done = -1
    for match in compiled.finditer(text.encode()):
        low = text.rfind("\n", 0, match.start()) + 1
        if match.start() >= done:
            starts.setdefault(low)
            done = text.find("\n", match.end() - 1) + 1
    assert [unit.start for unit in found(text, pattern).units] == list(starts)[:1000]


def test_a_text_is_cut_whole_into_lines_and_pieces_of_long_ones() -> None:
    from byref.proxy.scanning import cut
    data = b"one\n\n" + b"word, " * 400 + b"\nlast"
    units = list(cut(data))
    assert b"".join(data[start:end] + b"\n" * (end < len(data) and data[end] == 10) for start, end, _, _ in units) == data
    assert [whole for _, _, whole, _ in units].count(True) == 3 and sum(first for _, _, _, first in units) == 4


def test_lines_are_numbered_through_all_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "WINDOW", 4096)
    monkeypatch.setattr(scanning, "SMALL", 1024)
    lines = [f"{'needle' if number % 97 == 0 else 'other'} line" for number in range(3000)]
    units = found("\n".join(lines), "needle x").units
    assert [unit.line for unit in units] == list(range(1, 3001, 97))


@pytest.mark.parametrize("query", ["session refused", "refused session", "größe refused", "session", "kelvin x"])
@pytest.mark.parametrize("beyond", ["größe\nGRÖSSE Größe refused\n\u017fession \u212aelvin", "no such letters"])
def test_a_large_window_holds_what_the_same_text_does_in_a_small_one(query: str, beyond: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Session refused\n" + "other line\n" * 400 + "the SESSION\nkelvin\nSessionRefused\n" + beyond
    monkeypatch.setattr(scanning, "MOST", 1 << 20)  # all that matches is looked into
    small = found(text, query)
    monkeypatch.setattr(scanning, "SMALL", 1024)
    assert found(text, query) == small
    assert small.units
