"""LiteLLM: one callback, and our tools. The model sees a view, and asks for what the view leaves out. Offline, with a custom provider."""
from __future__ import annotations

import asyncio
import json
import os
import sys

import byref

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would ask a network for prices

try:
    import litellm
    from litellm import CustomLLM, ModelResponse
except ImportError as missing:
    sys.exit(print(f"{missing}; pip install litellm"))

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))
JOURNAL = {"type": "function", "function": {"name": "journal", "parameters": {"type": "object"}}}
seen: list[str] = []


class Scripted(CustomLLM):
    async def acompletion(self, *_, messages: list, **__) -> ModelResponse:
        """It calls the tool, then fetches three lines of what the view hid."""
        seen[:] = [message["content"] for message in messages if message["role"] == "tool"]
        name, arguments = ("byref_fetch", {"ref": seen[0][1:12], "at": "L500-502"}) if seen else ("journal", {"unit": "api"})
        call = {"id": f"call-{len(seen)}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        said = {"content": "done"} if len(seen) == 2 else {"content": "", "tool_calls": [call]}
        return ModelResponse(choices=[{"message": {"role": "assistant", **said}}])


async def main(ours) -> None:
    messages: list = [{"role": "user", "content": "which request is slow?"}]
    while messages[-1]["role"] != "assistant":
        answer = await litellm.acompletion(model="scripted/one", messages=messages, tools=[JOURNAL, *ours.tools])
        messages.append(answer.choices[0].message.model_dump(exclude_none=True))
        for call in messages[-1].get("tool_calls") or ():
            text = ours.answer(call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": LOG if text is None else text})


with byref.open("memory:") as gateway:
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Scripted()}]
    litellm.callbacks = [byref.middleware("litellm", gateway)]
    asyncio.run(main(litellm.callbacks[0]))
assert len(seen[0]) < len(LOG) / 5 and seen[1] == "".join(LOG.splitlines(keepends=True)[499:502])
print(f"the tool returned {len(LOG):,} characters, the model saw {len(seen[0]):,}:\n{seen[0]}\nand fetched:\n{seen[1]}")
