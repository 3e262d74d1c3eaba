"""Trigrams: strings inside others and misspelt ones, whatever signs they hold; and that a blob goes whole."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from byref.layers.contract import Added, Budget
from byref.layers.trigram import layer
from byref.proxy.query import parse
from byref.proxy.store.source import BytesSource

TEXTS = {
    "token": "value = refreshTokenHandler(session)\n", "chinese": "连接池最长等待时间\n", "signs": 'say "AND" (x OR y) NEAR* z\n',
    **{f"noise{n}": f"line {n} of many that say nothing of note\n" for n in range(50)},
}


@pytest.fixture(params=["memory", "folder"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else str(tmp_path / "trigram")


@pytest.mark.parametrize(("query", "wanted"), [
    ("freshTokenHan", "token"), ("refrehsTokenHandler", "token"), ("REFRESHTOKEN", "token"), ("最长等待", "chinese"), ('"AND"', "signs"),
    ("NEAR*", "signs"),
])
def test_a_string_is_found_inside_others_and_misspelt(world: Any, budget: Budget, folder: str | None, query: str, wanted: str) -> None:
    here, trigram = world(TEXTS), layer(folder)
    trigram.apply(here.added(), (), Event())
    found = trigram.search(parse(query), here.scope, budget)
    assert here.names(found)[:1] == [wanted] and 0 < found.hits[0].score <= 10_000


def test_short_and_odd_queries_find_nothing_and_break_nothing(world: Any, budget: Budget) -> None:
    here, trigram = world(TEXTS), layer(None)
    trigram.apply(here.added(), (), Event())
    for query in ("ab", "\x00\x00\x00", "'; DROP TABLE grams; --", "🚀🚀🚀", "\ud800xyz"):
        trigram.search(parse(query), here.scope, budget)
    assert not trigram.applies(here.scope, parse("ab"))


def test_of_a_blob_that_is_let_go_no_byte_stays(world: Any, budget: Budget, tmp_path: Path) -> None:
    here, folder = world(TEXTS), tmp_path / "i"
    trigram = layer(str(folder))
    trigram.apply(here.added("token", "signs"), (), Event())
    trigram.apply(here.added("chinese"), (), Event())
    (blob,) = [one.blob for one in here.added("token")]
    other = layer(str(folder))
    assert other.search(parse("refreshToken"), here.scope, budget).hits
    trigram.apply((), [blob], Event())
    assert not any(blob.encode() in path.read_bytes() for path in folder.iterdir())
    assert not other.search(parse("refreshToken"), here.scope, budget).hits and other.search(parse("最长等待"), here.scope, budget).hits
    trigram.close()
    other.close()


def test_a_damaged_index_is_removed_and_built_again(world: Any, budget: Budget, tmp_path: Path) -> None:
    here, folder = world(TEXTS), tmp_path / "i"
    first = layer(str(folder))
    first.apply(here.added(), (), Event())
    first.close()
    (path,) = folder.glob("*.db")
    path.write_bytes(b"no database " * 1000)
    second = layer(str(folder))
    assert second.indexed() == frozenset()
    second.apply(here.added(), (), Event())
    assert second.search(parse("refreshToken"), here.scope, budget).hits
    second.close()


def test_a_cancel_costs_the_blob_in_work_and_none_before_it(world: Any, folder: str | None) -> None:
    here, index, cancel = world(TEXTS), layer(folder), Event()
    first, second, *rest = here.added()

    class Cancels(BytesSource):
        def blocks(self) -> Iterator[bytes]:
            cancel.set()
            return super().blocks()

    index.apply([first, second, Added(rest[0].blob, Cancels(b"last words\n" * 9000), "log"), *rest[1:]], (), cancel)
    assert index.indexed() == {first.blob, second.blob}


def test_a_heavier_string_comes_first(world: Any, budget: Budget) -> None:
    here, trigram = world({"a": "alphaMarker\n", "b": "bravoSignal\n"}), layer(None)
    trigram.apply(here.added(), (), Event())
    for weights, wanted in (({"alphamarker": 2}, ["a", "b"]), ({"bravosignal": 2}, ["b", "a"]), ({"alphamarker": 0}, ["b"])):
        assert here.names(trigram.search(parse("alphaMarker bravoSignal", weights), here.scope, budget)) == wanted


def test_a_database_is_not_closed_under_a_search(tmp_path: Path) -> None:
    code = ("import sys, threading\n"
            "from threading import Event\n"
            "from byref.layers import trigram\n"
            "from byref.layers.contract import Added\n"
            "from byref.proxy.store.source import BytesSource\n"
            "text = ''.join(f'some word{n} and another{n}\\n' for n in range(4000)).encode()\n"
            "for turn in range(40):\n"
            "    layer = trigram.layer(None)\n"
            "    layer.apply([Added('b', BytesSource(text), 'text')], (), Event())\n"
            "    (name, shard), = layer._all()\n"
            "    def look():\n"
            "        try:\n"
            "            while True:\n"
            "                shard.find('another1234', 200)\n"
            "        except Exception:\n"
            "            pass\n"
            "    threads = [threading.Thread(target=look) for _ in range(3)]\n"
            "    [thread.start() for thread in threads]\n"
            "    layer.apply((), ['b'], Event())\n"
            "    [thread.join() for thread in threads]\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
