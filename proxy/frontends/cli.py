"""The command `byref`. It only finds the command that is meant: `run` starts without argparse and what argparse needs."""
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Without argv it is the process: it then ends it, which saves a clean-up."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        if words[:1] == ["run"] and words[1:2] not in (["-h"], ["--help"]):
            from byref.proxy.frontends.run import main as run
            code = run(words[1:])
        else:
            from byref.proxy import config
            from byref.proxy.frontends import nested
            from byref.proxy.frontends.commands import main as other
            nested.tell(config.inside())
            code = other(words)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 141  # 128 + SIGPIPE, as a shell shows it
    if argv is None:
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except OSError:
                pass
        os._exit(code)
    return code
