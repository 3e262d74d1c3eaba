"""Models are loaded when a session begins, so that its first search need not wait for them: only where one is to be expected.

That is where the scope was searched lately in the way that this process answers, and layers hold vectors of it. Everywhere else nothing
is loaded, nor any library imported.
"""
from __future__ import annotations

import os
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from byref.proxy.gateway import Gateway

LATELY = 7 * 86_400.0  # seconds


def warm(gateway: Gateway, scope: str, asked: Callable[[str], bool]) -> None:
    """Returns at once. asked: whether a session of this name is one whose searches this process answers."""
    folder = gateway.settings.folder
    if folder and os.path.isdir(os.path.join(folder, "layers")):
        from byref.layers import workers
        workers.start(partial(_warm, gateway, scope, asked))


def _warm(gateway: Gateway, scope: str, asked: Callable[[str], bool]) -> None:
    try:
        found = gateway.store.events(scope, since=gateway.clock() - LATELY, kind="searched")
        if any(asked(event.session) for event in found):
            gateway.indexes.warm(scope)
    except Exception as fault:  # the first search loads them then
        gateway.faults.add("warming", fault)
