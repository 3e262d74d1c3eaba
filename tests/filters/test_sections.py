"""Of documentation in sections every heading stands, and what was asked stands whole, its code with both fences."""
from __future__ import annotations

from byref.filters.render import view
from byref.proxy.contracts import Blob, Call, Json, Layout, Part, Seen, View
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest
from conformance.views import REF

TOPICS = ["routing", "caching", "images", "fonts", "testing", "errors", "forms", "streaming", "cookies", "headers", "locales", "scripts"]


def section(topic: str) -> str:
    code = "".join(f"{topic}_{k} = lib.{topic}({k})\n" for k in range(25))
    head = f"### Use of {topic}\n\nSource: https://example.org/{topic}.md\n\nHow {topic} works in a program.\n\n"
    return f"{head}```python\n{code}```\n\n-----\n\n"


TEXT = "Preface of the answer.\n\n" + "".join(map(section, TOPICS))


def look(text: str, args: Json, layout: Layout | None) -> View:
    data = text.encode()
    part = Part("body", "text/plain; charset=utf-8", Blob(digest(data), len(data), data.count(b"\n")))
    return view(REF, [(part, BytesSource(data))], Call("context7", args, layout=layout), Seen())


def test_the_sections_that_meet_the_question_stand_whole_and_all_headings_do() -> None:
    shown = look(TEXT, {"query": {"query": "streaming of cookies"}}, Layout("", sections="### "))
    text = "".join(shown.texts)
    assert section("streaming").strip() in text and section("cookies").strip() in text
    assert [f"### Use of {topic}\n" for topic in TOPICS if f"### Use of {topic}\n" not in text] == []
    assert "locales_20" not in text and len(text) < 0.75 * len(TEXT)
    assert text.count("```") % 2 == 0


def test_where_nothing_meets_it_the_first_ones_stand() -> None:
    text = "".join(look(TEXT, {"query": "zebra"}, Layout("", sections="### ")).texts)
    assert section("routing").strip() in text and "scripts_20" not in text


def test_one_section_larger_than_all_room_stands() -> None:
    huge = section("caching").replace("```\n", "".join(f"filler_{k} = {k}\n" for k in range(900)) + "```\n")
    text = "".join(look(TEXT + huge.replace("Use of caching", "Use of huge things"), {"query": "huge"}, Layout("", sections="### ")).texts)
    assert "filler_899 = 899" in text


def test_a_text_without_such_headings_is_cut_as_any_other() -> None:
    plain = TEXT.replace("### ", "")
    assert look(plain, None, Layout("", sections="### ")).texts == look(plain, None, None).texts
