"""Stores of whole results behind a notice: skipped where they are not installed (`make test-peers` has them)."""
from __future__ import annotations

from types import ModuleType

import pytest

from byref.proxy.contracts import Call
from byref.proxy.ledger.trajectories import Trajectory

SESSION = Trajectory("one", "made", "find what is slow", ())
CALL = Call("Bash", {"command": "cat log"}, None, False, "", "", SESSION.task)
LOG = "".join(f"request {n * 7919 % 100_003} took {n % 97} ms\n" for n in range(4000))


def test_a_long_result_becomes_a_notice_of_which_the_preview_alone_is_data(offloading: ModuleType) -> None:
    pytest.importorskip("ctxtual.mcp")
    arm = offloading.offloading()["ctxtual"]()
    view = arm.start(SESSION)
    assert view(CALL, "ok\n").text == "ok\n" and view(CALL, LOG[:20_000]).text == LOG[:20_000]
    text = view(CALL, LOG).text
    assert len(text) < 3000 and "result_search" in text and LOG[:500] in text
    data = arm.marker.sub("\n", text)
    assert LOG[:500] in data and "result_search" not in data and "chars" not in data
    assert view(CALL, "broken \udc80 text\n").text
