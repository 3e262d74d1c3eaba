"""The cases whose output is an MCP message: its result on the way to the client, and the words that speak of it."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import byref
from byref.proxy.frontends.wrap.results import Asked, rewrite
from case_harness.checks import check
from case_harness.load import Part
from case_harness.run import Run

STEP = re.compile(r"((?:\\.|[^.\[\]\\])+)|\[(\d+)\]")


class ResultRun(Run):
    """A case's message, its result rewritten as the proxy does. The view is all text blocks joined; raw are the stored parts."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.gateway = byref.open("memory:")
        self.session = self.gateway.session(part.case, proven=False)
        self.output = part.raw["output"]
        self.message: dict[str, Any] = json.loads(self.output)
        request = part.arguments["params"]
        made = rewrite(self.session, Asked(request["name"], request["arguments"]), self.message["result"])
        self.reply = {**self.message, "result": made.result}
        self.view = SimpleNamespace(ref=made.ref, text=texts(self.reply["result"]))
        self.raw = {f"text{n}" if n > 1 else "text": block["text"].encode()
                    for n, block in enumerate((b for b in self.message["result"]["content"] if b["type"] == "text"), 1)}

    @property
    def all_pages(self) -> list[Any]:  # type: ignore[override]  # the other parts are asked for by name
        return self.pages("text")

    @property
    def raw_text(self) -> str:
        return texts(self.message["result"])


def texts(result: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def at(message: Mapping[str, Any], path: str) -> Any:
    """What a path names: `result.content[1].annotations`, `result._meta.com\\.example/trace`; the absent is None."""
    found: Any = message
    for name, index in STEP.findall(path):
        found = found[int(index)] if index else (found or {}).get(name.replace("\\.", "."))
    return found


@check
def valid_json(value: bool, entry: Mapping[str, Any], on: Any) -> None:
    assert json.loads(json.dumps(on.reply)) == on.reply


@check
def mcp_path(value: str, entry: Mapping[str, Any], on: Any) -> None:
    now, before = at(on.reply, value), at(on.message, value)
    assert before is not None
    if "equals" in entry:
        assert now == entry["equals"]
    elif now is None and "absent from the result" in entry.get("note", ""):
        (page,) = on.pages(value.rpartition(".")[2])
        assert on.text != on.raw_text and json.loads(page.text) == before
    else:
        assert now == before


@check
def mcp_block_types(value: list[str], entry: Mapping[str, Any], on: Any) -> None:
    assert [block["type"] for block in on.reply["result"]["content"]] == value


@check
def text_blocks_do_not_contain_base64_of(value: str, entry: Mapping[str, Any], on: Any) -> None:
    data = at(on.message, value)
    assert len(data) > 64 and not any(data[start:start + 64] in on.text for start in range(0, len(data) - 64, 64))


@check
def tokens_logged_exclude_images(value: bool, entry: Mapping[str, Any], on: Any) -> None:
    from byref.proxy.text import estimate
    (seen,) = [event.numbers for event in on.gateway.store.events() if event.kind == "viewed"]
    said = json.dumps(on.message["result"].get("structuredContent"))
    assert estimate(on.raw_text) <= seen["raw"] <= estimate(on.raw_text) + estimate(said) + 2
