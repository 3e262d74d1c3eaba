"""Exit codes that tell misses apart."""
from __future__ import annotations

from byref.proxy.errors import ByrefError, ConfigError, Corrupt, Evicted, Expired, Invalid, StoreBusy, StoreFull, Unknown
from byref.proxy.frontends.command import EXIT_HELP, exit_code


def test_each_kind_of_miss_has_an_exit_code_of_its_own():
    faults = [Invalid("x"), Unknown("r"), Expired("r", ""), Evicted("r", ""), Corrupt("r", "x"), StoreFull("x")]
    assert [exit_code(fault) for fault in faults] == [2, 3, 4, 5, 6, 7]
    assert exit_code(StoreBusy("x")) == 7 and exit_code(ConfigError("x")) == 2 and exit_code(ByrefError("x")) == 1


def test_the_help_names_every_exit_code():
    assert all(f"{code} " in EXIT_HELP for code in range(8))
