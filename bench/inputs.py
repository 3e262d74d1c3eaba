"""Made outputs that look like real ones, the same on every run: one kind for each shape, and what tools with a rule print."""
from __future__ import annotations

import json
import random
import re
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from byref.filters.ruling import FOLDER

WORDS = [
    "session", "token", "cache", "upstream", "retry", "shard", "replica", "lease", "batch", "window", "cursor", "index", "segment",
    "merge", "flush", "commit", "snapshot", "queue", "worker", "router", "gateway", "schema", "digest", "manifest", "payload", "stream",
    "socket", "handler", "timeout", "backoff", "quota", "tenant", "region",
]
_NUMBER = re.compile(r"\d{1,9}")
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "INFO", "INFO", "WARN")


def log_lines(seed: int) -> Iterator[str]:
    """A service's log: many repeats of few kinds of line, a rare error with its own text."""
    chance = random.Random(seed)
    kinds = [f"{chance.choice(WORDS)}.{chance.choice(WORDS)}" for _ in range(30)]
    at = 0
    while True:
        at += chance.randrange(400)
        day, second = divmod(at // 1000, 86_400)
        stamp = f"2026-03-{1 + day % 28:02d} {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},{at % 1000:03d}"
        kind, number = kinds[chance.randrange(30)], chance.randrange(100_000)
        if chance.random() < 0.0005:
            what = f"{chance.choice(WORDS)} {number:x} failed after {number % 9} attempts: {chance.choice(WORDS)} refused"
            yield f"{stamp} ERROR [{kind}] {what}"
        else:
            what = f"{WORDS[number % 31]} id={number:x} took {number % 900} ms, {WORDS[number % 13]} ok"
            yield f"{stamp} {LEVELS[number % 7]} [{kind}] {what}"


def log(size: int, seed: int = 1) -> str:
    return until(log_lines(seed), size)


def listing(lines: int, seed: int = 1) -> str:
    """What `find -type f` prints over a large tree."""
    chance = random.Random(seed)
    folders = ["/".join(chance.choices(WORDS, k=chance.randrange(1, 6))) for _ in range(max(8, lines // 40))]
    ends = ("py", "py", "go", "ts", "md", "json", "txt", "png")
    return "".join(f"./{chance.choice(folders)}/{chance.choice(WORDS)}_{i % 977}.{ends[i % 8]}\n" for i in range(lines))


def code(size: int, seed: int = 1) -> str:
    """A piece of the standard library, as a reading tool numbers it."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"), key=lambda f: -f.stat().st_size)[:60]
    lines = files[seed % 60].read_text(encoding="utf-8", errors="replace").splitlines()
    return until((f"{n:6d}\t{line}" for n, line in enumerate(lines * 9, 1)), size)


def test_run(size: int, seed: int = 1) -> str:
    """A verbose test run with two failures and a summary."""
    chance = random.Random(seed)
    failed = [f"test_{chance.choice(WORDS)}_{n}" for n in range(2)]
    names = (f"tests/test_{chance.choice(WORDS)}.py::test_{chance.choice(WORDS)}_{i}" for i in range(10**6))
    body = until((f"{name} PASSED [{i % 100:3d}%]" for i, name in enumerate(names)), size - 900)
    detail = "".join(
        f"_____ {name} _____\n    def {name}():\n>       assert lease.count == {n}\nE       AssertionError: assert {n + 1} == {n}\n"
        f"tests/test_lease.py:{n + 40}: AssertionError\n" for n, name in enumerate(failed))
    short = "".join(f"FAILED tests/test_lease.py::{name} - AssertionError\n" for name in failed)
    return f"===== test session starts =====\n{body}===== FAILURES =====\n{detail}{short}===== 2 failed, 480 passed in 9.81s =====\n"


def matches(size: int, seed: int = 1) -> str:
    """What `grep -rn` prints."""
    chance = random.Random(seed)
    return until((f"./src/{chance.choice(WORDS)}/{chance.choice(WORDS)}.go:{chance.randrange(900)}:\t{chance.choice(WORDS)}.resumeToken = "
                  f"{chance.choice(WORDS)}({chance.choice(WORDS)}, {chance.randrange(99)})" for _ in range(10**6)), size)


def records(size: int, seed: int = 1) -> str:
    """A page of an API, as one line of JSON."""
    chance = random.Random(seed)
    rows, held = [], 0
    while held < size:
        row = {"id": chance.randrange(10**12), "name": f"{chance.choice(WORDS)} {chance.choice(WORDS)}",
               "score": chance.randrange(10**6) / 10**4, "tags": chance.sample(WORDS, 3),
               "owner": {"login": chance.choice(WORDS), "admin": chance.random() < 0.1}, "note": None}
        rows.append(row)
        held += len(json.dumps(row)) + 1
    return json.dumps({"count": len(rows), "results": rows}, separators=(",", ":"))


def table(size: int, seed: int = 1) -> str:
    """What `kubectl get pods -A` prints."""
    chance = random.Random(seed)
    states = ("Running", "Running", "Running", "Running", "Completed", "CrashLoopBackOff")

    def rows() -> Iterator[str]:
        yield f"{'NAMESPACE':16}{'NAME':44}{'READY':8}{'STATUS':19}{'RESTARTS':11}AGE"
        while True:
            name = f"{chance.choice(WORDS)}-{chance.choice(WORDS)}-{chance.randrange(16**9):09x}-{chance.choice(WORDS)[:5]}"
            state = states[chance.randrange(5) if chance.random() < 0.98 else 5]
            yield f"{chance.choice(WORDS):16}{name:44}{'1/1':8}{state:19}{chance.randrange(9):<11}{chance.randrange(90)}d"
    return until(rows(), size)


def markup(size: int, seed: int = 1) -> str:
    """A page of documentation in HTML: menus, headings, paragraphs with links, a footer."""
    chance = random.Random(seed)

    def rows() -> Iterator[str]:
        yield "<!DOCTYPE html>\n<html><head><title>Leases</title><script>window.dataLayer = [];</script></head><body>\n<nav><ul>"
        yield from (f'<li class="nav-item"><a class="nav-link" href="/docs/{word}">{word.title()}</a></li>' for word in WORDS)
        yield "</ul></nav><main>"
        for n in range(10**6):
            yield f'<h2 id="s{n}">{chance.choice(WORDS).title()} and {chance.choice(WORDS)} {n}</h2>'
            for _ in range(3):
                words = " ".join(chance.choices(WORDS, k=30))
                link = f'<a href="/docs/{chance.choice(WORDS)}#{n}">{chance.choice(WORDS)}</a>'
                yield f'<p class="body">The {words} {link} holds for <code>{chance.choice(WORDS)}_{n}</code>.</p>'
    return until(rows(), size) + "</main><footer>All rights reserved</footer></body></html>\n"


def page(size: int, seed: int = 1) -> str:
    """The same as a reading tool gives it: Markdown with links."""
    chance = random.Random(seed)

    def rows() -> Iterator[str]:
        yield from (f"- [{word.title()}](https://docs.example.org/{word})" for word in WORDS)
        for n in range(10**6):
            yield f"\n## {chance.choice(WORDS).title()} {n}\n"
            link = f"[{chance.choice(WORDS)}](https://docs.example.org/{n})"
            yield f"The {' '.join(chance.choices(WORDS, k=40))}, see {link} and `{n}.lease`."
            yield f"* {chance.choice(WORDS)}: {' '.join(chance.choices(WORDS, k=9))}"
    return until(rows(), size)


def prose(size: int, seed: int = 1) -> str:
    """Sentences, a paragraph a line."""
    chance = random.Random(seed)
    return until((f"{' '.join(chance.choices(WORDS, k=chance.randrange(8, 50))).capitalize()} {chance.randrange(3000)}."
                  for _ in range(10**6)), size)


def trace(size: int, seed: int = 1) -> str:
    """A dump of Java threads, and the exception before it."""
    chance = random.Random(seed)

    def rows() -> Iterator[str]:
        yield 'Exception in thread "main" java.lang.IllegalStateException: lease lost'
        for n in range(10**6):
            for _ in range(chance.randrange(6, 30)):
                where = chance.choice(("com.shop", "org.springframework", "java.util", "io.netty"))
                name = chance.choice(WORDS).title()
                yield f"\tat {where}.{chance.choice(WORDS)}.{name}.{chance.choice(WORDS)}({name}.java:{chance.randrange(900)})"
            yield f'\n"pool-{n % 3}-thread-{n}" #{n + 20} prio=5 os_prio=0 tid=0x00007f{chance.randrange(16**8):08x} nid=0x{n:x} waiting'
            yield "   java.lang.Thread.State: WAITING (parking)"
    return until(rows(), size)


def patch(size: int, seed: int = 1) -> str:
    """What `git diff` prints over a dozen files."""
    chance = random.Random(seed)

    def rows() -> Iterator[str]:
        while True:
            name = f"src/{chance.choice(WORDS)}/{chance.choice(WORDS)}.py"
            yield f"diff --git a/{name} b/{name}\nindex {chance.randrange(16**7):07x}..{chance.randrange(16**7):07x} 100644"
            yield f"--- a/{name}\n+++ b/{name}"
            for _ in range(chance.randrange(1, 6)):
                at, signs = chance.randrange(900), [chance.choice("   +-") for _ in range(chance.randrange(6, 40))]
                old, new = sum(sign != "+" for sign in signs), sum(sign != "-" for sign in signs)
                yield f"@@ -{at},{old} +{at},{new} @@ def {chance.choice(WORDS)}(self):"
                yield from (f"{sign}    {chance.choice(WORDS)} = self.{chance.choice(WORDS)}({chance.randrange(99)})" for sign in signs)
    return until(rows(), size)


def findings(size: int, seed: int = 1) -> str:
    """What eslint prints: problems under their files."""
    chance = random.Random(seed)
    names = ("no-unused-vars", "no-undef", "semi", "eqeqeq", "prefer-const", "no-empty")

    def rows() -> Iterator[str]:
        while True:
            yield f"\n/home/dev/shop/src/{chance.choice(WORDS)}/{chance.choice(WORDS)}.js"
            for line in sorted(chance.sample(range(1, 900), chance.randrange(1, 20))):
                level, what = chance.choice(("error  ", "warning")), f"'{chance.choice(WORDS)}' is {chance.choice(WORDS)} but never used"
                yield f"  {f'{line}:{chance.randrange(1, 80)}':8}{level}  {what:58}  {chance.choice(names)}"
    return until(rows(), size) + "\n✖ 400 problems (210 errors, 190 warnings)\n"


def build(size: int, seed: int = 1) -> str:
    """What Maven prints: modules, phases, warnings of the compiler, one module that fails."""
    chance = random.Random(seed)

    def rows() -> Iterator[str]:
        yield "[INFO] Scanning for projects..."
        while True:
            name = f"shop-{chance.choice(WORDS)}"
            yield f"[INFO] \n[INFO] ---------------------< com.example:{name} >----------------------\n[INFO] Building {name} 1.4.2"
            yield f"[INFO] --- maven-compiler-plugin:3.11.0:compile (default-compile) @ {name} ---"
            yield f"[INFO] Compiling {chance.randrange(90)} source files to /home/dev/shop/{name}/target/classes"
            for _ in range(chance.randrange(4)):
                place = f"{chance.choice(WORDS).title()}.java:[{chance.randrange(400)},{chance.randrange(60)}]"
                yield f"[WARNING] /home/dev/shop/{name}/src/{place} {chance.choice(WORDS)} in {chance.choice(WORDS)} has been deprecated"
            yield f"Downloaded from central: https://repo.example.org/{name}-{chance.randrange(99)}.jar ({chance.randrange(900)} kB)"
            yield f"[INFO] Tests run: {chance.randrange(60)}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.{chance.randrange(999)} s"
    return until(rows(), size) + "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal: Compilation failure: cannot find symbol\n"


def until(lines: Iterator[str], size: int) -> str:
    """Lines up to about so many characters."""
    out, held = [], 0
    for line in lines:
        out.append(line)
        held += len(line) + 1
        if held >= size:
            break
    return "\n".join(out) + "\n"


def ruled(size: int, seed: int = 1) -> Iterator[tuple[str, str, int, str]]:
    """For each rule of byref: its name, a command, its exit code, and the output of its longest case over and over, with other numbers."""
    for file in sorted(Path(FOLDER).glob("*.toml")):
        cases = tomllib.loads(file.read_text(encoding="utf-8")).get("case", [])
        if cases:
            case, chance = max(cases, key=lambda case: len(case["output"])), random.Random(seed)
            text, once = "", case["output"].strip("\n") + "\n"
            while len(text) < size:
                text += _NUMBER.sub(lambda found, chance=chance: str(chance.randrange(10 ** len(found[0]))), once)
            yield file.stem, case["command"], case.get("exit", 0), text[:size]


KINDS: dict[str, tuple[str, str, Callable[[int, int], str]]] = {
    "log": ("shell", "journalctl -u gateway --no-pager", log),
    "listing": ("shell", "find . -type f", lambda size, seed: listing(size // 40, seed)),
    "code": ("Read", "argparse.py", code),
    "test run": ("shell", "python -m pytest -v", test_run),
    "matches": ("shell", "grep -rn resumeToken .", matches),
    "records": ("shell", "curl -s http://127.0.0.1:8080/v1/leases", records),
    "table": ("shell", "kubectl get pods -A", table),
    "markup": ("WebFetch", "https://docs.example.org/leases", markup),
    "page": ("WebFetch", "https://docs.example.org/leases", page),
    "text": ("shell", "pandoc -t plain notes.docx", prose),
    "trace": ("shell", "java -jar gateway.jar", trace),
    "diff": ("shell", "git diff", patch),
    "findings": ("shell", "npx eslint src", findings),
    "build": ("shell", "mvn -B verify", build),
}
