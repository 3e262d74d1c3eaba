"""A scope over bytes in memory, as layers see one."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byref.layers.contract import Added, Held, Scope
from byref.proxy.contracts import Blob, Manifest, Output, Part, Source
from byref.proxy.errors import Unknown
from byref.proxy.store.source import BytesSource
from byref.proxy.text import digest


class World:
    """Outputs by name, the first the oldest."""

    def __init__(self, texts: Mapping[str, str | bytes], tool: str = "Bash", arguments: str = "null") -> None:
        self.blobs = {name: text if isinstance(text, bytes) else text.encode() for name, text in texts.items()}
        self.name_of = {digest(data): name for name, data in self.blobs.items()}
        parts = [Part("text", "text/plain", Blob(digest(data), len(data), 0)) for data in self.blobs.values()]
        outputs = [Output(seq, f"r{seq}", Manifest(tool, arguments, (part,)), "", 0.0, "text") for seq, part in enumerate(parts, 1)]
        outputs.reverse()
        held = {output.manifest.parts[0].blob.digest: Held(output.manifest.parts[0].blob.digest, output.manifest.parts[0].blob.size, output,
                                                           age, 0) for age, output in enumerate(outputs)}
        self.scope = Scope("s", outputs, held, self.open, False, sum(map(len, self.blobs.values())))

    def open(self, name: str) -> Source:
        if name not in self.name_of:
            raise Unknown(name)
        return BytesSource(self.blobs[self.name_of[name]])

    def added(self, *names: str) -> list[Added]:
        return [Added(one.blob, self.open(one.blob), "text") for one in self.scope.held.values()
                if not names or self.name_of[one.blob] in names]

    def narrowed(self, *names: str) -> Scope:
        held = {blob: one for blob, one in self.scope.held.items() if self.name_of[blob] in names}
        return Scope("s", [one.output for one in held.values()], held, self.open, False, sum(one.size for one in held.values()))

    def texts(self, contribution: Any) -> list[str]:
        return [self.blobs[self.name_of[hit.span.blob]][hit.span.start:hit.span.end].decode() for hit in contribution.hits]

    def names(self, contribution: Any) -> list[str]:
        return [self.name_of[hit.span.blob] for hit in contribution.hits]
