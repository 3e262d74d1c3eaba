"""Fifty sessions at once against one daemon: nothing is lost, and no view, ref or line of one shows in another.

usage: sessions.py [--short]    15 seconds; without --short a minute

Half of them speak as Claude Code's hooks do, half over the HTTP routes, each in a scope and a context of its own. Every line of a
session's outputs carries its name. All begin with the same text, which must look the same to each: nobody else's lines count as
shown. Afterwards every ref gives every byte in its own scope, is unknown in the next one, and store and ledger are sound.
Prints calls, and how long they took. Ends with 1 if anything is wrong, and says what.
"""
from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import byref
from byref.proxy.frontends import frame, hook, remote, serve

SESSIONS, PATIENCE = 50, 120.0
HEAD = re.compile(r"«(r[a-z2-7]{10}) ")
NAME = re.compile(r"session-\d\d\d")
COMMON = "".join(f"def function_{n}(argument):\n    return argument * {n} + offset_{n % 7}\n\n" for n in range(60))


def content(name: str, seed: int) -> str:
    draw = random.Random(f"{name} {seed}")
    return "".join(f"{name} {draw.choice(('read', 'wrote', 'merged', 'dropped'))} segment {draw.randrange(10_000)} of {seed}\n"
                   for _ in range(draw.choice((30, 80, 80, 300))))


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Session:
    """One agent: it captures, now and then repeats itself or fetches what it has, and notes whatever is wrong."""

    def __init__(self, home: str, number: int) -> None:
        self.name, self.path = f"session-{number:03d}", hook.socket_path(os.fsencode(home))
        self.folder = os.path.join(home, "projects", self.name)
        os.makedirs(os.path.join(self.folder, ".git"))
        self.scope = f"{os.getuid()}:{os.path.realpath(self.folder)}"
        self.hooks = number % 2 == 0
        self.refs: dict[str, str] = {}  # digest of the bytes, by ref
        self.took: list[float] = []
        self.wrong: list[str] = []
        self.first = ""
        self.count = 0

    def ask(self, request: str, body: bytes, headers: str = "") -> bytes:
        start = time.monotonic()
        status, answer = hook.call(self.path, request, body, start + PATIENCE, headers)
        self.took.append(time.monotonic() - start)
        if status != 200:
            raise RuntimeError(f"{status} {answer[:200]!r}")
        return answer

    def capture(self, command: str, text: str) -> str:
        """The view of an output, or the output where it passes; its ref is noted."""
        self.count += 1
        if self.hooks:
            event = {"session_id": self.name, "cwd": self.folder, "tool_name": "Bash", "tool_use_id": f"{self.name}-{self.count}",
                     "tool_input": {"command": command}}
            self.ask("POST /hooks/claude-code", json.dumps(event | {"hook_event_name": "PreToolUse"}).encode())
            response = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
            answer = self.ask("POST /hooks/claude-code", json.dumps(event | {
                "hook_event_name": "PostToolUse", "tool_response": response}).encode())
            view = json.loads(answer)["hookSpecificOutput"]["updatedToolOutput"]["stdout"] if answer else text
            found = HEAD.match(view)
            ref = found[1] if found else ""
        else:
            answer = self.ask("POST /v1/capture", json.dumps({
                "scope": self.scope, "session": self.name, "context": self.name, "proven": True, "tool": "Bash",
                "args": {"command": command}, "output": text, "exit_code": 0, "call_id": f"{self.name}-{self.count}"}).encode())
            view, ref = json.loads(answer)["text"], json.loads(answer)["ref"]
            if not ref:
                self.wrong.append(f"not stored: {json.loads(answer)['warning']}")
        if ref:
            self.refs[ref] = digest(text.encode())
        if strangers := set(NAME.findall(view)) - {self.name}:
            self.wrong.append(f"{self.name} was shown lines of {sorted(strangers)}")
        return view

    def fetch(self, ref: str, scope: str | None = None) -> bytes:
        answer = self.ask("POST /v1/fetch", json.dumps({"scope": scope or self.scope, "ref": ref, "max_tokens": None}).encode(),
                          f"Accept: {frame.MEDIA}\r\n")
        return bytes(frame.decode(answer)[1])

    def run(self, seconds: float) -> None:
        end, draw = time.monotonic() + seconds, random.Random(self.name)
        try:
            self.first = HEAD.sub("", self.capture("cat common.py", COMMON), count=1)
            seed = 0
            while time.monotonic() < end:
                seed += 1
                text = content(self.name, seed)
                for _ in range(draw.choice((1, 1, 1, 1, 2))):
                    self.capture(f"make {seed}", text)
                if self.refs and draw.random() < .3:
                    ref = draw.choice(list(self.refs))
                    if digest(self.fetch(ref)) != self.refs[ref]:
                        self.wrong.append(f"{self.name}: {ref} has other bytes")
        except Exception as fault:
            self.wrong.append(f"{self.name}: {type(fault).__name__}: {fault}")


def check(home: str, sessions: list[Session]) -> list[str]:
    """What is wrong after all have ended."""
    wrong = [fault for session in sessions for fault in session.wrong]
    for kind in (True, False):
        if len({session.first for session in sessions if session.hooks is kind}) != 1:
            wrong.append("the same first text did not look the same to all")
    for session, other in zip(sessions, sessions[1:] + sessions[:1], strict=True):
        lost = [ref for ref, held in session.refs.items() if digest(session.fetch(ref)) != held]
        wrong += [f"{ref} of {session.name} was lost or changed" for ref in lost]
        own = next((ref for ref, held in session.refs.items() if held != digest(COMMON.encode())), None)
        try:
            if own and session.fetch(own, other.scope):
                wrong.append(f"{own} of {session.name} resolves in the scope of {other.name}")
        except RuntimeError as fault:
            if "unknown" not in str(fault):
                wrong.append(f"{own} in another scope: {fault}")
    with byref.open(f"file:{home}") as gateway:
        wrong += [f"{name}: {problem}" for name, problem in gateway.verify().damaged]
        for session in sessions:
            captured = sum(event.kind == "captured" for event in gateway.store.events(session.scope))
            if captured != session.count:
                wrong.append(f"the ledger of {session.name} has {captured} captures, {session.count} were answered")
    log = Path(home, "byref.log")
    return wrong + ([f"logged: {line}" for line in log.read_text().splitlines()] if log.exists() else [])


def main(arguments: list[str]) -> int:
    seconds = 15 if "--short" in arguments else 60
    home = tempfile.mkdtemp(prefix="byref-sessions-")
    daemon = subprocess.Popen([*remote.START, "--no-http"], env={**os.environ, "BYREF_HOME": home})
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                serve.ask(home, "GET /healthz")
                break
            except (hook.Absent, OSError):
                if time.monotonic() > until or daemon.poll() is not None:
                    print("the daemon did not come up")
                    return 1
                time.sleep(.05)
        sessions = [Session(home, number) for number in range(SESSIONS)]
        threads = [threading.Thread(target=session.run, args=(seconds,)) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = sorted(one for session in sessions for one in session.took)
        wrong = check(home, sessions)
        held = Path(f"/proc/{daemon.pid}/status")
        lines = held.read_text().splitlines() if held.exists() else []
        memory = next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), 0)
    finally:
        daemon.terminate()
        daemon.wait()
    print(f"{sum(session.count for session in sessions)} outputs and {len(took)} calls of {SESSIONS} sessions in {seconds} s, "
          f"{sum(len(session.refs) for session in sessions)} refs; a call took p50 {1000 * took[len(took) // 2]:.0f} ms, "
          f"p99 {1000 * took[len(took) * 99 // 100]:.0f} ms; daemon {memory} MB; {len(wrong)} faults; load {os.getloadavg()[0]:.1f}")
    print("\n".join(wrong[:20]))
    if not wrong:
        shutil.rmtree(home)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
