"""The rules of the house that no linter knows: where things stand, how long they may be, who reads the environment."""
from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

FOLDERS = ("proxy", "filters", "layers", "adapters")
LONGEST = 400
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".json", ".cfg", ".txt", ".sh", ".html", ".css", ".js", ""}

# Source files without a test file of their own name. This list may only shrink.
UNTESTED: frozenset[str] = frozenset()

# Who may read the environment beside proxy/config.py, and for what. This list may only shrink.
READS_ENVIRONMENT = {
    "proxy/config.py": "the one place",
    "proxy/frontends/hook.py": "stands alone and starts with nothing but Python: it can import no config",
}

# Addresses that a package manager would ask. A file that names one works on the machine of its author alone.
REGISTRY = re.compile(r"https?://[^\s\"'`)]*(?:pypi|pythonhosted|npmjs|artifactory|nexus|devpi)|--(?:extra-)?index-url", re.I)
SOMEBODYS_HOME = re.compile(r"(?<![\w.$}])/(?:home|Users|root|work|mnt|workspace)/[\w.-]+/[\w./-]+")
# Home folders that stand in made-up outputs and examples.
MADE_UP = re.compile(r"^/(?:home|Users|work)/(?:dev|user|me|alice|bob|ci|app|you|runner|u|someone|jane|x)\b")


def sources(root: Path) -> list[Path]:
    return sorted(f for folder in FOLDERS for f in (root / folder).rglob("*.py") if f.stat().st_size)


def written(root: Path) -> list[Path]:
    """All text files of the repository; in an unpacked sdist, which has no git, all that came with it."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                            capture_output=True, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    files = [root / name for name in names] if names else [f for f in root.rglob("*") if ".venv" not in f.parts]
    return sorted(f for f in files if f.is_file() and not f.is_symlink() and f.suffix in TEXT)


def test_each_source_file_has_its_test_file(root: Path) -> None:
    missing = set()
    for file in sources(root):
        if file.name == "__init__.py":
            name = f"test_{file.parent.name}.py"
            if len(file.read_text().splitlines()) <= 3:
                continue
            places = [root / "tests" / file.parent.relative_to(root) / name, root / "tests" / file.parent.parent.relative_to(root) / name]
        else:
            places = [root / "tests" / file.parent.relative_to(root) / f"test_{file.name}"]
        if not any(place.is_file() for place in places):
            missing.add(file.relative_to(root).as_posix())
    assert missing - UNTESTED == set(), "a file in the folder is the feature, and its test is part of it"
    assert UNTESTED - missing == set(), "these have their test by now: take them off the list"


def test_no_file_is_longer_than_one_can_hold_in_mind(root: Path) -> None:
    folders = [root / folder for folder in (*FOLDERS, "bench", "examples", "tests", "namespace")]
    long = {f.relative_to(root).as_posix(): n for folder in folders for f in folder.rglob("*.py") if not f.is_symlink()
            for n in [len(f.read_text().splitlines())] if n > LONGEST and "namespace" not in f.parts}
    assert long == {}


def test_only_config_reads_the_environment(root: Path) -> None:
    read = re.compile(r"\b(?:os|posix)\.(?:environb?|getenvb?)\b|from (?:os|posix) import [^\n]*\b(?:environ|getenv)|expanduser|expandvars")
    readers = {f.relative_to(root).as_posix() for f in sources(root) if read.search(f.read_text())}
    assert readers - READS_ENVIRONMENT.keys() == set(), "read it in proxy/config.py and pass it down"
    assert {name for name in READS_ENVIRONMENT if (root / name).exists()} - readers <= {"proxy/config.py"}


def test_no_file_names_somebodys_machine_or_a_registry(root: Path) -> None:
    found = []
    for file in written(root):
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            paths = [m[0] for m in SOMEBODYS_HOME.finditer(line) if not MADE_UP.match(m[0])]
            if (paths or REGISTRY.search(line)) and file.name != "test_house.py":
                found.append(f"{file.relative_to(root)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_every_module_of_the_proxy_stands_in_the_import_contract(root: Path) -> None:
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    one_way = next(c for c in contracts if c["id"] == "one-way")
    named = set(re.findall(r"byref\.proxy\.(\w+)", " ".join(one_way["layers"])))
    here = {f.stem for f in (root / "proxy").glob("*.py") if f.stem != "__init__"}
    here |= {f.parent.name for f in (root / "proxy").glob("*/__init__.py")}
    assert here - named == set(), "a module outside the contract could import anything"


def test_the_links_of_the_import_name_are_relative(root: Path) -> None:
    if not (root / ".git").exists():
        pytest.skip("an sdist has no links: it is installed, not developed in")
    for folder in FOLDERS:
        assert (root / "namespace" / "byref" / folder).readlink() == Path("../..") / folder


def test_the_two_commands_and_ci_are_there(root: Path) -> None:
    if not (root / "Makefile").exists():
        pytest.skip("an sdist has no Makefile")
    targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.M))
    assert {"demo", "test", "check", "soak", "bench"} <= targets
    ci = (root / ".ci" / "run").read_text()
    assert "make check test" in ci and "make soak SHORT=1" in ci
    readme = (root / "README.md").read_text()
    assert "make demo" in readme and "make test" in readme
