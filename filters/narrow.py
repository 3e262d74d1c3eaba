"""What a call itself says of the output it wants: whether the caller narrowed it."""
from __future__ import annotations

from byref.filters.argv import command as command
from byref.filters.argv import program as program
from byref.filters.patterns import Seldom
from byref.proxy.contracts import Call

_narrows = Seldom(
    r"\|\s*(?:head|tail|grep|egrep|rg|sed|awk|cut|jq|wc|sort|uniq)\b|\bsed -n\b|^\s*(?:head|tail)\b|\bawk\b"
    r"|\bgrep\b.*-[ABCm] ?\d|\bgit\b.*\b(?:blame|annotate|log)\b.* -L ?\S",
    r"\|[^!-~]*(?:head|tail|grep|egrep|rg|sed|awk|cut|jq|wc|sort|uniq)\b|sed -n|^[^!-~]*(?:head|tail)\b|\bawk\b"
    r"|\bgrep\b.*-[ABCm]|\bgit\b.* -L")


def narrowed(call: Call) -> bool:
    """Whether the caller asked for a part already: a line range, a filter, a limit, one file to search."""
    arguments = call.arguments
    if isinstance(arguments, dict) and (arguments.get("offset") is not None or arguments.get("limit") is not None
                                        or arguments.get("view_range") is not None or arguments.get("head_limit") is not None):
        return True
    return _narrows(command(call))
