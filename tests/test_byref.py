"""What `import byref` gives, and what it costs."""
from __future__ import annotations

import subprocess
import sys

import pytest

import byref

# Each costs milliseconds on every start; `byref run -- true` must stay within a few.
HEAVY = {"typing", "dataclasses", "re", "json", "pathlib", "subprocess", "tempfile", "argparse", "asyncio", "logging", "contextlib", "enum",
         "datetime", "importlib.metadata", "urllib", "socket", "sqlite3", "shutil", "signal", "base64", "inspect", "threading", "zstandard",
         "re2", "numpy", "tomllib", "platformdirs", "hashlib", "random", "string", "textwrap"}


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after this code, beyond those it starts with."""
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; before = set(sys.modules)\n{code}\n"
                           "print(*sorted(set(sys.modules) - before))"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_it_loads_nothing_but_itself() -> None:
    assert loaded("import byref") - {"__future__"} == {"byref"}


def test_a_small_output_is_captured_and_stored_without_a_heavy_import(tmp_path: str) -> None:
    code = (f"from byref.proxy.gateway import open\nwith open('file:{tmp_path}/store') as g:\n"
            "    s = g.session('cli', proven=False)\n"
            "    v = s.capture(tool='shell', args={'command': 'true'}, output={'stdout': b'', 'stderr': b'x'}, exit_code=0)\n"
            "    assert v.stored and v.data == b'x', v.warning")
    assert loaded(code) & HEAVY == set()


def test_every_public_name_is_there_and_no_other() -> None:
    for name in byref.__all__:
        assert getattr(byref, name) is getattr(byref, name) is not None
    assert issubclass(byref.errors.Unknown, byref.ByrefError) and byref.MARKER.pattern
    with pytest.raises(AttributeError, match="nothing"):
        _ = byref.nothing
