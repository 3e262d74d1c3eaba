"""What a call runs: its command line cut into commands, each as plain words without what only wraps it.

No shell is asked. What cannot be told (a variable, a function, an alias) stays as it stands, and then matches nothing.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import TypeAlias

from byref.proxy.contracts import Call, Json

Words: TypeAlias = tuple[str, ...]

_KEYS = ("command", "cmd", "script", "code", "input")
_LINE_KEYS = ("command", "cmd", "script", "argv")  # those that hold a command line whatever the tool
_LONGEST = 20_000  # characters of a command line that are looked at
_DEEPEST = 3  # shells within shells
_HERE = re.compile(r"<<-?[ \t]*(?:'([\w.-]+)'|\"([\w.-]+)\"|\\?([\w.-]+))")
# $(…) and `…` are part of a word: what they print goes to the command around them.
_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t\r]|\\\r?\n)++)|(?P<comment>(?<![^\s;|&()])#[^\n]*+)"
    r"|(?P<redirect>(?:\d+|&)?(?:<<<|>>|>\||>&|<&|<>|[<>]))|(?P<operator>&&|\|\||\|&|[;&|\n()])"
    r"|(?P<word>(?:\\.|\$\((?:[^()]|\([^()]*+\))*+\)|\$|[^\s'\"\\|&;()<>`$]++|'[^']*+'|\"(?:[^\"\\]|\\.)*+\"|`[^`]*+`)++)|(?P<odd>.)", re.S)
_QUOTED = re.compile(r"'([^']*+)'|\"((?:[^\"\\]|\\.)*+)\"|\\(.)", re.S)
_ESCAPED = re.compile(r"\\([\"\\$`])")
_ASSIGNED = re.compile(r"\w+\+?=")
_PLAIN = re.compile(r"[\w@%+=:,./-]+")
_NAME = re.compile(r"[\w.+-]{1,24}")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")
_INTERPRETERS = frozenset({"python", "node", "ruby", "php", "perl"})
_OPENING = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "done", "fi"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "su", "script"})
_FEEDERS = frozenset({"echo", "printf", "yes", ":", "true"})  # what they print is for the command behind the pipe
_BUILTINS = frozenset({"cd", "exit", "export", "false", "set", "source", "true", "wait"})
# Commands that run the command behind them: how many words of their own stand before it, and which of their options take a word.
_WRAPPERS = """
sudo 0 -u -g -h -p -C -D -R -T; doas 0 -u -C; env 0 -u -C -S; time 0 -f -o; nohup 0; nice 0 -n; ionice 0 -c -n -p; exec 0 -a; command 0
builtin 0; timeout 1 -k -s; gtimeout 1 -k -s
stdbuf 0 -i -o -e; unbuffer 0; setsid 0; xargs 0 -n -I -P -L -a -d; chronic 0; strace 0 -e -o -p; eval 0
watch 0 -n; flock 1 -w; chroot 1; ssh 1 -i -p -l -o -F; xvfb-run 0 -s -e -n; catchsegv 0; caffeinate 0
npx 0 -p --package; bunx 0; uvx 0 --from --with --python; coverage run 0 --source --rcfile; pnpm exec 0; pnpm dlx 0; yarn exec 0; yarn dlx 0
npm exec 0; bun x 0; uv run 0 --with --python --project --directory --extra --group --env-file -p; uv tool run 0 --from --with; poetry run 0
pipenv run 0; pdm run 0 -p; hatch run 0; rye run 0; pixi run 0 -e; conda run 0 -n -p; mamba run 0 -n -p; micromamba run 0 -n -p
bundle exec 0; direnv exec 1; docker exec 1 -e -u -w --env --user --workdir; podman exec 1 -e -u -w; docker compose exec 1 -e -u -w --index
docker compose run 1 -e -u -w -v -p --name --entrypoint; docker-compose exec 1 -e -u -w --index; docker-compose run 1 -e -u -w -v -p --name
kubectl exec 1 -n -c --namespace --container; oc exec 1 -n -c
"""
# Options before a subcommand whose value is a word of its own; those of the second set have none in some programs.
_VALUED = frozenset((
    "-C", "-c", "-n", "-H", "-f", "-R", "-r", "-p", "-w", "-F", "-W", "-X", "-l", "--git-dir", "--work-tree", "--namespace", "--context",
    "--host", "--config", "--kubeconfig", "--cluster", "--user", "--server", "--file", "--project-name", "--project-directory", "--profile",
    "--env-file", "--prefix", "--workspace", "--filter", "--dir", "--cwd", "--directory", "--project", "--manifest-path", "--log-level",
    "--repo", "--color"))
_EITHER = frozenset({"-f", "-l", "-n", "-p", "-r", "-w"})


def command(call: Call) -> str:
    """The command line of a shell call, else nothing. Of `["bash", "-lc", LINE]` it is the line."""
    arguments = call.arguments
    if isinstance(arguments, dict):
        for key in _KEYS:
            value = arguments.get(key)
            if isinstance(value, str):
                return value
            if isinstance(value, (list, tuple)):
                return _joined(value)
    return arguments if isinstance(arguments, str) else ""


def commands(call: Call) -> tuple[Words, ...]:
    """The commands that a call runs and whose output is seen, in order: of a pipe the first. None where no command line is known."""
    arguments, line = call.arguments, ""
    if isinstance(arguments, dict):
        value = next((arguments[key] for key in _LINE_KEYS if arguments.get(key)), None)
        line = value if isinstance(value, str) else _joined(value) if isinstance(value, (list, tuple)) else ""
    elif isinstance(arguments, str):
        line = arguments
    return split(line[:_LONGEST])


def program(call: Call) -> str:
    """The name of the program that a shell call runs, or of the tool: the last command of a line, without its folder."""
    for words in reversed(split(command(call)[:_LONGEST])):
        name = name_of(_ran(words))
        if _NAME.fullmatch(name) and name not in _BUILTINS:
            return name
    return call.tool if re.fullmatch(r"[\w.+/-]{1,24}", call.tool) else "output"


def _ran(words: Words) -> str:
    return words[words.index("-m") + 1] if name_of(words[0]) == "python" and "-m" in words[1:-1] else words[0]


@lru_cache(maxsize=64)
def split(line: str) -> tuple[Words, ...]:
    """The commands of a command line as words, without assignments, redirections, wrappers and here-documents; none is empty."""
    return tuple(_split(line, 0))


def _split(line: str, depth: int) -> Iterator[Words]:
    for words in _commands(line):
        while words and (words[0] in _OPENING or _ASSIGNED.match(words[0])):
            words = words[1:]
        words = unwrapped(words)
        script = _script(words) if depth < _DEEPEST else ""
        if script:
            yield from _split(script, depth + 1)
        elif words:
            yield words


def _commands(line: str) -> Iterator[Words]:
    """The commands between operators; behind a pipe only where what comes before it feeds it."""
    words: list[str] = []
    piped = target = False
    for kind, text in _tokens(line):
        if kind == "operator":
            feeds = words[:1] and words[0] in _FEEDERS
            if words and not piped and not (feeds and text in ("|", "|&")):
                yield tuple(words)
            piped = text in ("|", "|&") and (piped or not feeds)
            words, target = [], False
        elif kind == "redirect":
            target = True
        elif kind == "word":
            if not target:
                words.append(_unquoted(text))
            target = False
    if words and not piped:
        yield tuple(words)


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    """The tokens of a line; bodies of here-documents are left out."""
    at, ends = 0, []
    while at < len(line):
        here = _HERE.match(line, at) if line.startswith("<<", at) and not line.startswith("<<<", at) else None
        if here:
            ends.append(here[1] or here[2] or here[3])
            at = here.end()
            continue
        token = _TOKEN.match(line, at)
        if token is None:  # cannot be: the last alternative takes any character
            return
        at = token.end()
        yield token.lastgroup or "odd", token[0]
        if token[0] == "\n" and ends:
            for end in ends:
                found = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*$", re.M).search(line, at)
                at = found.end() if found else len(line)
            ends = []


def _unquoted(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    if word[1:3] == ":\\" or word.lower().endswith(".exe"):  # a path of Windows
        return word.strip("'\"")
    return _QUOTED.sub(lambda m: m[1] if m[1] is not None else _ESCAPED.sub(r"\1", m[2]) if m[2] is not None else m[3], word)


def _joined(words: list[Json] | tuple[Json, ...]) -> str:
    """A command given as words, as a line."""
    texts = [str(word) for word in words]
    script = _script(tuple(texts))
    return script or " ".join(text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'" for text in texts)


def _script(words: Words) -> str:
    """The line that a shell is given, if the words start one: `bash -lc LINE`."""
    if not words or name_of(words[0]) not in _SHELLS:
        return ""
    for word, after in pairwise(words[1:]):
        if word == "--command" or (word[:1] == "-" and word[:2] != "--" and word.endswith("c")):
            return after
        if word[:1] not in "-+" and name_of(words[0]) not in ("su", "script"):
            return ""
    return ""


def name_of(word: str) -> str:
    """A program's name without its folder and `.exe`; any Python is `python`."""
    name = word.rsplit("/", 1)[-1]
    if name[-4:].lower() in (".exe", ".cmd", ".bat"):
        name = name.rsplit("\\", 1)[-1][:-4].lower()
    return "python" if _PYTHON.fullmatch(name) else name


def begins(wanted: Words, words: Words) -> int:
    """How many words it takes until all that are wanted came, options between them aside; 0 if others come."""
    at = 0
    for want in wanted:
        while at and at < len(words) and words[at] != want and words[at][:1] in ("-", "+"):
            at += 2 if words[at] in _VALUED and not (words[at] in _EITHER and words[at + 1:at + 2] == (want,)) else 1
        if at >= len(words) or (words[at] if at else name_of(words[0])) != want:
            return 0
        at += 1
    return at


@cache
def _wrappers() -> dict[str, list[tuple[Words, int, frozenset[str]]]]:
    """By the program: all its words, those of its own, its options with a value; the longest first."""
    found: dict[str, list[tuple[Words, int, frozenset[str]]]] = {}
    for line in _WRAPPERS.replace("\n", ";").split(";"):
        words = tuple(line.split())
        if words:
            at = next(k for k, word in enumerate(words) if word.isdigit())
            found.setdefault(words[0], []).append((words[:at], int(words[at]), frozenset(words[at + 1:])))
    return {name: sorted(rows, key=lambda row: -len(row[0])) for name, rows in found.items()}


def unwrapped(words: Words) -> Words:
    """Words from the command that is meant on: `sudo -u x timeout 5 make all` gives `make all`."""
    while words:
        rows = _wrappers().get(name_of(words[0]), ())
        at, own, valued = next(((at, own, valued) for wrapper, own, valued in rows if (at := begins(wrapper, words))), (0, 0, frozenset()))
        if not at:
            return words
        while at < len(words):
            word = words[at]
            if word == "--":
                at += 1
                break
            if word in valued:
                at += 1
            elif word[:1] != "-" and not _ASSIGNED.match(word):
                if not own:
                    break
                own -= 1
            at += 1
        if at >= len(words):
            return words
        words = words[at:]
    return words


def module(words: Words) -> Words:
    """Words of `python -m NAME …` or `node path/NAME …` from the name on; of other commands all."""
    name = name_of(words[0])
    if name == "python" and "-m" in words[1:-1]:
        return words[words.index("-m") + 1:]
    return words[1:] if name in _INTERPRETERS and len(words) > 1 and words[1][:1] != "-" else words
