"""Lines that set sections apart stand, so that nothing of a view reads as part of another section."""
from __future__ import annotations

import random

import pytest

import byref
from byref.filters.banners import is_banner

WORDS = [
    "adapter", "buffer", "cache", "daemon", "engine", "filter", "gateway", "handler", "index", "journal", "kernel", "lexer", "metric",
    "notifier", "owner", "parser", "queue"]


@pytest.mark.parametrize("text", [
    "=== src/a.py ===", "===== #1259", "=== src/a.py", "==> /var/log/syslog <==", "--- comments ---", "---------- build 3 ----------",
    "### Step 2: link", "### Schritt zwei ###", "*** nightly run ***",
    "~~~ übersicht ~~~", "::: job 4 :::"])
def test_a_name_after_a_run_of_signs_or_between_two(text: str) -> None:
    assert is_banner(text)


@pytest.mark.parametrize("text", [
    "", "===", "========================", "--- a/src/main.py", "+++ b/src/main.py", "*** [Makefile:3: all] Error 2", "-- comment",
    "# title", "--verbose", "___", "== x", "=== ... ===", "-----", "=" * 60 + "a" * 90, "->", ">>> import os", "text === more ==="])
def test_what_is_none(text: str) -> None:
    assert not is_banner(text)


@pytest.mark.parametrize("command", ["sh all.sh", "for f in *.py; do echo $f; cat $f; done", "make all"])
@pytest.mark.parametrize("banner", ["===== #{}", "==> logs/{}.txt <==", "=== case {} ===", "--- part {} ---"])
def test_text_of_one_section_does_not_read_as_another_ones(banner: str, command: str) -> None:
    """Of records that a loop prints one after the other, every heading stands before what is shown of its own record."""
    dice = random.Random(7)
    rows, section = [], {}
    for number in range(101, 107):
        heading = banner.format(number)
        rows.append(heading)
        for _ in range(40):
            rows.append(" ".join(dice.choice(WORDS) for _ in range(dice.randrange(8, 25))))
            section[rows[-1]] = heading
    with byref.open("memory:") as gateway:
        view = gateway.session("s", proven=False).capture(tool="shell", args={"command": command}, output="\n".join(rows) + "\n")
    assert view.ref in view.text and len(view.text) < len("\n".join(rows)) // 2, "it is reduced"
    now, shown = "", set()
    for line in view.text.split("\n"):
        now = line if is_banner(line) else now
        if line in section:
            assert section[line] == now
            shown.add(now)
    assert len(shown) > 1 and now == banner.format(106)


def test_rows_that_look_like_them_are_not_all_kept() -> None:
    text = "".join(f"=== {i * 37 % 5000} row of a table ===\n" for i in range(3000))
    with byref.open("memory:") as gateway:
        view = gateway.session("s", proven=False).capture(tool="shell", args={"command": "dump"}, output=text)
    assert len(view.text) < len(text) // 2
