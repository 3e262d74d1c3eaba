"""Lines by which tools report failures, as their documentation gives the formats; knows nothing of the filters it is held against.

A format is written so that it stands for its tool alone: all are looked for in every text, whatever tool printed it.
"""
from __future__ import annotations

import re

_FORMATS = {
    # FILE:LINE:COLUMN: error: MESSAGE; the linker says who failed
    "gcc, clang, mypy": r"^\S[^:\n]*:\d+:(?:\d+:)? (?:fatal |internal compiler )?error: ",
    "ld": r"^collect2: error: |^\S*ld: .*(?:undefined reference|cannot find)|: undefined reference to ",
    "make": r"^(?:g?make)(?:\[\d+\])?: \*\*\* ",
    "cmake": r"^CMake Error",
    "rustc": r"^error(?:\[E\d{4}\])?: ",
    "cargo test": r"^test \S.* \.\.\. FAILED$|^test result: FAILED|^thread '.*' (?:\(\d+\) )?panicked at",
    "cargo nextest": r"^\s+FAIL \[ *[\d.]+s\] ",
    "pytest": r"^(?:FAILED|ERROR) \S+(?:::| - )|^E   +\S|^=+ .*\b\d+ (?:failed|errors?)\b.* =+$|::\S+ (?:FAILED|ERROR)\b",
    "unittest": r"^(?:FAIL|ERROR): \w+ \(|^FAILED \((?:failures|errors)=",
    "go test": r"^\s*--- FAIL: |^FAIL(?:\t|$)|^panic: ",
    "jest, vitest": r"^\s*FAIL +\S+\.(?:[cm]?[jt]sx?)\b|^\s*[✕✗×] |^ *Tests?:? .*\d+ failed",
    "tsc": r"\berror TS\d{4,5}: ",
    "eslint": r"^\s+\d+:\d+\s+error\s|^✖ \d+ problems? ",
    "ruff, flake8": r"^\S+\.pyi?:\d+:\d+: [A-Z]{1,4}\d{3,4} ",
    "javac": r"\.java:\d+: error: |\.java:\[\d+,\d+\] error: ",
    "maven": r"^\[ERROR\] \S|^\[INFO\] BUILD FAILURE",
    "gradle": r"^FAILURE: |^> Task \S+ FAILED$|^BUILD FAILED",
    "msbuild": r"\(\d+(?:,\d+)*\) ?: (?:fatal )?error [A-Z]+\d+ ?:",
    "npm, pnpm": r"^npm (?:ERR!|error) \S|\bERR_PNPM_\w+|^\s*ELIFECYCLE ",
    "pip": r"^\s*ERROR: \S",
    "docker build": r"^ERROR: failed to |^#\d+ ERROR: |did not complete successfully: exit code",
    "git": r"^fatal: |^error: |^ ! \[(?:remote )?rejected\]|^CONFLICT \(|^remote: error: ",
    "kubectl get": r"^\S+(?: +\S+)? +\d+/\d+ +(?:Init:)?(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|Error|OOMKilled|Evicted)\b",
    "terraform": r"^(?:│ )?Error: ",
    "playwright": r"^\s+[✘✕]  ?\d+ |^\s+\d+ failed$",
    "vite, next": r"^Failed to compile|^error during build:|^✗ Build failed",
    "python": r"^Traceback \(most recent call last\):|^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): ",
    "bash": r"^(?:/\S*|bash|sh): (?:line \d+: )?.*: (?:command not found|No such file or directory|Permission denied)$",
    # logs, by the field that holds the level
    "log4j, logback": r"^\S*\d\d[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d\S*(?: -)? +(?:\[[^\]]*\] +)?(?:ERROR|FATAL)\b",
    "hadoop": r"^\d{6} \d{6} \d+ (?:ERROR|FATAL) ",
    "openstack": r"^\S+ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \d+ (?:ERROR|CRITICAL) ",
    "apache": r"^\[\w{3} \w{3} \d\d [\d:.]+ \d{4}\] \[(?:error|crit|alert|emerg)\]",
    "logcat": r"^\d\d-\d\d \d\d:\d\d:\d\d\.\d+ +\d+ +\d+ [EF] ",
    "windows cbs": r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d, Error\b",
    "blue gene": r"^\S+ \d{10} \d{4}\.\d\d\.\d\d .* (?:FATAL|SEVERE|FAILURE) ",
    "sshd": r" sshd\[\d+\]: (?:error|fatal): ",
    "syslog kernel": r" kernel: .*\b(?:Out of Memory|Oops|BUG):",
    "proxifier": r"^\[\d\d\.\d\d \d\d:\d\d:\d\d\] .* error : ",
}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in _FORMATS.values()))
# Times, process numbers, addresses and ids: fields in which two reports of one fault may differ.
_VOLATILE = re.compile(
    r"\d{4}[-./]\d\d[-./]\d\d[-T ]\d\d[:.]\d\d[:.]\d\d(?:[.,]\d+)?Z?|\d\d[-/.]\d\d(?:[-/]\d\d)? \d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?|\b\d{4}[-./]\d\d[-./]\d\d\b|\b1\d{9}(?:\d{3})?\b|\[\d+\]|0x[0-9a-f]+|/tmp/\S+"
    r"|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b"
    r"|\b\d+(?:\.\d+)? ?(?:ms|s|us|µs|ns|sec|seconds)\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
    r"(?: +\d{1,2}\b)?", re.I)


def reports_failure(line: str) -> bool:
    """Whether a line has the format of a failure of some tool."""
    return _ANY.search(line) is not None


def tool_of(line: str) -> str:
    """Whose format it is; empty where it is none."""
    return next((tool for tool, pattern in _FORMATS.items() if re.search(pattern, line)), "")


def masked(line: str) -> str:
    """The line without the fields in which two reports of one fault may differ."""
    return _VOLATILE.sub("*", line).strip()
