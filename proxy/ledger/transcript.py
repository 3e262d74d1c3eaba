"""What a recording's messages become: a trajectory, made of what was told, said, called and answered, in the order of the file."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.ledger.trajectories import Trajectory, Turn, Usage

_KINDS = ("input", "read", "written", "output")
_KIND = {int: "a number", float: "a number", bool: "a truth", list: "an array"}
MOST = 1 << 40  # tokens: more is no bill
UNKNOWN = "unknown"  # the tool of an answer whose call is not in the file


@dataclass(slots=True)
class _Speech:
    """What the agent wrote in one answer: text and calls, and thoughts. message: the answer's id."""

    message: str = ""
    text: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: int = 0


@dataclass(slots=True)
class _Call:
    tool: str
    arguments: Json
    speech: int


class Transcript:
    """One session as it is read. An answer is the agent's speech up to the results of its calls; calls of one answer were made at once."""

    def __init__(self, id: str, source: str) -> None:
        self.id, self.source, self.model, self.system = id, source, "", 0
        self._task: list[str] = []
        self._speeches = [_Speech()]
        self._calls: dict[str, list[_Call]] = {}
        self._answered: dict[str, _Call] = {}
        self._results: list[tuple[_Call, str, bool]] = []
        self._places: dict[str, int] = {}  # of the last result of a call
        self._bills: dict[str, Mapping[str, int]] = {}

    @property
    def turns(self) -> int:
        """Calls that were answered so far."""
        return len(self._results)

    def told(self, text: str) -> None:
        """What a person wrote. Only what stands before the first call is the task."""
        if text and not self._results and not self._calls:
            self._task.append(text)

    def said(self, text: str, *, message: str = "") -> None:
        """What the agent wrote. message: the id of its answer; without one, an answer ends with the first result."""
        self._speech(message).text.append(text)

    def thought(self, text: str, *, message: str = "") -> None:
        """What the agent thought."""
        self._speech(message).thoughts.append(text)

    def called(self, key: str, tool: str, arguments: Json, *, message: str = "", written: bool = False) -> None:
        """A call, and the key by which its result names it. written: what the agent said holds it already, as a command in its text."""
        speech = self._speech(message)
        if not written:
            speech.text.append(f"{tool} {json.dumps(arguments, ensure_ascii=False)}")
        self._calls.setdefault(key, []).append(_Call(tool or UNKNOWN, arguments, len(self._speeches) - 1))

    def result(self, key: str, text: str, is_error: bool = False) -> None:
        """What a call returned, as the model saw it. Of calls with one key the first that waits is meant: some servers number each answer's
        calls anew, or give them no ids at all.
        """
        self._speeches[-1].calls += 1
        waiting = self._calls.get(key)
        call = waiting.pop(0) if waiting else self._answered.get(key) or _Call(UNKNOWN, {}, len(self._speeches) - 1)
        self._answered[key] = call
        self._places[key] = len(self._results)
        self._results.append((call, text, is_error))

    def saw(self, key: str, text: str) -> None:
        """What the model saw in place of a call's last result."""
        if key in self._places:
            call, _, is_error = self._results[self._places[key]]
            self._results[self._places[key]] = call, text, is_error

    def billed(self, message: str, *, input: int, read: int, written: int, output: int) -> None:
        """What the provider counted for one answer; said again, the largest count of output stands, for it grows as it streams."""
        before = self._bills.get(message, {}).get("output", 0)
        self._bills[message] = {"input": input, "read": read, "written": written, "output": max(output, before)}

    def trajectory(self) -> Trajectory:
        """The session so far."""
        texts = ["\n".join(filter(None, one.text)) for one in self._speeches] + [""]  # after the last answer the agent wrote nothing
        thoughts = ["\n".join(filter(None, one.thoughts)) for one in self._speeches] + [""]
        turns = tuple(Turn(call.tool, call.arguments, text, texts[call.speech + 1], thoughts[call.speech + 1], is_error)
                      for call, text, is_error in self._results)
        bills = list(self._bills.values())
        usage = Usage(len(bills), *(sum(bill[name] for bill in bills) for name in _KINDS)) if bills else None
        context = sum(bills[0][name] for name in _KINDS[:3]) if bills else 0
        return Trajectory(self.id, self.source, "\n".join(self._task), turns, "\n".join(filter(None, (texts[0], thoughts[0]))),
                          self.system, context, self.model, usage)

    def _speech(self, message: str) -> _Speech:
        now = self._speeches[-1]
        if now.calls and not (message and message == now.message):
            now = _Speech()
            self._speeches.append(now)
        now.message = message
        return now


def text_of(content: Json) -> str:
    """The text of a message's content: a string, or blocks of which some hold text; pictures and files have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") if "text" in content else content.get("content"))
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return ""


def blocks(content: Json, tell: Callable[[str], None]) -> list[dict[str, Json]]:
    """The blocks of a message's content, a text as one of them. tell: takes what is of another kind, for that is not read."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        if content is not None:
            tell(f"content is to be a text or an array, not {_KIND.get(type(content), 'an object')}")
        return []
    for wrong in [one for one in content if not isinstance(one, (dict, str))][:1]:
        tell(f"content holds {_KIND.get(type(wrong), 'null')} among its blocks")
    return [{"type": "text", "text": one} if isinstance(one, str) else one for one in content if isinstance(one, (dict, str))]


def objects(value: Json, tell: Callable[[str], None] | None = None) -> list[dict[str, Json]]:
    """The objects of an array; none of anything else. tell: takes what is not read of it."""
    found = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    if tell is not None and (not isinstance(value, list) or len(found) < len(value)):
        tell("what stands among the messages and is none is not read" if isinstance(value, list) else "an array is to stand here")
    return found


def word(held: Mapping[str, Json], *names: str) -> str:
    """The first of these that is a string; "" without one."""
    for name in names:
        value = held.get(name)
        if isinstance(value, str):
            return value
    return ""


def count(held: Json, *names: str) -> int:
    """The number at the end of these names; 0 without one, and for one that no answer's tokens can be."""
    for name in names:
        held = held.get(name) if isinstance(held, dict) else None
    if isinstance(held, float) and math.isfinite(held):
        held = int(held)
    return held if isinstance(held, int) and not isinstance(held, bool) and 0 < held < MOST else 0


def arguments(text: Json) -> Json:
    """Arguments that are JSON in a string, read; as they stand where they are none."""
    if not isinstance(text, str):
        return text
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def filled(transcripts: Iterable[Transcript]) -> list[Trajectory]:
    """Those with an answered call or a bill."""
    found = [one.trajectory() for one in transcripts]
    return [one for one in found if one.turns or one.usage]
