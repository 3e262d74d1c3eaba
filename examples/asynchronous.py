"""The same names with `await`: several tools at once, each output in the same session."""
from __future__ import annotations

import asyncio
import sys

from byref import aio


async def tool(session: aio.Session, *command: str) -> str:
    """Runs a command and returns what the agent should see of it."""
    began = await session.begin()  # what other calls show from here on does not count as seen by this one
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await process.communicate()
    view = await session.capture(tool="shell", args={"command": " ".join(command)}, output={"stdout": out, "stderr": err},
                                 exit_code=process.returncode, began=began)
    return view.text


async def main() -> None:
    async with aio.open("memory:") as gateway:
        session = await gateway.session("demo")
        views = await asyncio.gather(
            tool(session, sys.executable, "-c", "for i in range(5000): print('step', i, 'of 5000 done')"),
            tool(session, sys.executable, "-c", "import sys; sys.exit('no such table: leases')"),
        )
        for text in views:
            print(text)


asyncio.run(main())
