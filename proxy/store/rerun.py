"""How a miss names the call to run again."""
from __future__ import annotations

from byref.proxy.text import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.contracts import Manifest

LENGTH = 200  # characters of a call in a message: a usual command whole, and no more than two lines of an agent's context
_SHELLS = frozenset({"shell", "bash", "sh", "exec", "run", "terminal", "execute_command", "run_command"})
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def rerun(manifest: Manifest) -> str:
    """The call of an output on one line of at most 200 characters: a shell's command line, else tool and arguments."""
    text = _command(manifest) or f"{manifest.tool} {manifest.arguments}"
    text = project(text.replace("\r", "\\r").replace("\n", "\\n").strip())
    return text if len(text) <= LENGTH else text[:LENGTH - 1] + "…"


def _command(manifest: Manifest) -> str:
    if manifest.tool.lower() not in _SHELLS:
        return ""
    import json
    try:
        value = json.loads(manifest.arguments)
    except ValueError:
        return ""
    if isinstance(value, dict):
        value = next((value[key] for key in ("command", "cmd", "argv") if key in value), None)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return " ".join(word if word and _PLAIN.issuperset(word) else "'" + word.replace("'", "'\"'\"'") + "'" for word in value)
    return ""
