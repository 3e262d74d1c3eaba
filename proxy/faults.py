"""The log of our own faults: what broke and where, never what a tool said or was asked."""
from __future__ import annotations

import os
import time

from byref.proxy.errors import ByrefError
from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.contracts import Clock

NAME = "byref.log"
LIMIT = 1 << 20  # bytes; a log that grows beyond becomes byref.log.1
KEPT = 100  # faults held in memory


class FaultLog:
    """Appends a line a fault to `byref.log` in the folder; without a folder they stay in `recent` alone. Never raises."""

    def __init__(self, folder: str | None, clock: Clock = time.time) -> None:
        self.folder = folder
        self.recent: list[str] = []
        self._clock = clock

    def add(self, doing: str, fault: BaseException) -> str:
        """Logs a fault; returns what may be shown of it: its class, our own errors' words, and where it arose."""
        words = project(str(fault)) if isinstance(fault, ByrefError) else _place(fault)
        if isinstance(fault, OSError) and fault.strerror:
            words = f"{fault.strerror}{_place(fault)}"
        text = f"{type(fault).__name__}: {words}".replace("\n", " ")[:500]
        self.recent = [*self.recent[1 - KEPT:], f"{doing}: {text}"]
        if self.folder is not None:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))
            self._write(f"{stamp} {os.getpid()} {doing}: {text}\n")
        return text

    def _write(self, line: str) -> None:
        assert self.folder is not None
        path = os.path.join(self.folder, NAME)
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                if os.fstat(fd).st_size > LIMIT:
                    os.replace(path, path + ".1")
                os.write(fd, line.encode("utf-8", "replace"))
            finally:
                os.close(fd)
        except OSError:
            pass  # the disk that is full, or the folder that cannot be written, is often the fault that is being logged


def _place(fault: BaseException) -> str:
    """Where a fault arose, as file and line. Messages of foreign exceptions may quote the output, so they are left out."""
    trace, frames = fault.__traceback__, []
    while trace is not None:
        frames.append(f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " at " + " < ".join(frames[:-6:-1]) if frames else ""
