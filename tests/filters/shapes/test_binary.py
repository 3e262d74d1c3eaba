"""Bytes that are no text: a view says how many there are and fetches them; text with a few odd bytes stays text."""
from __future__ import annotations

import os
import sys

import pytest

import byref
from byref.filters.detect import detect
from byref.filters.shapes.binary import SHAPE
from byref.proxy.contracts import Call

CALL = Call("shell", {"command": "cat x"})


@pytest.mark.parametrize("size", [40_000, 400_000])
def test_a_program_is_one_gap_and_comes_back_whole(size: int) -> None:
    with open(sys.executable, "rb") as file:
        data = (file.read() * 99)[:size]
    with byref.open("memory:") as gateway:
        session = gateway.session("s")
        view = session.capture(tool="shell", args={"command": "cat python"}, output=data, exit_code=0)
        assert view.shape == "binary" and len(view.text) < 100
        assert [(gap.address, gap.count, gap.unit) for gap in view.gaps] == [(f"b0-{size}", size, "bytes")]
        assert b"".join(session.blocks(view.ref)) == data


def test_noise_without_a_nul_is_binary_too() -> None:
    noise = os.urandom(30_000).replace(b"\0", b"\x01").decode("utf-8", "surrogateescape")
    assert detect(noise, CALL)[0] == "binary"


@pytest.mark.parametrize(("encoding", "yes"), [("latin-1", False), ("koi8-r", False), ("euc-jp", False), ("utf-16", True)])
def test_lines_in_another_encoding_are_text_unless_half_of_them_is_nul(encoding: str, yes: bool) -> None:
    words = {"latin-1": "Prüfung für Gerät läuft", "koi8-r": "проверка устройства", "euc-jp": "処理は正常に終了しました"}
    data = "".join(f"{n} {words.get(encoding, 'a check runs')}\n" for n in range(400)).encode(encoding)
    assert (SHAPE.match(CALL, "text/plain", data.decode("utf-8", "surrogateescape")[:4000]) > 0) is yes


def test_a_log_with_a_nul_and_latin_1_names_is_text() -> None:
    log = "".join(f"export/a.csv:{n}:{n};Dupr\udce9;active\n" for n in range(400)) + "\0\0\n"
    assert SHAPE.match(CALL, "text/plain", log[:4000]) == 0 and SHAPE.match(CALL, "text/plain", "\x1b[31mred\x1b[0m\r\n" * 9) == 0
