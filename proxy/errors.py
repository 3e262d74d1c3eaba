"""What can go wrong, as a tree. Each message says what was wrong and what to do next.

    ByrefError
    ├── Miss                  a second call that finds nothing; final, never worth a retry as it stands
    │   ├── Unknown           this scope was never given such a ref
    │   ├── Expired           it was held and grew older than the store keeps outputs
    │   ├── Evicted           it was held and made room for others, or was purged
    │   ├── Invalid           the ref, address or pattern is malformed, or lies outside the output
    │   └── Corrupt           the stored bytes no longer match their hash
    ├── StoreError            the store cannot take or give anything just now
    │   ├── StoreFull         no room: the quota, or the disk
    │   ├── StoreReadOnly     the store's folder or database cannot be written
    │   ├── StoreBusy         other writers held it longer than the bounded retry
    │   ├── StoreNewer        written by a later version of byref
    │   └── StoreDamaged      the catalog itself is not readable
    ├── Collision             two different outputs with one ref in a scope: the second passes raw
    ├── Unavailable           an upstream cannot be asked now: rate, concurrency or circuit; says when it can
    └── ConfigError           a setting, profile, URL or rule that cannot be used
"""
from __future__ import annotations


def _again(call: str) -> str:
    return f"run it again: {call}" if call else "run the tool again"


class ByrefError(Exception):
    """Any fault that byref itself declares."""


class Miss(ByrefError):
    """A second call that finds nothing. `reason` is one word an agent can act on."""

    reason = "miss"


class Unknown(Miss):
    """This scope was never given such a ref. The text is the same for a ref of another scope."""

    reason = "unknown"

    def __init__(self, ref: str) -> None:
        super().__init__(f"unknown: no output {ref[:64]} here; take refs from a view's first line, or run the tool again")


class Expired(Miss):
    """Held once, and grown older than the store keeps outputs."""

    reason = "expired"

    def __init__(self, ref: str, call: str) -> None:
        super().__init__(f"expired: {ref} is no longer kept; {_again(call)}")


class Evicted(Miss):
    """Held once, and gone to make room for others, or purged (then without the call)."""

    reason = "evicted"

    def __init__(self, ref: str, call: str) -> None:
        super().__init__(f"evicted: {ref} {'made room for newer outputs' if call else 'was removed'}; {_again(call)}")


class Invalid(Miss):
    """A malformed ref, address or pattern, or a range outside the output."""

    reason = "invalid"

    def __init__(self, problem: str) -> None:
        super().__init__(f"invalid: {problem}")


class Corrupt(Miss):
    """Stored bytes that no longer match their hash: an error, never wrong bytes."""

    reason = "corrupt"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"corrupt: {name}: {problem}; run the tool again, and `byref verify` to see what else is damaged")


class StoreError(ByrefError):
    """The store cannot take or give anything just now; the raw output passes."""


class StoreFull(StoreError):
    """No room: the quota, or the disk."""


class StoreReadOnly(StoreError):
    """The store's folder or database cannot be written."""


class StoreBusy(StoreError):
    """Other writers held the store longer than the bounded retry."""


class StoreNewer(StoreError):
    """The catalog was written by a later version of byref."""


class StoreDamaged(StoreError):
    """The catalog is not readable as a catalog."""


class Collision(ByrefError):
    """Two different outputs with one ref in a scope."""


class Unavailable(ByrefError):
    """An upstream cannot be asked now. reason: rate, busy or circuit. retry_after: seconds until it is worth trying."""

    def __init__(self, upstream: str, reason: str, why: str, retry_after: float) -> None:
        super().__init__(f"{upstream} cannot be asked now: {why}; try again in {max(1, -int(-retry_after // 1))} s")
        self.reason, self.retry_after = reason, retry_after


class ConfigError(ByrefError):
    """A setting, profile, URL or rule that cannot be used."""
