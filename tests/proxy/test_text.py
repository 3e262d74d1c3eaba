"""Names, canonical JSON, terms, patterns and the size estimate: what all parts agree on."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Blob, Call, Manifest, Part
from byref.proxy.errors import Invalid
from byref.proxy.text import (
    around,
    canonical,
    canonical_arguments,
    canonical_of,
    check_ref,
    digest,
    estimate,
    manifest_json,
    mapped,
    pattern,
    project,
    ref_of,
    short_hash,
    subwords,
    terms_by_line,
    terms_of,
    terms_said,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2**53 + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


def manifest(data: bytes = b"x", tool: str = "shell", arguments: str = '{"command":"x"}', exit_code: int | None = 0) -> Manifest:
    return Manifest(tool, arguments, (Part("stdout", "text/plain", Blob(digest(data), len(data), 0)),), exit_code)


@given(VALUES)
def test_canonical_json_is_rfc_8785(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value).decode()  # type: ignore[arg-type]


def test_canonical_json_keeps_what_the_standard_cannot_hold() -> None:
    assert canonical({"b": 7205759403792816603, "a": (1, 2)}) == '{"a":[1,2],"b":7205759403792816603}'
    assert json.loads(canonical([float("nan"), float("inf")])) == ["nan", "inf"]
    with pytest.raises(Invalid, match="JSON values"):
        canonical({"a": object()})  # type: ignore[dict-item]


def test_arguments_that_change_no_output_are_left_out() -> None:
    assert canonical_arguments({"command": "ls", "description": "List", "timeout": 5, "cwd": "/x"}) == '{"command":"ls"}'
    assert canonical_arguments(["ls"]) == '["ls"]' and canonical_arguments(None) == "null"


def test_a_ref_is_short_and_depends_on_what_was_called_and_came_back_alone() -> None:
    ref = ref_of(manifest())
    assert len(ref) == 11 and ref[0] == "r" and set(ref[1:]) <= set("abcdefghijklmnopqrstuvwxyz234567") and check_ref(ref) == ref
    assert ref_of(manifest()) == ref
    others = (manifest(b"y"), manifest(tool="x"), manifest(arguments="{}"), manifest(exit_code=1))
    assert len({ref, *map(ref_of, others)}) == 5
    for one in (manifest(), *others, manifest(tool='a "b" é')):
        assert manifest_json(one) == rfc8785.dumps(json.loads(manifest_json(one))).decode() and '"v":1' in manifest_json(one)


@pytest.mark.parametrize("ref", ["", "a b", "../x", "r" * 65, "ré", "a'--", "٣٣", 7, None])
def test_what_is_no_ref_is_invalid(ref: object) -> None:
    with pytest.raises(Invalid):
        check_ref(ref)  # type: ignore[arg-type]


def test_digests_are_tagged_blake2b_256() -> None:
    assert digest(b"x") == "b2:" + hashlib.blake2b(b"x", digest_size=32).hexdigest()
    assert len(short_hash("x")) == 8 and short_hash("\udcff") != short_hash("\udcfe")


@given(st.text(), st.text())
def test_the_estimate_never_shrinks_as_a_text_grows(one: str, more: str) -> None:
    assert estimate(one) <= estimate(one + more) <= estimate(one) + estimate(more) + 1


def test_the_estimate_is_near_the_real_count_of_source_code() -> None:
    tiktoken = pytest.importorskip("toktok", reason="needs the counter of the extra dev")
    text = Path(__file__).read_text(encoding="utf-8")
    real = tiktoken.batch_count([text], "o200k_base")[0]
    assert 0.7 < estimate(text) / real < 1.4


def test_terms_are_words_identifiers_numbers_and_paths_line_by_line() -> None:
    assert terms_by_line("call src/a_b.py: x=41\n\n«naïve» (done)") == [["call", "src/a_b.py", "x", "41"], [], ["naïve", "done"]]
    assert subwords("getHTTPResponse_v2") == ("get", "http", "response", "v", "2") and subwords("東京tower") == ("東京", "tower")


@given(st.text("ab/«»\u2019\u00a0é中-. \n\r\x85", max_size=40))
def test_the_terms_of_a_text_are_those_of_its_lines(text: str) -> None:
    assert terms_of(text) == set().union(*terms_by_line(text))


def test_the_terms_of_what_was_said_are_held_for_a_while_and_those_of_a_whole_file_are_not() -> None:
    said = "look at src/a.py: it fails"
    assert terms_said(said) == terms_of(said) and terms_said(said) is terms_said(said)
    held = terms_said(said)
    for number in range(40):
        terms_said(f"another {number} " * 3000)
    assert terms_said(said) == terms_of(said) and terms_said(said) is not held
    large = "word " * 20_000
    assert terms_said(large) == {"word"} and terms_said(large) is not terms_said(large)


def test_what_stands_around_a_call_is_its_arguments_and_what_was_said() -> None:
    one, other = Call("x", {"b": 1, "a": "é"}, said="now", intent="why"), Call("x", None, said="then")
    for _ in range(2):
        assert (around(one), around(other)) == (('{"a":"é","b":1}', "now", "why"), ("then",))


def test_arguments_of_a_call_are_written_once_for_its_manifest_and_what_stands_around_it() -> None:
    for arguments in (None, {"b": 1, "a": "é"}, {"command": "ls", "timeout": 5}):
        call = Call("x", arguments, said="now")  # type: ignore[arg-type]
        assert canonical_of(call) == canonical_arguments(arguments) and around(call) == around(Call("x", arguments, said="now"))  # type: ignore[arg-type]


@given(st.text(max_size=40))
def test_a_table_maps_ascii_and_leaves_all_else(text: str) -> None:
    table = bytes.maketrans(b"b1", b"a0")
    assert mapped(text + "b1\udc80", table) == text.replace("b", "a").replace("1", "0") + "a0\udc80"


def test_patterns_are_re2_over_bytes() -> None:
    found = pattern("(?i)fehlgeschlagen|é").search(b"FEHLGESCHLAGEN")
    assert found is not None and found.span() == (0, 14)
    for wrong in ("(", "(?=a)", r"(a)\1"):
        with pytest.raises(Invalid, match="not RE2"):
            pattern(wrong)


def test_the_projection_is_the_identity_for_now() -> None:
    assert project("token=abc") == "token=abc"
