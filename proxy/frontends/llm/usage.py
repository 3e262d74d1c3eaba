"""What a request cost, read off its answer as it passes: in the provider's own fields, a stream's as well. What it does not say is unknown.

| API       | where                                                          | input that no cache held                                   |
|-----------|----------------------------------------------------------------|------------------------------------------------------------|
| Anthropic | `usage` of the message, of `message_start` and `message_delta` | `input_tokens`; cached reads and writes stand beside it    |
| Chat      | `usage`; in a stream only where `stream_options` ask for it    | `prompt_tokens` less `prompt_tokens_details.cached_tokens` |
| Responses | `usage` of the response, of `response.completed` and the like  | `input_tokens` less `input_tokens_details.cached_tokens`   |
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from byref.proxy.contracts import Json
from byref.proxy.frontends.wrap import codings
from byref.proxy.frontends.wrap.events import Splitter

LARGEST = 64 << 20  # bytes of an answer that are held to read its usage
_ANTHROPIC = {
    "input_tokens": "input", "cache_read_input_tokens": "read", "cache_creation_input_tokens": "written", "output_tokens": "output"}
# Names of the input, of what of it came from a cache, and of the output.
_OPENAI = (("prompt_tokens", "prompt_tokens_details", "completion_tokens"), ("input_tokens", "input_tokens_details", "output_tokens"))
_ASIDE = ("prompt_cache_hit_tokens", "cached_tokens")  # as DeepSeek and Moonshot say it, beside the others


@dataclass(slots=True)
class Spent:
    """What one answer cost. message: its id. numbers: input, read, written, output, each only where the provider said it."""

    message: str = ""
    numbers: dict[str, int] = field(default_factory=dict)

    def take(self, said: Json) -> None:
        """Takes in a body, or the data of one event. What comes later holds."""
        if not isinstance(said, dict):
            return
        within = next((said[name] for name in ("message", "response") if isinstance(said.get(name), dict)), said)
        if isinstance(within, dict):
            if isinstance(within.get("id"), str):
                self.message = self.message or str(within["id"])
            self.numbers |= numbers(within.get("usage"))
        if within is not said:
            self.numbers |= numbers(said.get("usage"))


def numbers(usage: Json) -> dict[str, int]:
    """The disjoint numbers of an object `usage`: input that no cache held, what was read from one and written to it, and output."""
    if not isinstance(usage, dict):
        return {}
    for whole, details, output in _OPENAI:
        about = usage.get(details)
        if isinstance(about, dict) or (whole == "prompt_tokens" and whole in usage):
            read = _number(about, "cached_tokens") if isinstance(about, dict) else None
            for name in _ASIDE:
                read = _number(usage, name) if read is None else read
            total = _number(usage, whole)
            fresh = total if read is None or total is None else max(0, total - read)
            said = {"input": fresh, "read": read, "output": _number(usage, output)}
            return {name: value for name, value in said.items() if value is not None}
    found = {ours: _number(usage, theirs) for theirs, ours in _ANTHROPIC.items()}
    return {name: value for name, value in found.items() if value is not None}


def _number(of: Mapping[str, Json], name: str) -> int | None:
    value = of.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class Meter:
    """Looks at an answer's bytes as they pass. Never fails, and keeps nothing of what the answer says."""

    def __init__(self, encoding: str, events: bool) -> None:
        self._undo = codings.decoder(encoding)
        self._split = Splitter() if events else None
        self._body = bytearray()
        self._spent = Spent()

    def feed(self, data: bytes) -> None:
        """Some more bytes of the body, as they came."""
        if self._undo is None:
            return
        try:
            data = self._undo.decode(data)
            if self._split is not None:
                self._take(event.data for event in self._split.feed(data) if b'"usage"' in event.raw)
            else:
                self._body += data
        except (ValueError, RecursionError):
            self._undo = None
        if len(self._body) > LARGEST:
            self._undo, self._body = None, bytearray()

    def _take(self, texts: Iterable[bytes]) -> None:
        for text in texts:
            if text.startswith(b"{"):
                self._spent.take(json.loads(text))

    def spent(self) -> Spent | None:
        """What the answer cost, once it has ended; None where it does not say."""
        try:
            self._take([bytes(self._body).strip()])
        except (ValueError, RecursionError):
            pass
        self._body = bytearray()
        return self._spent if self._spent.numbers else None
