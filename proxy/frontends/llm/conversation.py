"""What a request to an LLM says, in the same words for every API: the task, the tools offered, the results of calls."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from byref.proxy.contracts import Json
from byref.proxy.frontends.llm.reading import Node

TASK = 4000  # characters of the first text of a user
# What a harness puts around and after what was really said (FACTS: Claude Code appends it inside tool results).
_APPENDED = re.compile(r"\n{0,2}(?:<system-reminder>(?:(?!</?system-reminder>).)*</system-reminder>\s*)+\Z", re.S)
_REMINDED = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.S)
_AROUND = re.compile(r"\s*<(environment_context|user_instructions|INSTRUCTIONS)>.*</\1>\s*", re.S)  # messages of Codex's own


class Text(NamedTuple):
    """A text of a result: where its literal stands in the request, quotes included, and what it says."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Calling:
    """A call as the model wrote it. said: its text in the same answer."""

    tool: str = ""
    arguments: Json = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a call returned. new: no answer of the model follows it, so no request before this one need have held it."""

    call_id: str
    calling: Calling
    texts: tuple[Text, ...]
    is_error: bool = False
    new: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request, read. session: the harness's own name of the conversation, where the request says one.

    whole: the request holds the conversation from its start. tools: name and description of each tool offered. ends: where in
    the request the array of tools ends, at its bracket; -1 where there is none. alone: no answer to it is kept by the provider.
    """

    task: str = ""
    system: str = ""
    session: str = ""
    whole: bool = True
    model: str = ""
    stream: bool = False
    results: tuple[Result, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    ends: int = -1
    alone: bool = True


def own_length(text: str) -> int:
    """Characters of a result's text that are the tool's own: what a harness appended comes after them."""
    if "</system-reminder>" not in text[-80:]:
        return len(text)
    found = _APPENDED.search(text)
    return found.start() if found else len(text)


def asked(text: str) -> str:
    """What a user said, without what a harness put around it."""
    return "" if _AROUND.fullmatch(text) else _REMINDED.sub("", text).strip()


def texts_of(content: Node, kinds: Sequence[str]) -> tuple[Text, ...]:
    """The texts of a content that is a string or a list of blocks of these types; other blocks pass."""
    if isinstance(content.value, str):
        return (Text(content.start, content.end, content.value),)
    found = []
    for block in content.elements:
        if block.text("type") in kinds and (said := block.get("text")).text():
            found.append(Text(said.start, said.end, said.text()))
    return tuple(found)


def joined(content: Node, kinds: Sequence[str]) -> str:
    """The texts of a content as one."""
    return "\n".join(one.text for one in texts_of(content, kinds))


def first_task(contents: Sequence[str]) -> str:
    """The first text in which a user says something."""
    return next(filter(None, map(asked, contents)), "")[:TASK]


def offered(tools: Json) -> dict[str, str]:
    """Name and description of each tool, as Anthropic, Chat and Responses declare them."""
    found = {}
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            about = tool.get("function") if isinstance(tool.get("function"), dict) else tool
            if isinstance(about, dict) and isinstance(about.get("name"), str):
                found[str(about["name"])] = str(about.get("description") or "")
    return found


def plain(value: Json) -> str:
    """The text of a system prompt: a string or a list of text blocks."""
    if isinstance(value, str):
        return value
    blocks = [block.get("text") for block in value if isinstance(block, dict)] if isinstance(value, list) else []
    return "\n".join(text for text in blocks if isinstance(text, str))
