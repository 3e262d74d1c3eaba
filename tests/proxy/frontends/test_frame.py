"""A head of JSON and bytes after it: what goes in comes out, and what is no frame is refused."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.frontends.frame import cut, decode, encode, read_head

VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters()),
                      lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.lists(st.binary()))
def test_head_and_bytes_come_back_exactly(head, pieces):
    found, body = decode(encode(head, pieces))
    assert found == head and cut(body, map(len, pieces)) == pieces


def test_a_byte_that_is_not_utf8_comes_back_as_the_surrogate_that_stands_for_it():
    assert decode(encode({"path": "caf\udce9"}))[0] == {"path": "caf\udce9"}


@given(st.dictionaries(st.text(), VALUES, max_size=3))
def test_it_reads_what_any_json_library_writes(head):
    assert read_head(json.dumps(head).encode()) == head


@pytest.mark.parametrize("bad", [b"", b"{}", b"[1]\n", b"{} x\n", b'{"a":\n', b"\xff\n", b"null\n", b"[" * 100_000 + b"\n"])
def test_what_is_no_frame_is_refused(bad):
    with pytest.raises(ValueError):
        decode(bad)


@pytest.mark.parametrize("sizes", [[1], [3], [1, 2], []])
def test_sizes_that_do_not_add_up_are_refused(sizes):
    with pytest.raises(ValueError, match="announces"):
        cut(memoryview(b"ab"), sizes)


def test_reading_a_head_loads_no_json_package():
    script = "import sys; from byref.proxy.frontends.frame import read_head; read_head(b'{\"a\": [1.5]}'); sys.exit('json' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
