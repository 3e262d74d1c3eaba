"""Our tools are told by the names that harnesses give them; what the user switched off is left alone."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from byref.proxy.frontends.llm.conversation import Calling
from byref.proxy.frontends.llm.ours import Exceptions, reachable, which
from byref.proxy.frontends.wrap.own import TOOLS


@pytest.mark.parametrize(("name", "ours"), [
    ("mcp__byref__fetch", "fetch"), ("mcp__plugin_byref_byref__search", "search"), ("byref_fetch", "fetch"), ("byref-status", "status"),
    ("fetch", ""), ("mcp__web__fetch", ""), ("notbyref_fetch", ""), ("byref_fetch_all", "")])
def test_our_tools_by_name(name: str, ours: str) -> None:
    assert which(name) == ours
    assert reachable({"Bash": "", name: ""}) == (ours == "fetch")


def test_our_tools_by_description() -> None:
    assert which("fetch", str(TOOLS[0]["description"])) == "fetch" and not reachable({"fetch": "Fetches a page."})


def test_what_is_switched_off_is_covered_as_for_hooks(tmp_path: Path) -> None:
    off, path = Exceptions(str(tmp_path)), tmp_path / "config.toml"
    make, read = Calling("Bash", {"command": "make"}), Calling("Read", {"path": "x"})
    assert not off.cover(make, {}, "1:/p") and off.cover(Calling("x_byref_fetch"), {}, "1:/p")
    path.write_text('[off]\ntools = ["Re*"]\ncommands = ["make*"]\nprojects = ["/q"]\n')
    assert off.cover(make, {}, "1:/p") and off.cover(read, {}, "1:/p") and off.cover(Calling("Grep"), {}, "1:/q/r")
    path.write_text("[off\n")
    os.utime(path, (1, 1))
    assert not off.cover(make, {}, "1:/p"), "a file that cannot be used switches off nothing"
