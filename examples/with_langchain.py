"""LangChain: one middleware. The model sees a view, and asks for what the view leaves out. Offline, with langchain's own fake model."""
from __future__ import annotations

import sys

import byref

try:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
except ImportError as missing:
    sys.exit(print(f"{missing}; pip install langchain"))

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))


def journal(unit: str) -> str:
    """The log of a unit."""
    return LOG


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):  # it says what it was told to, whatever tools there are
        self.metadata = {"tools": [tool.name for tool in tools]}
        return self


def call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def turns(seen: list):
    yield call("journal", unit="api")
    yield call("byref_fetch", ref=seen[-1].content[1:12], at="L500-502")
    yield AIMessage("done")


with byref.open("memory:") as gateway:
    seen: list = []
    agent = create_agent(Model(messages=turns(seen)), [journal], middleware=[byref.middleware("langchain", gateway)])
    for step in agent.stream({"messages": [("user", "which request is slow?")]}, stream_mode="values"):
        seen.append(step["messages"][-1])
view, page = [message.content for message in seen if message.type == "tool"]
print(f"the tool returned {len(LOG):,} characters, the model saw {len(view):,}:\n{view}\nand fetched:\n{page}")
assert len(view) < len(LOG) / 5 and page == "".join(LOG.splitlines(keepends=True)[499:502])
