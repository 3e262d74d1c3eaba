"""byref as a library, as an arm of a replay: one gateway, one session a trajectory; the task and what the agent wrote are given."""
from __future__ import annotations

from collections.abc import Callable

import byref
from byref.proxy.contracts import Call
from byref.proxy.ledger.replay import Shown
from byref.proxy.ledger.trajectories import Trajectory


class Library:
    """Views of one profile. Whether a call failed is left out, as in the evaluation: most recordings do not say."""

    marker = byref.MARKER

    def __init__(self, profile: str) -> None:
        self.gateway, self.n = byref.open("memory:", profile=profile), 0

    def start(self, trajectory: Trajectory) -> Callable[[Call, str], Shown]:
        """A session of its own."""
        self.n += 1
        session = self.gateway.session(f"replay-{self.n}", task=trajectory.task)

        def view(call: Call, output: str) -> Shown:
            found = session.capture(tool=call.tool, args=call.arguments, output=output, said=call.said)
            if found.warning:  # the raw output passed for a fault of ours, and no figure should hide that
                raise RuntimeError(found.warning)
            return Shown(found.text, found.shape)
        return view
