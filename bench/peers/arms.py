"""Other ways to shorten tool outputs, as arms of a replay: cuts, a harness's spill, and byref at more settings than its profiles.

What others publish stands in `published`. Each arm gets one output at a time with the call before it: none is told what comes later.
`marker` is each one's own words in a view, so that they count as no data.
"""
from __future__ import annotations

import importlib.metadata
import re
import resource
import time
from collections.abc import Callable
from functools import partial

from byref.proxy.contracts import Call
from byref.proxy.errors import ByrefError
from byref.proxy.frontends.replaying import Views
from byref.proxy.gateway import Gateway
from byref.proxy.gateway import open as open_gateway
from byref.proxy.ledger.replay import Arm, Raw, Shown
from byref.proxy.ledger.trajectories import Trajectory

SPILL, PREVIEW = 50_000, 2000  # characters: Claude Code 2.1 spills a longer result of MCP to a file and shows a preview
PROFILES = ("safe", "auto", "lean")
BUDGETS = (2000, 1000, 500, 250)  # tokens at most, beyond the profile `lean`
LENGTHS = (16_000, 8000, 4000, 2000, 1000, 500)  # characters
View = Callable[[Call, str], str]


class Plain:
    """An arm that looks at one output at a time."""

    def __init__(self, view: View, marker: str = r"(?!)") -> None:
        self.view, self.marker = view, re.compile(marker, re.M)

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """No context is kept."""
        return lambda call, output: Shown(self.view(call, output))


class Timed:
    """An arm whose views are timed: seconds of the processor, of this process and of those that it started and that have ended."""

    def __init__(self, arm: Arm) -> None:
        self.arm, self.marker, self.seconds = arm, arm.marker, 0.0

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """The arm's own context; what it takes to open one does not count."""
        view = self.arm.start(trajectory)

        def timed(call: Call, output: str) -> Shown:
            began = spent()
            shown = view(call, output)
            self.seconds += spent() - began
            return shown
        return timed


def spent() -> float:
    """Seconds of the processor so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Budgeted:
    """byref at `lean` where a caller names a budget: how it goes on where more must go than any profile takes away."""

    marker = Views.marker

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._gateway: Gateway | None = None

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A fresh store; raises `ByrefError` where a view could not be made."""
        if self._gateway is not None:
            self._gateway.close()
        self._gateway = open_gateway("memory:", profile="lean")
        session = self._gateway.session("replay", task=trajectory.task)

        def view(call: Call, output: str) -> Shown:
            found = session.capture(tool=call.tool, args=call.arguments, output=output, said=call.said, budget=self.budget)
            if found.warning:
                raise ByrefError(found.warning)
            return Shown(found.text, found.shape)
        return view


def headtail(length: int) -> Arm:
    """The first and the last characters of an output."""
    def view(call: Call, output: str) -> str:
        omitted = f"\n... {len(output) - length} characters omitted ...\n"
        return output if len(output) <= length else output[:length // 2] + omitted + output[-(length // 2):]
    return Plain(view, r"^\.\.\. \d+ characters omitted \.\.\.$")


def spill() -> Arm:
    """A long text becomes a file and its beginning, whatever the tool; `harnesses` has what each harness does."""
    def view(call: Call, output: str) -> str:
        return output if len(output) <= SPILL else output[:PREVIEW] + f"\n<{len(output)} characters kept in a file>"
    return Plain(view, r"^<\d+ characters kept in a file>$")


def plain() -> dict[str, Callable[[], Arm]]:
    """Those that need nothing but this project, by name."""
    return {"raw": Raw, "spill": spill, **{f"head+tail {n}": partial(headtail, n) for n in LENGTHS},
            **{f"byref {name}": partial(Views, name) for name in PROFILES},
            **{f"byref lean, {n}": partial(Budgeted, n) for n in BUDGETS}}


def version(name: str) -> str:
    """Of the package of this name; "" where it is none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
