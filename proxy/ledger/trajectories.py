"""Recorded trajectories: what an agent was told, called and wrote, one JSON object a line.

    {"id", "source", "task", "turns": [{"tool", "args", "output", "next_action", "next_thought"?, "is_error"?}],
     "meta"?: {"first_action"?, "sys_chars"?, "model"?, "usage"?: {"first_context"?, "api_calls"?, "sum_input"?,
     "sum_cache_read"?, "sum_cache_write"?, "sum_output"?}}}

`output` is what the model saw of the call; `next_action` is the agent's text and calls that followed it, `next_thought` what it
thought. Calls made at once share one `next_action`.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid

_MOST = 10**15  # of a number of tokens, requests or characters of a session


@dataclass(frozen=True, slots=True)
class Turn:
    """One call and what came of it. is_error is what the recording says; most say nothing."""

    tool: str
    arguments: Json
    output: str
    next_action: str = ""
    next_thought: str = ""
    is_error: bool = False

    @property
    def said(self) -> str:
        """All that the agent wrote after this output."""
        return self.next_action + "\n" + self.next_thought


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider billed for a trajectory, in tokens, summed over its requests; the four kinds are disjoint.

    output: as recorded; streamed recordings often hold only the beginning of an answer's count.
    """

    requests: int
    input: int = 0
    read: int = 0
    written: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One recorded task. first_action: what the agent wrote before its first call.

    system: characters of the system prompt, 0 where unknown. context: tokens of the first request as the provider counted them,
    0 where unknown. model: its name as billed, "" where unknown; usage: None where unknown.
    """

    id: str
    source: str
    task: str
    turns: tuple[Turn, ...]
    first_action: str = ""
    system: int = 0
    context: int = 0
    model: str = ""
    usage: Usage | None = None

    def before(self, index: int) -> str:
        """What the agent had written just before call `index`, as far as it followed an output: nothing before the first."""
        return self.turns[index - 1].said if index else ""

    def requests(self) -> list[int]:
        """For each turn, the number of the request that first held its output: turns with one answer were called at once."""
        numbers: list[int] = []
        for i, turn in enumerate(self.turns):
            together = i > 0 and bool(turn.next_action) and turn.said == self.turns[i - 1].said
            numbers.append((numbers[-1] if numbers else 0) + (not together))
        return numbers


def read(path: str | Path, *, source: str = "", limit: int | None = None) -> Iterator[Trajectory]:
    """The trajectories of a JSONL file, in order; source: only those whose source holds this text; limit: at most so many.

    Bytes that are not UTF-8 come as lone surrogates. Raises `Invalid` with the file, the line and the field that is wrong.
    """
    found = 0
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if limit is not None and found >= limit:
                return
            if not line.strip():
                continue
            trajectory = parse(line, f"{path}:{number}")
            if source in trajectory.source:
                found += 1
                yield trajectory


def parse(line: str, where: str) -> Trajectory:
    """One line. where: what an error names."""
    try:
        value: Json = json.loads(line)
    except json.JSONDecodeError as fault:
        raise Invalid(f"{where} is no JSON: {fault.msg} at column {fault.colno}") from None
    return of(value, where)


def of(value: Json, where: str) -> Trajectory:
    """One line that is read. Raises `Invalid` with the field that is wrong."""
    row = _object(value, where)
    turns = row.get("turns")
    if not isinstance(turns, list):
        raise Invalid(f"{where}: `turns` is to be an array, not {_kind(turns)}")
    meta = _object(row.get("meta") or {}, f"{where}: `meta`")
    usage = _object(meta.get("usage") or {}, f"{where}: `meta.usage`")
    return Trajectory(
        id=_text(row, "id", where), source=_text(row, "source", where), task=_text(row, "task", where),
        turns=tuple(_turn(turn, f"{where}: turn {i}") for i, turn in enumerate(turns)),
        first_action=_text(meta, "first_action", where, ""), system=_number(meta, "sys_chars", where),
        context=_number(usage, "first_context", where), model=_text(meta, "model", where, ""), usage=_usage(usage, where))


def _usage(held: Mapping[str, Json], where: str) -> Usage | None:
    names = ("api_calls", "sum_input", "sum_cache_read", "sum_cache_write", "sum_output")
    return Usage(*(_number(held, name, where) for name in names)) if isinstance(held.get("api_calls"), int) else None


def _turn(value: Json, where: str) -> Turn:
    turn = _object(value, where)
    return Turn(tool=_text(turn, "tool", where), arguments=turn.get("args", {}), output=_text(turn, "output", where),
                next_action=_text(turn, "next_action", where, ""), next_thought=_text(turn, "next_thought", where, ""),
                is_error=turn.get("is_error") is True)


def _object(value: Json, where: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise Invalid(f"{where} is to be an object, not {_kind(value)}")
    return value


def _text(held: Mapping[str, Json], name: str, where: str, default: str | None = None) -> str:
    """A string. default: what stands for one that is absent or null; without it, that is an error."""
    value = held.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise Invalid(f"{where}: `{name}` is to be a string, not {_kind(value)}")
    return value


def _number(held: Mapping[str, Json], name: str, where: str) -> int:
    value = held.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise Invalid(f"{where}: `{name}` is to be a number of 0 or more, not {_kind(value)}")
    if not 0 <= value < _MOST:
        raise Invalid(f"{where}: `{name}` is to be 0 or more, and less than {_MOST:,}")
    return value


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "absent or null")
