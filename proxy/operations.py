"""What a tool adapter says: one definition, from which the MCP tool, the command, the Python call and the HTTP route come.

An adapter is a module of `adapters/tools` with one object, `ADAPTER`. An operation of an API makes a `Request` of its arguments, and
nothing more: gates, pages, storing and views are the same for all. One that runs here, such as grep, makes a `Result` itself.
"""
from __future__ import annotations

from byref.proxy.contracts import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO, TypeAlias

    from byref.proxy.contracts import Json, Layout

    Arguments: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation. kind: text, integer, flag, or texts (a list of text). choices: the only values it takes.

    plain: it stands on the command line without a name before it.
    """

    name: str
    help: str
    kind: str = "text"
    required: bool = False
    choices: tuple[str, ...] = ()
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent to an API. path: below its base, with a slash; query: pairs as they are meant, unescaped, each value whole.

    body: JSON, or None. safe: asking again changes nothing, so a failure may be tried again.
    """

    path: str
    query: tuple[tuple[str, str], ...] = ()
    method: str = "GET"
    body: Json = None
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Here:
    """Where an operation runs that needs no API. folder: the caller's, absolute. stop: whether nobody waits any more.

    environment: of the caller. room: bytes that the store takes of one output.
    """

    folder: str
    environment: Mapping[str, str]
    stop: Callable[[], bool]
    room: int


@dataclass(frozen=True, slots=True)
class Result:
    """What an operation that runs here gave. parts: bytes, or a file to be read from its start and closed, by name, in order."""

    parts: Mapping[str, bytes | BinaryIO]
    exit_code: int | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a tool does. name: a word; empty where the tool does one thing alone.

    request: of an API; raises `Invalid` for arguments that make none. run: of one that works here; blocks, and heeds `Here.stop`.
    after: the request of the page after this one, given the body of this answer, None at the end. layout: of its answer.
    cost: changes something or costs money; said to the agent, and never tried again by itself.
    """

    name: str
    help: str
    arguments: tuple[Argument, ...]
    request: Callable[[Arguments], Request] | None = None
    run: Callable[[Arguments, Here], Result] | None = None
    after: Callable[[Request, bytes], Request | None] | None = None
    layout: Layout | None = None
    cost: bool = False


@dataclass(frozen=True, slots=True)
class Adapter:
    """A tool. base: URL of its API; empty for one that runs here. rate: calls a second that the API allows, 0 where it says nothing.

    signed: what is added to a request from the environment, such as a key: (headers, query); neither is stored nor shown. Raises
    `ConfigError` where what it needs is not set. layout: of an answer that came on another way than an operation, by its path.
    derived: parts made of an answer, as text by name, with a map to their source; the same bytes give the same text. asked: an
    operation whose argument `search` is what to look for: then search can ask this tool, as the layer `native:NAME`. optional: an
    agent gets it only where its user asked for it by name, since it can do harm.
    """

    name: str
    help: str
    operations: tuple[Operation, ...]
    base: str = ""
    rate: int = 0
    signed: Callable[[Mapping[str, str]], tuple[Mapping[str, str], Mapping[str, str]]] | None = None
    layout: Callable[[str], Layout | None] | None = None
    derived: Callable[[bytes], Mapping[str, bytes]] | None = None
    environment: tuple[str, ...] = ()
    asked: str = ""
    optional: bool = False
