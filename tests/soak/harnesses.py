"""Codex and OpenCode of npm against scripted models: from `byref install` to `byref uninstall` (tests/e2e, which skips them else), and
through the LLM proxy (llm_harnesses.py).

usage: harnesses.py [--short]    four minutes, and a gigabyte from npm into the checkout's cache; with --short it is skipped, and says so
"""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from e2e.programs import PACKAGES, VERSIONS, place  # noqa: E402  # tests are no package that is installed


def fetched(name: str) -> bool:
    """Whether a harness is in the checkout's cache, where npm puts it."""
    folder = place(ROOT, name).parents[2]
    if not place(ROOT, name).exists() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"{PACKAGES[name]}@{VERSIONS[name]}"]
        subprocess.run(words, check=False)
    return place(ROOT, name).exists()


def main(words: list[str]) -> int:
    if "--short" in words:
        print("SKIPPED: Codex and OpenCode of npm are a gigabyte; run it without --short")
        return 0
    if shutil.which("npm") is None:
        print("SKIPPED: Codex and OpenCode need npm (Node.js), which is not here; NOTHING of it was tested")
        return 0
    for name, package in PACKAGES.items():
        if not fetched(name):
            print(f"SKIPPED: npm could not give {package}@{VERSIONS[name]}; NOTHING of it was tested")
            return 0
    tests = [*(str(ROOT / "tests" / "e2e" / f"test_{name}.py") for name in PACKAGES), str(ROOT / "tests" / "soak" / "llm_harnesses.py")]
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-rs", *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
