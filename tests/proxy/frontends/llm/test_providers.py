"""The APIs of a command line."""
from __future__ import annotations

import pytest

from byref.proxy.errors import ConfigError
from byref.proxy.frontends.llm.providers import chosen


def test_a_known_name_needs_no_url_and_v1_belongs_to_the_path() -> None:
    found = chosen(["anthropic", "openai=http://localhost:8000/v1/", "mine=https://models.example.com/api"])
    assert [(one.name, one.url) for one in found] == [
        ("llm/anthropic", "https://api.anthropic.com"), ("llm/openai", "http://localhost:8000"), ("llm/mine", "https://models.example.com/api")]
    assert [one.private for one in found] == [False, True, True]


@pytest.mark.parametrize("pairs", [["mistral"], ["openai", "openai=http://x"], ["a/b=http://x"], ["x=ftp://y"], ["x="]])
def test_what_cannot_be_meant_is_told(pairs: list[str]) -> None:
    with pytest.raises(ConfigError):
        chosen(pairs)
