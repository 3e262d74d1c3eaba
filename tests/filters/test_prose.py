"""Texts inside JSON are cut where they read best, and one that is written as an index of its words reads as a text."""
from __future__ import annotations

from byref.filters.prose import prose_worth, running, sentence_end
from byref.filters.scanner import Value, read


def record(raw: str) -> tuple[tuple[str, Value], ...]:
    found = read(raw)
    assert found is not None and isinstance(found[0], tuple)
    return found[0]


def test_a_long_line_ends_after_a_sentence_else_after_a_clause_else_where_it_must() -> None:
    text = "word " * 15 + "end. " + "more " * 20
    assert text[:sentence_end(text, 0, 150)].endswith("end. ")
    clause = "word " * 15 + "end, " + "x" * 100
    assert clause[:sentence_end(clause, 0, 120)].endswith("end, ")
    assert sentence_end("x" * 500, 0, 300) == 300


def test_entries_weigh_more_than_running_words_and_what_is_deep_less() -> None:
    assert prose_worth("name: fetch") == 0 == prose_worth("## Usage of the tool")
    assert prose_worth("running words " * 10) < 0
    assert prose_worth(" " * 12 + "name: fetch") < prose_worth("  name: fetch")


def test_an_index_of_words_reads_in_order_and_every_use_of_a_word_counts() -> None:
    words = ["the", "cache", "is", "cold", "because", "the", "cache", "is", "new", "and", "the", "disk", "is", "slow"]
    index = ",".join(f'"{word}":[{",".join(str(i) for i, other in enumerate(words) if other == word)}]' for word in sorted(set(words)))
    assert running(record(f"{{{index}}}")) == words


def test_what_is_no_index_of_a_text_is_left_alone() -> None:
    names = "abcdefghij"
    assert running(record("{" + ",".join(f'"{n}":[{i + 1}]' for i, n in enumerate(names)) + "}")) is None, "no first word"
    assert running(record("{" + ",".join(f'"{n}":[0]' for n in names) + "}")) is None, "two words at one place"
    assert running(record("{" + ",".join(f'"{n}":{i}' for i, n in enumerate(names)) + "}")) is None
    assert running(record('{"a":[0],"b":[1]}')) is None, "too few to tell"
