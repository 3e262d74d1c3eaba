"""The shared cases: real kinds of output that such tools got wrong, each with what must hold of it.

Their vocabulary is described beside them, in SCHEMA.md. They are laid next to the checkout; `--cases DIR` names another
place, and where there is none these tests are skipped.
"""
from __future__ import annotations

import functools
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import byref
import case_harness.system  # noqa: F401 - its words join the vocabulary, and so do those of results
from byref import errors
from case_harness.checks import apply, has
from case_harness.load import Part, generator, parts
from case_harness.over_mcp import Client, OverMcp
from case_harness.relayed import RelayRun
from case_harness.results import ResultRun
from case_harness.run import run
from case_harness.scenario import Scenario

HARNESS = Path(__file__).parent / "case_harness"
HANGS = 600  # seconds after which a process that does not end is said to hang
MESSAGES = {"07"}  # whose outputs are MCP messages
RELAYED = {"20"}  # whose output comes over HTTP
# Words that qualify the check they stand beside.
QUALIFIERS = {
    "must_return_line_containing", "must_return_nothing", "must_not_error_uncaught", "response_tokens_max", "note", "stream", "of",
    "equals", "unchanged", "must_equal_raw_slice", "must_contain", "must_not_error", "must_be_empty", "must_fail", "either",
    "output_lines", "in", "to", "step", "expect", "reply_says", "same_view", "in_order", "first_event_within_seconds", "steps",
}
# Words of scenarios: each has its own test below.
OF_SCENARIOS = {
    "error_text_identical_for", "no_reply_contains_regex", "all_fetches", "no_process_died", "savings_log_rows", "integrity_check",
    "if_store_unavailable", "errors_distinct", "never",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = Path(metafunc.config.getoption("--cases"))
    found = parts(folder) if folder.is_dir() else ()
    absent = pytest.param(None, marks=pytest.mark.skip(reason=f"no cases in {folder}: name their folder with --cases DIR"), id="absent")
    if "statement" in metafunc.fixturenames:
        ready = [part for part in found if part.inputs or part.number in RELAYED]
        metafunc.parametrize("statement", [item for part in ready for item in statements(part)] or [absent])
    elif "scenario" in metafunc.fixturenames:
        wanted = metafunc.function.__name__.split("_")[1]
        here = [pytest.param(part, id=part.case) for part in found if part.number == wanted]
        metafunc.parametrize("scenario", here or [absent], scope="module")


def statements(part: Part) -> list[Any]:
    """A test for each check of a part: (part, word, entry)."""
    found = []
    for number, entry in enumerate(part.checks):
        words = [word for word in entry if has(word)] or [next((w for w in entry if w not in QUALIFIERS), next(iter(entry)))]
        for word in words:
            if word in QUALIFIERS and len(words) > 1:
                continue
            found.append(pytest.param((part, word, entry), id=f"{part.id}-{number}-{word}"))
    return found


def test_case(statement: tuple[Part, str, Mapping[str, Any]]) -> None:
    part, word, entry = statement
    assert has(word), f"the harness does not know the word {word!r}"
    apply(word, entry, message(part) if part.number in MESSAGES else relay(part) if part.number in RELAYED else run(part))


message = functools.cache(ResultRun)


@functools.cache
def relay(part: Part) -> RelayRun:
    started.append(RelayRun(part))
    return started[-1]


started: list[RelayRun] = []


@pytest.fixture(scope="module", autouse=True)
def _ends() -> Iterator[None]:
    yield
    while started:
        started.pop().close()


def environment(home: str | Path) -> dict[str, str]:
    """What a script of the harness gets: nothing of the user's, though a module's fixtures are made before a test has its own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BYREF")}
    return kept | {"PYTHONPATH": str(HARNESS.parent), "BYREF_HOME": f"{home}/byref", "BYREF_MODELS": f"{home}/models"}


def entry_of(part: Part, word: str) -> Any:
    return next(entry[word] for entry in part.checks if word in entry)


# 07: the whole message through the proxy ------------------------------------------------------------

def test_07_over_mcp_the_reply_is_what_the_checks_were_made_of(scenario: Part, tmp_path: Path) -> None:
    request = scenario.arguments["params"]
    client = Client(scenario.case, str(tmp_path), "--answer", str(scenario.folder / scenario.inputs["output"]))
    try:
        on = message(scenario)
        assert client.ask(on.message["id"], "tools/call", request) == on.reply
        for part, raw in on.raw.items():
            assert client.fetch(on.view.ref, part=part, max_tokens=100_000).data == raw
        if (said := on.message["result"].get("structuredContent")) is not None:
            assert json.loads(client.fetch(on.view.ref, part="structuredContent").data) == said
    finally:
        client.close()


# 15: what looks like a marker ----------------------------------------------------------------------

def test_15_over_mcp_the_view_is_the_librarys(scenario: Part, tmp_path: Path) -> None:
    raw = (scenario.folder / scenario.inputs["output"]).read_bytes()
    client = Client(scenario.case, str(tmp_path))
    try:
        over = client.capture(tool="echo", args=None, output=raw)
        whole = client.fetch(over.ref, max_tokens=100_000).data
    finally:
        client.close()
    with byref.open("memory:") as gateway:
        session = gateway.session("15", proven=False)
        own = session.capture(tool="echo", args={"text": raw.decode()}, output={"text": raw})
    assert over.text.split("\n")[1:] == own.text.split("\n")[1:] and whole == raw
    assert len(byref.MARKER.findall(over.text)) == len(byref.MARKER.findall(own.text)) > 0, "none is forged"


# 16: refs of another session -----------------------------------------------------------------------

@pytest.mark.parametrize("kind", [Scenario, OverMcp])
def test_16_no_session_reads_another_ones_outputs(scenario: Part, tmp_path: Path, kind: type[Scenario]) -> None:
    played = kind(scenario.folder, tmp_path / "byref")
    try:
        played.run(entry_of(scenario, "steps"))
    finally:
        played.close()
    assert played.failed == []
    assert played.dead_on_arrival == []


def test_16_a_foreign_ref_and_one_never_issued_read_alike(scenario: Part) -> None:
    assert entry_of(scenario, "error_text_identical_for") == ["id of another session", "id never issued"]
    with byref.open("memory:") as gateway:
        foreign = gateway.session("B").capture(tool="mcp", args=None, output=(scenario.folder / "b.txt").read_bytes()).ref
        said = {}
        for ref in (foreign, "r" + "a" * 10):
            with pytest.raises(errors.Unknown) as caught:
                gateway.session("A").fetch(ref)
            said[ref] = str(caught.value).replace(ref, "REF")
    assert len(set(said.values())) == 1


# 17: eight writers ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def written(scenario: Part, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What eight processes say who write into one store at once, two of them in one session."""
    home = tmp_path_factory.mktemp("writers")
    url = f"file:{home / 'byref'}"
    sessions = [f"w{n}" for n in range(6)] + ["together", "together"]
    limit = next(s["within_seconds"] for s in entry_of(scenario, "steps") if s["do"] == "wait_all")
    own = ["sh", "-c", f'ulimit -t {limit}; exec "$0" "$@"']  # of the processor: a machine that does much else has its own seconds
    with ExitStack() as ended:
        running = [ended.enter_context(subprocess.Popen(
            [*own, sys.executable, str(HARNESS / "writer.py"), str(scenario.folder), url, name, str(n)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(home))) for n, name in enumerate(sessions)]
        for process in running:
            ended.callback(process.kill)
        said = [process.communicate(timeout=HANGS) for process in running]
    return {"url": url, "codes": [p.returncode for p in running], "err": "".join(err for _, err in said), "out": [out for out, _ in said]}


def test_17_no_process_dies(scenario: Part, written: dict[str, Any]) -> None:
    assert entry_of(scenario, "no_process_died") is True
    assert written["codes"] == [0] * 8, written["err"][-3000:]


def test_17_all_fetches_are_byte_exact(scenario: Part, written: dict[str, Any]) -> None:
    assert entry_of(scenario, "all_fetches") == "byte-exact"
    answers = [json.loads(out) for out in written["out"]]
    assert [(answer["put"], answer["wrong"]) for answer in answers] == [(50, [])] * 8


def test_17_no_reply_speaks_of_locks(scenario: Part, written: dict[str, Any]) -> None:
    said = "".join(written["out"]) + written["err"]
    assert not re.search(entry_of(scenario, "no_reply_contains_regex"), said), said[-2000:]


def test_17_the_ledger_has_one_whole_row_an_output(scenario: Part, written: dict[str, Any]) -> None:
    with byref.open(written["url"]) as gateway:
        captured = [event for event in gateway.store.events() if event.kind == "captured"]
    assert len(captured) == entry_of(scenario, "savings_log_rows")
    assert all(event.numbers and event.tool == "mcp" for event in captured)


def test_17_the_store_is_whole_afterwards(scenario: Part, written: dict[str, Any]) -> None:
    assert entry_of(scenario, "integrity_check") == "ok"
    with byref.open(written["url"]) as gateway:
        assert gateway.store.verify().damaged == ()
    files = [f for f in Path(written["url"].removeprefix("file:")).rglob("*") if f.is_file()]
    catalogs = [f for f in files if f.read_bytes()[:15] == b"SQLite format 3"]
    assert catalogs and [sqlite3.connect(f).execute("PRAGMA integrity_check").fetchone() for f in catalogs] == [("ok",)] * len(catalogs)


def test_17_an_unavailable_store_lets_the_raw_output_pass(scenario: Part, tmp_path: Path) -> None:
    assert "raw output is passed through" in entry_of(scenario, "if_store_unavailable")
    data = generator(scenario.folder)["payload"](1, 3) * 40
    with byref.open(f"file:{tmp_path / 'byref'}") as gateway:
        gateway.session("A").capture(tool="mcp", args=None, output=b"before")
    for file in (tmp_path / "byref").rglob("*"):
        if file.is_file():
            file.write_bytes(b"no catalog any more " * 1000)
    with byref.open(f"file:{tmp_path / 'byref'}") as gateway:
        view = gateway.session("A").capture(tool="mcp", args=None, output=data)
    assert not view.ref and view.text == data.decode()


# 18: expired, evicted, full ------------------------------------------------------------------------

@pytest.fixture(scope="module")
def kept(scenario: Part) -> dict[str, Any]:
    """How a small store with a short memory went through the steps, in a process without root's rights."""
    with tempfile.TemporaryDirectory() as folder:  # not pytest's, which are for their owner alone
        Path(folder).chmod(0o755)
        inner = Path(folder, "inner")
        inner.mkdir()
        done = subprocess.run([sys.executable, "-B", str(HARNESS / "scenario.py"), str(scenario.folder), str(inner / "byref")],
                              capture_output=True, text=True, check=False, env=environment(inner))
    assert done.returncode == 0, done.stderr[-3000:]
    played: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return played


def test_18_what_is_gone_is_said_and_what_is_said_can_be_had(scenario: Part, kept: dict[str, Any]) -> None:
    assert kept["failed"] == []


def test_18_the_kinds_of_miss_can_be_told_apart(scenario: Part, kept: dict[str, Any]) -> None:
    with byref.open("memory:") as gateway, pytest.raises(errors.Invalid) as caught:
        gateway.session("S").fetch("no/such ref")
    replies = {**kept["replies"], "invalid": str(caught.value)}
    wanted = entry_of(scenario, "errors_distinct")
    assert set(wanted) <= set(replies)
    assert len({replies[reason] for reason in wanted}) == len(wanted)
    assert all(replies[reason].startswith(reason) for reason in wanted)


def test_18_no_reply_holds_a_ref_that_fails_on_the_next_fetch(scenario: Part, kept: dict[str, Any]) -> None:
    assert entry_of(scenario, "never") == "a reply holding an id that fails on the very next fetch"
    assert kept["dead_on_arrival"] == []


def test_18_the_command_says_on_stderr_that_the_store_refused(scenario: Part, tmp_path: Path) -> None:
    data = generator(scenario.folder)["blob"](200_000, 2)
    (tmp_path / "data").write_bytes(data)
    (tmp_path / "home").write_bytes(b"a file where a folder should be")
    done = subprocess.run([str(Path(sys.executable).with_name("byref")), "run", "--", "cat", "data"], capture_output=True, check=False,
                          cwd=tmp_path, stdin=subprocess.DEVNULL, env={**os.environ, "BYREF_HOME": str(tmp_path / "home")})
    assert (done.returncode, done.stdout) == (0, data)
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith(b"byref: ")


def test_the_harness_knows_every_word_of_the_cases(request: pytest.FixtureRequest) -> None:
    folder = Path(request.config.getoption("--cases"))
    if not folder.is_dir():
        pytest.skip(f"no cases in {folder}: name their folder with --cases DIR")
    words = {word for part in parts(folder) for entry in part.checks for word in entry}
    assert {word for word in words if not has(word)} - QUALIFIERS - OF_SCENARIOS == set()
