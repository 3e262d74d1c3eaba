"""The signature of a call: what two calls share when they ask for the same thing again.

`operation/v1|shell|cargo build`: tool aliases, white space, the project's own path and volatile words (temporary
paths, ids, times, ports) are normalised away. On the cold path of `byref run`, so string methods do it, not `re`.
"""
from __future__ import annotations

from byref.proxy.contracts import Json
from byref.proxy.text import canonical_arguments, digest, mapped, project

PREFIX = "operation/v1"
LONGEST = 2000  # characters of arguments that are kept in words
_ALIASES = {
    "shell": "bash sh zsh shell run run_command run_shell run_shell_command run_terminal_cmd run_in_terminal execute execute_command "
             "execute_bash exec exec_command local_shell terminal command process cmd powershell",
    "read": "read read_file readfile view view_file open_file cat_file read_text_file",
    "grep": "grep grep_search search_files ripgrep rg search_in_files grep_files",
    "glob": "glob file_search find_files glob_files find_by_name",
    "edit": "edit multiedit edit_file str_replace replace apply_patch str_replace_editor",
    "write": "write write_file create_file",
    "list": "ls list list_dir list_files list_directory",
}
_TOOLS = {alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()}
_COMMAND_KEYS = ("command", "cmd", "script", "argv")
_TEMPORARY = ("/tmp/", "/var/tmp/", "/var/folders/", "/private/tmp/", "/private/var/folders/", "/dev/shm/", "/run/user/")
_LOOPBACK = ("localhost:", "127.0.0.1:", "[::1]:", "0.0.0.0:")
_GIT = (40, 64)  # hex digits of a whole git object name: another name asks for something else
_DIGITS = frozenset("0123456789")
_NUMBERED = bytes(48 if 48 <= code <= 57 else code for code in range(256))
_HEX = bytes(48 if chr(code) in "-0123456789abcdefABCDEF" else 32 for code in range(256))
_EDGES = "'\"`()[]{}<>;,&|="
_SHORTEST = 7  # characters of a word in which something changes from one run to the next: `[::1]:1`


def tool_kind(tool: str) -> str:
    """The common name of a tool that goes by many: Bash, run_command and execute_command are all `shell`."""
    name = tool.strip().lower().replace("-", "_").replace(" ", "_")
    return _TOOLS.get(name, name)


def command_line(arguments: Json) -> str | None:
    """The command that a shell-like tool was given, or None."""
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, dict):
        for key in _COMMAND_KEYS:
            if key in arguments:
                return command_line(arguments[key])
        return None
    if isinstance(arguments, (list, tuple)):
        words = [word for word in arguments if isinstance(word, str)]
        return " ".join(words) if len(words) == len(arguments) else None
    return None


def signature(tool: str, arguments: Json, *, root: str = "", home: str = "", written: str | None = None) -> str:
    """The signature of a call made in the project folder root by a user whose own folder is home. written: its canonical arguments, where
    they are known."""
    kind = tool_kind(tool)
    command = command_line(arguments) if kind == "shell" else None
    text = command if command is not None else canonical_arguments(arguments) if written is None else written
    if arguments is None:
        text = ""
    if command is not None and root:
        start = text.lstrip()
        for lead in (f"cd {root} && ", f"cd {root}; ", f"cd '{root}' && ", f'cd "{root}" && '):
            if start.startswith(lead):
                text = start[len(lead):]
                break
    for folder, short in ((root, "."), (home, "~")):
        if len(folder) > 1:
            text = text.replace(folder + "/", short + "/" if short == "~" else "")
            text = text.replace(folder, short)
    words, rest = text, ""
    if len(text) > LONGEST:  # a whole file as an argument: its bytes tell it from another
        words, rest = text[:LONGEST // 8].rpartition(" ")[0], " " + digest(text.encode("utf-8", "surrogatepass"))
    return f"{PREFIX}|{kind}|{project(_unchanging(words))}{rest}"


def _unchanging(text: str) -> str:
    """The words of a text, each masked."""
    temporary = [sign for sign in _TEMPORARY if sign in text] if "/" in text else []
    loopback = [sign for sign in _LOOPBACK if sign in text] if ":" in text else []
    if not temporary and not loopback and text.isascii() and not _may_change(text.encode()):
        return " ".join(text.split())
    marks = mapped(text, _NUMBERED).split()  # the same words, with every digit a 0
    return " ".join([
        _masked(word, temporary, loopback) if ("0" in mark and len(word) >= _SHORTEST) or (temporary and "/" in word) else word
        for word, mark in zip(text.split(), marks, strict=True)])


def _may_change(text: bytes) -> bool:
    """Whether a text holds what each of the forms has that `_volatile` replaces: most do not, and no word of theirs is looked at."""
    mark = text.translate(_NUMBERED)
    return (b"0000000000" in mark or b"00:00:00" in mark or b"0000-00-00" in mark) or b"0000000000000000" in text.translate(_HEX)


def _masked(word: str, temporary: list[str], loopback: list[str]) -> str:
    """A word with what changes from one run to the next replaced by `*`. temporary, loopback: the signs that may stand in it."""
    for sign in temporary:
        at = word.find(sign)
        if at >= 0 and (at == 0 or word[at - 1] in _EDGES + ":"):
            end = at
            while end < len(word) and word[end] not in _EDGES:
                end += 1
            return word[:at] + "<tmp>" + _masked(word[end:], temporary, loopback)
    if _DIGITS.isdisjoint(word):
        return word
    for sign in loopback:
        at = word.find(sign)
        if at >= 0:
            end = start = at + len(sign)
            while end < len(word) and word[end].isdigit():
                end += 1
            if end > start:
                return word[:start] + "*" + _masked(word[end:], temporary, loopback)
    out, piece = [], ""
    for i, c in enumerate(word):
        if c.isalnum() or c == "-" or (c in ":." and word[i - 1:i].isdigit() and word[i + 1:i + 2].isdigit()):
            piece += c
        else:
            out += [_volatile(piece), c]
            piece = ""
    return "".join([*out, _volatile(piece)])


def _volatile(piece: str) -> str:
    """`*` for a time in seconds or finer, a long hexadecimal id or a UUID; what a person would type stays."""
    if piece.isdigit():
        return "*" if len(piece) >= 10 else piece
    if len(piece) >= 8 and piece[2] == piece[5] == ":" and (piece[:2] + piece[3:5] + piece[6:8]).isdigit():
        return "*"
    if len(piece) >= 16 and not piece.strip("-0123456789abcdefABCDEF") and any(c.isdigit() for c in piece) and len(piece) not in _GIT:
        return "*"
    if len(piece) >= 10 and piece[:4].isdigit() and piece[4] == "-" and piece[5:7].isdigit() and piece[7] == "-" and piece[8:10].isdigit():
        return "*"
    return piece
