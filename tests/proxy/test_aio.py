"""The same API with await."""
from __future__ import annotations

import asyncio
import inspect

import byref
from byref.proxy import aio, gateway, session

LOG = "".join(f"step {i} of the installation copied file_{i * 7919 % 1000}.dat\n" for i in range(2000))


def test_calls_at_once_are_captured_and_fetched() -> None:
    async def run() -> None:
        async with byref.aio.open("memory:") as gate, await gate.session("a", task="install") as calls:
            began = await calls.begin()
            views = await asyncio.gather(*(
                calls.capture(tool="shell", args={"command": f"./install {i}"}, output=LOG + f"{i}\n", began=began) for i in range(4)))
            assert len({view.ref for view in views}) == 4
            for i, view in enumerate(views):
                assert (await calls.fetch(view.ref, "L2001")).text == f"{i}\n"
            assert [hit.ref for hit in (await calls.search("3", refs=[views[3].ref], k=1)).hits] == [views[3].ref]
            assert (await calls.status()).outputs == 4
            await calls.compacted()
            await calls.purge(views[0].ref)
            assert (await gate.gc()).outputs == 3 and not (await gate.verify()).damaged
            assert (await gate.report()).total.calls == 4
            await gate.purge(views[1].ref, scope="a")

    asyncio.run(run())


def test_nothing_public_is_missing_and_parameters_are_the_same() -> None:
    for waiting, plain in ((aio.Session, session.Session), (aio.Gateway, gateway.Gateway)):
        names = {name for name, value in vars(plain).items() if inspect.isfunction(value) and not name.startswith("_")}
        internal = {"blocks"}
        if plain is gateway.Gateway:
            internal = {"memory", "began", "forget", "end", "capture", "fetched", "searched", "missed", "compacted", "log", "rules"}
        for name in names - internal:
            given, wanted = (inspect.signature(getattr(kind, name)).parameters.keys() for kind in (waiting, plain))
            assert given == wanted, name
