"""A decorator on the tools of one's own loop: long returns become views, and three functions bring what these leave out."""
from __future__ import annotations

import asyncio

import byref

LOG = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))

with byref.open("memory:") as gateway:
    session = gateway.session("agent", task="which request is slow?")
    fetch, search, status = byref.tools(session)

    @byref.tool(session=session)
    def journal(unit: str) -> str:
        """The log of a unit."""
        return LOG

    @byref.tool(session=session, name="units")
    async def listed(state: str) -> list[str]:
        """The units that are in a state."""
        return ["api", "db"] if state == "failed" else []

    view = journal("api")
    assert asyncio.run(listed("failed")) == ["api", "db"]  # what is short stays what it is
    page = fetch(ref=view[1:12], at="L500-502")
    assert page == "".join(LOG.splitlines(keepends=True)[499:502])
    print(f"{journal.__name__} returned {len(LOG):,} characters, the agent saw {len(view):,}:\n{view}\nand fetched:\n{page}")
    print(search(query="request 1777", k=2))
    print({tool.name: list(tool.schema["properties"]) for tool in (fetch, search, status)})
