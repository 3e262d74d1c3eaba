"""OpenAI Agents: a filter of what the model is sent, and our tools. The model sees a view, and asks for what it leaves out. Offline."""
from __future__ import annotations

import sys

import byref

try:
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
except ImportError as missing:
    sys.exit(print(f"{missing}; pip install openai-agents"))

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))
seen: list[str] = []


class Scripted(Model):
    async def get_response(self, system_instructions, input, *_, **__):
        """It calls the tool, then fetches three lines of what the view hid."""
        seen[:] = [item["output"] for item in input if item.get("type") == "function_call_output"]
        call = ("journal", '{"unit": "api"}') if not seen else ("byref_fetch", f'{{"ref": "{seen[0][1:12]}", "at": "L500-502"}}')
        said = ResponseFunctionToolCall(type="function_call", call_id=f"call-{len(seen)}", name=call[0], arguments=call[1])
        if len(seen) == 2:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            said = ResponseOutputMessage(id="message", role="assistant", status="completed", type="message", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


@function_tool
def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


with byref.open("memory:") as gateway:
    ours = byref.middleware("openai_agents", gateway)
    agent = Agent(name="watcher", model=Scripted(), tools=[journal, *ours.tools])
    config = RunConfig(call_model_input_filter=ours.filter, tracing_disabled=True)
    assert Runner.run_sync(agent, "which request is slow?", run_config=config).final_output == "done"
view, page = seen
print(f"the tool returned {len(LOG):,} characters, the model saw {len(view):,}:\n{view}\nand fetched:\n{page}")
assert len(view) < len(LOG) / 5 and page == "".join(LOG.splitlines(keepends=True)[499:502])
