"""What an adapter of a harness says of hooks and of lists of MCP servers. See adapters/harnesses."""
from __future__ import annotations

from byref.proxy.contracts import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from byref.proxy.contracts import Json
else:
    Protocol = object


@dataclass(frozen=True, slots=True)
class Hook:
    """One event that a harness tells through a hook.

    kind: opened (a session starts or goes on), asked (text is the user's prompt), began, returned and failed (of a tool
    call; response is what the tool returned, text the error), forgot (the conversation was compacted or cleared), stopped
    (a turn, or the agent named), billed (text is what `spent` reads), closed (the session), other. session and agent name the
    conversation; agent is empty for the main one. folder: the working folder. transcript: the file of the main conversation.
    elapsed in seconds. own: it concerns a tool of byref itself. said: what the agent wrote before the call, where no file tells it.
    """

    kind: str
    session: str = ""
    agent: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: Json = None
    folder: str = ""
    transcript: str = ""
    text: str = ""
    response: Json = None
    elapsed: float | None = None
    own: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class Returned:
    """What the model would be shown of a tool's output. parts: text by part.

    spilled: (part, path, bytes) where the harness put the whole of a part into a file and holds only its start; path is
    empty otherwise. native: characters that the harness itself would show at most, None where it cuts nothing.
    """

    parts: Mapping[str, str]
    spilled: tuple[str, str, int] = ("", "", 0)
    native: int | None = None
    exit_code: int | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What one message of a model cost, as the provider billed it. call_ids: the tool calls that the message made."""

    message: str
    call_ids: tuple[str, ...]
    numbers: Mapping[str, int]


class Harness(Protocol):
    """A harness with hooks, as a module under adapters/harnesses. Pure: the driver in frontends/hooks.py does all I/O."""

    def parse(self, event: bytes) -> Hook:
        """Raises ValueError for what is no event."""
    def returned(self, hook: Hook) -> Returned | None:
        """The texts in a tool's response; None where there is nothing that a view could replace."""
    def rewritten(self, hook: Hook, head: str, views: Mapping[str, str]) -> bytes:
        """What the hook prints to put views in the place of the parts; nothing where that would not be shorter."""
    def conversation(self, hook: Hook) -> str:
        """The file that holds the conversation of an event, empty if there is none."""
    def task(self, start: bytes) -> tuple[str, str]:
        """The first prompt of a conversation and the folder it was asked in, from the start of its file."""
    def said(self, end: bytes, call_id: str) -> str | None:
        """What the agent wrote before a call, from the end of its conversation's file; None where the call does not stand there."""
    def spent(self, lines: bytes) -> Sequence[Spent]:
        """What the messages in whole lines of a conversation's file cost, each message once."""


class Standing(Protocol):
    """What the adapter has beside, of a harness that shows the results of some tools whatever a hook says. STAND: the tools."""

    STAND: tuple[str, ...]


class Recorded(Protocol):
    """What the adapter has beside, of a harness whose hooks tell less of a call than the conversation's file does.

    TAIL: bytes at the end of that file in which a call that has just ended stands.
    """

    TAIL: int

    def ended(self, hook: Hook, found: Returned, end: bytes) -> Returned | None:
        """What `returned` found, with what the file says of it; None where the file has to say something and does not yet."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What an entry in a harness's list of MCP servers starts: a command, or a URL with headers.

    headers: (name, value); taken: headers whose value is (words before it, the name of a variable of the harness's own environment).
    variables: what the command is given beside that environment; passed: the names of those that a harness which hands on few
    variables hands on. why: why the entry has to stay as it is; empty where it can be changed.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    taken: tuple[tuple[str, str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    passed: tuple[str, ...] = ()
    why: str = ""


_SKILL = """---
name: byref
description: Read a tool output that is shown as a view. Use when a result starts with «r... and a marker hides lines you need.
---
A long tool output is shown as a view: its first line «REF program: N of M lines», and markers such as «L120-931 812 passed» where
lines are left out. Nothing is lost: every byte is kept under REF.

- Go on with the view where it answers the question. Names in a marker say what stands inside it.
{early}- Need what a marker hides: `{fetch}` with ref=REF and at=L120-931 (or /regex/±2, or nothing for all). No second run is needed.
- Lines that this conversation has seen before are left out too: look there first.
- Need a command's output as it is: repeat it with `BYREF=off` before it (`BYREF=off git diff`{late}"""


def skill(fetch: str, edit: str = "", early: str = "") -> str:
    """A skill that says how a view is read. fetch: what the harness calls the tool; edit: its tool that changes files, if it reads
    them with another; early: a line of its own.
    """
    late = ").\n"
    if edit:
        late = ("); for a file `BYREF=off cat FILE`.\n"
                f"- `{edit}` works on the file itself, so it needs no fetch where the lines to change are in view.\n")
    return _SKILL.format(fetch=fetch, early=f"- {early}\n" if early else "", late=late)
