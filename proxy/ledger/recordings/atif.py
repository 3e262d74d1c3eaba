"""ATIF, the Agent Trajectory Interchange Format of Harbor: `trajectory.json` of `steps`, each with its calls and what they returned.

Trajectories of sub-agents may stand within. Steps that were copied from a trajectory before (`is_copied_context`) count there.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byref.proxy.contracts import Json
from byref.proxy.ledger.reading import Rows
from byref.proxy.ledger.trajectories import Trajectory
from byref.proxy.ledger.transcript import Transcript, count, filled, objects, text_of, word

SOURCE = "ATIF"


def fits(row: dict[str, Json]) -> bool:
    """Whether it is one."""
    return word(row, "schema_version").startswith("ATIF-") and isinstance(row.get("steps"), list)


def sessions(rows: Rows) -> Iterator[Trajectory]:
    """One a document, and one for each trajectory within it."""
    for where, row in rows:
        if not fits(row):
            rows.foreign(where, row)
            continue
        waiting = [row]
        while waiting:
            one = waiting.pop(0)
            yield from filled([_one(where, one, rows)])
            waiting[:0] = objects(one.get("subagent_trajectories"))


def _one(where: str, row: dict[str, Json], rows: Rows) -> Transcript:
    transcript, agent = Transcript(word(row, "trajectory_id", "session_id") or where, SOURCE), row.get("agent")
    transcript.model = word(agent, "model_name") if isinstance(agent, dict) else ""
    for number, step in enumerate(objects(row.get("steps"), partial(rows.odd, where))):
        source, text = word(step, "source"), text_of(step.get("message"))
        if step.get("is_copied_context") is True:
            continue
        if source == "agent":
            _step(transcript, step, text, str(number))
        elif source == "user":
            transcript.told(text)
        elif source == "system":
            transcript.system += len(text)
        else:
            rows.odd(f"{where} step {number + 1}", f"a step of the source {source or 'none'!r} is not known here, and not read")
    return transcript


def _step(transcript: Transcript, step: dict[str, Json], text: str, key: str) -> None:
    """What an agent did. A result that names no call is that of the last one, or of what the text asked for."""
    transcript.model = transcript.model or word(step, "model_name")
    transcript.thought(word(step, "reasoning_content"), message=key)
    transcript.said(text, message=key)
    calls, observation = objects(step.get("tool_calls")), step.get("observation")
    for call in calls:
        transcript.called(word(call, "tool_call_id"), word(call, "function_name"), call.get("arguments"), message=key)
    last = word(calls[-1], "tool_call_id") if calls else ""
    for result in objects(observation.get("results")) if isinstance(observation, dict) else []:
        transcript.result(word(result, "source_call_id") or last, text_of(result.get("content")))
    metrics = step.get("metrics")
    if isinstance(metrics, dict) and (count(metrics, "prompt_tokens") or count(metrics, "completion_tokens")):
        read = count(metrics, "cached_tokens")
        transcript.billed(key, input=max(0, count(metrics, "prompt_tokens") - read), read=read, written=0,
                          output=count(metrics, "completion_tokens"))
