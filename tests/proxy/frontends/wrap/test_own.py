"""Our own tools on MCP: few tokens, exact answers, faults that say what to do, and a mark that nothing may touch them again."""
from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy.errors import Invalid, Unknown
from byref.proxy.frontends.wrap import own
from byref.proxy.frontends.wrap.results import Asked, rewrite
from byref.proxy.ledger.counter import token_counter
from byref.proxy.searching import EMPHASES, OUTCOMES, PROFILES

LOG = "".join(f"step {i} of the build is done\n" for i in range(3000))


@pytest.fixture
def session() -> Any:
    with byref.open("memory:") as gateway:
        yield gateway.session("s")


def texts(result: Any) -> list[str]:
    return [block["text"] for block in result["content"]]


def test_the_definitions_are_at_most_700_tokens_all_told() -> None:
    counter = token_counter()
    assert counter.exact, "the development extra brings a tokenizer"
    assert counter.count([json.dumps(list(own.TOOLS), ensure_ascii=False)])[0] <= 700


def test_they_are_always_in_view_and_read_only() -> None:
    assert [tool["name"] for tool in own.TOOLS] == ["fetch", "search", "status"]
    for tool in own.TOOLS:
        assert tool["_meta"] == {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": own.LIMIT}
        assert tool["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
        assert "outputSchema" not in tool


def test_pages_put_together_are_the_raw_text(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "make"}, output=LOG).ref
    pages, arguments = [], {"ref": ref}
    while True:
        page = texts(own.answer(session, "fetch", arguments))
        pages.append(page[0])
        if len(page) == 1:
            break
        arguments = {"ref": ref, "cursor": page[1].rpartition("cursor ")[2].rstrip("]")}
    assert "".join(pages) == LOG and len(pages) > 1
    assert texts(own.answer(session, "fetch", {"ref": ref, "at": "L3", "part": None})) == ["step 2 of the build is done\n"]


def test_bytes_that_are_no_text_are_named_and_come_as_base64(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "x"}, output=b"caf\xe9 " + LOG.encode()).ref
    text, note = own.call(session, "fetch", {"ref": ref, "at": "L1"})
    assert text.startswith("caf\ufffd") and "base64" in note
    assert base64.b64decode(own.call(session, "fetch", {"ref": ref, "at": "L1", "encoding": "base64"})[0]).startswith(b"caf\xe9 ")


def test_a_search_finds_and_its_addresses_are_fetched(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "make"}, output=LOG).ref
    (found,) = texts(own.answer(session, "search", {"query": "step 1234 of", "refs": [], "tool": None}))
    address = found.split(" ")[1]
    assert found.startswith(f"«{ref} L") and "step 1234 of" in own.call(session, "fetch", {"ref": ref, "at": address})[0]
    assert "no match" in texts(own.answer(session, "search", {"query": "step 1234 of", "outcome": "failure"}))[0]


@pytest.mark.parametrize(("name", "arguments"), [
    ("find", {"query": "x"}), ("fetch", {"ref": 5}), ("fetch", {"ref": "r", "max_tokens": True}), ("fetch", {"where": "x"}),
    ("fetch", {}),
    ("search", {"query": 3}), ("search", {"query": "x", "refs": "r"}), ("search", {"query": "x", "refs": [3]}),
    ("search", {"query": "x", "k": 0}), ("search", {"query": "x", "weights": ["x"]}), ("search", {"query": "x", "weights": {"x": "2"}}),
    ("search", {"query": "x", "profile": "best"}),
    ("search", {"query": "x", "weights": {"x": -1}}), ("search", {"query": "x", "weights": {"y": 1}}),
    ("status", {"scope": "x"}), ("fetch", {"ref": ["r"]}), ("search", {"query": "x", "outcome": "any"})])
def test_wrong_arguments_say_what_to_do(session: byref.Session, name: str, arguments: Any) -> None:
    with pytest.raises(Invalid):
        own.call(session, name, arguments)
    result: Any = own.answer(session, name, arguments)
    assert result["isError"] is True and texts(result)[0].startswith("invalid: ") and result["_meta"] == {own.FINAL: True}


def test_a_miss_and_a_fault_of_ours_are_answers_too(session: byref.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unknown):
        own.call(session, "fetch", {"ref": "rk7f3qmab2x"})
    assert texts(own.answer(session, "fetch", {"ref": "rk7f3qmab2x"}))[0].startswith("unknown: ")

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken on purpose")
    monkeypatch.setattr(type(session), "status", broken)
    result: Any = own.answer(session, "status", {})
    assert result["isError"] is True and texts(result)[0]


def test_what_they_answer_goes_through_any_proxy_of_ours_untouched(session: byref.Session) -> None:
    ref = session.capture(tool="Bash", args={"command": "make"}, output=LOG).ref
    for name, arguments in (("fetch", {"ref": ref}), ("search", {"query": "step"}), ("status", {}), ("fetch", {"ref": "rnone"})):
        result = own.answer(session, name, arguments)
        assert rewrite(session, Asked(name, {}), result).result is result
    assert session.status().outputs == 1


def test_an_output_is_a_resource_by_its_ref(session: byref.Session) -> None:
    ref = session.capture(tool="x", output="short\n").ref
    assert own.read(session, f"byref://{ref}") == {
        "contents": [{"uri": f"byref://{ref}", "mimeType": "text/plain", "text": "short\n"}], "_meta": {own.FINAL: True}}
    both = session.capture(tool="x", output={"text": "a", "image": b"\0\1"}, media={"image": "image/png"}, aside=["image"]).ref
    contents: Any = own.read(session, f"byref://{both}/")["contents"]
    assert [(one["uri"].rpartition("/")[2], one["mimeType"], one.get("blob")) for one in contents] == [
        ("text", "text/plain", None), ("image", "image/png", base64.b64encode(b"\0\1").decode())]


def test_a_resource_of_many_megabytes_says_how_to_get_the_rest(session: byref.Session) -> None:
    ref = session.capture(tool="x", output=LOG * 100).ref
    first, more = own.read(session, f"byref://{ref}")["contents"]  # type: ignore[misc]
    assert LOG.startswith(first["text"]) or first["text"].startswith(LOG)
    cursor = more["text"].rpartition("cursor ")[2].split(",")[0]
    assert session.fetch(ref, cursor=cursor).data and len(first["text"]) <= own.LIMIT


@pytest.mark.parametrize("uri", ["byref://", "file:///etc/passwd", "byref:", "byref://../x", "byref://rk7f3qmab2x"])
def test_a_uri_that_names_no_output_is_a_miss(session: byref.Session, uri: str) -> None:
    with pytest.raises((Invalid, Unknown)):
        own.read(session, uri)


def test_words_of_a_query_have_weights(session: byref.Session) -> None:
    session.capture(tool="Bash", args={"command": "make"}, output="alpha here\n" + "-\n" * 20 + "bravo there\n")
    (found,) = own.call(session, "search", {"query": "alpha bravo", "weights": {"alpha": 0}, "layers": ["text"]})
    assert "bravo there" in found and "alpha here" not in found and "weights alpha 0" in found


def test_what_is_like_an_address_is_found(session: byref.Session) -> None:
    refs = [session.capture(tool="Bash", args={"command": name}, output=f"{name}\nthe pool is exhausted\n").ref for name in ("a", "b")]
    (found,) = own.call(session, "search", {"like": f"{refs[0]} L2"})
    assert found.startswith(f"«{refs[1]} ") and "duplicate" in found
    for wrong in ({"like": "rk7f3qmab2x L2"}, {"like": f"{refs[0]} L9"}, {"like": ""}, {"like": refs[0], "query": "x"}):
        assert own.answer(session, "search", wrong)["isError"] is True


def test_how_each_hit_came_to_its_place_is_told_as_json(session: byref.Session, root: Path) -> None:
    session.capture(tool="Bash", args={"command": "make"}, output=LOG)
    text, told = own.call(session, "search", {"query": "step 1234 of", "explain": True})
    assert "step 1234 of" in text and json.loads(told)["hits"][0]["branches"]
    (version,) = {json.loads(told)["version"]}
    pytest.importorskip("jsonschema").validate(json.loads(told), json.loads((root / "docs" / f"explain-{version}.schema.json").read_text()))
    with pytest.raises(Invalid):
        own.call(session, "search", {"query": "x", "explain": 1})


def test_the_status_names_the_layers_and_what_they_are(session: byref.Session) -> None:
    session.capture(tool="Bash", args={"command": "make"}, output=LOG)
    held, layers = own.call(session, "status", {})
    assert held.startswith("1 outputs") and layers.startswith("layer ")
    for one in session.status().layers:
        assert any(line.startswith(one.name) and one.origin in line and one.accepts in line for line in layers.splitlines())


def test_a_choice_in_a_schema_is_what_search_takes() -> None:
    choices: Any = {name: field["enum"] for name, field in own._SEARCH.items() if isinstance(field, dict) and "enum" in field}
    assert {name: sorted(values) for name, values in choices.items()} == {
        "outcome": sorted(OUTCOMES), "emphasis": sorted(EMPHASES), "profile": sorted(PROFILES)}


def test_the_order_is_by_the_profile_that_is_asked_for(session: byref.Session) -> None:
    session.capture(tool="Bash", args={"command": "make"}, output=LOG)
    for profile in PROFILES:
        _, told = own.call(session, "search", {"query": "which step of the build is done", "profile": profile, "explain": True})
        assert json.loads(told)["profile"] == profile
