"""`byref report`: what the views saved, net of what was fetched."""
from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from byref.adapters.harnesses import claude_code
from byref.proxy.frontends.report import DEFINITION
from byref.proxy.frontends.wrap.declared import instructions
from byref.proxy.frontends.wrap.own import TOOLS
from byref.proxy.ledger.counter import token_counter


def test_savings_are_logged_by_tool_and_shape_net_of_fetches(byref, ref):
    name = ref(byref("run", "--", "seq", "20000").stdout)
    before = json.loads(byref("report", "--json").stdout)
    assert before["total"]["calls"] == 1 and before["net"] > 0 and list(before["tools"]) == ["shell"]
    byref("fetch", name, "L1-900")
    after = json.loads(byref("report", "--json").stdout)
    assert after["total"]["fetches"] == 1 and after["net"] < before["net"]
    assert "shell" in byref("report").stdout.decode()


def test_here_is_this_project_alone(byref):
    byref("run", "--", "seq", "2000")
    assert json.loads(byref("report", "--json", BYREF_SCOPE="elsewhere").stdout)["total"]["calls"] == 1
    assert json.loads(byref("report", "--json", "--here", BYREF_SCOPE="elsewhere").stdout)["total"]["calls"] == 0


def test_prices_are_named_and_an_unknown_model_is_refused(byref):
    byref("run", "--", "seq", "20000")
    money = json.loads(byref("report", "--json", "--price", "no cache", "--price", "self-hosted").stdout)["money"]
    assert [(one["prices"], one["read"], one["bill"], one["tool_results"]) for one in money] == [
        ("no cache", 1, None, None), ("self-hosted", 0, None, None)]
    failed = byref("report", "--price", "nonesuch")
    assert failed.returncode == 2 and b"nonesuch" in failed.stderr


def test_tokens_are_counted_once_and_the_estimate_stands_where_asked_for(byref):
    pytest.importorskip("toktok", reason="the extra `count` is not installed")
    byref("run", "--", "seq", "20000")
    assert "estimate" in json.loads(byref("report", "--json", "--estimate").stdout)["unit"]
    counted = json.loads(byref("report", "--json").stdout)
    assert counted["total"]["counted"] == 1 and "o200k_base" in counted["unit"]
    assert json.loads(byref("report", "--json", "--estimate").stdout)["total"] == counted["total"], "what was counted stays known"


def test_definitions_are_counted_as_requests_carry_them():
    counter = token_counter()
    if not counter.exact:
        pytest.skip("no tokenizer: the extra `count` is not installed")
    shown = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in TOOLS]
    skill = claude_code.SKILL.split("---\n")[1]
    texts = [json.dumps(shown, ensure_ascii=False, separators=(",", ":")), instructions(None), skill]
    assert sum(counter.count(texts)) == DEFINITION
    assert DEFINITION <= 700, "DESIGN: all three tools take at most 700 tokens"


def test_each_key_of_json_is_in_the_manual(byref):
    page = Path(__file__).resolve().parents[3] / "docs" / "measuring.md"
    if not page.is_file():
        pytest.skip("docs/measuring.md is not beside these tests: they run from a source package")
    byref("run", "--", "seq", "20000")
    found = json.loads(byref("report", "--json").stdout)
    keys = {*found, *found["total"], *found["uncached"], *found["money"][0], *next(iter(found["kv"].values()))}
    keys |= set(json.loads(byref("usage", "--json").stdout))
    manual = page.read_text(encoding="utf-8")
    assert [key for key in sorted(keys) if f"`{key}`" not in manual] == []


def test_csv_and_the_page_hold_the_same(byref, tmp_path):
    byref("run", "--", "seq", "20000")
    assert byref("report", "--csv").stdout.decode().splitlines()[0].startswith("table,tool,calls,raw,view")
    byref("report", "--html", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text() == byref("report", "--html", "-").stdout.decode()


def test_days_bound_the_report(byref):
    byref("run", "--", "seq", "20000")
    assert json.loads(byref("report", "--json", "--days", "2").stdout)["total"]["calls"] == 1
    for wrong in ("0", "-3", "x", "nan", "inf", "1e9"):
        done = byref("report", f"--days={wrong}")
        assert done.returncode == 2 and b"is no number of days: more than 0" in done.stderr, wrong


def test_a_closed_stdout_is_told_and_no_file_of_ours_is_written_in_its_place(byref):
    byref("run", "--", "seq", "2000")
    for words in ("report", "report --csv", "status", "usage --json"):
        done = byref.bare("sh", "-c", f"exec byref {words} >&-")
        assert (done.returncode, done.stderr) == (1, b"byref: stdout: Bad file descriptor\n"), words
    assert byref("verify").returncode == 0


def test_the_ledger_itself_is_json_a_line(byref):
    byref("run", "--", "seq", "2000")
    byref("search", "1234")
    found = [json.loads(line) for line in byref("report", "--events").stdout.splitlines()]
    assert [event["kind"] for event in found] == ["captured", "viewed", "searched"] and found[-1]["note"] == "1234"


def test_a_count_that_takes_long_is_told_to_a_terminal_alone(byref):
    byref("run", "--", "seq", "200000")
    code = "import sys; from byref.proxy.frontends import cli, report; report.PATIENCE = 0; sys.exit(cli.main(['report', '--json']))"
    main, other = pty.openpty()
    for err in (subprocess.PIPE, other):
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=err, env=byref.env, check=True, timeout=60)
        assert json.loads(done.stdout)["total"]["calls"] == 1 and not done.stderr
    os.close(other)
    assert b"counts tokens" in os.read(main, 1000)
    os.close(main)
