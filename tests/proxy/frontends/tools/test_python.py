"""`byref.call`: a tool of ours from Python."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

import byref
from byref.proxy.errors import ConfigError, Invalid
from recorded import Recorded, recorded


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    with recorded() as found:
        monkeypatch.setenv("BYREF_UPSTREAMS", f"openalex={found.url}")
        yield found


def test_a_call_gives_a_view_and_pages_give_them_all(server: Recorded) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        found = byref.call(session, "openalex", "works", search="late interaction retrieval", per_page=10)
        assert found.status == 200 and found.captured.ref in found.text and "W4400000009|On " in found.text
        every = list(byref.pages(session, "openalex", "works", search="a", cursor="*", per_page=20))
        assert len(every) == 3 and every[-1].more is False


def test_what_is_wrong_is_said(server: Recorded) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        with pytest.raises(Invalid, match="works"):
            byref.call(session, "openalex", "papers")
        with pytest.raises(ConfigError, match="grep"):
            byref.call(session, "nothing")
