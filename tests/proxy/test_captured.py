"""What the agent gets: as text, as bytes, whole and by part."""
from __future__ import annotations

import byref
from byref.proxy.captured import whole

LOG = "".join(f"step {i} of the installation copied file_{i * 7919 % 1000}.dat\n" for i in range(2000))


def test_a_passing_output_is_the_raw_one_as_text_bytes_and_parts() -> None:
    with byref.open("memory:") as gateway:
        view = gateway.session("a").capture(tool="shell", output={"stdout": b"caf\xe9\n", "stderr": b"warn"})
        assert view.passed and view.head == "" and view.gaps == () and view.stored and not view.warning
        assert view.data == b"caf\xe9\nwarn" and view.text == "caf\udce9\nwarn"
        assert view.texts == {"stdout": "caf\udce9\n", "stderr": "warn"}
        assert b"".join(view.blocks("stdout")) == b"caf\xe9\n" and list(view.blocks("nothing")) == []


def test_a_reduced_view_is_its_head_and_its_parts() -> None:
    with byref.open("memory:") as gateway:
        output = {"stdout": LOG, "stderr": "boom\n"}
        view = gateway.session("a").capture(tool="shell", args={"command": "./install"}, exit_code=3, output=output)
        assert not view.passed and view.gaps and view.exit_code == 3 and not view.is_error
        assert view.head.endswith("»\n") and view.ref in view.head
        assert view.text == view.head + "".join(view.texts.values()) and view.data == view.text.encode()
        assert "boom" in view.texts["stderr"] and b"".join(view.blocks("stdout")).decode() == view.texts["stdout"]


def test_parts_do_not_run_into_one_another() -> None:
    assert whole("«head»\n", ("a", "", "b\n", "c")) == "«head»\na\nb\nc"
    assert whole("", ()) == ""
