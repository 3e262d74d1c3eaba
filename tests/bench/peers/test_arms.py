"""The plain arms that others are compared with: what each shows, and that their time is the processor's, of their processes too."""
from __future__ import annotations

import subprocess
import sys
import time
from types import ModuleType

import pytest

from byref.proxy.contracts import Call
from byref.proxy.ledger.replay import Arm
from byref.proxy.ledger.trajectories import Trajectory

SESSION = Trajectory("one", "made", "find what is slow", ())
CALL = Call("Bash", {"command": "cat service.log"}, None, False, "", "", SESSION.task)
LOG = "".join(f"2026-11-30 10:{n // 60:02}:{n % 60:02} INFO request {n * 7919 % 100_003} took {n % 97} ms\n" for n in range(1200))


def shown(arm: Arm, output: str) -> str:
    return arm.start(SESSION)(CALL, output).text


def test_a_cut_keeps_both_ends_and_says_so_in_words_that_are_no_data(arms: ModuleType) -> None:
    arm = arms.headtail(1000)
    text = shown(arm, LOG)
    assert text.startswith(LOG[:500]) and text.endswith(LOG[-500:]) and f"{len(LOG) - 1000} characters omitted" in text
    assert "omitted" not in arm.marker.sub("\n", text)
    assert shown(arm, LOG[:1000]) == LOG[:1000]


def test_a_harness_spills_past_its_limit_alone(arms: ModuleType) -> None:
    short, long = LOG[:arms.SPILL], LOG + LOG
    assert len(long) > arms.SPILL and shown(arms.spill(), short) == short
    text = shown(arms.spill(), long)
    assert text.startswith(long[:arms.PREVIEW]) and len(text) < arms.PREVIEW + 60
    assert "kept" not in arms.spill().marker.sub("\n", text)


def test_a_budget_shows_less_than_any_profile_and_nothing_that_does_not_stand_there(arms: ModuleType) -> None:
    source = "".join(f"def handler_{n * 37 % 1000}(request):\n    return request.body[{n}] + total_{n * 91 % 1000}\n\n" for n in range(300))
    table, read = arms.plain(), Call("Read", {"file_path": "handlers.py"}, None, False, "", "", SESSION.task)
    found = {name: table[name]().start(SESSION)(read, source).text for name in ("byref safe", "byref lean", "byref lean, 250")}
    assert 0 < len(found["byref lean, 250"]) < len(found["byref lean"]) < len(found["byref safe"]) <= len(source)
    data = table["byref lean, 250"]().marker.sub("\n", found["byref lean, 250"])
    assert data.strip() and [line for line in data.splitlines() if line.strip() and line not in source] == []


def test_time_is_the_processors_and_that_of_ended_processes_counts(arms: ModuleType) -> None:
    burn = "import time\nwhile time.process_time() < .12: pass"

    def works(call: Call, output: str) -> str:
        subprocess.run([sys.executable, "-c", burn], check=True)
        return output

    def sleeps(call: Call, output: str) -> str:
        time.sleep(0.15)
        return output
    seconds = []
    for view in (works, sleeps):
        timed = arms.Timed(arms.Plain(view))
        assert shown(timed, LOG) == LOG
        seconds.append(timed.seconds)
    assert seconds[0] >= 0.12 and seconds[1] < seconds[0]


@pytest.mark.parametrize("name", ["raw", "spill", "head+tail 500", "byref safe", "byref auto", "byref lean", "byref lean, 250"])
def test_each_arm_is_there_and_passes_what_is_short(arms: ModuleType, name: str) -> None:
    assert shown(arms.plain()[name](), "ok\n") == "ok\n"


def test_a_package_that_is_not_here_has_no_version(arms: ModuleType) -> None:
    assert arms.version("no-such-package-of-anybody") == "" and arms.version("byref")
