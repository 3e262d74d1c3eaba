"""What members of a JSON record say of an outcome: which of them report a failure."""
from __future__ import annotations

import re
from functools import cache, lru_cache

from byref.filters.scanner import Number, Value
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

_FAULT = re.compile(r"(?:.*[_.-])?(?:errors?|exceptions?|fault|failures?|fatal|traceback|stack_?trace)|isError", re.I)
_STATE = re.compile(r"(?:.*[_.-])?(?:status|state|conclusion|outcome|level|severity)", re.I)
_FAILED = re.compile(r"fail(?:ed|ure)?|error(?:ed)?|fatal|critical|aborted|crashed|timed?[_ -]?out", re.I)
_GOOD = re.compile(r"success|succeeded|ok|passed", re.I)
# Where none of these stands, nothing says that it failed.
_SIGNS = r'(?i)error|fail|exception|fatal|fault|trace|critical|abort|crash|time|succe|"ok"|passed'
# Nor where no name ends like this.
_ENDS = r'(?i)(?:error|exception|fault|failure|fatal|traceback|stack_?trace|status|state|conclusion|outcome|level|severity|success|' \
        r'succeeded|ok|passed)s?"[ \t\r\n]*:'
_SMALL = 12  # elements of an array up to which each is looked at
_NOTHING, _SAYS_FAULT, _SAYS_STATE, _SAYS_GOOD = range(4)


@cache
def _needed() -> tuple[Pattern, ...]:
    """What a text holds, all of it, that reports a failure: RE2 finds all alternatives in one pass."""
    return pattern(_ENDS), pattern(_SIGNS)


def may_fail(text: str) -> bool:
    """Whether a JSON text, folded, may hold a report of a failure at all."""
    data = text.encode("utf-8", "surrogatepass")
    return all(needed.search(data) is not None for needed in _needed())


def failed(value: Value) -> bool:
    """Whether a record says that something failed."""
    return isinstance(value, tuple) and any([reports_failure(name, item) for name, item in value])


@lru_cache(maxsize=4096)
def _says(name: str) -> int:
    """What a member of this name says of an outcome."""
    if _FAULT.fullmatch(name):
        return _SAYS_FAULT
    return _SAYS_STATE if _STATE.fullmatch(name) else _SAYS_GOOD if _GOOD.fullmatch(name) else _NOTHING


def reports_failure(name: str, value: Value) -> bool:
    """Whether a member says that something failed, or holds members that do."""
    if isinstance(value, (list, tuple)):
        if value and _says(name) == _SAYS_FAULT:
            return True
        inner = [value] if isinstance(value, tuple) else value if len(value) <= _SMALL else []
        return any([failed(item) for item in inner])
    says = _says(name)
    if says == _NOTHING or value is None:
        return False
    if isinstance(value, bool) or (isinstance(value, Number) and value in ("True", "False")):
        return says == (_SAYS_FAULT if value not in (False, "False") else _SAYS_GOOD)
    if says == _SAYS_FAULT:
        return value not in ("", "0", "[]", "{}", "none", "None")
    return says == _SAYS_STATE and not isinstance(value, Number) and bool(_FAILED.fullmatch(value))
