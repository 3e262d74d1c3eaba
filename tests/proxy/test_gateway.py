"""A call from its output to its view: stored first, first bytes for ever, and raw whatever breaks."""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import byref
from byref.filters import render
from byref.proxy.contracts import Call, Gap, View
from byref.proxy.errors import ByrefError, Collision, ConfigError, StoreBusy, StoreFull, StoreNewer, StoreReadOnly, Unknown

LOG = "".join(f"step {i} of the installation copied file_{i * 7919 % 1000}.dat\n" for i in range(2000))
CALL: dict[str, Any] = {"tool": "shell", "args": {"command": "./install"}}


def test_a_view_is_small_and_every_byte_is_a_call_away() -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        view = session.capture(**CALL, output=LOG, exit_code=0)
        assert len(view.text) < len(LOG) / 2 and byref.MARKER.search(view.text)
        assert b"".join(session.blocks(view.ref)) == LOG.encode()


def test_small_outputs_pass_whole_are_stored_and_logged_and_cost_no_filters() -> None:
    import subprocess
    import sys
    code = ("import sys, byref\n"
            "with byref.open('memory:') as g:\n"
            "    s = g.session('a', proven=False)\n"
            "    v = s.capture(tool='shell', output='ok\\n' * 100)\n"
            "    print(v.passed, v.text == 'ok\\n' * 100, s.fetch(v.ref).data == v.data)\n"
            "    print('byref.filters' in sys.modules, g.report().total.calls)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True", "False", "1"]


def test_raw_passes_whole_and_is_stored_all_the_same() -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        view = session.capture(**CALL, output=LOG, raw=True)
        assert view.passed and view.text == LOG and session.fetch(view.ref, "L2").text == LOG.split("\n")[1] + "\n"


def test_profile_budget_and_all_that_is_known_of_a_call_reach_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[object, ...]] = []
    monkeypatch.setattr(render, "view", lambda ref, parts, call, seen, *rest: given.append((call, seen.proven, *rest)) or View("", ()))
    with byref.open("memory:", profile="lean") as gateway:
        session = gateway.session("a", task="speed it up")
        session.capture(**CALL, output=LOG, exit_code=3, is_error=True, intent="slow steps", said="I will run it", budget=300)
    call = Call("shell", CALL["args"], 3, True, "slow steps", "I will run it", "speed it up")
    assert [one[:4] for one in given] == [(call, True, "lean", 300)]


def test_what_the_agent_wrote_is_known_to_later_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(render, "view", lambda ref, parts, call, known, *_: seen.append(known) or View("", ()))
    with byref.open("memory:") as gateway:
        session = gateway.session("a", task="mend parse_amount")
        session.capture(tool="shell", args={"command": "cat ledger.py"}, output=LOG, said="look at post_entry")
        session.capture(**CALL, output=LOG)
    assert all(term in seen[1].terms for term in ("parse_amount", "ledger.py", "post_entry")) and "install" not in seen[1].terms


def test_the_part_of_a_command_is_stdout_and_of_any_other_tool_text() -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        for tool, part in (("Bash", "stdout"), ("execute_command", "stdout"), ("Read", "text"), ("mcp__x__y", "text")):
            assert list(session.capture(tool=tool, output="x").texts) == [part]


def test_the_same_call_gives_its_first_bytes_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file:{tmp_path}/store"
    with byref.open(url) as gateway, gateway.session("a", context="talk") as session:
        first = session.capture(**CALL, output=LOG, call_id="c1")
        small = session.capture(**CALL, output=b"caf\xe9\n", call_id="c2")
        assert session.capture(**CALL, output=LOG, call_id="c1").text == first.text
        session.compacted()
        assert session.capture(**CALL, output="another", call_id="c1").text == first.text
    with byref.open(url, profile="lean") as gateway, gateway.session("a", context="talk") as session:
        monkeypatch.setattr(render, "view", lambda *_, **__: pytest.fail("a view that is held is not made again"))
        held = session.capture(**CALL, output=LOG, call_id="c1")
        assert (held.text, held.ref, held.gaps, held.passed) == (first.text, first.ref, first.gaps, False)
        assert session.capture(**CALL, output=LOG, call_id="c2").data == small.data
        assert session.fetch(held.ref).total == len(LOG)


def test_a_race_for_the_same_call_has_one_winner(tmp_path: Path) -> None:
    with byref.open(f"file:{tmp_path}/store") as gateway:
        session, seen, barrier = gateway.session("a", context="talk"), [], threading.Barrier(4)

        def work(n: int) -> None:
            barrier.wait()
            seen.append(session.capture(**CALL, output=LOG + str(n), call_id="c1").text)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 1


def broken(fault: Exception) -> Callable[..., Any]:
    def call(*_: object, **__: object) -> Any:
        raise fault
    return call


@pytest.mark.parametrize("fault", [StoreFull("no room"), StoreReadOnly("read-only"), StoreBusy("locked"), Collision("two"),
                                   OSError(28, "No space"), RuntimeError("bug"), MemoryError()])
@pytest.mark.parametrize("method", ["writer", "commit", "first", "recent", "tick"])
def test_whatever_the_store_does_the_raw_output_passes_without_a_ref(
        method: str, fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        monkeypatch.setattr(gateway, "_shared", True)
        monkeypatch.setattr(gateway.store, method, broken(fault))
        view = session.capture(**CALL, output={"stdout": LOG, "stderr": b"\xff"}, exit_code=2, call_id="c")
        assert view.data == LOG.encode() + b"\xff" and view.passed and not view.ref and not view.stored
        assert "raw" in view.warning and type(fault).__name__ in view.warning and view.exit_code == 2
        assert gateway.faults.recent and not byref.MARKER.search(view.text)


def test_a_fault_of_the_filters_costs_the_view_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        monkeypatch.setattr(render, "view", broken(ValueError("bad luck with the output's own text")))
        view = session.capture(**CALL, output=LOG)
        assert view.text == LOG and "ValueError" in view.warning and "own text" not in view.warning
        assert session.fetch(view.ref, max_tokens=None).text == LOG, "its bytes were stored, so its ref works"


def test_a_view_that_is_longer_than_its_output_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    with byref.open("memory:") as gateway:
        monkeypatch.setattr(render, "view", lambda *_: View("«r»\n", (LOG,), (Gap("stdout", "L1", 1, "lines"),), "log", False))
        view = gateway.session("a").capture(**CALL, output=LOG)
        assert view.passed and view.text == LOG and view.gaps == ()


@pytest.mark.parametrize("fault", [StoreNewer("written by byref 9"), StoreReadOnly("read-only"), PermissionError(13, "Permission denied")])
def test_a_store_that_cannot_be_opened_stops_no_call_and_is_tried_again(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.proxy import store
    works = store.open_store
    monkeypatch.setattr(store, "open_store", broken(fault))
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        view = session.capture(**CALL, output=LOG)
        assert view.text == LOG and not view.ref and view.warning
        with pytest.raises(type(fault)):
            session.fetch("rk7f3qmab2x")
        monkeypatch.setattr(store, "open_store", works)
        assert session.capture(**CALL, output=LOG).stored


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_lets_outputs_pass(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with byref.open(f"file:{tmp_path}/store") as gateway:
        view = gateway.session("a").capture(**CALL, output=LOG)
        assert view.text == LOG and not view.ref and view.warning


def test_an_output_larger_than_the_whole_store_passes_raw() -> None:
    with byref.open("memory:", max_bytes=50_000) as gateway:
        view = gateway.session("a").capture(**CALL, output=iter([LOG.encode()] * 3))
        assert view.data == LOG.encode() * 3 and not view.ref and "StoreFull" in view.warning


@pytest.mark.parametrize("url", ["memory:", "file"])
@pytest.mark.parametrize("size", [10, 3 << 20])
def test_a_tool_whose_stream_breaks_fails_as_it_would_without_us(url: str, size: int, tmp_path: Path) -> None:
    """What came so far would look like the whole of it."""
    def broken() -> Iterator[bytes]:
        yield b"x" * size
        raise ConnectionError("the other side hung up")

    with byref.open(url if url == "memory:" else f"file:{tmp_path / 'store'}") as gateway:
        session = gateway.session("s")
        with pytest.raises(ConnectionError, match="hung up"):
            session.capture(tool="mcp", output={"text": "and more", "body": broken()})
        assert session.status().outputs == 0 and session.capture(tool="mcp", output=LOG).ref


def test_arguments_that_are_no_json_let_the_output_pass() -> None:
    with byref.open("memory:") as gateway:
        for args in ({"command": object()}, {"command": {1: 2}}):
            view = gateway.session("a").capture(tool="shell", args=args, output=LOG)  # type: ignore[arg-type]
            assert view.text == LOG and not view.ref and "Invalid: invalid: arguments must be JSON" in view.warning


def test_the_fault_log_lies_beside_the_store_and_tells_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with byref.open(f"file:{tmp_path}/store") as gateway:
        monkeypatch.setattr(render, "view", broken(ValueError("password hunter2")))
        gateway.session("a").capture(tool="shell", args={"command": "echo hunter2"}, output="hunter2\n" * 500)
        log = (tmp_path / "store" / "byref.log").read_text()
        assert "ValueError" in log and "hunter2" not in log


def test_first_bytes_that_are_gone_are_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        session.capture(**CALL, output="first\n", call_id="c")
        monkeypatch.setattr(gateway.store, "open", broken(Unknown("b2:gone")))
        view = session.capture(**CALL, output="second\n", call_id="c")
        assert view.text == "second\n" and not view.ref and "no longer kept" in view.warning


def test_first_bytes_do_not_cross_scopes() -> None:
    with byref.open("memory:") as gateway:
        gateway.session("a", context="talk").capture(**CALL, output="payroll\n", call_id="c")
        view = gateway.session("b", context="talk").capture(**CALL, output="of b\n", call_id="c")
        assert view.text == "of b\n"


def test_a_store_that_is_down_fails_no_begin_no_close_and_no_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    with byref.open("memory:", profile="safe") as gateway:
        session = gateway.session("a")
        session.capture(**CALL, output=LOG)
        memory = gateway.memory(session.context)
        assert LOG.split("\n")[1] in memory.enter(memory.tick).lines
        with monkeypatch.context() as patch:
            patch.setattr(gateway, "_shared", True)
            for method in ("tick", "close_session", "forget"):
                patch.setattr(gateway.store, method, broken(StoreBusy("locked")))
            assert session.begin() == 0
            with pytest.raises(StoreBusy):
                session.compacted()
            assert LOG.split("\n")[1] not in memory.enter(memory.tick).lines, "it is forgotten here all the same"
            with session:
                pass
        assert len(gateway.faults.recent) == 2


def test_purge_needs_to_know_the_scope() -> None:
    with byref.open("memory:") as gateway:
        ref = gateway.session("a").capture(**CALL, output="x").ref
        with pytest.raises(ConfigError, match="scope"):
            gateway.purge(ref)
        gateway.purge(ref, scope="a")
        with pytest.raises(ByrefError):
            gateway.session("a").fetch(ref)


def test_a_profile_or_url_that_cannot_be_used_is_told_at_once() -> None:
    for wrong in ({"profile": "tiny"}, {"url": "nowhere"}, {"url": "postgresql://x"}, {"max_bytes": -1}):
        with pytest.raises(ConfigError):
            byref.open(**{"url": "memory:", **wrong})  # type: ignore[arg-type]


def test_a_closed_gateway_lets_outputs_pass_and_says_what_it_is() -> None:
    gateway = byref.open("memory:")
    session = gateway.session("a")
    gateway.close()
    gateway.close()
    assert session.capture(**CALL, output=LOG).text == LOG
    with pytest.raises(ConfigError, match="closed"):
        gateway.verify()


def test_a_context_that_was_dropped_from_memory_still_knows_what_it_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("byref.proxy.gateway._CONTEXTS", 2)
    text = "".join(f"{n} the quick brown fox jumps over the lazy dog\n" for n in range(40))
    with byref.open(f"file:{tmp_path}", profile="safe") as gateway:
        session = gateway.session("s", context="kept", scope="here")
        assert session.capture(tool="Read", output=text).passed
        for n in range(5):
            gateway.session("s", context=f"other {n}", scope="here").capture(tool="Read", output=text)
        again = session.capture(tool="Read", output=text)
        assert not again.passed and [(gap.address, gap.count) for gap in again.gaps] == [("L1-40", 40)]


def test_a_call_that_is_made_again_in_its_context_shows_what_its_first_view_hid() -> None:
    body = "".join(f"    if rows[{k}] > {k}:\n        left = left - rows[{k}]\n" for k in range(9))
    code = "".join(f"def handler_{i}(rows, left):\n{body.replace('left', f'left_{i}')}\n" for i in range(40))
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        read = {"tool": "Read", "args": {"file_path": "handlers.py"}}
        first = session.capture(**read, output=code)  # type: ignore[arg-type]
        second = session.capture(**read, output=code)  # type: ignore[arg-type]
        one, two = ({line for line in view.text.splitlines() if line and "«" not in line} for view in (first, second))
        hidden = {line for line in code.splitlines() if line} - one
        assert len(hidden) > 200 and hidden <= two and len(one & two) < 60
        assert gateway.session("a").capture(**read, output=code).text == first.text, "in another context it is the first"  # type: ignore[arg-type]


def test_no_more_is_saved_than_the_harness_would_have_shown() -> None:
    with byref.open("memory:") as gateway:
        gateway.session("a").capture(tool="Bash", args={"command": "make"}, output="x of y\n" * 9000, native=2000)
        assert gateway.report().total.raw == 600


@pytest.mark.parametrize("url", ["memory:", "file:"])
def test_parts_put_aside_are_stored_with_the_others_and_neither_shown_nor_counted(url: str, tmp_path: Path) -> None:
    parts = {"image": bytes(range(256)) * 400, "text": LOG, "structuredContent": "{}"}
    with byref.open(url + str(tmp_path) * (url == "file:")) as gateway:
        session = gateway.session("a")
        shown = session.capture(**CALL, output=parts, call_id="1", aside=["image", "structuredContent"])
        alone = session.capture(**CALL, output={"text": LOG}, call_id="2", began=0)
        assert shown.texts["image"] == shown.texts["structuredContent"] == "" and shown.texts["text"] == alone.texts["text"]
        assert session.capture(**CALL, output="another", call_id="1").text == shown.text
        assert b"".join(session.blocks(shown.ref, "image")) == parts["image"]
        raw = [event.numbers["raw"] for event in gateway.store.events() if event.kind == "viewed"]
        assert raw[0] == raw[1]
        small = session.capture(**CALL, output={"image": parts["image"], "text": "small"}, aside=["image"])
        assert small.passed and small.ref and session.fetch(small.ref, part="text").text == "small"
