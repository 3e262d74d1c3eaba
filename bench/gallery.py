"""One real view for each shape, from commands run here and now on the project itself or on small inputs of our own: docs/views.md.

usage: gallery.py [--print]    without it, docs/views.md is written
"""
from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import byref
from byref.filters.detect import known
from byref.proxy.captured import Captured
from byref.proxy.ledger.counter import token_counter

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "views.md"
LINES = 48  # of a view that are printed here
WIDTH = 240  # characters of a line that are printed here

_JOB = '''
import ast, logging, pathlib, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
for file in sorted(pathlib.Path(".").rglob("*.py")):
    log = logging.getLogger(".".join(file.parent.parts) or "root")
    log.info("parsing %s", file.name)
    try:
        names = [node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)]
        log.info("%d functions in %d bytes", len(names), file.stat().st_size)
        if len(names) > 30:
            log.warning("%s has %d functions", file.name, len(names))
    except SyntaxError as fault:
        log.error("cannot parse %s: %s", file.name, fault)
'''
_TESTS = '''
import pytest

@pytest.mark.parametrize("number", range(120))
def test_squares(number):
    assert (number * number) % 4 in (0, 1)

@pytest.mark.parametrize("number", range(3))
def test_cubes(number):
    cube = number ** 3
    assert cube != 8, "eight is not expected here"
'''
_CHAIN = '''
import json

class ConfigError(Exception):
    """The settings cannot be used."""

def member(text, depth):
    return element(text, depth - 1) if depth else json.loads(text)

def element(text, depth):
    return member(text, depth - 1) if depth else json.loads(text)

def load(path):
    try:
        return member("{" * 3, 40)
    except ValueError as fault:
        raise ConfigError(f"{path} is no JSON") from fault

print("loading settings")
load("settings.json")
'''
_MODULES = '''
import ast, json, pathlib
rows = []
for file in sorted(pathlib.Path(".").rglob("*.py")):
    tree = ast.parse(file.read_text())
    defined = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    rows.append({"path": str(file), "bytes": file.stat().st_size, "doc": ast.get_docstring(tree), "defines": defined, "public": True})
print(json.dumps({"count": len(rows), "modules": rows}))
'''
_TABLE = '''
import pathlib
print(f"{'MODULE':44}{'LINES':>8}{'BYTES':>10}  STATUS")
for file in sorted(f for name in ("filters", "proxy", "tests") for f in pathlib.Path(name).rglob("*.py")):
    text = file.read_text()
    lines = text.count(chr(10))
    print(f"{str(file)[-42:]:44}{lines:8}{file.stat().st_size:10}  {'empty' if not text else 'long' if lines > 300 else 'ok'}")
'''


@dataclass(frozen=True, slots=True)
class Example:
    """A command and what it is run on. folder: of the project, where it runs; files: made beside a copy of nothing else, and then it
    runs there. read: what a tool that reads files is asked instead of a command.
    """

    shape: str
    command: str
    folder: str = "."
    files: tuple[tuple[str, str], ...] = ()
    read: bool = False


EXAMPLES = (
    Example("log", "python3 {job.py}", "proxy", (("job.py", _JOB),)),
    Example("tests", "python3 -m pytest -p no:asyncio -v test_numbers.py", "", (("test_numbers.py", _TESTS),)),
    Example("matches", "grep -rn 'def ' --include=*.py proxy"),
    Example("listing", "find proxy filters tests -name '*.py'"),
    Example("code", "filters/select.py", read=True),
    Example("diff", "git diff 7de39b3 3cb386b -- filters"),
    Example("trace", "python3 settings.py", "", (("settings.py", _CHAIN),)),
    Example("json", "python3 {modules.py}", "filters", (("modules.py", _MODULES),)),
    Example("table", "python3 {table.py}", ".", (("table.py", _TABLE),)),
    Example("markup", 'curl -s "file://$PWD/argparse.html"', "", (("argparse.html", "pydoc"),)),
    Example("text", "python3 -m pydoc subprocess"),
    Example("binary", "cat design.md.gz", "", (("design.md.gz", "gzip"),)),
)


def output(example: Example, folder: Path) -> tuple[bytes, bytes, int | None]:
    """What the command prints: stdout, stderr, exit code. What it is run on lies in folder."""
    command = example.command
    for name, text in example.files:
        if text == "pydoc":
            subprocess.run([sys.executable, "-m", "pydoc", "-w", name.removesuffix(".html")], cwd=folder, check=True, capture_output=True)
        elif text == "gzip":
            data = subprocess.run(["gzip", "-9nc", name.removesuffix(".gz")], cwd=ROOT / "docs", check=True, capture_output=True).stdout
            (folder / name).write_bytes(data)
        else:
            (folder / name).write_text(text.lstrip())
        command = command.replace("{" + name + "}", str(folder / name))
    where = ROOT / example.folder if example.folder else folder
    if example.read:
        rows = (where / command).read_text().splitlines()
        return "".join(f"{n:6d}\t{row}\n" for n, row in enumerate(rows, 1)).encode(), b"", None
    done = subprocess.run(["bash", "-c", command.replace("python3", sys.executable)], cwd=where, capture_output=True, check=False)
    return done.stdout, done.stderr, done.returncode


def captured(example: Example) -> tuple[str, bytes, Captured]:
    """The command as the page names it, its bytes, and their view."""
    with tempfile.TemporaryDirectory() as folder, byref.open("memory:") as gateway:
        out, err, code = output(example, Path(folder))
        for place, short in ((f"{folder}/", ""), (folder, "."), (sys.executable, "python3"), (f"{ROOT}/", ""), (sys.base_prefix, "/usr")):
            out, err = out.replace(place.encode(), short.encode()), err.replace(place.encode(), short.encode())
        named = example.command.replace("{", "").replace("}", "")
        arguments = {"file_path": named} if example.read else {"command": named}
        parts = {"stdout": out, "stderr": err} if err else {"stdout": out}
        view = gateway.session("gallery").capture(tool="Read" if example.read else "Bash", args=arguments, output=parts, exit_code=code)
        if view.warning:
            raise SystemExit(view.warning)
        return named, out + err, view


def section(example: Example) -> tuple[str, str]:
    """What the page says of one shape, and the shape that was found."""
    named, data, view = captured(example)
    raw, size = token_counter().count([data.decode("utf-8", "replace"), view.text])
    rows = [row if len(row) <= WIDTH else row[:WIDTH] + " …" for row in view.text.rstrip("\n").split("\n")]
    more = f"\nThe first {LINES} of the view's {len(rows)} lines.\n" if len(rows) > LINES else ""
    what = f"reading `{named}`" if example.read else f"`{named}`"
    lines = data.count(b"\n")
    return view.shape, (
        f"## {example.shape}\n\n{what}: {len(data)} bytes, {lines} lines, {raw} tokens; the view {size} tokens "
        f"({1 - size / raw:.0%} saved), {len(view.gaps)} gaps.\n{more}\n````text\n" + "\n".join(rows[:LINES]) + "\n````\n")


def page() -> tuple[str, list[str]]:
    """The whole page, and what is wrong with it."""
    out = ["# One view for each shape\n\nMade by `make gallery` (`bench/gallery.py`) from commands run at that moment, each in a context\n"
           "of its own, at the default profile; paths of the machine were shortened before.\n"
           f"Tokens: {token_counter().name}.\n"]
    wrong = [f"no example of the shape {name}" for name in sorted({s.name for s in known()} - {e.shape for e in EXAMPLES})]
    for example in EXAMPLES:
        shape, text = section(example)
        out.append(text)
        if shape != example.shape:
            wrong.append(f"`{example.command}` was taken for {shape}, not {example.shape}")
    text = "\n".join(out)
    wrong += [f"the page holds {place}" for place in {str(ROOT), str(Path.home()) + "/", sys.prefix} if place in text]
    return text, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true")
    text, wrong = page()
    if parser.parse_args().print:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
