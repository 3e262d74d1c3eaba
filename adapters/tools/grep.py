"""grep: lines that match a pattern in the files of some folders, by ripgrep, or by RE2 in plain Python where that is not installed.

`path:line:text` for a match, `path-line-text` for a line of context, `--` between stretches, files in the order of their paths, so that
the same files give the same bytes. What git ignores is left out, as ripgrep does it. Exit code: 0 found, 1 nothing, 2 something went wrong.
"""
from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from threading import Event, Thread
from typing import IO, TYPE_CHECKING, BinaryIO

from byref.proxy.errors import Invalid
from byref.proxy.operations import Adapter, Argument, Here, Operation, Result
from byref.proxy.text import pattern

if TYPE_CHECKING:
    from byref.proxy.operations import Arguments

LONGEST = 4 << 20  # bytes of a file that plain Python looks through
SNIFFED = 8192  # bytes by which a binary file is told: ripgrep's rule, a NUL
CONTEXT = 100  # lines
_LOOK = 0.1  # seconds between two looks at whether somebody still waits
_NO_FILE = "neither a file nor a folder"
_WORD = r"(?:^|[^\pL\pN_])(?:%s)(?:[^\pL\pN_]|$)"  # what ripgrep 13 makes of --word-regexp
_ARGUMENTS = (
    Argument("pattern", "what to look for: a regular expression (RE2's syntax), or with fixed a text", required=True, plain=True),
    Argument("paths", "files and folders to look in; the working folder if there are none", "texts", plain=True),
    Argument("glob", "only files that match, as *.py; ! before it leaves them out", "texts"),
    Argument("fixed", "the pattern is a text and no expression", "flag"),
    Argument("ignore_case", "upper and lower case are the same", "flag"),
    Argument("word", "only whole words", "flag"),
    Argument("context", "lines before and after each match", "integer"),
    Argument("count", "only how many lines match in each file", "flag"),
    Argument("files", "only the names of files that match", "flag"),
    Argument("hidden", "also files whose name starts with a dot", "flag"),
    Argument("ignored", "also files that git ignores", "flag"),
)


def _run(arguments: Arguments, here: Here) -> Result:
    asked = _Asked(arguments)
    program = shutil.which("rg", path=here.environment.get("PATH"))
    if program is None:
        return _plain(asked, here)
    return _ripgrep(program, asked, here)


class _Asked:
    """The arguments, checked. Raises `Invalid`."""

    def __init__(self, arguments: Arguments) -> None:
        self.pattern = _text(arguments, "pattern")
        if not self.pattern:
            raise Invalid("the pattern is empty: say what to look for")
        self.paths, self.globs = _texts(arguments, "paths"), _texts(arguments, "glob")
        self.fixed, self.ignore_case, self.word = (arguments.get(name) is True for name in ("fixed", "ignore_case", "word"))
        self.count, self.files = arguments.get("count") is True, arguments.get("files") is True
        self.hidden, self.ignored = arguments.get("hidden") is True, arguments.get("ignored") is True
        context = arguments.get("context") or 0
        if not isinstance(context, int) or not 0 <= context <= CONTEXT:
            raise Invalid(f"context is a number of lines from 0 to {CONTEXT}, not {str(context)[:20]}")
        self.context = context


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name) or ""
    if not isinstance(value, str) or not _sendable(value):
        raise Invalid(f"{name} is a text without NUL, and no half of a surrogate pair")
    return value


def _sendable(text: str) -> bool:
    """Whether a program can take a text as an argument."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _texts(arguments: Arguments, name: str) -> list[str]:
    value = arguments.get(name) or []
    found = [one for one in value if isinstance(one, str) and one and _sendable(one)] if isinstance(value, (list, tuple)) else []
    if not isinstance(value, (list, tuple)) or len(found) != len(value):
        raise Invalid(f"{name} is a list of texts that are not empty")
    return found


def _ripgrep(program: str, asked: _Asked, here: Here) -> Result:
    words = [program, "--json", "--no-config"]
    for flag, given in (("--fixed-strings", asked.fixed), ("--ignore-case", asked.ignore_case), ("--word-regexp", asked.word),
                        ("--hidden", asked.hidden), ("--no-ignore", asked.ignored)):
        words += [flag] * given
    words += [f"--context={asked.context}"] * bool(asked.context and not (asked.count or asked.files))
    words += [f"--glob={glob}" for glob in (*asked.globs, "!.git")]
    paths = [path for path in asked.paths if not _pipe(os.path.join(here.folder, path))]
    if asked.paths and not paths:
        return _result(asked, {}, b"".join(_said(path, _NO_FILE) for path in asked.paths), 2)
    words += ["--regexp", asked.pattern, "--", *(paths or ["./"])]
    found: dict[bytes, list[bytes]] = {}
    with tempfile.TemporaryFile() as said, subprocess.Popen(
            words, cwd=here.folder, env=dict(here.environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
            start_new_session=True) as process:
        over = Event()
        watcher = Thread(target=_watch, args=(process, here, over), daemon=True)
        watcher.start()
        whole = _listed(process.stdout, asked, found, here) and not here.stop()
        if not whole:
            process.kill()
        code = process.wait()
        over.set()
        watcher.join()
        said.seek(0)
        errors = b"".join(_said(path, _NO_FILE) for path in asked.paths if path not in paths) + said.read(here.room)
    if not whole:
        errors += b"grep: stopped before it had looked everywhere\n"
    return _result(asked, found, errors, code if whole else 2)


def _watch(process: subprocess.Popen[bytes], here: Here, over: Event) -> None:
    """Ends a search that says nothing for long once nobody waits any more."""
    while not over.wait(_LOOK):
        if here.stop():
            process.kill()
            return


def _pipe(path: str) -> bool:
    """Whether something lies there that is neither a file nor a folder: to read it could wait for ever."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _listed(stream: IO[bytes] | None, asked: _Asked, found: dict[bytes, list[bytes]], here: Here) -> bool:
    """Reads ripgrep's messages (one JSON object a line) into lines by path. False where there was no room or no time for all."""
    size = 0
    last = b"", 0
    for message in stream or ():
        if size > here.room or here.stop():
            return False
        event = json.loads(message)
        if event["type"] not in ("match", "context"):
            continue
        data = event["data"]
        path, number = _bytes(data["path"]).removeprefix(b"./"), data["line_number"]
        lines = found.setdefault(path, [])
        if asked.context and lines and (path != last[0] or number > last[1] + 1):
            lines.append(b"--\n")
        sign = b":" if event["type"] == "match" else b"-"
        for row in _bytes(data["lines"]).removesuffix(b"\n").split(b"\n"):
            line = path + sign + str(number).encode() + sign + row + b"\n"
            lines.append(line)
            size += len(line)
            last = path, number
            number += 1
    return True


def _bytes(value: Mapping[str, str]) -> bytes:
    """What is UTF-8 comes as text, anything else in base64."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _result(asked: _Asked, found: Mapping[bytes, list[bytes]], errors: bytes, code: int) -> Result:
    rows: list[bytes] = []
    for path in sorted(found):
        if asked.files:
            rows.append(path + b"\n")
        elif asked.count:
            rows.append(path + b":" + str(len(found[path])).encode() + b"\n")
        else:
            if asked.context and rows:
                rows.append(b"--\n")
            rows += found[path]
    parts: dict[str, bytes | BinaryIO] = {"stdout": b"".join(rows)}
    if errors:
        parts["stderr"] = errors
    return Result(parts, code, code > 1)


def _plain(asked: _Asked, here: Here) -> Result:
    """The same without ripgrep, a file at a time."""
    body = asked.pattern if not asked.fixed else _quoted(asked.pattern)
    compiled = pattern(("(?i)" if asked.ignore_case else "") + (_WORD % body if asked.word else body))
    found: dict[bytes, list[bytes]] = {}
    errors: list[bytes] = []
    size, whole = 0, True
    for path in _files(asked, here, errors):
        if size > here.room or here.stop():
            whole = False
            break
        try:
            with open(os.path.join(here.folder, path), "rb") as file:
                data = file.read(LONGEST + 1)
        except OSError as fault:
            errors.append(_said(path, fault.strerror or "cannot be read"))
            continue
        if b"\0" in data[:SNIFFED]:
            continue
        if len(data) > LONGEST:
            errors.append(_said(path, f"larger than {LONGEST >> 20} MiB, so only its start was looked at"))
        rows = data[:LONGEST].removesuffix(b"\n").split(b"\n") if data else []
        hits = [i for i, row in enumerate(rows) if compiled.search(row)]
        if hits:
            name = os.fsencode(path)
            found[name] = _around(name, rows, hits, 0 if asked.count or asked.files else asked.context)
            size += sum(map(len, found[name]))
    if not whole:
        errors.append(b"grep: stopped before it had looked everywhere\n")
    code = 2 if errors and not found else 0 if found else 1
    return _result(asked, found, b"".join(errors), code if whole else 2)


def _said(path: str, what: str) -> bytes:
    return f"grep: {path}: {what}\n".encode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    return "".join(c if c.isalnum() or c.isspace() or ord(c) > 127 else "\\" + c for c in text)


def _around(name: bytes, rows: list[bytes], hits: list[int], context: int) -> list[bytes]:
    marked = set(hits)
    shown = sorted({k for i in hits for k in range(max(0, i - context), min(len(rows), i + context + 1))})
    out: list[bytes] = []
    for at, k in enumerate(shown):
        if context and at and k > shown[at - 1] + 1:
            out.append(b"--\n")
        sign = b":" if k in marked else b"-"
        out.append(name + sign + str(k + 1).encode() + sign + rows[k] + b"\n")
    return out


def _files(asked: _Asked, here: Here, errors: list[bytes]) -> Iterator[str]:
    """Files to look in, relative where they were named so. In a work tree git says what it ignores."""
    seen: set[str] = set()
    for root in asked.paths or ["."]:
        place = os.path.join(here.folder, root)
        if os.path.isfile(place):
            yield from [root] * (root not in seen)
            seen.add(root)
            continue
        if not os.path.isdir(place):
            errors.append(_said(root, _NO_FILE if os.path.exists(place) else "no such file or folder"))
            continue
        for name in _below(place, asked, here):
            path = os.path.normpath(os.path.join(root, name))
            hidden = any(piece.startswith(".") for piece in name.split("/"))
            if path in seen or (hidden and not asked.hidden) or not _wanted(path, asked.globs) or _pipe(os.path.join(here.folder, path)):
                continue
            seen.add(path)
            yield path


def _below(place: str, asked: _Asked, here: Here) -> list[str]:
    if not asked.ignored:
        try:
            listed = subprocess.run(["git", "-C", place, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                    capture_output=True, check=True, env=dict(here.environment), stdin=subprocess.DEVNULL)
            return sorted(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
        except (OSError, subprocess.CalledProcessError):
            pass  # no git, or no work tree: nothing is ignored
    found: list[str] = []
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name != ".git"]
        found += [os.path.relpath(os.path.join(folder, name), place) for name in files]
    return sorted(found)


def _wanted(path: str, globs: list[str]) -> bool:
    """As ripgrep reads globs: the last that matches decides; where none says what to take, all is taken."""
    from fnmatch import fnmatchcase
    wanted = not any(not glob.startswith("!") for glob in globs)
    for glob in globs:
        bare = glob.removeprefix("!")
        subject = path if "/" in bare else os.path.basename(path)
        if fnmatchcase(subject, bare):
            wanted = not glob.startswith("!")
    return wanted


ADAPTER = Adapter("grep", "find lines in files by a pattern", (
    Operation("", "Lines of files that match a pattern.", _ARGUMENTS, run=_run),))
