"""Titles: how much a line is about a string that stands in it."""
from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from byref.layers import text
from byref.layers.contract import Budget, Hit, Span
from byref.layers.titles import BODY, EXACT, PREFIX, TITLE, keyword, told
from byref.proxy.query import parse
from layer_worlds import World

CODE = b"""import os

def retry(call, times=3):
    '''Calls again; see retry_all.'''
    return call()

class Retry(Base):
    times = retry
"""


@pytest.mark.parametrize(("data", "line", "string", "tier"), [
    (CODE, b"def retry(call", b"retry", PREFIX), (CODE, b"class Retry", b"Retry", PREFIX), (CODE, b"    times = ", b"retry", BODY),
    (CODE, b"class Retry", b"Base", TITLE), (CODE, b"    '''Calls", b"retry", 0), (CODE, b"    return", b"call", BODY),
    (b"retry\nis said first\n", b"retry", b"retry", EXACT), (b"\n\nos.path.retry\ntext\n", b"os.path", b"retry", PREFIX),
    (b"a\n\n## Retry\n\ntext of it\n", b"## Retry", b"Retry", EXACT), (b"a\n\nHow to retry it\n------\n", b"How to", b"retry", TITLE),
    (b"a\n  --retry NUM  say how often\n  and --retry too\n", b"  and", b"--retry", BODY),
    (b"a\n  --retry NUM\n      how often\n", b"  --retry", b"--retry", PREFIX),
    (b"a\n  --retry-all NUM\n      how often\n", b"  --retry", b"--retry", 0),
    (b"12:00 INFO retry\n12:01 INFO retry\n", b"12:01", b"retry", BODY),
])
def test_a_title_is_told_from_a_mention_by_what_stands_around_it(data: bytes, line: bytes, string: bytes, tier: int) -> None:
    start = data.index(line)
    end = data.find(b"\n", start)
    assert keyword(data, start, end, data.index(string, start), len(string), True) == tier


def test_hits_of_the_text_say_it(world: Any) -> None:
    here = world({"definition": "import os\n\ndef from_bytes(data):\n    return data\n", "mention": "one\nuse from_bytes for it\nmore\n",
                  "longer": "one\nurlquote_from_bytes is another\n"})
    found = text.layer(None).search(parse("from_bytes"), here.scope, Budget(1e18, Event(), lambda: 0.0))
    told = dict(zip(here.names(found), (hit.title for hit in found.hits), strict=True))
    assert told == {"definition": PREFIX, "mention": BODY, "longer": 0}


def test_a_blob_that_was_let_go_meanwhile_keeps_its_hit_without_a_title() -> None:
    here = World({"a": "retry\nis said first\n"})
    (blob,) = here.scope.held
    hit = Hit(Span(blob, 0, 5), 1, "exact", line=1, last=1, exact=2)
    assert told([hit], parse("retry"), here.scope, lambda: False)[0].title == EXACT
    here.name_of.clear()
    assert told([hit], parse("retry"), here.scope, lambda: False) == [hit]
