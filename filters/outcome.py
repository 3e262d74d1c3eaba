"""What members of a JSON record say of an outcome: which of them report a failure."""
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from byref.filters.failures import is_failure, strong
from byref.filters.scanner import Number, Value
from byref.filters.units import ANCHOR, MUST
from byref.proxy.text import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

# A member of such a name says what went wrong, how often, or whether.
_FAULT = re.compile(
    r"(?:.*[_.-])?(?:errors?|err|exceptions?|fault|failures?|failed|fatal|panic|traceback|stack_?trace|aborted|killed|crashed|timed_?out"
    r"|exit_?(?:code|status)|return_?code|error_?count|failed_?(?:count|tests))|(?:is|has)Errors?|num(?:Failed\w*|Errors)", re.I)
_STATE = re.compile(
    r"(?:.*[_.-])?(?:status|state|conclusion|outcome|level|severity|result|verdict|phase|health|action|type)", re.I)
_CODE = re.compile(r"(?:.*[_.-])?(?:(?:http_?)?(?:status|response)_?code|http_?status|level)", re.I)
_FAILED = re.compile(
    r"fail(?:ed|ure|s)?|error(?:ed)?|fatal|critical|panic|aborted|crashed|timed?[_ -]?out|unhealthy|unreachable|\w*backoff|oomkilled"
    r"|evicted|failed_\w+|\w+_(?:failed|error)", re.I)
_TELLS = re.compile(r"msg|log|reason", re.I)
# A list of such a name says why the record that it is in failed.
EXPLAINS = re.compile(
    r"(?:.*[_.-])?(?:errors?|failures?|messages?|issues?|problems?|diagnostics|violations|offen[cs]es|warnings?|findings|annotations"
    r"|details|causes?|reasons?|conditions)|.*(?:Errors|Failures|Messages|Issues|Problems|Diagnostics|Violations)")
_LOGGED = re.compile(r"\s+\S+\.go:\d+: ")
_HEAD = 200  # characters of it that are looked at
_WORDS = 3  # of what a log says that tell whether it is a failure
_WRONG = re.compile(r"5\d\d|50|60")  # of HTTP; of a logger for Node.js an error, and what is fatal
_GOOD = re.compile(r"success|succeeded|ok|passed|healthy|(?:is_?)?valid", re.I)
# Where none of these stands, nothing says that it failed.
_SIGNS = r'(?i)err|fail|exception|fatal|fault|trace|critical|panic|abort|kill|crash|time|succe|"ok"|passed|evicted|backoff|health|unreach' \
         r'|valid|exit_?code|exit_?status|return_?code|(?:code|status|level)"[ \t\r\n]*:[ \t\r\n]*"?-?[1-9]'
# Nor where no name ends like this.
_ENDS = r'(?i)(?:err|error|exception|fault|failure|failed\w*|fatal|panic|traceback|stack_?trace|aborted|killed|crashed|timed_?out' \
        r'|code|count|msg|log|reason|status|state|conclusion|outcome|level|severity|result|verdict|phase|health|action|type' \
        r'|success|succeeded|ok|passed|healthy|valid)s?"[ \t\r\n]*:'
_SMALL = 12  # elements of an array up to which each is looked at
_NOTHING, _SAYS_FAULT, _SAYS_STATE, _SAYS_GOOD, _SAYS_CODE, _SAYS_WORDS = range(6)


@cache
def _needed() -> tuple[Pattern, ...]:
    """What a text holds that reports a failure, beside signs of one in words: RE2 finds all alternatives in one pass."""
    return pattern(_ENDS), pattern(_SIGNS)


def may_fail(text: str) -> bool:
    """Whether a JSON text, folded, may hold a report of a failure at all."""
    data = text.encode("utf-8", "surrogatepass")
    ends, signs = _needed()
    return ends.search(data) is not None and (signs.search(data) is not None or strong().search(data) is not None)


def failed(value: Value) -> bool:
    """Whether a record says that something failed."""
    return isinstance(value, tuple) and any([reports_failure(name, item) for name, item in value])


def printed(records: Sequence[Value]) -> dict[int, int]:
    """Ranks of the records that hold what a failing test printed, by index: events of `go test -json`, one a line of its output."""
    events = [dict(record) if isinstance(record, tuple) else {} for record in records]
    failing = {str(event.get("Test")) for event in events if event.get("Action") == "fail" and event.get("Test")}
    out: dict[int, int] = {}
    for i, event in enumerate(events):
        said = event.get("Output")
        if isinstance(said, str) and str(event.get("Test")) in failing and not said.startswith("=== "):
            out[i] = MUST if _LOGGED.match(said) else ANCHOR
    return out


@lru_cache(maxsize=4096)
def _says(name: str) -> int:
    """What a member of this name says of an outcome."""
    if _FAULT.fullmatch(name):
        return _SAYS_FAULT
    if _CODE.fullmatch(name):
        return _SAYS_CODE
    if _TELLS.fullmatch(name):
        return _SAYS_WORDS
    return _SAYS_STATE if _STATE.fullmatch(name) else _SAYS_GOOD if _GOOD.fullmatch(name) else _NOTHING


def reports_failure(name: str, value: Value) -> bool:
    """Whether a member says that something failed, or holds members that do."""
    if value is None:
        return False
    says = _says(name)
    if isinstance(value, (list, tuple)):
        if value and says == _SAYS_FAULT:
            return True
        inner = [value] if isinstance(value, tuple) else value if len(value) <= _SMALL else []
        return any([failed(item) for item in inner])
    if says == _NOTHING:
        return False
    if isinstance(value, bool) or (isinstance(value, Number) and value in ("True", "False")):
        return says == (_SAYS_FAULT if value not in (False, "False") else _SAYS_GOOD)
    if says == _SAYS_FAULT:
        return value not in ("", "0", "[]", "{}", "none", "None")
    if says == _SAYS_WORDS:
        return not isinstance(value, Number) and is_failure(" ".join(value[:_HEAD].split(None, _WORDS)[:_WORDS]))
    if says == _SAYS_CODE and _WRONG.fullmatch(value):
        return True
    return says in (_SAYS_STATE, _SAYS_CODE) and not isinstance(value, Number) and bool(_FAILED.fullmatch(value))
