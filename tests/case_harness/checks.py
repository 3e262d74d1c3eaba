"""The vocabulary of the cases: one function a word, each a statement about one captured output.

A check gets the word's value, the whole entry (a word may have qualifiers beside it) and the run.
"""
from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import byref
from byref import errors
from case_harness.run import ESCAPE, Run, clean, data_lines, fresh, run, tokens

Check = Callable[[Any, Mapping[str, Any], Run], None]
CHECKS: dict[str, Check] = {}
DIGITS = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w.])|\d{12,}")
MATCH_LINE = re.compile(r"^([^:\n]+):\d+[:-]", re.M)


def check(function: Check) -> Check:
    CHECKS[function.__name__] = function
    return function


def excerpt(text: str) -> str:
    return text if len(text) < 1500 else f"{text[:900]}\n[...]\n{text[-600:]}"


# The view ------------------------------------------------------------------------------------------

@check
def view_contains(value: str, entry: Mapping[str, Any], on: Run) -> None:
    assert value in on.text, excerpt(on.text)


@check
def view_contains_all(value: list[str], entry: Mapping[str, Any], on: Run) -> None:
    assert [text for text in value if text not in on.text] == [], excerpt(on.text)


@check
def view_contains_regex(value: str, entry: Mapping[str, Any], on: Run) -> None:
    assert re.search(value, on.text, re.M), excerpt(on.text)


@check
def view_not_contains(value: str, entry: Mapping[str, Any], on: Run) -> None:
    assert value not in on.text


@check
def view_not_contains_regex(value: str, entry: Mapping[str, Any], on: Run) -> None:
    found = re.search(value, on.text, re.M)
    assert not found, found and on.text[max(0, found.start() - 80):found.end() + 80]


@check
def view_equals_raw(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert on.text.encode("utf-8", "surrogateescape") == b"".join(on.raw.values())


@check
def not_longer_than_raw(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert len(on.text.encode("utf-8", "surrogateescape")) <= sum(map(len, on.raw.values()))


@check
def view_tokens_max(value: int, entry: Mapping[str, Any], on: Run) -> None:
    assert tokens(on.text) <= value


@check
def view_tokens_max_ratio(value: float, entry: Mapping[str, Any], on: Run) -> None:
    share = tokens(on.text) / tokens(on.raw_text)
    assert share <= value, f"the view has {share:.3f} of the raw tokens\n{excerpt(on.text)}"


@check
def view_valid_utf8(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    on.text.encode("utf-8")


@check
def json_or_marked(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    if not byref.MARKER.search(on.text):
        json.loads(on.text)


@check
def view_declares_omission(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    """What the view leaves out is covered by gaps, and each gap's address fetches."""
    shown = set(data_lines(on.text))
    missing = [line for line in clean(on.raw_text).split("\n") if line.strip() and line.strip() not in shown]
    if not missing:
        return
    assert on.view.ref in on.text and on.view.gaps, "lines are missing and nothing says so"
    gaps = on.view.gaps
    assert [gap.address for gap in gaps if gap.address not in on.text] == []
    by_line = all(gap.address.startswith("L") for gap in gaps)
    if not by_line:
        assert all(on.session.fetch(on.view.ref, at=gap.address, part=gap.part).data for gap in (gaps[0], gaps[len(gaps) // 2], gaps[-1]))
    else:  # every line stands in the view, in a gap, or under the heading of its file
        fetched = {line.strip() for gap in gaps for page in on.pages(gap.part, at=gap.address) for line in clean(page.text).split("\n")}
        view = "\n".join(shown)
        lost = [line for line in missing if line.strip() not in fetched and line.strip() not in view]
        grouped = [line for line in lost if (m := MATCH_LINE.match(line)) and m[1] in view and line[m.end():].strip() in view]
        assert [line for line in lost if line not in grouped] == []


@check
def view_count_stated(value: int, entry: Mapping[str, Any], on: Run) -> None:
    assert re.search(rf"(?<!\d){value}(?!\d)", on.text), excerpt(on.text)


@check
def view_counts_error_lines(value: int, entry: Mapping[str, Any], on: Run) -> None:
    stated = [int(n) for n in re.findall(r"(?<![\d.])\d+(?![\d.])", " ".join(m[0] for m in byref.MARKER.finditer(on.text)))]
    shown = sum("error" in line.lower() for line in data_lines(on.text))
    assert value in stated or value in (sum(stated), sum(stated) + shown) or re.search(rf"\b{value}\b", on.text), excerpt(on.text)


@check
def view_lists_all_files_with_match(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    files = set(MATCH_LINE.findall(on.raw_text))
    assert files and [file for file in sorted(files) if file not in on.text] == []


@check
def view_lines_from_raw(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    raw = clean(on.raw_text)
    made = [line for line in data_lines(on.text) if line not in raw and line not in on.raw_text]
    assert made == []


@check
def view_contains_error_identities(value: dict[str, Any], entry: Mapping[str, Any], on: Run) -> None:
    wanted = set(re.findall(value["regex"], on.raw_text, re.M))
    assert len(wanted) == value["count"]
    assert [w for w in sorted(wanted) if not all(piece in on.text for piece in w)] == []


@check
def numbers_lexically_from_raw(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    shown = set(DIGITS.findall("\n".join(data_lines(on.text))))
    assert sorted(shown - set(DIGITS.findall(on.raw_text))) == []


@check
def view_says_empty_or_is_empty(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert not on.text.strip() or re.search(r"(?i)\b(empty|no output|0 (lines|matches|bytes))\b", on.text)


@check
def view_has_no_own_clock_or_counter(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    later = byref.open("memory:", clock=lambda: 4_000_000_000.0)
    for i in range(3):
        later.session("busy").capture(tool="shell", args={"command": f"seq {i}"}, output="\n".join(map(str, range(5000 + i))))
    assert on.capture(later.session(on.part.case), on.output).text == on.text


@check
def view_code_fences_balanced(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert on.text.count("```") % 2 == 0


@check
def injection_density_not_raised(value: dict[str, Any], entry: Mapping[str, Any], on: Run) -> None:
    def share(text: str) -> float:
        lines = [line for line in text.split("\n") if line.strip()]
        return sum(bool(re.search(value["lines_regex"], line)) for line in lines) / max(1, len(lines))
    assert share(on.text) <= 2 * share(on.raw_text)


@check
def genuine_markers_in_view(value: int, entry: Mapping[str, Any], on: Run) -> None:
    heads = [m[0] for m in byref.MARKER.finditer(on.text) if re.search(r"\br[a-z2-7]{10}\b", m[0])]
    assert len(heads) == value and on.view.ref in heads[0], heads


@check
def same_view_as_without_forged_marker_lines_except_them(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    forged = re.compile(rb"(?i)<<|\[\[|\xc2\xab|retrieve|compressed|omitted")
    kept = b"".join(line for line in on.output.splitlines(keepends=True) if not forged.search(line))
    without = on.capture(byref.open("memory:").session(on.part.case), kept)
    lines = {line for line in data_lines(without.text) if line in kept.decode("utf-8", "replace")}
    assert [line for line in sorted(lines) if line not in data_lines(on.text)] == []


@check
def every_size_limit_from(value: int, entry: Mapping[str, Any], on: Run) -> None:
    gateway = byref.open("memory:")
    for limit in range(value, entry["to"] + 1, entry["step"]):
        view = on.capture(gateway.session(f"limit {limit}"), on.output, budget=limit)
        view.text.encode("utf-8")
        assert len(view.text.encode()) <= sum(map(len, on.raw.values()))


# The same again ------------------------------------------------------------------------------------

@check
def same_output_twice(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    first = fresh(on.part, warm=False, seed="1", locale="C", zone="Pacific/Kiritimati", clock=1_000_000_000.0)
    second = fresh(on.part, warm=True, seed="4021", locale="C.UTF-8", zone="America/St_Johns", clock=1_900_000_000.5)
    assert first == second
    if on.output == on.part.output:
        assert first == (on.text, on.view.ref)


@check
def view_equal_after_masking(value: dict[str, Any], entry: Mapping[str, Any], on: Run) -> None:
    other = (on.part.folder / value["other_input"]).read_bytes()
    view = on.capture(byref.open("memory:").session(on.part.case), other)
    mask = re.compile("|".join(value["mask"]))
    assert mask.sub("*", on.text.replace(on.view.ref, "")) == mask.sub("*", view.text.replace(view.ref, ""))


@check
def id_depends_only_on(value: list[str], entry: Mapping[str, Any], on: Run) -> None:
    def ref(output: Any = on.output, clock: float = 5.0, **named: Any) -> str:
        session = byref.open("memory:", clock=lambda: clock).session(on.part.case, task="another task")
        found: str = on.capture(session, output, **named).ref
        return found
    assert ref() == ref(clock=9e9) == ref(call_id="call-7", said="now something else") == on.view.ref
    others = {ref(on.output + b"."), ref(tool="another"), ref(args={"command": "another"}), ref(exit_code=77)}
    assert len(others) == 4 and on.view.ref not in others


@check
def earlier_views_unchanged_after_later_calls(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    session = byref.open("memory:").session(on.part.case)
    first = on.capture(session, on.output, call_id="call-1").text
    for i in range(3):
        on.capture(session, on.output + b"%d later\n" % i, call_id=f"call-{i + 2}")
    assert on.capture(session, on.output, call_id="call-1").text == first


# The second call -----------------------------------------------------------------------------------

@check
def fetch_roundtrip(value: str, entry: Mapping[str, Any], on: Run) -> None:
    for name, raw in on.raw.items():
        if entry.get("stream", name) == name:
            pages = on.pages(name) if len(on.raw) > 1 else on.all_pages
            assert b"".join(page.data for page in pages) == raw


@check
def pages_concatenate_to_raw(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert len(on.all_pages) > 1
    for pages in (on.all_pages, on.pages(max_tokens=30_000)):
        assert b"".join(page.data for page in pages) == on.raw["output"]


@check
def fetch_all_response_tokens_max(value: int, entry: Mapping[str, Any], on: Run) -> None:
    page = on.session.fetch(on.view.ref)
    assert tokens(page.text) <= value
    assert page.cursor or page.data == on.raw["output"], "the rest has no next position"


@check
def fetch_never_recompressed(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    at = 0
    for page in on.all_pages:
        assert page.data == on.raw["output"][at:at + len(page.data)], "a page is a piece of the raw bytes"
        at += len(page.data)
        assert not byref.MARKER.search(page.data.decode("utf-8", "replace"))


@check
def fetch_range(value: dict[str, Any], entry: Mapping[str, Any], on: Run) -> None:
    at = f"{'b' if value['unit'] == 'byte' else 'L'}{value['start']}-{value['end']}"
    raw = on.raw["output"]
    lines = raw.splitlines(keepends=True)
    piece = raw[value["start"]:value["end"]] if value["unit"] == "byte" else b"".join(lines[value["start"] - 1:value["end"]])
    try:
        page = on.session.fetch(on.view.ref, at=at)
    except errors.Miss as miss:
        allowed = [entry.get("must_fail"), *[e.get("fail") for e in entry.get("either", []) if isinstance(e, dict)]]
        assert miss.reason in allowed, str(miss)
        return
    assert "must_fail" not in entry
    if entry.get("must_equal_raw_slice"):
        assert page.data == piece
    if entry.get("must_be_empty"):
        assert page.data == b""
    assert entry.get("must_contain", "") in page.text


@check
def fetch_id(value: str, entry: Mapping[str, Any], on: Run) -> None:
    with pytest.raises(errors.Miss) as caught:
        on.session.fetch(value)
    assert caught.value.reason == entry["must_fail"]


@check
def fetch_json_path(value: str, entry: Mapping[str, Any], on: Run) -> None:
    assert json.loads(on.session.fetch(on.view.ref, at=value).text) == entry["equals"]


@check
def fetch_then(value: str, entry: Mapping[str, Any], on: Run) -> None:
    data = b"".join(page.data for page in on.all_pages)
    done = subprocess.run(value.split(), input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    if "output_lines" in entry:
        assert len(done.stdout.splitlines()) == entry["output_lines"]


@check
def query(value: str, entry: Mapping[str, Any], on: Run) -> None:
    text = on.search(value)
    assert entry.get("must_return_line_containing", "") in text
    assert tokens(text) <= entry.get("response_tokens_max", 1 << 40)
    if entry.get("must_return_nothing"):
        assert not [line for line in data_lines(text) if line in clean(on.raw_text)]


regex_query = check(query)
CHECKS["regex_query"] = query


@check
def same_query_same_order_twice(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    words = " ".join(data_lines(on.text)[0].split()[:3])
    assert on.search(words) == on.search(words)


@check
def also_index(value: list[str], entry: Mapping[str, Any], on: Run) -> None:
    before = on.search("retry")
    for file in value:
        on.session.capture(tool=on.part.tool, args={"file": file}, output=(on.part.folder / file).read_bytes())
    assert on.search("retry") == before


@check
def reachable(value: dict[str, str], entry: Mapping[str, Any], on: Run) -> None:
    if value["line_containing"] not in on.text:
        assert value["line_containing"] in on.search(value["query"])


# The result ----------------------------------------------------------------------------------------

@check
def must_not_crash(value: bool, entry: Mapping[str, Any], on: Run) -> None:
    assert isinstance(on.text, str)


@check
def within_seconds(value: float, entry: Mapping[str, Any], on: Run) -> None:
    assert on.seconds <= value


@check
def view_and_search_agree_on_masking(value: list[str], entry: Mapping[str, Any], on: Run) -> None:
    masked = [secret for secret in value if secret not in on.text and re.search(r"\*{3,}|redacted", on.text)]
    if masked or not all(secret in on.text for secret in value):
        found = on.search("AWS_SECRET TOKEN DATABASE_URL")
        assert [secret for secret in masked if secret in found] == []


@check
def template(value: Any, entry: Mapping[str, Any], on: Run) -> None:
    assert b"@@" not in on.output


def has(word: str) -> bool:
    return word in CHECKS


def apply(word: str, entry: Mapping[str, Any], on: Run) -> None:
    CHECKS[word](entry[word], entry, on)


__all__ = ["CHECKS", "ESCAPE", "apply", "has", "run"]
