"""What `pip install byref` brings: the whole tree under the import name, and nothing beside it."""
from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

FOLDERS = ("proxy", "filters", "layers", "adapters")
LEFT_OUT = {".pyc", ".pyo", ".so"}


def tree(root: Path) -> dict[str, str]:
    """What a wheel must hold of this checkout: path in the wheel to the hash of the file."""
    files = [f for folder in FOLDERS for f in (root / folder).rglob("*") if f.is_file() and f.suffix not in LEFT_OUT]
    held = {f"byref/{f.relative_to(root).as_posix()}": sha(f.read_bytes()) for f in files}
    return held | {f"byref/{name}": sha((root / "namespace/byref" / name).read_bytes()) for name in ("__init__.py", "py.typed")}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build(root: Path, out: Path, what: str) -> Path:
    """Runs the build backend as `pip` would, without its network: hatchling comes with the extra `dev`."""
    done = subprocess.run([sys.executable, "-m", "build", "--no-isolation", what, "--outdir", str(out), str(root)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.iterdir())


@pytest.fixture(scope="module")
def sdist(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = build(root, tmp_path_factory.mktemp("sdist"), "--sdist")
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    return next(unpacked.iterdir())


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(root, tmp_path_factory.mktemp("wheel"), "--wheel")


def package_of(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: sha(archive.read(name)) for name in archive.namelist() if ".dist-info/" not in name}


def test_a_wheel_holds_the_tree_and_nothing_else(root: Path, wheel: Path) -> None:
    assert package_of(wheel) == tree(root)


def test_a_wheel_built_from_the_sdist_is_the_wheel_built_from_the_checkout(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    assert package_of(build(sdist, tmp_path, "--wheel")) == package_of(wheel)


def test_the_sdist_brings_its_tests_examples_and_licence(root: Path, sdist: Path) -> None:
    for folder in ("tests", "examples"):
        here = {f.relative_to(root) for f in (root / folder).rglob("*") if f.is_file() and "__pycache__" not in f.parts}
        assert {f.relative_to(sdist) for f in (sdist / folder).rglob("*") if f.is_file()} == here
    assert (sdist / "LICENSE").read_text() == (root / "LICENSE").read_text()
    assert not (sdist / ".venv").exists()


def test_an_installed_wheel_has_version_types_licence_and_command(root: Path, wheel: Path, tmp_path: Path) -> None:
    import byref
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    info = next(tmp_path.glob("byref-*.dist-info"))
    metadata = (info / "METADATA").read_text()
    assert f"\nVersion: {byref.__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata and (info / "licenses" / "LICENSE").stat().st_size > 10_000
    assert (tmp_path / "byref" / "py.typed").is_file()
    assert "byref = byref.proxy.frontends.cli:main" in (info / "entry_points.txt").read_text()
    # From the wheel alone: an import that only the editable install can follow fails here.
    code = "import byref, byref.proxy.contracts, byref.proxy.text, sys; sys.stdout.write(byref.__version__ + ' ' + byref.__file__)"
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
                          capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == f"{byref.__version__} {tmp_path / 'byref' / '__init__.py'}", done.stderr


def test_a_plain_install_is_light(wheel: Path) -> None:
    heavy = {"torch", "numpy", "sentence-transformers", "model2vec", "mcp", "aiohttp", "pydantic", "transformers"}
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(next(n for n in archive.namelist() if n.endswith("/METADATA"))).decode()
    plain = [line.split(":", 1)[1] for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    names = {requirement.strip().split(">")[0].split("=")[0].split("<")[0].split("[")[0].strip() for requirement in plain}
    assert names and not names & heavy
