"""Rows say what the records say: null is not missing, a text is not a number, and nothing is rounded."""
from __future__ import annotations

from byref.filters.records import Table, dull, opaque, short, table
from byref.filters.scanner import Number, Value, read


def cut(*records: str) -> Table:
    values: list[Value] = [found[0] for found in map(read, records) if found]
    return table([((i,), value) for i, value in enumerate(values) if isinstance(value, tuple)], str)


def test_null_missing_empty_and_look_alikes_can_be_told_apart() -> None:
    group = cut('{"id":1,"a":null}', '{"id":2}', '{"id":3,"a":""}', '{"id":4,"a":"null"}',
                '{"id":5,"a":"12"}', '{"id":6,"a":12}', '{"id":7,"a":"x|y"}').groups[0]
    assert group.names == ["id", "a"]
    assert group.rows == ["1|null", "2", '3|""', '4|"null"', '5|"12"', "6|12", '7|"x|y"']


def test_nested_objects_become_columns_and_short_arrays_stay_inline() -> None:
    group = cut('{"id":1,"price":{"a":1.50,"b":[1,"x"]}}', '{"id":2,"price":{"a":2.0,"b":[]}}').groups[0]
    assert group.names == ["id", "price.a", "price.b"] and group.rows == ['1|1.50|[1,"x"]', "2|2.0|[]"]


def test_what_is_equal_everywhere_is_said_once_and_what_is_usual_is_said_unless() -> None:
    rows = [f'{{"id":{i},"lang":"en","retracted":{"true" if i == 3 else "false"}}}' for i in range(10)]
    group = cut(*rows).groups[0]
    assert group.each == ["lang=en", "retracted=false"] and not group.strict
    assert group.rows[2:5] == ["2", "3|retracted=true", "4"]


def test_columns_with_the_same_values_share_a_heading() -> None:
    group = cut('{"title":"a","display_name":"a","n":1}', '{"title":"b","display_name":"b","n":2}').groups[0]
    assert group.names == ["title=display_name", "n"] and group.rows == ["a|1", "b|2"]


def test_rare_members_stand_in_the_rows_that_have_them() -> None:
    group = cut(*('{"id":4,"x":4}' if i == 4 else f'{{"id":{i}}}' for i in range(8))).groups[0]
    assert group.names == ["id"] and group.rows[4] == "4|x=4" and group.rows[5] == "5"


def test_a_repeated_name_is_a_column_of_its_own() -> None:
    group = cut('{"s":"a","s":"b","n":1}', '{"s":"c","s":"d","n":2}').groups[0]
    assert group.names == ["s", "s", "n"] and group.rows == ["a|b|1", "c|d|2"]


def test_a_repeated_name_is_one_of_its_own_beside_a_large_value_too() -> None:
    found = cut(*(f'{{"a":"{sign * 300}","a":{i},"b":{i}{i}}}' for i, sign in enumerate("xyz", 1)))
    assert found.groups[0].rows == ["1|11", "2|22", "3|33"]
    assert [[value for _, _, value in large] for large in found.bigs] == [["x" * 300], ["y" * 300], ["z" * 300]]


def test_rare_members_stand_where_none_has_a_column() -> None:
    found = cut(*(f'{{"text":"{i}{"x" * 300}","only{i}":{i}}}' for i in range(6)))
    assert found.groups[0].rows == [f"only{i}={i}" for i in range(6)]


def test_long_values_stand_apart_and_mark_their_cell() -> None:
    long = "word " * 60
    made = cut(f'{{"id":1,"text":"{long}"}}', '{"id":2,"text":"short"}', '{"id":3,"text":"x"}')
    assert made.groups[0].rows == ["1|…", "2|short", "3|x"]
    assert [[name for name, _, _ in large] for large in made.bigs] == [["text"], [], []]


def test_a_large_value_that_all_share_is_said_once() -> None:
    long = '["Department of Physiology","Indian Institute of Chemical Biology","4 Raja S.C. Mullick Road, Calcutta"]'
    made = cut(f'{{"id":1,"at":{long}}}', f'{{"id":2,"at":{long}}}')
    assert made.groups[0].each == [f"at={long}"] and made.bigs == [[], []]
    alone = cut(f'{{"at":{long}}}', f'{{"at":{long}}}')
    assert alone.groups[0].each == [f"at={long}"]
    other = cut(f'{{"at":{long[:-1]},1]}}', f'{{"at":{long[:-1]},"1"]}}')
    assert [[name for name, _, _ in large] for large in other.bigs] == [["at"], ["at"]]


def test_addresses_and_hashes_come_last() -> None:
    made = cut(*(f'{{"id":{i},"name":"n{i}",'
                 f'"avatar_url":"http://x/{i}","node_id":"MDQ{i}","html_url":"http://y/{i}"}}' for i in range(3)))
    assert made.groups[0].names == ["id", "name", "html_url"]
    assert made.groups[-1].names == ["avatar_url", "node_id"] and made.groups[-1].dull
    assert dull("events_url") and dull("_links") and not dull("status") and not dull("title")


def test_short_keeps_numbers_and_gives_up_on_what_is_long() -> None:
    value = read('{"a":[1E400,-0.0,"x",null,true],"b":{}}')
    assert value is not None
    assert short(value[0], 100, str) == '{"a":[1E400,-0.0,"x",null,true],"b":{}}'
    assert short(value[0], 20, str) is None
    assert short([Number("1")] * 1000, 50, str) is None


def test_values_tell_what_says_little_whatever_its_name_is() -> None:
    rows = [f'{{"id":{i},"name":"n{i}","ref":"https://x.org/{i}","sum":"{i}9c1185a5c5e9fc54612808977ee8f548b2258d31"}}' for i in range(3)]
    made = cut(*rows)
    assert made.groups[0].names == ["id", "name"] and made.groups[-1].names == ["ref", "sum"] and made.groups[-1].dull
    assert opaque("trace", "123e4567-e89b-12d3-a456-426614174000") and opaque("all", ["http://a/1", "http://a/2"])
    assert not opaque("id", "https://x.org/1"), "an id is an id, even as an address"
    assert not opaque("n", Number("7205759403792816603")) and not opaque("day", "2026-05-04") and not opaque("text", "see https://x.org/1")
