"""What an adapter of an agent framework is given: sessions for its conversations, and tools of ours to offer. See adapters/harnesses."""
from __future__ import annotations

from byref.proxy.contracts import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from byref.proxy.contracts import Json
else:
    Protocol = object


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool of ours. schema: its arguments, as JSON Schema. What it answers is final and never captured."""

    name: str
    description: str
    schema: Mapping[str, Json]


class Sessions(Protocol):
    """The conversations of an application, each a session and a context. Safe for many threads; every method blocks, none raises.

    conversation: what its framework knows one by; empty where it cannot tell, then nothing collapses as already shown.
    """

    @property
    def tools(self) -> Sequence[Offered]: ...
    def own(self, name: str, description: str = "") -> bool:
        """Whether a tool is ours, in this process or behind MCP, so that what it returned passes."""
    def turn(self, conversation: str, texts: Iterable[str], task: str = "") -> None:
        """The model is about to be asked, with the results of calls that hold these texts.

        What was shown counts as long as each text that showed it is among them: after a compaction, or on another branch of a
        conversation, it does not. Calls of one turn do not count as shown for one another.
        """
    def capture(self, conversation: str, tool: str, texts: Sequence[str], *, args: Json = None, call_id: str = "", is_error: bool = False,
                said: str = "", task: str = "", elapsed: float | None = None) -> Sequence[str] | None:
        """What the model is to see in place of the texts that a call returned; None where they stay as they are."""
    def failed(self, conversation: str, tool: str, fault: BaseException, *, args: Json = None, call_id: str = "") -> None:
        """Notes a call that raised."""
    def request(self, path: str, body: bytes) -> bytes:
        """A request to an LLM with views in the place of new results, and in that of old ones what first stood there.

        path: of its API, /v1/chat/completions, /v1/messages or /v1/responses. For a framework that keeps results raw and says in
        each request all that the model is shown. Views come only where the request offers our tools.
        """
    def answer(self, conversation: str, name: str, arguments: Mapping[str, Json]) -> str:
        """The text of a second call. A fault is a text that says what to do."""
    def fault(self, doing: str, fault: BaseException) -> None:
        """Logs a fault of ours: what the tool returned has to pass."""
