"""Keep a tool's output whole, show the agent a view of it, and serve a detail on a second call."""
from __future__ import annotations

import byref

log = "".join(f"2026-03-01 10:{i // 60 % 60:02d}:{i % 60:02d} INFO request {i} took {i % 90} ms\n" for i in range(3000))
log = log.replace("INFO request 1777 took 67 ms", "ERROR request 1777: shard 4 refused the lease")

with byref.open("memory:") as gateway:
    session = gateway.session("demo", task="find out why requests fail")
    view = session.capture(tool="shell", args={"command": "journalctl -u api"}, output=log, exit_code=0)
    print(f"the output has {len(log):,} characters, the agent sees {len(view.text):,}:\n")
    print(view.text)

    gap = view.gaps[0]
    page = session.fetch(view.ref, at=gap.address, part=gap.part)
    print(f"the gap {gap.address} holds {gap.count} {gap.unit}; its first: {page.text.splitlines()[0]}")

    around = session.fetch(view.ref, at="/shard \\d refused/±1")
    print(f"lines around a pattern:\n{around.text}")

    whole, cursor = b"", None
    while True:
        page = session.fetch(view.ref, cursor=cursor)
        whole, cursor = whole + page.data, page.cursor
        if cursor is None:
            break
    assert whole == log.encode()
    print("all pages together are the raw bytes")
