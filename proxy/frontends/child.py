"""The process under `byref run`: started, watched and ended, its two streams held apart, byte for byte.

Groups and terminals. The child leads a process group of its own, so that INT and TERM reach all that it
started. Only where we read from a terminal whose foreground we are, it stays in our group: then the terminal
itself sends Ctrl-C and Ctrl-Z to both of us, and a pager behind us in a pipeline keeps working. A child that
asks for the terminal from a group of its own (a password prompt) is lent it.

Ends. A signal is forwarded, and the child takes the time that it takes: one that is killed while it cleans up leaves
locks and half-written states behind. After GRACE seconds what it wrote so far goes out raw and the rest streams, since
whoever sent the signal may send KILL next. When the child has ended and something it left behind keeps a pipe open, we
take what comes for LINGER seconds and no more; what is written later goes nowhere, but its writer lives on.
"""
from __future__ import annotations

import os
from select import POLLIN, poll
from time import monotonic

from byref.proxy.frontends.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

GRACE = 2.0  # seconds from a signal that ends commands until what is held goes out
LINGER = 1.0  # seconds for which an ended child's pipes are still read
_PIECE = 1 << 16
_ENDING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)
_TELLING = (_signal.SIGUSR1, _signal.SIGUSR2)  # as for `dd`, which says then how far it is
_FROM_TERMINAL = (_signal.SIGINT, _signal.SIGQUIT)
_WANTS_TERMINAL = (_signal.SIGTTIN, _signal.SIGTTOU)
# Python ignores these from its start; a child gets them as any program does.
_DEFAULTED = (_signal.SIGPIPE, _signal.SIGXFSZ)


def fill_standard() -> None:
    """Opens /dev/null on closed standard descriptors, so that none of ours lands there; a child sees them closed."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def become(argv: list[str]) -> OSError:
    """Replaces this process by the bare command. Returns only a fault."""
    for number in _DEFAULTED:
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as fault:
        return fault


def failure(command: str, fault: OSError | ValueError) -> tuple[int, str]:
    """Exit code and message for a command that did not start, as POSIX shells give them: 127 not found, 126 otherwise."""
    if isinstance(fault, FileNotFoundError):
        if "/" not in command:
            return 127, f"{command}: command not found"
        return 127, f"{command}: " + ("the interpreter it names was not found" if os.path.exists(command) else "No such file or directory")
    if isinstance(fault, ValueError):
        return 126, f"an argument cannot be passed on: {fault}"
    if os.path.isdir(command):
        return 126, f"{command}: Is a directory"
    return 126, f"{command}: {os.strerror(fault.errno or 0)}"


class Child:
    """One command. held: what its streams brought so far."""

    def __init__(self, argv: list[str], environ: dict[str, str]) -> None:
        self.argv, self.environ = argv, environ
        self.held = Held(("stdout", 1), ("stderr", 2))
        self.signal = 0
        self._early: list[int] = []  # signals that came before there was anyone to forward them to
        self._pid = self._late = 0
        self._code: int | None = None
        self.left = False  # whether something that the child left behind still holds a pipe
        self._waited = False  # GRACE is over
        self._terminal = -1
        try:
            self._shared = os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
        except OSError:
            self._shared = False

    def start(self) -> None:
        """Starts the command. Raises OSError when it cannot be."""
        fill_standard()
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
        _signal.signal(_signal.SIGALRM, self._expire)
        for number in (*_ENDING, *_TELLING):
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, self._forward)
        actions, ends = [], []
        self._sources = {}
        for stream in self.held.streams:
            source, end = os.pipe()
            self._sources[source] = stream
            ends.append(end)
            actions.append((os.POSIX_SPAWN_DUP2, end, stream.target))
        try:
            self._pid = self._spawn(self.argv, actions)
        except OSError as fault:
            if fault.errno != 8:  # ENOEXEC: a script without an interpreter line, which execvp(3) gives to sh
                raise
            self._pid = self._spawn(["/bin/sh", _found(self.argv[0]), *self.argv[1:]], actions)
        finally:
            for end in ends:
                os.close(end)
        for early in self._early:
            self._forward(early, None)

    def _spawn(self, argv: list[str], actions: list[tuple[int, int, int]]) -> int:
        if self._shared:
            return os.posix_spawnp(argv[0], argv, self.environ, file_actions=actions, setsigdef=_DEFAULTED)
        return os.posix_spawnp(argv[0], argv, self.environ, file_actions=actions, setsigdef=_DEFAULTED, setpgroup=0)

    def watch(self) -> int:
        """Takes both streams to their end and returns the exit code as a shell gives it: 128 + N after signal N."""
        poller, deadline = poll(), 0.0
        poller.register(self._wake, POLLIN)
        reading = self._sources
        for fd in reading:
            poller.register(fd, POLLIN)
        while reading or self._code is None:
            left = (deadline - monotonic()) * 1000 if deadline else None
            if left is not None and left <= 0:
                self.left = bool(reading)
                break
            for fd, _ in poller.poll(left):
                if fd == self._wake:
                    os.read(fd, 512)
                    self._reap()
                    if self._waited and self._code is None:
                        self.held.release(f"the command goes on {GRACE:.0f} s after signal {self.signal}")
                    if self._code is not None and not deadline:
                        deadline = monotonic() + LINGER
                    continue
                data = os.read(fd, _PIECE)
                if not data or not self.held.take(reading[fd], data):
                    poller.unregister(fd)
                    os.close(fd)
                    del reading[fd]
        self._leave()
        code = self._code or 0
        return 128 - code if code < 0 else code

    def _reap(self) -> None:
        while self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return
            if os.WIFSTOPPED(status):
                if os.WSTOPSIG(status) in _WANTS_TERMINAL:
                    self._lend()
            else:
                self._code = os.waitstatus_to_exitcode(status)
                _signal.setitimer(_signal.ITIMER_REAL, 0)

    def _lend(self) -> None:
        """Gives the terminal's foreground to the child's group, if it is ours to give; if not, stops as the child did."""
        try:
            if self._terminal < 0:
                self._terminal = os.open("/dev/tty", os.O_RDWR)
            if os.tcgetpgrp(self._terminal) != os.getpgrp():
                os.kill(os.getpid(), _signal.SIGTTIN)
            if os.tcgetpgrp(self._terminal) == os.getpgrp():
                _signal.signal(_signal.SIGTTOU, _signal.SIG_IGN)
                os.tcsetpgrp(self._terminal, self._pid)
                os.killpg(self._pid, _signal.SIGCONT)
        except OSError:  # no terminal after all: the child stays as it would without us
            pass

    def _leave(self) -> None:
        """Takes the terminal back; gives pipes that are still open to `cat`, so that a writer left behind lives on."""
        if self._terminal >= 0:
            try:
                os.tcsetpgrp(self._terminal, os.getpgrp())
            except OSError:
                pass
        for fd in self._sources:
            null = os.open(os.devnull, os.O_RDWR)
            try:
                os.posix_spawnp("cat", ["cat"], self.environ, setpgroup=0, file_actions=[
                    (os.POSIX_SPAWN_DUP2, fd, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
            except OSError:
                pass
            os.close(null)
            os.close(fd)

    def _send(self, number: int) -> None:
        try:
            if self._shared:
                os.kill(self._pid, number)
            else:
                os.killpg(self._pid, number)
        except OSError:
            pass

    def _forward(self, number: int, frame: object) -> None:
        if number in _ENDING:
            self.signal = self.signal or number
        if self._code is not None:
            self._late += number in _ENDING
            if (self._late and self.held.released) or self._late > 1:  # nothing is left to save, or whoever waits has lost patience
                os._exit(128 + number)
        elif not self._pid:
            self._early.append(number)
        elif not (self._shared and number in _FROM_TERMINAL):
            self._send(number)
            if number in _ENDING:
                _signal.setitimer(_signal.ITIMER_REAL, GRACE)

    def _expire(self, number: int, frame: object) -> None:
        if not self.signal:  # it is none of ours
            self._send(number)
            return
        if self._waited and self.held.released and os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            os._exit(128 + self.signal)  # the child is gone, and whoever reads us does not read
        self._waited = True
        _signal.setitimer(_signal.ITIMER_REAL, GRACE)


def _found(command: str) -> str:
    if "/" in command:
        return command
    for folder in os.get_exec_path():
        if os.access(path := os.path.join(folder, command), os.X_OK):
            return path
    return command
