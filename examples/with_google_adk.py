"""Google ADK: one plugin. The model sees a view, and asks for what the view leaves out. Offline, with a scripted BaseLlm."""
from __future__ import annotations

import sys

import byref

try:
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types
except ImportError as missing:
    sys.exit(print(f"{missing}; pip install google-adk"))

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))
seen: list[str] = []


class Model(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        """It calls the tool, then fetches three lines of what the view hid."""
        parts = [part for content in llm_request.contents for part in content.parts]
        seen[:] = [part.function_response.response["result"] for part in parts if part.function_response]
        if len(seen) == 2:
            said = types.Part(text="done")
        elif seen:
            said = types.Part.from_function_call(name="byref_fetch", args={"ref": seen[0][1:12], "at": "L500-502"})
        else:
            said = types.Part.from_function_call(name="journal", args={"unit": "api"})
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


with byref.open("memory:") as gateway:
    agent = LlmAgent(name="watcher", model=Model(model="scripted"), tools=[journal])
    runner = InMemoryRunner(app=App(name="example", root_agent=agent, plugins=[byref.middleware("google_adk", gateway)]))
    __import__("asyncio").run(runner.run_debug("which request is slow?", quiet=True))
view, page = seen
print(f"the tool returned {len(LOG):,} characters, the model saw {len(view):,}:\n{view}\nand fetched:\n{page}")
assert len(view) < len(LOG) / 5 and page == "".join(LOG.splitlines(keepends=True)[499:502])
