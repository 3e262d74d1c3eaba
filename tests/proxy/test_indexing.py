"""Indexes of a store: built by use, resumed, and rid of what the store lets go, before purge and gc answer."""
from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.proxy import indexing

pytest.importorskip("numpy")
WORDS = ("alpha", "bravo", "charlie", "delta", "echo")


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        session = gateway.session("s")
        for word in WORDS:
            session.capture(tool="Read", args={"file_path": word}, output=f"the {word} and its own {word}Marker9x\n" * 30, raw=True)
        yield session


def held(session: byref.Session, name: str = "bm25") -> frozenset[str]:
    indexes = session.gateway.indexes
    indexed: frozenset[str] = next(one for one in indexes.orchestrator(session.scope).layers if one.name == name).indexed()
    return indexed


def files(tmp_path: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())


def blob_of(session: byref.Session, ref: str) -> str:
    return session.gateway.store.resolve(session.scope, ref).manifest.parts[0].blob.digest


def test_a_search_has_the_scope_indexed_in_the_background(session: byref.Session) -> None:
    assert held(session) == held(session, "trigram") == frozenset()
    session.search("alpha")
    for _ in range(2000):
        if len(held(session)) == len(held(session, "trigram")) == len(WORDS):
            break
        time.sleep(0.01)
    assert held(session) == held(session, "trigram") and len(held(session)) == len(WORDS)
    (hit,) = session.search("bravoMarkr9x", layers=["trigram"], k=1).hits
    assert "bravoMarker9x" in hit.excerpt and hit.signals == ("trigram",)
    (hit,) = session.search("charlie marker", layers=["bm25"], k=1).hits
    assert "charlieMarker9x" in hit.excerpt and hit.signals == ("words",)
    assert session.fetch(hit.ref, hit.address).text.rstrip("\n") == hit.excerpt


def test_what_is_built_stays_and_another_process_goes_on_from_there(session: byref.Session, tmp_path: Path) -> None:
    session.gateway.indexes.build("s")
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        other = gateway.session("s")
        assert len(held(other)) == len(WORDS)
        other.capture(tool="Read", args={"file_path": "new"}, output="foxtrot\n" * 9, raw=True)
        gateway.indexes.build("s")
    assert len(held(session)) == len(WORDS) + 1 and session.search("foxtrot", layers=["bm25"]).hits


def test_purge_leaves_no_byte_in_any_layer(session: byref.Session, tmp_path: Path) -> None:
    session.gateway.indexes.build("s")
    ref = session.search("delta").hits[0].ref
    blob = blob_of(session, ref)
    assert blob.encode() in files(tmp_path)
    session.purge(ref)
    left = files(tmp_path)
    assert blob.encode() not in left and b"deltaMarker9x" not in left
    for layers in (None, ["bm25"], ["trigram"], ["text"], ["names"]):
        assert ref not in [hit.ref for hit in session.search("deltaMarker9x", layers=layers).hits]
    session.gateway.indexes.build("s")
    assert len(held(session)) == len(held(session, "trigram")) == len(WORDS) - 1


def test_bytes_that_another_output_of_the_scope_holds_stay_indexed(session: byref.Session) -> None:
    twins = [session.capture(tool="Read", args={"file_path": name}, output="golf twins\n" * 9, raw=True).ref for name in ("x", "y")]
    session.gateway.indexes.build("s")
    blob = blob_of(session, twins[0])
    session.purge(twins[1])
    assert blob in held(session) and [hit.ref for hit in session.search("golf").hits] == [twins[0]]
    session.purge(twins[0])
    assert blob not in held(session)


def test_purge_everywhere_reaches_the_layers_of_other_scopes(session: byref.Session, tmp_path: Path) -> None:
    other = session.gateway.session("t")
    mine = session.capture(tool="Read", args={"file_path": "shared"}, output="hotel\n" * 9, raw=True).ref
    other.capture(tool="Read", args={"file_path": "shared"}, output="hotel\n" * 9, raw=True)
    blob = blob_of(session, mine)
    for scope in ("s", "t"):
        session.gateway.indexes.build(scope)
    session.purge(mine, everywhere=True)
    assert blob not in held(session) | held(other) and blob.encode() not in files(tmp_path)


def test_gc_reaches_every_layer(tmp_path: Path) -> None:
    now = [1000.0]
    with byref.open(f"file:{tmp_path / 'store'}", clock=lambda: now[0], max_age=100.0) as gateway:
        session = gateway.session("s")
        old = session.capture(tool="Read", args=None, output="old india\n" * 9, raw=True).ref
        now[0] += 90
        session.capture(tool="Read", args=None, output="new india\n" * 9, raw=True)
        gateway.indexes.build("s")
        blob = blob_of(session, old)
        now[0] += 20
        gateway.gc()
        assert blob not in held(session) | held(session, "trigram") and len(held(session)) == 1
        assert blob.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "store" / "layers").rglob("*") if path.is_file())


def test_an_output_that_expired_since_it_was_listed_is_no_hit(tmp_path: Path) -> None:
    now = [1000.0]
    with byref.open(f"file:{tmp_path / 'store'}", clock=lambda: now[0], max_age=100.0) as gateway:
        session = gateway.session("s")
        session.capture(tool="Read", args=None, output="juliet\n" * 9, raw=True)
        assert session.search("juliet").hits
        now[0] += 200
        assert not session.search("juliet").hits


def test_a_damaged_index_is_built_again(session: byref.Session, tmp_path: Path) -> None:
    session.gateway.indexes.build("s")
    session.gateway.close()
    for path in (tmp_path / "store" / "layers").rglob("*"):
        if path.suffix in (".seg", ".db"):
            path.write_bytes(b"damaged " * 100)
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        other = gateway.session("s")
        assert held(other) == held(other, "trigram") == frozenset() and other.search("alpha").hits
        gateway.indexes.build("s")
        assert len(held(other)) == len(WORDS)


def test_each_scope_has_its_own_index(session: byref.Session) -> None:
    session.gateway.indexes.build("s")
    other = session.gateway.session("t")
    other.capture(tool="Read", args=None, output="kilo\n", raw=True)
    session.gateway.indexes.build("t")
    assert len(held(other)) == 1 and not other.search("alpha").hits and not held(session) & held(other)


def counted(gateway: Any, scope: str = "s") -> list[str]:
    """Blobs that are opened by building from now on."""
    opened: list[str] = []
    store, real = gateway.store, gateway.store.open
    store.open = lambda digest: (opened.append(digest), real(digest))[1]
    gateway.indexes.build(scope)
    store.open = real
    return opened


def test_a_new_process_reads_nothing_again_not_even_what_no_index_takes(session: byref.Session, tmp_path: Path) -> None:
    session.capture(tool="Read", args={"file_path": "binary"}, output=b"\0\1" * 5000, raw=True)
    assert len(set(counted(session.gateway))) == len(WORDS) + 1
    assert counted(session.gateway) == []
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        other = gateway.session("s")
        assert counted(gateway) == []
        new = other.capture(tool="Read", args={"file_path": "new"}, output="foxtrot\n" * 9, raw=True).ref
        assert set(counted(gateway)) == {blob_of(other, new)} and blob_of(other, new) in held(other) & held(other, "trigram")


def test_what_was_let_go_or_damaged_is_built_again_behind_the_cursor(session: byref.Session, tmp_path: Path) -> None:
    session.gateway.indexes.build("s")
    session.purge(session.search("delta").hits[0].ref)  # takes the neighbours in its trigram file along
    session.gateway.indexes.build("s")
    assert len(held(session)) == len(held(session, "trigram")) == len(WORDS) - 1
    session.gateway.close()
    for path in (tmp_path / "store" / "layers").rglob("*.seg"):
        path.unlink()
    with byref.open(f"file:{tmp_path / 'store'}") as gateway:
        gateway.indexes.build("s")
        assert len(held(gateway.session("s"))) == len(WORDS) - 1


def test_a_build_that_was_cancelled_goes_on_where_it_was(session: byref.Session) -> None:
    indexes = session.gateway.indexes
    indexes._cancel.set()
    indexes.build("s")
    assert not held(session)
    indexes._cancel.clear()
    indexes.build("s")
    assert len(held(session)) == len(held(session, "trigram")) == len(WORDS)


def test_without_numpy_a_purge_still_leaves_no_byte_of_an_index(session: byref.Session, tmp_path: Path) -> None:
    session.gateway.indexes.build("s")
    ref = session.search("delta").hits[0].ref
    blob = blob_of(session, ref)
    session.gateway.close()
    place = next((tmp_path / "store" / "layers").glob("*/bm25"))
    (place.parent / "layer_of_somebody").mkdir()
    (place.parent / "layer_of_somebody" / "vectors").write_text(blob)
    assert blob.encode() in b"".join(path.read_bytes() for path in place.iterdir())
    script = ("import sys; sys.modules['numpy'] = None; import byref\n"
              "import importlib.util as u; real = u.find_spec; u.find_spec = lambda n, *a: None if n == 'numpy' else real(n, *a)\n"
              f"g = byref.open('file:{tmp_path / 'store'}'); s = g.session('s'); s.purge('{ref}')\n"
              "assert any('numpy' in one.missing for one in s.status().layers); g.close()")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert blob.encode() not in files(tmp_path)


def test_outputs_that_are_purged_while_they_are_searched_and_built_are_no_hits_and_no_fault(session: byref.Session, tmp_path: Path) -> None:
    refs = [session.capture(tool="Read", args={"file_path": f"f{n}"}, output=f"the lima number {n} and limaMarker{n}x\n" * 40, raw=True).ref
            for n in range(12)]
    gone: set[str] = set()
    faults: list[Exception] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                before = set(gone)
                for query in ("lima number", "limaMarker3x", "/lima.*7/", "which of the limas has a number"):
                    assert not before & {hit.ref for hit in session.search(query).hits}
                session.gateway.indexes.build("s")
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for ref in refs:
        session.purge(ref)
        gone.add(ref)
    done.set()
    for thread in threads:
        thread.join()
    assert not faults and not gone & {hit.ref for hit in session.search("limaMarker7x").hits}
    session.gateway.indexes.build("s")
    assert len(held(session)) == len(held(session, "trigram")) == len(WORDS)
    session.gateway.close()
    assert b"and limaMarker" not in files(tmp_path), "what was searched for since stands in the ledger, but nothing of the outputs"


def test_a_store_that_is_closed_while_it_is_built_loses_nothing_and_mixes_no_scopes(tmp_path: Path) -> None:
    url, lines = f"file:{tmp_path / 'store'}", 400
    with byref.open(url) as gateway:
        for name in ("s", "t"):
            one = gateway.session(name)
            for n in range(9):
                one.capture(tool="Read", args={"file_path": f"{n}"}, output=f"{name}Word{n}x stands here\n" * lines, raw=True)
        for name in ("s", "t"):
            gateway.session(name).search("stands")
            gateway.indexes._asked = 0.0  # so that building begins at once
    for _ in range(2):
        with byref.open(url) as gateway:
            for name, other in (("s", "t"), ("t", "s")):
                one = gateway.session(name)
                gateway.indexes.build(name)
                assert len(held(one)) == len(held(one, "trigram")) == 9
                for layers in (["bm25"], ["trigram"], ["text"]):
                    assert f"{name}Word4x" in one.search(f"{name}Word4x", layers=layers).hits[0].excerpt
                    assert all(f"{other}Word" not in hit.excerpt for hit in one.search(f"{other}Word4x", layers=layers).hits)


@pytest.mark.parametrize("first", ["search", "status", "build"])
@pytest.mark.parametrize("damage", ["missing", "half", "wrong"])
def test_a_model_that_cannot_be_used_costs_its_layer_alone_and_is_told(
        session: byref.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, first: str) -> None:
    pytest.importorskip("tokenizers")
    folder = tmp_path / "models" / "potion-base-8M"
    monkeypatch.setenv("BYREF_MODELS", str(tmp_path / "models"))
    if damage != "missing":
        folder.mkdir(parents=True)
        for name in ("config.json", "tokenizer.json", "model.safetensors"):
            (folder / name).write_bytes(b"{}" if damage == "wrong" else b'{"version": "1.0", "trunc')
    if first == "status":
        assert any("make models" in one.missing for one in session.status().layers)
    elif first == "build":
        session.gateway.indexes.build("s")
        assert len(held(session, "trigram")) == len(WORDS)
    for _ in range(2):
        found = session.search("alpha marker")
        assert found.hits and next(one for one in found.layers if one.name == "static").hits == 0
        time.sleep(0.05)
    (told,) = [one.missing for one in session.status().layers if one.name == "static"]
    assert "make models" in told and str(folder) in told
    session.gateway.indexes.build("s")
    assert len(held(session)) == len(WORDS)


def test_a_layer_that_cannot_be_built_costs_the_others_nothing_and_is_logged(session: byref.Session) -> None:
    indexes, logged = session.gateway.indexes, []
    first = next(one for one in indexes.orchestrator("s").layers if one.name == "bm25")
    indexes._log = lambda where, fault: logged.append(f"{where}: {fault}")
    first._layer.apply = lambda *rest: 1 / 0
    indexes.build("s")
    assert logged == ["indexing bm25: division by zero"] and not held(session) and len(held(session, "trigram")) == len(WORDS)
    del first._layer.apply
    indexes.build("s")
    assert len(held(session)) == len(WORDS), "the next use tries again"


@pytest.mark.parametrize("url", ["memory:", "file"])
def test_a_large_scope_is_listed_from_its_newest_on_as_far_as_time_goes(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "PAGE", 4)
    with byref.open(url if url == "memory:" else f"file:{tmp_path}") as gateway:
        session = gateway.session("s", scope="here")

        def captured(n: int) -> str:
            return session.capture(tool="Read", args={"file_path": str(n)}, output=f"the number {n}\n", raw=True).ref
        refs = [captured(n) for n in range(15)]
        indexes = gateway.indexes
        part = indexes.everything("here", 0.0)
        assert [output.ref for output in part.outputs] == refs[:10:-1] and part.older
        again = captured(2)
        assert again == refs[2]
        refs.append(captured(15))
        part = indexes.everything("here", 0.0)
        assert [output.ref for output in part.outputs] == refs[:10:-1] and part.older
        whole = indexes.everything("here")
        assert not whole.older and {output.ref for output in whole.outputs} == set(refs) and len(whole.outputs) == 16
        assert [output.seq for output in whole.outputs] == sorted((output.seq for output in whole.outputs), reverse=True)
        assert indexes.everything("here", 0.0) is whole, "nothing is read again"


def test_a_search_that_had_no_time_to_list_all_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "PAGE", 1)
    with byref.open(f"file:{tmp_path}") as gateway:
        session = gateway.session("s", scope="here")
        for n in range(400):
            session.capture(tool="Read", args={"file_path": str(n)}, output=f"the number n{n}n\n", raw=True)
        found = session.search("number", timebox_ms=2, layers=["text"])
        assert found.outputs < 400 and "older outputs were not listed in time" in found.text
        for _ in range(1000):
            found = session.search("n7n", timebox_ms=1000, layers=["text"])
            if found.outputs == 400 and found.hits:
                break
        assert found.hits and "older outputs" not in found.text
