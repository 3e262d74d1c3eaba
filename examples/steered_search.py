"""A search that is steered: words of the query raised and taken out, and what each of them met, told per hit. Needs a model of tokens."""
from __future__ import annotations

import time

import byref

OUTPUTS = {
    "api": "GET /orders 504 after 30 s: upstream request timed out\n",
    "database": "FATAL: connection to the replica was lost\nretrying in 5 s\n",
    "deploy": "deploy of orders-api stopped: health check never answered\n",
    "login": "error: the password of user deploy was rejected\n",
    "disk": "error: no space left on device\n",
}
gateway = byref.open("memory:")
session = gateway.session("agent")
names = {session.capture(tool="shell", args={"command": name}, output=text, raw=True).ref: name for name, text in OUTPUTS.items()}


def ask(query: str, **weights: float) -> list[str] | None:
    """Names of what is found, best first; None where there is no model, which is said."""
    for _ in range(120):
        found = session.search(query, layers=["late"], timebox_ms=5000, weights=weights or None)
        (late,) = (layer for layer in found.layers if layer.name == "late")
        if late.note != "starting":
            break
        time.sleep(0.5)  # a model loads in the background, and no search waits for it
    if late.status == "skipped":
        print("late:", next(layer.missing for layer in session.status().layers if layer.name == "late"))
        return None
    print(f"{query!r} {weights or ''}\n{found.text}")
    return [names[hit.ref] for hit in found.hits]


ASKED = "password rejected, request timed out"
wide = ask(ASKED)
if wide is not None:
    narrow, raised = ask(ASKED, request=0, timed=0, out=0), ask(ASKED, password=4)
    print(f"as asked: {wide}\nwithout 'request timed out': {narrow}\npassword raised: {raised}")
    assert narrow == ["login"] and raised and raised[0] == "login" and set(wide) >= {"api", "login"}
gateway.close()
