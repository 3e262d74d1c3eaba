"""`byref run`: a command with its output stored whole and shown as a view. The cold path: nothing heavy is imported here.

The command starts first and the rest of byref loads while it runs. Whatever fails in byref, the raw output goes through,
each stream to its own descriptor and byte for byte, with one `byref:` line on stderr.
"""
from __future__ import annotations

import os

from byref.proxy.config import environment, home_folder, inside, run_limit, scope_here, switched_off
from byref.proxy.frontends import nested
from byref.proxy.frontends.child import Child, become, failure
from byref.proxy.frontends.held import complain, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from byref.proxy.captured import Captured
    from byref.proxy.frontends.remote import Remote, Shown
    from byref.proxy.gateway import Gateway

    Fields: TypeAlias = dict[str, Any]

USAGE = 2
SESSION = "cli"  # what commands of the shell add to the ledger under, inside their scope
# What argparse shows in the help of `run` and the loop below understands: option -> (metavar, help).
OPTIONS: dict[str, tuple[str, str]] = {
    "--raw": ("", "show everything; it is stored all the same"),
    "--profile": ("NAME", "safe, auto or lean"),
    "--budget": ("N", "tokens that the view may take, roughly"),
    "--intent": ("TEXT", "what you look for: matching lines stay"),
    "-c": ("TEXT", "run TEXT by `sh -c` instead of a command and its arguments"),
}
_SAFE = frozenset("%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


def quote(word: str) -> str:
    """A word as a POSIX shell reads it back; quoted only where needed, as `shlex.quote` does, which would import `re`."""
    if word and _SAFE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def parse(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Options and the command that follows them. Raises ValueError with what is wrong."""
    options: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, value = words[at].partition("=") if words[at].startswith("--") else (words[at], "", "")
        if name not in OPTIONS:
            raise ValueError(f"no option {name}; options of the command itself come after it, or after --")
        at += 1
        if OPTIONS[name][0] and not equals:
            if at == len(words):
                raise ValueError(f"{name} needs a value")
            value = words[at]
            at += 1
        elif equals and not OPTIONS[name][0]:
            raise ValueError(f"{name} takes no value")
        options[name] = value
    command = list(words[at + (at < len(words) and words[at] == "--"):])
    if "-c" in options and command:
        raise ValueError("a command or -c TEXT, not both")
    if "-c" not in options and not command:
        raise ValueError("which command? byref run -- COMMAND [ARGUMENT ...], or byref run -c TEXT")
    if "--budget" in options and not (options["--budget"].isascii() and options["--budget"].isdigit() and int(options["--budget"])):
        raise ValueError("--budget is a number of tokens, such as 800")
    return options, command


def main(words: Sequence[str]) -> int:
    """Exit codes: the command's own; 128 + N after signal N; 127 not found, 126 not executable; 2 wrong usage."""
    try:
        options, argv = parse(words)
    except ValueError as fault:
        complain(fault)
        return USAGE
    text = options.get("-c")
    if text is not None:
        argv = ["sh", "-c", text]
    if switched_off():
        return _not_started(argv[0], become(argv))
    nested.tell(inside())
    mark = nested.name()
    child = Child(argv, environment(mark))
    try:
        child.start()
    except (OSError, ValueError) as fault:  # ValueError: a NUL byte in an argument
        return _not_started(argv[0], fault)
    daemon = _daemon(child, options)
    gateway = _open(child, options) if daemon is None else None
    code = child.watch()
    command = text if text is not None else " ".join(map(quote, argv))
    try:
        if nested.told(mark):
            child.held.release()
        if daemon is not None and not child.held.released and not _shown_by(daemon, child, command, code, options):
            gateway = _open(child, options)
        if gateway is not None and not child.held.released:
            _show(child, gateway, command, code, options)
    except BrokenPipeError:
        pass
    except OSError as fault:
        child.held.fault = fault
    if child.held.fault is not None:
        complain(f"the output could not be written: {child.held.fault.strerror}")
        code = code or 1
    if child.left:
        complain("a process in the background still holds the output; what it prints from now on is neither shown nor kept")
    if gateway is not None:
        try:
            gateway.close()
        except Exception as fault:  # all is stored and shown by now
            noted("close", fault)
    return code


def _not_started(command: str, fault: OSError | ValueError) -> int:
    code, message = failure(command, fault)
    complain(message)
    return code


def _daemon(child: Child, options: dict[str, str]) -> Remote | None:
    """The daemon, if it listens. What it cannot do, or not at once, a gateway of our own does."""
    try:
        home = home_folder()
        if not os.path.exists(home + "/daemon.lock"):  # none ever ran here
            return None
        from byref.proxy.frontends.remote import Remote
        daemon = Remote(home, options.get("--profile"))
        if daemon.listens():
            child.held.limit = run_limit()
            return daemon
    except Exception:  # a setting that cannot be used, say: opening a gateway then tells of it
        pass
    return None


def _shown_by(daemon: Remote, child: Child, command: str, code: int, options: dict[str, str]) -> bool:
    """Whether the daemon stored what the child wrote, and its view is out."""
    from byref.proxy.frontends.remote import LARGEST
    streams = child.held.streams
    if sum(len(stream.held) + stream.spilled for stream in streams) > LARGEST or any(stream.spilled for stream in streams):
        return False
    try:
        shown = daemon.capture({stream.name: bytes(stream.held) for stream in streams}, **_fields(command, code, options))
    except Exception:
        return False
    _write(child, shown)
    return True


def _open(child: Child, options: dict[str, str]) -> Gateway | None:
    """The gateway, loaded while the command runs already; None after a fault, and then the command's output streams through."""
    try:
        from byref.proxy.gateway import open as open_gateway
        child.held.limit = run_limit()
        gateway = open_gateway(profile=options.get("--profile"))
        gateway.store  # noqa: B018  a store that cannot be opened now: better told before the output is held than after
        return gateway
    except Exception as fault:
        child.held.release(noted("run", fault))
        return None


def noted(doing: str, fault: Exception) -> str:
    """What to say of a fault of ours, once it stands in the fault log."""
    try:
        from byref.proxy.faults import FaultLog
        return FaultLog(home_folder()).add(doing, fault)
    except Exception:  # not even that can be loaded
        return f"{type(fault).__name__}: {fault}"


def _fields(command: str, code: int, options: dict[str, str]) -> Fields:
    """What a capture is told beside the output."""
    return {"tool": "shell", "args": {"command": command}, "exit_code": code, "raw": "--raw" in options,
            "intent": options.get("--intent", ""), "budget": int(options["--budget"]) if "--budget" in options else None}


def _show(child: Child, gateway: Gateway, command: str, code: int, options: dict[str, str]) -> None:
    """Stores what the child wrote and writes its view."""
    try:
        session = gateway.session(SESSION, scope=gateway.settings.scope or scope_here(), proven=False)
        shown = session.capture(output={stream.name: stream.content() for stream in child.held.streams}, **_fields(command, code, options))
    except Exception as fault:
        child.held.release(noted("run", fault))
        return
    _write(child, shown)


def _write(child: Child, shown: Captured | Shown) -> None:
    """The view of each stream to its own descriptor, or the raw output."""
    if shown.warning:
        complain(shown.warning)
    if shown.passed:
        child.held.release()
        return
    for stream in child.held.streams:
        try:
            if stream.target == 1:
                write_all(1, shown.head.encode())
            for block in shown.blocks(stream.name):
                write_all(stream.target, block)
        except OSError as fault:  # the other stream has its view all the same
            child.held.fault = fault
