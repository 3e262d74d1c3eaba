"""pydantic-ai: one capability. The model sees a view, and asks for what the view leaves out. Offline, with its own FunctionModel."""
from __future__ import annotations

import sys

import byref

try:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
except ImportError as missing:
    sys.exit(print(f"{missing}; pip install pydantic-ai-slim"))

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))
seen: list[str] = []


def model(messages: list, info: object) -> ModelResponse:
    """It calls the tool, then fetches three lines of what the view hid."""
    seen[:] = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not seen:
        return ModelResponse([TextPart("I look at the log."), ToolCallPart("journal", {"unit": "api"})])
    if len(seen) == 1:
        return ModelResponse([ToolCallPart("byref_fetch", {"ref": seen[0][1:12], "at": "L500-502"})])
    return ModelResponse([TextPart("done")])


def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


with byref.open("memory:") as gateway:
    agent = Agent(FunctionModel(model), tools=[journal], capabilities=[byref.middleware("pydantic_ai", gateway)])
    assert agent.run_sync("which request is slow?").output == "done"
view, page = seen
print(f"the tool returned {len(LOG):,} characters, the model saw {len(view):,}:\n{view}\nand fetched:\n{page}")
assert len(view) < len(LOG) / 5 and page == "".join(LOG.splitlines(keepends=True)[499:502])
