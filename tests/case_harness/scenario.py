"""Scenarios: steps in order over one store, with named refs, an own clock, and a store that can be broken on purpose.

As a script (`scenario.py FOLDER-OF-THE-CASE STORE-FOLDER`) it runs without root's rights, prints what failed as JSON,
and leaves the process that asked for it unharmed by a store without permissions or a disk without room.
"""
from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import byref
from byref import errors
from case_harness.load import generator, read

NAMED = re.compile(r"\$(\w+)(?:\[(-?\d*)(:?)(-?\d*)\])?")
SIZED = re.compile(r"gen:(\d+) (incompressible )?bytes(?: seed (\d+))?")


class Scenario:
    """Runs the steps of one case and gathers every statement that does not hold."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.folder, self.store = folder, store
        self.now = 1_700_000_000.0
        self.options: dict[str, Any] = {}
        self.names: dict[str, Any] = {}
        self.raw: dict[str, bytes] = {}
        self.failed: list[str] = []
        self.dead_on_arrival: list[str] = []
        self.replies: dict[str, str] = {}
        self.skipped: list[str] = []
        self.no_room = False
        self.seeds = 1000
        self.gateway: Any = None

    def open(self) -> Any:
        if self.gateway is None:
            self.gateway = byref.open(f"file:{self.store}", clock=lambda: self.now, **self.options)
        return self.gateway

    def close(self) -> None:
        """Closes what it opened."""
        if self.gateway is not None:
            self.gateway.close()

    def run(self, steps: list[Mapping[str, Any]]) -> None:
        for number, step in enumerate(steps, 1):
            try:
                getattr(self, step["do"])(step)
            except AssertionError as wrong:
                self.failed.append(f"step {number} {step['do']} {step.get('id', step.get('input', ''))}: {wrong}")

    def value(self, text: str) -> Any:
        """Text with its `$names` put in; a name alone keeps its type."""
        if text.endswith(" with last character changed"):
            whole = self.value(text.removesuffix(" with last character changed"))
            return whole[:-1] + ("a" if whole[-1] != "a" else "b")

        def named(match: re.Match[str]) -> str:
            value = self.names[match[1]]
            if match[2] is None:
                return str(value)
            number = [int(n) if n else None for n in (match[2], match[4])]
            return str(value[number[0]:number[1]] if match[3] else value[number[0]])
        return NAMED.sub(named, text)

    def bytes_of(self, source: str) -> bytes:
        if made := SIZED.match(source):
            self.seeds += 1
            data: bytes = generator(self.folder)["blob"](int(made[1]), int(made[3] or self.seeds), not made[2])
            return data
        return read(self.folder, source)

    # steps -------------------------------------------------------------------------------------------

    def configure(self, step: Mapping[str, Any]) -> None:
        self.options = {"max_bytes": step["store_max_bytes"], "max_age": float(step["ttl_seconds"])}

    def advance_clock(self, step: Mapping[str, Any]) -> None:
        self.now += step["seconds"]

    def restart_server(self, step: Mapping[str, Any]) -> None:
        self.open().close()
        self.gateway = None

    def make_store_read_only(self, step: Mapping[str, Any]) -> None:
        self.restart_server(step)
        for path in sorted(self.store.rglob("*"), reverse=True):
            path.chmod(0o500 if path.is_dir() else 0o400)
        self.store.chmod(0o500)

    def fill_disk_simulated(self, step: Mapping[str, Any]) -> None:
        for path in (self.store, *sorted(self.store.rglob("*"))):
            path.chmod(0o700 if path.is_dir() else 0o600)
        self.restart_server(step)
        self.no_room = True

    def put(self, step: Mapping[str, Any]) -> None:
        data = self.bytes_of(step["input"])
        expect = step.get("expect", {})
        with full_disk(self.no_room) as refused:
            view = self.session(step).capture(tool="shell", args={"command": f"cat {step['input']}"}, output=data)
        assert not self.no_room or refused, "the simulation of a full disk touched nothing"
        if view.ref:
            self.raw[view.ref] = data
            self.dead_on_arrival += [] if self.fetchable(step, view.ref) else [f"{step['input']}: {view.ref}"]
        if "as" in step:
            self.names[step["as"]] = view.ref
        raw_again = not view.ref and view.text in (data.decode("utf-8", "surrogateescape"), data.decode("utf-8", "replace"))
        outcomes = {"fetchable": bool(view.ref) and self.fetchable(step, view.ref), "passed_through_raw": raw_again}
        for wanted in expect.get("either", [expect]):
            if all(outcomes[key] == value for key, value in (wanted.items() if isinstance(wanted, dict) else [(wanted, True)])
                   if key in outcomes):
                break
        else:
            raise AssertionError(f"{outcomes}, ref {view.ref!r}, {len(view.text)} characters")
        if expect.get("warning_on") == "stderr":
            assert view.warning, "nothing says that the store refused"  # the command line puts it on stderr: see test_cases.py

    def put_many(self, step: Mapping[str, Any]) -> None:
        refs = []
        for _ in range(step["count"]):
            self.put({"input": step["each"], "as": "last"})
            refs.append(self.names["last"])
        self.names[step["as"]] = refs

    def fetch(self, step: Mapping[str, Any]) -> None:
        if "unless" in step:
            left, right = (self.value(side.strip()) for side in step["unless"].split("=="))
            if left == right:
                return
        ref, expect = self.value(step["id"]), step.get("expect", {})
        try:
            data, reply, reason = self.whole(step, ref), "", ""
        except errors.Miss as miss:
            data, reply, reason = None, str(miss), miss.reason
            self.replies.setdefault(reason, reply.replace(ref, "REF") if ref else reply)
        for wanted in expect.get("either", [expect]):
            if wanted == "byte_exact":
                wanted = {"byte_exact": True}
            if "fail" in wanted and reason == wanted["fail"]:
                break
            if "byte_exact" in wanted and data is not None:
                same = self.raw[ref] if wanted["byte_exact"] is True else read(self.folder, wanted["byte_exact"])
                assert data == same, f"{len(data)} bytes came back, {len(same)} were put in"
                break
        else:
            raise AssertionError(f"wanted {expect}, got {reason or len(data or b'')}: {reply}")
        assert expect.get("reply_not_contains", "\0") not in reply
        assert re.search(expect.get("reply_contains_regex", ""), reply), reply
        assert not re.search(expect.get("reply_not_contains_regex", r"\0"), reply), reply

    def search(self, step: Mapping[str, Any]) -> None:
        session = self.session(step)
        if not hasattr(session, "search"):
            self.skipped.append("needs search")
            return
        text = session.search(step["query"]).text
        foreign = [raw for ref, raw in self.raw.items() if not self.fetchable(step, ref)]
        assert not any(line in text for raw in foreign for line in raw.decode().split("\n") if len(line) > 12), text

    def store_size(self, step: Mapping[str, Any]) -> None:
        held = sum(f.stat().st_size for f in self.store.rglob("*") if f.is_file())
        assert held <= step["expect"]["max_bytes"], f"{held} bytes lie on disk"

    # -------------------------------------------------------------------------------------------------

    def session(self, step: Mapping[str, Any]) -> Any:
        return self.open().session(step.get("session", "S"))

    def whole(self, step: Mapping[str, Any], ref: str) -> bytes:
        session, found, cursor = self.session(step), b"", None
        while True:
            page = session.fetch(ref, cursor=cursor, max_tokens=200_000)
            found, cursor = found + page.data, page.cursor
            if not cursor:
                return found

    def fetchable(self, step: Mapping[str, Any], ref: str) -> bool:
        try:
            return self.whole(step, ref) == self.raw[ref]
        except errors.Miss:
            return False


@contextlib.contextmanager
def full_disk(on: bool) -> Iterator[list[str]]:
    """While on, nothing reaches the disk: what makes bytes durable answers ENOSPC."""
    refused: list[str] = []
    names = ("fsync", "fdatasync", "write", "pwrite", "rename", "replace", "link")
    kept = {name: getattr(os, name) for name in names}

    def refuse(name: str) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            if name in ("write", "pwrite") and args[0] <= 2:
                return kept[name](*args, **named)
            refused.append(name)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call
    try:
        for name in names if on else ():
            setattr(os, name, refuse(name))
        yield refused
    finally:
        for name, function in kept.items():
            setattr(os, name, function)


def warm_up() -> None:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(Path(folder), Path(folder, "byref"))
        Path(folder, "text").write_bytes(b"a line of text\n" * 5000)
        Path(folder, "noise").write_bytes(os.urandom(300_000))
        scenario.configure({"store_max_bytes": 500_000, "ttl_seconds": 10})
        scenario.run([{"do": "put", "input": "text", "as": "a"}, {"do": "put", "input": "noise", "as": "b"},
                      {"do": "put", "input": "noise", "as": "c", "session": "T"}, {"do": "fetch", "id": "$a"},
                      {"do": "advance_clock", "seconds": 100}, {"do": "fetch", "id": "$a"}, {"do": "restart_server"}])


def main() -> None:
    folder, store = Path(sys.argv[1]), Path(sys.argv[2])
    steps = next(entry["steps"] for entry in json.loads((folder / "case.json").read_text())["must_hold"] if "steps" in entry)
    if os.geteuid() == 0:  # root writes where it may not: the store must meet the rights that others have
        os.chown(store.parent, 65534, 65534)
        warm_up()  # the interpreter itself may lie where only root can read: all imports before the rights are gone
        os.setegid(65534)
        os.seteuid(65534)
    scenario = Scenario(folder, store)
    scenario.run(steps)
    found = {name: getattr(scenario, name) for name in ("failed", "dead_on_arrival", "replies", "skipped")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
