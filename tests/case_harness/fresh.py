"""Run as a script: captures what standard input describes and prints the view and its ref as JSON."""
from __future__ import annotations

import json
import sys
from pathlib import Path

from adapted import adapted

import byref


def main() -> None:
    spec = json.load(sys.stdin)
    folder = Path(spec["folder"])
    output = {name: (folder / name).read_bytes() for name in spec["names"]}
    call = {"tool": spec["tool"], "args": spec["args"], "exit_code": spec["exit_code"]}
    with byref.open(f"file:{folder}/store", clock=lambda: spec["clock"]) as gateway:
        if spec["warm"]:
            other = gateway.session("other")
            other.capture(tool="shell", args={"command": "before"}, output="".join(f"{i} another line\n" for i in range(3000)))
            gateway.session(spec["session"]).capture(output=dict(reversed(output.items())), **call)
        session = gateway.session(spec["session"])
        whole = output["output"] if list(output) == ["output"] else output
        view = adapted(session, spec["tool"], spec["args"], whole) or session.capture(output=whole, **call)
    json.dump({"text": view.text, "ref": view.ref}, sys.stdout)


main()
