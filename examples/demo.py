"""Real commands over this checkout, once through byref: what each view saves, and the proof that nothing is lost."""
from __future__ import annotations

import hashlib
import re
import sys

from demo_tools import BYREF, counter, raw_of, run, view_of

# Many tests that are quick: those that draw examples take minutes.
TESTS = ("-m", "pytest", "-n", "0", "-vv", "-p", "no:cacheprovider",
         *(f"tests/proxy/test_{name}.py" for name in ("signature", "address", "config", "paging")),
         *(f"tests/filters/test_{name}.py" for name in ("failures", "rules", "argv", "outcome", "lexical", "detect", "steering")))
COMMANDS = {
    "test run": (sys.executable, *TESTS),
    "git history": ("git", "log", "--stat", "-n", "60"),
    "grep": ("grep", "-rn", "import", "--include=*.py", "proxy", "filters", "tests"),
    "listing": ("ls", "-lR", "proxy", "filters", "layers", "adapters", "tests"),
    "JSON page": (sys.executable, "-m", "pip", "inspect", "--local"),
    "small output": ("git", "status", "--short", "--branch"),
}
print("running", ", ".join(COMMANDS), "...: half a minute\n", flush=True)
views = {name: view_of(*command) for name, command in COMMANDS.items()}
bare = run(*COMMANDS["grep"]).stdout
view, ref = views["test run"]
gap = re.search(r"«(?:stdout:)?(L(\d+)-(\d+))", view)
assert gap, "the view of this test run hides nothing"
fetched = run(BYREF, "fetch", ref, gap[1], "--part", "stdout", "--all").stdout
report = run(BYREF, "report").stdout.decode()  # before all the raw bytes are fetched to count them, which no agent does

unit, tokens = counter()
print(f"{unit}\n{'':14}{'raw':>10}{'view':>10}{'saved':>9}   command")
raws, totals = {name: raw_of(*view) for name, view in views.items()}, [0, 0]
for name, command in COMMANDS.items():
    counts = tokens(raws[name].decode("utf-8", "replace")), tokens(views[name][0])
    totals = [total + count for total, count in zip(totals, counts, strict=True)]
    typed = " ".join(command).replace(sys.executable, "python")[:70]
    print(f"{name:14}{counts[0]:>10,}{counts[1]:>10,}{1 - counts[1] / max(1, counts[0]):>9.1%}   {typed}")
print(f"{'all':14}{totals[0]:>10,}{totals[1]:>10,}{1 - totals[1] / max(1, totals[0]):>9.1%}")
print(f"\nThe test run as the agent sees it, in full:\n\n{view}")
hidden = b"".join(raws["test run"].splitlines(keepends=True)[int(gap[2]) - 1:int(gap[3])])
print(f"$ byref fetch {ref} {gap[1]}\n{fetched[:300].decode()}... {len(fetched):,} bytes")
print(f"sha256 of what was fetched   {hashlib.sha256(fetched).hexdigest()}")
print(f"sha256 of the raw lines      {hashlib.sha256(hidden).hexdigest()}")
assert fetched == hidden
assert bare == raws["grep"], "grep, run without byref, printed other bytes than the store gives back"
print(f"grep without byref, and all the store holds of it: the same {len(bare):,} bytes, {hashlib.sha256(bare).hexdigest()[:16]}…")
print(f"\n$ byref report\n{report}")
