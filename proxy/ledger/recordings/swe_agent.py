"""SWE-agent: `.traj`, one document whose `trajectory` lists action, observation, response and thought of each step."""
from __future__ import annotations

from collections.abc import Iterator

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, filled, objects, text_of, word

SOURCE = "SWE-agent"


def fits(row: dict[str, Json]) -> bool:
    """Whether it is one."""
    return any("observation" in step and "action" in step for step in objects(row.get("trajectory")))


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a document. A tool is named by the first word of its action."""
    for where, row in rows:
        transcript = Transcript(word(row, "instance_id") or where, SOURCE)
        for message in objects(row.get("history")):
            if message.get("role") == "system":
                transcript.system += len(text_of(message.get("content")))
            elif message.get("role") == "user" and not message.get("is_demo"):
                transcript.told(text_of(message.get("content")))
                break
        for number, step in enumerate(objects(row.get("trajectory"))):
            action = word(step, "action").strip()
            if not action:
                continue
            transcript.thought(word(step, "thought"))
            transcript.said(word(step, "response"))
            transcript.called(str(number), action.split(maxsplit=1)[0], {"command": action})
            transcript.result(str(number), word(step, "observation"))
        yield from filled([transcript])
