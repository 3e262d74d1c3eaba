"""What is known of an output comes from the catalog, the ledger and the user's file, and is the same however a search was narrowed."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import byref
from byref.layers.weighted import Facts
from byref.proxy import facts as module
from byref.proxy.config import home_folder
from byref.proxy.errors import ConfigError
from byref.proxy.facts import facts, known_sources
from byref.proxy.gateway import Gateway
from byref.proxy.indexing import Indexes, scope_of
from byref.proxy.searching import search


def known_of(gateway: Gateway, *refs: str) -> tuple[list[Facts], bool]:
    indexes = Indexes(gateway.store, None, lambda *_: None)
    whole = indexes.everything("here")
    outputs = [gateway.store.resolve("here", ref) for ref in refs]
    view = scope_of("here", outputs, gateway.store)
    found, one_source = facts(gateway.store, whole, view, [output.manifest.parts[0].blob.digest for output in outputs], known_sources())
    return list(found.values()), one_source


def test_facts_of_real_calls() -> None:
    now = [1_000_000.0]
    with byref.open("memory:", scope="here", clock=lambda: now[0]) as gateway:
        session = gateway.session("a", scope="here")
        good = session.capture(tool="Bash", args={"command": "make"}, output="built\n", exit_code=0, elapsed=0.4, raw=True).ref
        now[0] += 3600
        bad = session.capture(tool="Bash", args={"command": "make test"}, output="failed\n", exit_code=2, elapsed=6.0, raw=True).ref
        page = session.capture(tool="WebFetch", args={"url": "u"}, output="words\n", is_error=False, raw=True).ref
        for _ in range(4):
            session.fetch(page)
        (first, second, third), one_source = known_of(gateway, good, bad, page)
        assert first == Facts(success=True, elapsed_ms=400, age=3600)
        assert second == Facts(success=False, elapsed_ms=6000)
        assert third == Facts(success=True, fetches=4) and one_source
        for number in range(3):
            session.capture(tool="Bash", args={"command": f"ls {number}"}, output=f"{number}\n", exit_code=0, raw=True)
        assert known_of(gateway, good)[0][0].rate == 8_000, "one of five failed"


def test_sources_are_what_the_users_file_says_and_a_change_is_seen() -> None:
    place = Path(home_folder()) / module.FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    assert known_sources() == ()
    place.write_text('[[source]]\nname = "web"\ntools = ["Web*"]\nauthentication = true\n\n[[source]]\nname = "shell"\ntools = ["Bash"]\n')
    with byref.open("memory:", scope="here") as gateway:
        session = gateway.session("a", scope="here")
        refs = [session.capture(tool=tool, output=f"{tool}\n", raw=True).ref for tool in ("Bash", "WebFetch", "Other")]
        found, one_source = known_of(gateway, *refs)
        assert [(one.source, one.weight, one.authentication) for one in found] == [
            ("shell", 3_000, False), ("web", 4_000, True), ("", 1_000, False)]
        assert not one_source and known_of(gateway, refs[0])[1]
    place.write_text("[[sources]]\n")
    with pytest.raises(ConfigError, match="nothing else"):
        known_sources()


def test_a_search_by_the_weighted_profile_weighs_what_is_known_and_says_so() -> None:
    now = [1_000_000.0]
    with byref.open("memory:", scope="here", clock=lambda: now[0]) as gateway:
        session = gateway.session("a", scope="here")
        old = session.capture(tool="Bash", args={"command": "a"}, output="connection to the pool lost again\n", exit_code=0, elapsed=0.2,
                              raw=True).ref
        now[0] += 100 * 3600
        bad = session.capture(tool="Bash", args={"command": "b"}, output="connection to the pool lost today\n", exit_code=1, elapsed=9.0,
                              raw=True).ref
        new = session.capture(tool="Bash", args={"command": "c"}, output="connection to the pool lost at noon\n", exit_code=0, elapsed=0.2,
                              raw=True).ref
        found = search(gateway.store, "here", "connection pool lost", profile="weighted", explain=True, indexes=gateway.indexes)
        assert [hit.ref for hit in found.hits] == [new, bad, old], "a success now, a slow failure now, a success of last week"
        hits: Any = (found.explanation or {})["hits"]
        factors = [dict(one["weighted"]["ways"][0]["factors"]) for one in hits]
        assert [(one.get("success"), one.get("failure"), one.get("fast"), one.get("slow"), one["age"]) for one in factors] == [
            (12_000, None, 12_000, None, 10_000), (None, 7_000, None, 8_000, 10_000), (12_000, None, 12_000, None, 3_678)]
