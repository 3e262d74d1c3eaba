"""Reads a folder of cases: which outputs there are, and which statements must hold of each."""
from __future__ import annotations

import functools
import json
import runpy
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class Part:
    """One output of a case. inputs: part name to the file that holds its bytes; an output of one part is `output`."""

    case: str
    name: str
    folder: Path
    tool: str
    arguments: Any
    exit_code: int | None
    signal: int | None
    inputs: Mapping[str, str]
    checks: tuple[Mapping[str, Any], ...] = field(repr=False)

    @property
    def number(self) -> str:
        return self.case[:2]

    @property
    def id(self) -> str:
        return f"{self.case}/{self.name}" if self.name else self.case

    @property
    def raw(self) -> dict[str, bytes]:
        """The bytes of each part, as the tool wrote them."""
        return {name: read(self.folder, file) for name, file in self.inputs.items()}

    @property
    def output(self) -> bytes | dict[str, bytes]:
        """What `capture` takes."""
        raw = self.raw
        return raw["output"] if list(raw) == ["output"] else raw


@functools.cache
def read(folder: Path, file: str) -> bytes:
    """A file of a case, or what its generator writes."""
    if (folder / file).exists():
        return (folder / file).read_bytes()
    import subprocess
    import sys
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.executable, "-B", str(folder / "gen.py"), f"{out}/{file}"], check=True)
        return Path(out, file).read_bytes()


def generator(folder: Path) -> dict[str, Any]:
    """The functions of a case's generator. run_path leaves no bytecode behind in a folder that is not ours."""
    return runpy.run_path(str(folder / "gen.py"), run_name="gen")


@functools.cache
def parts(cases: Path) -> tuple[Part, ...]:
    """All outputs of a folder of cases. Always the same objects, by which their captures are cached."""
    return tuple(_parts(cases))


def _parts(cases: Path) -> Iterator[Part]:
    for file in sorted(cases.glob("*/case.json")):
        doc = json.loads(file.read_text(encoding="utf-8"))
        for entry in doc.get("parts") or [doc]:
            about = {**doc, **entry}
            request = about.get("request")
            inputs = {name: about[name] for name in ("stdout", "stderr") if name in entry}
            if "input" in entry:
                inputs = {"output": entry["input"]}
            yield Part(
                case=file.parent.name, name=entry.get("name", ""), folder=file.parent, tool=about["tool"],
                arguments=request if request else {"command": about.get("command", "")},
                exit_code=about.get("exit_code"), signal=about.get("signal"), inputs=inputs,
                checks=(*entry["must_hold"], *(doc["must_hold"] if "parts" in doc else ())),
            )
