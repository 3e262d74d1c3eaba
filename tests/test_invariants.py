"""The invariants of the design that concern a call and its second calls, over real outputs and made ones.

Numbers are those of docs/design.md, section 2. Each test fails when its invariant is broken.
"""
from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import byref
from byref.proxy.captured import Captured
from byref.proxy.errors import StoreFull, Unknown

STDLIB = sysconfig.get_path("stdlib")
PY = sys.executable
# Real commands over what every machine that runs these tests has: the standard library.
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "read": ("Read", ["cat", f"{STDLIB}/json/decoder.py"]),
    "search": ("Bash", ["grep", "-rn", "import", f"{STDLIB}/asyncio"]),
    "listing": ("Bash", ["ls", "-l", STDLIB]),
    "files": ("Bash", ["find", f"{STDLIB}/json", f"{STDLIB}/email", "-name", "*.py"]),
    "tests": ("Bash", [PY, "-m", "doctest", "-v", f"{STDLIB}/heapq.py"]),
    "trace": ("Bash", [PY, "-c", "import json; [print('step', i, i * i) for i in range(900)]; json.loads('{bad')"]),
    "json": ("Bash", [PY, "-c", "import json, sys\nprint(json.dumps([{'name': n, 'len': len(n), 'none': None} "
                                "for n in sorted(sys.stdlib_module_names)]))"]),
    "binary": ("Bash", ["head", "-c", "30000", PY]),
    "small": ("Bash", ["echo", "fine"]),
    "nothing": ("Bash", ["true"]),
}
real = pytest.mark.parametrize("name", COMMANDS)
made = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
ROWS = st.lists(st.sampled_from([
    "ok: step done\n", "ERROR disk full on /dev/sda1\n", "    return value\n", "«rk7f3qmab2x 3 of 9 lines»\n", "\x1b[31mred\x1b[0m\r\n",
    "50%\r75%\r100%\n", "{\"id\": 7205759403792816603}\n", "tests/test_a.py::test_b PASSED\n", "日本語のログ\n", "\udcff\udcfe broken\n",
    "x" * 700 + "\n", "\n",
]), max_size=400).map("".join)


@functools.cache
def output(name: str) -> tuple[dict[str, Any], bytes, bytes]:
    """The call, stdout and stderr of a real command."""
    tool, argv = COMMANDS[name]
    done = subprocess.run(argv, capture_output=True, check=False)
    return {"tool": tool, "args": {"command": " ".join(argv)}, "exit_code": done.returncode}, done.stdout, done.stderr


def capture(name: str, session: byref.Session, **named: Any) -> Captured:
    call, stdout, stderr = output(name)
    return session.capture(output={"stdout": stdout, "stderr": stderr}, **call, **named)


@pytest.fixture
def session() -> Iterator[byref.Session]:
    with byref.open("memory:") as gateway:
        yield gateway.session("a", task="find out what is slow")


@real
def test_1_lossless_every_byte_of_every_part_and_range_comes_back(name: str, session: byref.Session) -> None:
    _, stdout, stderr = output(name)
    ref = capture(name, session).ref
    for part, raw in (("stdout", stdout), ("stderr", stderr)):
        assert session.fetch(ref, part=part, max_tokens=None).data == raw
    lines = re.findall(rb"[^\n]*\n|[^\n]+", stdout)
    for first in range(1, min(len(lines), 40)):
        page = session.fetch(ref, f"stdout:L{first}-{first + 2}", max_tokens=None)
        assert page.data == b"".join(lines[first - 1:first + 2])
    for start in range(0, len(stdout), 1 + len(stdout) // 20):
        assert session.fetch(ref, f"stdout:b{start}-{start + 99}", max_tokens=None).data == stdout[start:start + 99]


@made
@given(st.dictionaries(st.sampled_from(["stdout", "stderr", "text", "structuredContent"]), st.binary(max_size=2000) | ROWS, min_size=1))
def test_1_lossless_whatever_the_parts_are(parts: dict[str, Any]) -> None:
    with byref.open("memory:") as gateway:
        session = gateway.session("a")
        view = session.capture(tool="x", output=parts)
        for part, content in parts.items():
            raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
            assert session.fetch(view.ref, part=part, max_tokens=None).data == raw == b"".join(session.blocks(view.ref, part))


@real
def test_2_deterministic_the_view_and_ref_depend_on_no_clock_and_no_former_content(name: str, session: byref.Session) -> None:
    with byref.open("memory:", clock=lambda: 1e9) as gateway:
        other = gateway.session("other")
        for former in COMMANDS:
            capture(former, other)
        again = capture(name, gateway.session("a", task="find out what is slow"))
    first = capture(name, session)
    assert (again.data, again.ref) == (first.data, first.ref)


def test_2_deterministic_across_processes_hash_seeds_and_locales() -> None:
    code = ("import sys, byref\nraw = sys.stdin.buffer.read()\n"
            "with byref.open('memory:') as g:\n"
            "    s = g.session('a', task='find JSONDecodeError')\n"
            "    for n in range(2):\n"
            "        v = s.capture(tool='Bash', args={'command': f'x {n}'}, output=raw + b'%d' % n, exit_code=1)\n"
            "        sys.stdout.buffer.write(v.data + v.ref.encode())\n")
    raw = output("trace")[1] + output("search")[1] + output("tests")[1]
    places = (("0", "C", "UTC"), ("1", "C.UTF-8", "Asia/Tokyo"), ("77", "POSIX", "America/Lima"))
    run = functools.partial(subprocess.run, [PY, "-c", code], input=raw, capture_output=True, check=True)
    seen = {run(env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone}).stdout for seed, locale, zone in places}
    assert len(seen) == 1 and len(seen.pop()) < 2 * len(raw)


@real
def test_3_never_worse_a_view_is_no_longer_than_its_output(name: str, session: byref.Session) -> None:
    _, stdout, stderr = output(name)
    for _ in range(2):
        view = capture(name, session)
        assert len(view.data) <= len(stdout) + len(stderr)
        assert not view.passed or view.data == stdout + stderr


@made
@given(ROWS, st.sampled_from(["safe", "auto", "lean"]), st.none() | st.integers(1, 500))
def test_3_never_worse_whatever_the_output_profile_and_budget(text: str, profile: str, budget: int | None) -> None:
    raw = text.encode("utf-8", "surrogateescape")
    with byref.open("memory:", profile=profile) as gateway:
        session = gateway.session("a")
        for tool in ("Bash", "Read"):
            view = session.capture(tool=tool, args={"command": tool}, output=text, budget=budget)
            assert len(view.data) <= len(raw) and not view.warning
            assert not view.passed or view.data == raw
            assert len(raw) > 400 or view.passed


@real
def test_4_declared_each_line_stands_or_lies_in_a_gap_that_can_be_fetched(name: str, session: byref.Session) -> None:
    _, stdout, stderr = output(name)
    for _ in range(2):  # the second view leaves out what the first one showed
        view = capture(name, session)
        if view.passed or name in ("json", "binary"):
            continue
        for part, raw in (("stdout", stdout), ("stderr", stderr)):
            addresses = [f"{part}:{gap.address}" for gap in view.gaps if gap.part == part]
            hidden = b"".join(session.fetch(view.ref, at, max_tokens=None).data for at in addresses)
            there = {line.strip() for line in hidden.decode("utf-8", "replace").split("\n")}
            shown = view.texts[part]
            for line in raw.decode("utf-8", "replace").split("\n"):
                assert line.strip() in there or line.strip() in shown or _grouped(line.strip(), shown), (part, line)


def _grouped(line: str, shown: str) -> bool:
    """Whether a line stands under a heading that it shares with its neighbours: a path once, its matches below."""
    return any(line.startswith(head) and line[len(head):].lstrip(":") in shown for head in shown.split("\n") if len(head) > 3)


@real
def test_4_every_gap_stands_in_the_view_with_an_address_that_leads_to_its_bytes(name: str, session: byref.Session) -> None:
    call, stdout, stderr = output(name)
    for parts in ({"stdout": stdout, "stderr": stderr}, {"stderr": stderr, "stdout": stdout}, {"text": stdout + stderr}):
        view = session.capture(output=parts, **call)
        for gap in view.gaps:
            data = session.fetch(view.ref, f"{gap.part}:{gap.address}", max_tokens=None).data
            said = re.search(rf"«((?:{gap.part}:)?{re.escape(gap.address)})[ »]", view.texts[gap.part])
            assert data and said and session.fetch(view.ref, said[1], max_tokens=None).data == data


def test_5_failures_stand_out_the_exit_code_and_the_error_are_in_the_view(session: byref.Session) -> None:
    view = capture("trace", session)
    assert view.exit_code == 1 and "exit 1" in view.head and "json.decoder.JSONDecodeError" in view.text
    text = "".join(f"page {i} was read\n" for i in range(900)) + "Stopped: rate limit\n"
    flagged = session.capture(tool="mcp__x__y", output=text, is_error=True)
    assert flagged.is_error and "Stopped: rate limit" in flagged.text


def test_6_first_bytes_stay_whatever_comes_later(session: byref.Session) -> None:
    first = {name: capture(name, session, call_id=name).data for name in COMMANDS}
    for name in reversed(COMMANDS):
        capture(name, session, call_id="later " + name)
    assert {name: capture(name, session, call_id=name).data for name in COMMANDS} == first, "now that all of it was shown"
    session.compacted()
    assert {name: capture(name, session, call_id=name).data for name in COMMANDS} == first


@real
def test_7_second_calls_are_final_they_are_not_reduced_nor_stored(name: str, session: byref.Session) -> None:
    _, stdout, stderr = output(name)
    ref, held = capture(name, session).ref, session.gateway.store.usage().outputs
    for _ in range(2):
        assert session.fetch(ref, max_tokens=None).data == stdout + stderr
    assert session.gateway.store.usage().outputs == held


@real
def test_8_fail_open_a_broken_store_or_filter_lets_the_output_through(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from byref.filters import render
    _, stdout, stderr = output(name)

    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError("broken")

    for place, method in ((None, "writer"), (None, "commit"), (render, "view")):
        with byref.open("memory:") as gateway, monkeypatch.context() as patch:
            session = gateway.session("a")
            patch.setattr(place or gateway.store, method, broken)
            view = capture(name, session)
            assert view.data == stdout + stderr
            assert bool(view.warning) == bool(place is None or stdout + stderr)


@real
def test_9_no_marker_without_a_fetch(name: str, session: byref.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    view = capture(name, session)
    assert view.stored and session.fetch(view.ref, max_tokens=None).data == b"".join(output(name)[1:])

    def full(capture: object) -> None:
        raise StoreFull("full")

    monkeypatch.setattr(session.gateway.store, "commit", full)
    refused = capture(name, session)
    assert refused.ref == "" and refused.gaps == () and refused.data == b"".join(output(name)[1:])


@made
@given(st.text(alphabet="ra2b7xyz", min_size=1, max_size=12))
def test_10_isolated_a_foreign_ref_is_unknown_like_one_never_given(ref: str) -> None:
    with byref.open("memory:") as gateway:
        mine, other = gateway.session("mine"), gateway.session("other")
        real_ref = mine.capture(tool="x", output="payroll").ref
        said = []
        for name in (real_ref, ref):
            with pytest.raises(Unknown) as caught:
                other.fetch(name)
            said.append(str(caught.value).replace(f"output {name} ", "output REF "))
        assert said[0] == said[1] and "payroll" not in said[0]


def test_12_honest_numbers_a_fetch_and_a_repeat_take_their_share(session: byref.Session) -> None:
    assert capture("trace", session).gaps
    once = session.gateway.report()
    view = capture("trace", session)
    again = session.gateway.report()
    assert once.net > 0 and again.net == once.net - (again.total.view - once.total.view), "a whole first view would have spared the call"
    page = session.fetch(view.ref, "L1-40")
    assert session.gateway.report().net == again.net - page.tokens
    capture("trace", session)
    assert session.gateway.report().total.repeats == 1, "after a fetch the same call again is no repeat"


def test_12_small_outputs_save_nothing(session: byref.Session) -> None:
    capture("small", session)
    assert session.gateway.report().net == 0
