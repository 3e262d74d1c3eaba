"""One output of a case, captured once a process, and what the checks ask about it."""
from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import byref
from case_harness.adapted import adapted
from case_harness.load import Part

HERE = Path(__file__).parent
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
PLACEHOLDER = b"@@GENUINE_MARKER@@"


@functools.cache
def counter() -> Any:
    """Tokens of a text in o200k, else UTF-8 bytes / 4 rounded up."""
    try:
        import toktok
        return lambda text: toktok.batch_count([text.encode("utf-8", "replace").decode()], "o200k_base")[0]
    except ImportError:
        return lambda text: -(-len(text.encode("utf-8", "replace")) // 4)


def tokens(text: str) -> int:
    count: int = counter()(text)
    return count


def clean(text: str) -> str:
    """Raw text as a terminal would leave it: no escapes, no overwritten text, no trailing blanks."""
    return "\n".join(line.rstrip().rpartition("\r")[2] for line in ESCAPE.sub("", text).split("\n"))


def data_lines(view: str) -> list[str]:
    """The lines of a view without what is our own."""
    return [line.strip() for line in byref.MARKER.sub("\n", view).split("\n") if line.strip()]


class Run:
    """A case's output captured in a store of its own, in the session that bears the case's name."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.gateway = byref.open("memory:")
        self.session = self.gateway.session(part.case)
        self.output: Any = part.output
        if isinstance(self.output, bytes) and PLACEHOLDER in self.output:
            self.output = self.output.replace(PLACEHOLDER, self.genuine().encode())
        self.raw = self.output if isinstance(self.output, dict) else {"output": self.output}
        started = time.process_time()  # a machine that does much else has its own seconds
        self.view = self.capture(self.session, self.output)
        self.seconds = time.process_time() - started

    def genuine(self) -> str:
        """A marker that was really given for another output of this session."""
        lines = "".join(f"{i:05d} a line of another output, {i * i}\n" for i in range(4000))
        found = byref.MARKER.search(self.session.capture(tool="shell", args={"command": "other"}, output=lines).text)
        assert found, "a long log gives no marker"
        return found[0]

    def capture(self, session: Any, output: Any, **named: Any) -> Any:
        found = adapted(session, self.part.tool, self.part.arguments, output, **named)
        if found is not None:
            return found
        call = {"tool": self.part.tool, "args": self.part.arguments, "exit_code": self.part.exit_code, **named}
        return session.capture(output=output, **call)

    @property
    def text(self) -> str:
        view: str = self.view.text
        return view

    @property
    def raw_text(self) -> str:
        """The raw text as an agent would have got it: parts joined in their order."""
        return b"".join(self.raw.values()).decode("utf-8", "replace")

    def pages(self, part: str | None = None, **named: Any) -> list[Any]:
        """All pages of a part, in order."""
        found, cursor = [], None
        while True:
            page = self.session.fetch(self.view.ref, part=part, cursor=cursor, **named)
            found.append(page)
            cursor = page.cursor
            if not cursor:
                return found
            assert len(found) < 20_000, "the cursor never ends"

    @functools.cached_property
    def all_pages(self) -> list[Any]:
        """The pages of an output of one part, of the usual size."""
        return self.pages()

    def search(self, query: str, **named: Any) -> str:
        if not hasattr(self.session, "search"):
            pytest.skip("needs search")
        text: str = self.session.search(query, refs=[self.view.ref], **named).text
        return text


@functools.cache
def run(part: Part) -> Run:
    return Run(part)


def fresh(part: Part, *, warm: bool, seed: str, locale: str, zone: str, clock: float) -> tuple[str, str]:
    """View and ref of a case's output in a new process with a store of its own, empty or in use."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, data in part.raw.items():
            Path(folder, name).write_bytes(data)
            names.append(name)
        spec = {"folder": folder, "names": names, "tool": part.tool, "args": part.arguments, "exit_code": part.exit_code,
                "session": part.case, "warm": warm, "clock": clock}
        env = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone, "BYREF_HOME": f"{folder}/home"}
        done = subprocess.run([sys.executable, str(HERE / "fresh.py")], input=json.dumps(spec), capture_output=True, text=True,
                              check=False, env=env, encoding="utf-8")
        assert done.returncode == 0, done.stderr[-2000:]
        answer = json.loads(done.stdout)
        return answer["text"], answer["ref"]


def command_line(part: Part, *, home: Path) -> subprocess.CompletedProcess[bytes]:
    """The output replayed by a real command under `byref run`."""
    raw = part.raw
    with tempfile.TemporaryDirectory() as folder:
        for name in ("output", "stdout", "stderr"):
            Path(folder, name).write_bytes(raw.get(name, b""))
        end = f"kill -{part.signal} $$" if part.signal else f"exit {part.exit_code or 0}"
        script = f"cat output stdout; cat stderr >&2; {end}"
        return subprocess.run([str(Path(sys.executable).with_name("byref")), "run", "--", "sh", "-c", script], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False, cwd=folder, env={**os.environ, "BYREF_HOME": str(home)})
