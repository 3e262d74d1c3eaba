"""Logs: failures, their traces and the summary stand; progress and what repeats is left out and can be fetched."""
from __future__ import annotations

import pytest

from byref.filters.detect import detect
from byref.proxy.contracts import Call
from conformance.views import check, look

PIP = ("Collecting rich\n  Downloading rich-13.9.4-py3-none-any.whl (242 kB)\n" + "".join(
    f"Collecting package-{i}>=1.{i}\n  Downloading package_{i}-1.{i}.0-py3-none-any.whl ({i * 7} kB)\n" for i in range(80))
    + "Installing collected packages: " + ", ".join(f"package-{i}" for i in range(80))
    + "\nERROR: pip's dependency resolver does not currently take into account all the packages that are installed.\n"
      "package-3 1.3.0 requires rich<12, but you have rich 13.9.4 which is incompatible.\nSuccessfully installed rich-13.9.4\n")
APT = ("Reading package lists...\nThe following NEW packages will be installed:\n  libfoo1 libbar2\n" + "".join(
    f"Get:{i} http://deb.example.org bookworm/main amd64 lib{i} amd64 1.{i}-1 [{i * 3} kB]\n" for i in range(90)) + "".join(
    f"Selecting previously unselected package lib{i}:amd64.\nPreparing to unpack .../lib{i}_1.{i}-1_amd64.deb ...\n"
    f"Unpacking lib{i}:amd64 (1.{i}-1) ...\nSetting up lib{i}:amd64 (1.{i}-1) ...\n" for i in range(90))
    + "dpkg: error processing package libfoo1 (--configure):\n installed libfoo1 post-installation script returned error exit status 1\n"
      "Errors were encountered while processing:\n libfoo1\n1 upgraded, 90 newly installed, 0 to remove and 3 not upgraded.\n")
DOCKER = ("#1 [internal] load build definition from Dockerfile\n#1 DONE 0.0s\n" + "".join(
    f"\x1b[2K#7 sha256:ab{i:02x} {i}.1MB / 99.0MB\r\x1b[2K#7 sha256:ab{i:02x} {i}.9MB / 99.0MB\n" for i in range(120)) + "".join(
    f"#9 {i}.{i % 10} npm http fetch GET 200 https://registry.example.org/pkg-{i} {i}ms\n" for i in range(120))
    + "#9 121.4 npm error code ERESOLVE\n#9 121.4 npm error ERESOLVE could not resolve\n"
      "#9 ERROR: process \"/bin/sh -c npm ci\" did not complete: exit code: 1\n------\n > [4/6] RUN npm ci:\n------\n"
      "ERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1\n")
MAKE = ("".join(f"gcc -O2 -Wall -Iinclude -c src/unit_{i}.c -o build/unit_{i}.o\n" for i in range(120))
        + "src/unit_77.c: In function 'main':\nsrc/unit_77.c:12:5: error: 'x' undeclared (first use in this function)\n"
          "   12 |     x = 1;\n      |     ^\nmake: *** [Makefile:14: build/unit_77.o] Error 1\n")
SERVICE = "".join(
    f"2026-11-01T10:{i // 60 % 60:02}:{i % 60:02}Z INFO  worker-{i % 5} handled request {i * 7919 % 999}\n" if i % 300 != 77 else
    f"2026-11-01T10:{i // 60 % 60:02}:{i % 60:02}Z ERROR worker-{i % 5} lost its connection to db-{i}\n"
    f"Traceback (most recent call last):\n  File \"/app/db.py\", line {i}, in connect\n    raise Lost(host)\napp.Lost: db-{i}\n"
    for i in range(1200))
LOGS: dict[str, tuple[str, str, list[str]]] = {
    "pip": ("pip install rich", PIP, [
        "Successfully installed rich-13.9.4",
        "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed."]),
    "apt": ("apt-get install -y libfoo1", APT, ["dpkg: error processing package libfoo1 (--configure):",
                                                "1 upgraded, 90 newly installed, 0 to remove and 3 not upgraded."]),
    "docker": ("docker build .", DOCKER, [
        "#9 121.4 npm error code ERESOLVE",
        "ERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1"]),
    "make": ("make -j4", MAKE, ["src/unit_77.c:12:5: error: 'x' undeclared (first use in this function)",
                                "make: *** [Makefile:14: build/unit_77.o] Error 1"]),
    "service": ("journalctl -u app", SERVICE, [f"app.Lost: db-{i}" for i in (77, 377, 677, 977)]),
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("budget", [None, 60])
def test_failures_and_the_summary_stand(name: str, budget: int | None) -> None:
    command, text, stand = LOGS[name]
    shown = check(look(text, command, exit_code=1, budget=budget))
    assert shown.view.shape == "log" and set(stand) <= set(shown.lines)
    assert len(shown.text) < len(text) / 2 and "\x1b" not in shown.text


def test_the_frames_of_a_trace_come_along() -> None:
    shown = check(look(SERVICE, "journalctl -u app", exit_code=0))
    assert '  File "/app/db.py", line 377, in connect' in shown.lines and "    raise Lost(host)" in shown.lines


def test_a_log_is_told_by_its_stamps_or_its_program() -> None:
    for name, (command, text, _) in LOGS.items():
        assert detect(text, Call("Bash", {"command": command}))[0] == "log", name
    for name in ("service", "docker", "apt"):
        assert detect(LOGS[name][1], Call("fetch_logs"))[0] == "log", name
    assert detect("a poem\nin four lines\nof plain\nwords\n", Call("Bash", {"command": "cat poem"}))[0] != "log"


def test_the_summary_stands_though_failures_fill_the_view() -> None:
    faults = "".join(f"src/unit_{i}.c:{i * 3}: error: unknown type name 'kind_{i}'\n" for i in range(900))
    said = "".join(f"the report of step {i} of the build was written to the folder of reports\n" for i in range(5))
    shown = check(look(faults + f"{said}Finished in 31.2s\n{said}", "make", exit_code=2, budget=100))
    assert "Finished in 31.2s" in shown.lines and "failures" in "".join(shown.markers)


def test_progress_goes_before_news() -> None:
    text = "".join(f"Collecting package-{i}\n" for i in range(150)) + "\n".join(
        f"warning: the licence of {word} has changed" for word in ("alpha", "beta", "gamma", "delta")) + "\n" + "".join(
        f"Collecting other-{i}\n" for i in range(150))
    shown = check(look(text, "pip install -r requirements.txt", budget=600))
    assert sum("licence" in line for line in shown.lines) >= 3 and sum("Collecting" in line for line in shown.lines) < 30


def test_a_log_that_the_caller_narrowed_stays_nearly_whole() -> None:
    part = "".join(SERVICE.splitlines(keepends=True)[:100])
    assert not look(part, "journalctl -u app | tail -100").view.gaps
