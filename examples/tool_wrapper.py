"""A tool of an agent loop, wrapped: big results become views, and `fetch` is one more tool. Misses are told to the agent."""
from __future__ import annotations

import subprocess
import sys

import byref

gateway = byref.open("memory:")
session = gateway.session("agent", task="which test is slow?")


def shell(command: str, call_id: str) -> str:
    """The agent's shell. The same call_id always gets the same first bytes, so that a prompt cache stays valid."""
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    parts = {"stdout": done.stdout, "stderr": done.stderr}
    return session.capture(tool="shell", args={"command": command}, output=parts, exit_code=done.returncode, call_id=call_id).text


def fetch(ref: str, at: str | None = None, part: str | None = None) -> str:
    """The agent's second call: exact bytes, or one line that says what is wrong and what to do."""
    try:
        page = session.fetch(ref, at=at, part=part)
    except byref.errors.Miss as miss:
        return str(miss)
    return page.text + (f"\n[more: cursor {page.cursor}]" if page.cursor else "")


command = f"{sys.executable} -c \"for i in range(2000): print(f'tests/test_{{i % 40}}.py::test_{{i}} PASSED')\""
first = shell(command, "call-1")
print(first)
print(fetch(first[1:12], at="L500-502", part="stdout"))
print(fetch("raaaaaaaaaa"))
assert shell(command, "call-1") == first
print(gateway.report().text)
gateway.close()
