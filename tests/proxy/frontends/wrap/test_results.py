"""Results on their way to the client: what may change of them, and that everything else comes as the upstream sent it."""
from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

import byref
from byref.proxy.frontends.wrap.own import FINAL
from byref.proxy.frontends.wrap.results import Asked, rewrite

LOG = "".join(f"step {i} of the installation copied file_{i * 919 % 3000}.dat\n" for i in range(3000))
ERRORS = [f"src/mod_{i}.py:{i}: error: name 'thing_{i}' is not defined" for i in range(12)]
PICTURE = base64.b64encode(bytes(range(256)) * 40).decode()
ASKED = Asked("build", {"target": "all"})
RECORDS: list[Any] = [{"id": i, "name": f"item {i}", "note": f"nothing of note about number {i * 31}"} for i in range(400)]


@pytest.fixture
def session() -> Any:
    with byref.open("memory:") as gateway:
        yield gateway.session("s", proven=False)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def whole(session: byref.Session, ref: str, part: str) -> bytes:
    return b"".join(session.blocks(ref, part))


def test_a_long_text_becomes_a_view_and_every_byte_is_a_fetch_away(session: byref.Session) -> None:
    result = {"content": [text(LOG, annotations={"priority": 1.0})], "isError": False, "_meta": {"a/b": 1}}
    before = copy.deepcopy(result)
    made = rewrite(session, ASKED, result)
    (block,) = made.result["content"]  # type: ignore[misc]
    assert result == before, "the upstream's object is not ours to change"
    assert block["text"].startswith(f"«{made.ref} ") and len(block["text"]) < len(LOG) // 4
    assert {**made.result, "content": None} == {**result, "content": None} and {**block, "text": LOG} == result["content"][0]  # type: ignore[index]
    assert whole(session, made.ref, "text") == LOG.encode()


@pytest.mark.parametrize("result", [
    {"content": [text("done")]}, {"content": []}, {"content": [text("done")], "structuredContent": {"done": True}, "isError": False},
    {"content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]}, {"content": [text("")]},
    {"content": [{"type": "audio", "data": "no base64!", "mimeType": 3}]}, {"content": [{"type": "hologram", "x": 1}, 3, None]},
    {"content": [{"type": "resource", "resource": {"uri": "a://b", "text": LOG}}]},
    {"content": [{"type": "resource_link", "uri": "a://b", "name": "b"}]},
    {"content": [text(LOG)], "_meta": {FINAL: True}},
    {"content": LOG}, {"toolResult": LOG}, {"content": [text(LOG)], "resultType": "input_required"}, {"content": [{"type": "text"}]},
])
@pytest.mark.parametrize("structured", ["drop", "keep"])
def test_where_nothing_is_reduced_the_result_is_the_same_object(session: byref.Session, result: dict[str, Any], structured: str) -> None:
    before = copy.deepcopy(result)
    assert rewrite(session, ASKED, result, structured=structured).result is result and result == before


def test_raw_when_asked_for_is_the_same_object_and_stored_all_the_same(session: byref.Session) -> None:
    result = {"content": [text(LOG)], "structuredContent": {"log": LOG}}
    for structured in ("drop", "keep"):
        made = rewrite(session, Asked("build", {}, raw=True), result, structured=structured)
        assert made.result is result and whole(session, made.ref, "text") == LOG.encode()


def test_blocks_keep_their_order_and_all_but_the_long_texts_stay(session: byref.Session) -> None:
    picture = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "file:///x", "name": "x"}
    inner = {"type": "resource", "resource": {"uri": "file:///y", "mimeType": "text/csv", "text": "a,b\n" * 900}}
    result = {"content": [text("short"), picture, text(LOG), link, inner, text("the end")]}
    made = rewrite(session, ASKED, result)
    blocks: Any = made.result["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "text", "resource_link", "resource", "text"]
    assert [blocks[i] is result["content"][i] for i in range(6)] == [True, True, False, True, True, True]
    assert blocks[2]["text"].startswith(f"«{made.ref} ") and "«text2:L" in blocks[2]["text"]
    assert whole(session, made.ref, "image") == base64.b64decode(PICTURE) and whole(session, made.ref, "resource") == b"a,b\n" * 900
    assert json.loads(whole(session, made.ref, "resource_link")) == link and whole(session, made.ref, "text3") == b"the end"


def test_a_gap_of_any_block_is_fetched_by_its_own_address(session: byref.Session) -> None:
    other = LOG.replace("step", "stage")
    made = rewrite(session, ASKED, {"content": [text(LOG), text(other)]})
    blocks: Any = made.result["content"]
    for block, words in zip(blocks, (LOG, other), strict=True):
        gaps = [m[0][1:].split(" ")[0].rstrip("»") for m in byref.MARKER.finditer(block["text"]) if "L" in m[0].split(" ")[0]]
        assert gaps and all(session.fetch(made.ref, gap).text in words for gap in gaps)


def test_images_are_in_no_view_and_not_counted(session: byref.Session) -> None:
    rewrite(session, ASKED, {"content": [text(LOG), {"type": "image", "data": PICTURE, "mimeType": "image/png"}]})
    rewrite(session, ASKED, {"content": [text(LOG)]})
    seen = [event.numbers for event in session.gateway.store.events() if event.kind == "viewed"]
    assert seen[0]["raw"] == seen[1]["raw"] and len(seen) == 2


@pytest.mark.parametrize("said", [RECORDS, {"items": RECORDS}])
def test_structured_content_that_a_text_says_too_is_shown_once(session: byref.Session, said: Any) -> None:
    structured = said if isinstance(said, dict) else {"result": said}
    result = {"content": [text(json.dumps(said, indent=2))], "structuredContent": structured}
    made = rewrite(session, ASKED, result)
    (block,) = made.result["content"]  # type: ignore[misc]
    assert "structuredContent" not in made.result and "structuredContent" not in block["text"]
    assert json.loads(whole(session, made.ref, "structuredContent")) == structured


def test_a_server_that_wraps_a_text_or_a_list_says_nothing_more(session: byref.Session) -> None:
    for content, structured in (([text(LOG)], {"result": LOG}), ([text(LOG), text("two")], {"result": [LOG, "two"]}),
                                ([text(json.dumps({"all": RECORDS})), text("2")], {"result": [{"all": RECORDS}, 2]})):
        made = rewrite(session, ASKED, {"content": content, "structuredContent": structured})
        assert "structuredContent" not in json.dumps(made.result) and len(made.result["content"]) == len(content)  # type: ignore[arg-type]


def test_what_structured_content_alone_says_joins_the_last_text(session: byref.Session) -> None:
    made = rewrite(session, ASKED, {"content": [text(LOG), text("and a word")], "structuredContent": {"files": 3000}})
    blocks: Any = made.result["content"]
    assert "structuredContent" not in made.result and len(blocks) == 2
    assert blocks[1]["text"].endswith('and a word\n«structuredContent»\n{"files": 3000}')


@pytest.mark.parametrize("content", [[], [text("400 items")], [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]])
def test_long_structured_content_beside_little_text_is_what_the_view_shows(session: byref.Session, content: list[Any]) -> None:
    structured = {"items": RECORDS}
    made = rewrite(session, ASKED, {"content": content, "structuredContent": structured})
    blocks: Any = made.result["content"]
    shown = "".join(block.get("text", "") for block in blocks)
    assert "structuredContent" not in made.result and made.ref in shown and len(shown) < len(json.dumps(structured)) // 2
    assert [block for block in blocks if block["type"] == "image"] == [block for block in content if block["type"] == "image"]
    gap = next(m[0][1:].split(" ")[0].rstrip("»") for m in byref.MARKER.finditer(shown) if "$" in m[0])
    assert session.fetch(made.ref, gap).text in json.dumps(structured)


def test_of_a_failure_all_but_the_long_text_stays_and_every_distinct_error_stands(session: byref.Session) -> None:
    words = LOG + "\n".join(ERRORS) + "\n" + LOG.replace("step", "stage")
    result = {"content": [text(words, annotations={"audience": ["user"]})], "isError": True,
              "structuredContent": {"code": "E1", "log": LOG}, "_meta": {"trace": "4f"}}
    for structured in ("drop", "keep"):
        made = rewrite(session, ASKED, result, structured=structured)
        (block,) = made.result["content"]  # type: ignore[misc]
        assert {**made.result, "content": 0} == {**result, "content": 0} and block["annotations"] == {"audience": ["user"]}
        assert made.result["structuredContent"] is result["structuredContent"]
        assert [error for error in ERRORS if error not in block["text"]] == [] and len(block["text"]) < len(words) // 4
    assert session.gateway.store.resolve("s", made.ref).manifest.is_error


def test_text_that_looks_like_our_marker_is_told_from_one(session: byref.Session) -> None:
    forged = "«rk7f3qmab2x 3 of 90 lines»"
    made = rewrite(session, ASKED, {"content": [text(LOG + forged), text(f"{forged} too")], "structuredContent": {"say": forged}})
    blocks: Any = made.result["content"]
    shown = "\n".join(block["text"] for block in blocks)
    assert shown.count("<rk7f3qmab2x 3 of 90 lines") == 3 and [m for m in byref.MARKER.findall(shown) if "rk7f3qmab2x" in m] == []


def test_the_same_call_gets_the_same_bytes_again(session: byref.Session) -> None:
    asked = Asked("build", {}, call_id="call-1")
    first = rewrite(session, asked, {"content": [text(LOG)]})
    again = rewrite(session, asked, {"content": [text(LOG)]})
    assert first.result == again.result and first.ref == again.ref


def test_a_fault_of_ours_lets_the_result_through(session: byref.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    result = {"content": [text(LOG)], "structuredContent": {"a": [float("nan")]}}

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken on purpose")
    monkeypatch.setattr(type(session), "capture", broken)
    assert rewrite(session, ASKED, result).result is result


def test_a_store_that_is_down_lets_the_result_through(tmp_path: Any) -> None:
    (tmp_path / "store").write_text("no folder")
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        result = {"content": [text(LOG)]}
        made = rewrite(gateway.session("s"), ASKED, result)
    assert made.result is result and made.ref == ""


def test_in_keep_mode_a_client_gets_structured_content_that_names_where_the_rest_is(session: byref.Session) -> None:
    structured = {"items": RECORDS, "log": LOG, "total": 400}
    schema = {"type": "object", "properties": {"items": {"type": "array"}, "log": {"type": "string"}, "total": {"type": "integer"}}}
    made = rewrite(session, Asked("list", {}, schema=schema), {"content": [text(json.dumps(structured))], "structuredContent": structured},
                   structured="keep")
    less: Any = made.result["structuredContent"]
    assert less["total"] == 400 and len(json.dumps(less)) < len(json.dumps(structured)) // 10
    address = less["log"].rpartition(f"«{made.ref} ")[2].split(" ")[0]
    assert json.loads(session.fetch(made.ref, address, max_tokens=None).text) == LOG


ODD = ('{"n":0.1000,"pi":3.14159265358979323846264338,"big":123456789012345678901234567890,"far":1e400,"near":1E-400,"zero":-0,'
       '"twice":null,"twice":[1.0],"says":"\\ud83d \\/ \\u00e9"}')


@pytest.mark.parametrize("failed", [True, False])
def test_what_stands_is_spelt_as_the_server_spelt_it(session: byref.Session, failed: bool) -> None:
    """A float holds 17 digits and nothing beyond 1e308, and a mapping no member twice."""
    link = f'{{"type":"resource_link","uri":"a://b","name":"b","_meta":{ODD}}}'
    sent = f'{{ "content":[{{"type":"text" ,"text":{json.dumps(LOG)},"_meta":{ODD}}}, {link}],"structuredContent":{ODD},' \
           f'"isError":{str(failed).lower()},"_meta": {ODD} }}'
    made = rewrite(session, ASKED, json.loads(sent), data=sent.encode())
    view = made.result["content"][0]["text"]  # type: ignore[index]
    wanted = sent.replace(json.dumps(LOG), json.dumps(view, ensure_ascii=False))
    assert made.data == (wanted if failed else wanted.replace(f',"structuredContent":{ODD}', "")).encode()
    assert whole(session, made.ref, "structuredContent") == ODD.encode()
    assert whole(session, made.ref, "resource_link") == link.encode()


def test_a_member_that_stands_twice_and_would_change_is_written_anew(session: byref.Session) -> None:
    sent = f'{{"content":[],"content":[{{"type":"text","text":{json.dumps(LOG)}}}]}}'
    made = rewrite(session, ASKED, json.loads(sent), data=sent.encode())
    assert made.data is None and made.result["content"][0]["text"].startswith(f"«{made.ref} ")  # type: ignore[index]
