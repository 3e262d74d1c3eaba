"""A setting means a model; it is loaded in the background, once, and where it cannot be, the reason says what to do."""
from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from byref.layers import embedding
from byref.layers.encoders import choice, multivector, onnx
from byref.layers.encoders.choice import Handle, chosen
from byref.proxy.errors import Invalid

Model = Callable[[str], Path]


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of models of this test, and nothing loaded before."""
    monkeypatch.setattr(embedding, "_models", str(tmp_path / "models"))
    monkeypatch.setattr(choice, "_handles", {})
    monkeypatch.setattr(choice, "_setting", "")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "models"


def test_a_setting_is_a_path_a_name_beside_the_models_or_a_repository(beside: Path, tmp_path: Path) -> None:
    assert (chosen(str(tmp_path)).name, chosen(str(tmp_path)).numbers) == (str(tmp_path), "")
    assert (chosen(f"{tmp_path}:bf16").name, chosen(f"{tmp_path}:bf16").numbers) == (str(tmp_path), "bf16")
    assert chosen("minilm:fp32").name == str(beside / "minilm")
    assert chosen("./minilm").name == str(Path.cwd() / "minilm")
    assert (chosen("lightonai/LateOn:bf16").name, chosen("lightonai/LateOn:bf16").numbers) == ("lightonai/LateOn", "bf16")
    (beside / "mine/late").mkdir(parents=True)
    assert chosen("mine/late").name == str(beside / "mine/late"), "what lies there is never fetched"


def test_where_nothing_is_set_it_is_what_make_models_brings(beside: Path) -> None:
    assert chosen().name == str(beside / "minilm-int8")
    choice.use("other")
    assert chosen().name == str(beside / "other") and chosen("minilm").name == str(beside / "minilm")


def test_the_same_model_is_loaded_once_for_all(model: Model) -> None:
    place = str(model("minilm-int8"))
    handles = [chosen(place), chosen(place + "/"), chosen(place)]
    assert len({id(handle) for handle in handles}) == 1 and len({id(handle.wait()) for handle in handles}) == 1
    found: list[object] = []
    fresh = Handle(place, "")
    threads = [threading.Thread(target=lambda: found.append(fresh.wait())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len({id(one) for one in found}) == 1


def test_nothing_waits_for_a_model(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    let = threading.Event()
    real = onnx.load
    monkeypatch.setattr(onnx, "load", lambda *given: (let.wait(60), real(*given))[1])
    handle = chosen(str(model("minilm-int8")))
    assert handle.fault() == "" and handle.ready() is None and handle.ready() is None
    let.set()
    assert handle.wait() is handle.ready() and handle.fault() == ""


def test_no_folder(beside: Path) -> None:
    handle = chosen("minilm-int8")
    assert handle.fault() == f"no model in {beside / 'minilm-int8'}: {choice.HOW}"
    assert handle.ready() is None
    with pytest.raises(Invalid, match="no model in"):
        handle.wait()


def test_a_folder_that_lacks_files(beside: Path, tokens: Path) -> None:
    (beside / "half").mkdir(parents=True)
    assert "lacks tokenizer.json: fetch it again" in chosen("half").fault()
    shutil.copy(tokens / "tokenizer.json", beside / "half")
    assert "lacks its weights (model.onnx, or config.json and model.safetensors): fetch it again" in chosen("half").fault()


@pytest.mark.parametrize(("file", "extra"), [("model.onnx", "onnx"), ("model.safetensors", "late")])
def test_what_is_not_installed_is_named_with_how_to_get_it(beside: Path, tokens: Path, monkeypatch: pytest.MonkeyPatch,
                                                           file: str, extra: str) -> None:
    for library in (onnx, multivector):
        monkeypatch.setattr(library, "NEEDS", ("numpy", "no_such_library.part"))
    monkeypatch.setattr("byref.layers.encoders.pylate.NEEDS", ("no_such_library",))
    shutil.copytree(tokens, beside / "some")
    for name in (file, "config.json"):
        (beside / "some" / name).write_text("{}")
    assert chosen("some").fault() == f"no_such_library not installed: pip install 'byref[{extra}]'"
    assert "nothing is installed that could run some/repository: pip install 'byref[late]'" in chosen("some/repository").fault()


def test_a_look_at_what_is_there_imports_none_of_it() -> None:
    code = ("import sys; from byref.layers.encoders.choice import chosen; print(chosen('some/repository').fault()); "
            "print(sorted({'torch', 'onnxruntime', 'sentence_transformers', 'pylate', 'numpy'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("work", ["", "Thread(target=handle.wait().documents, args=(['some words'] * 500,), daemon=True).start()"])
def test_a_program_may_end_while_a_model_is_at_work(model: Model, work: str) -> None:
    code = ("import sys; from threading import Thread; from byref.layers.encoders.choice import chosen; "
            f"handle = chosen(sys.argv[1]); handle.ready(); {work}")
    done = subprocess.run([sys.executable, "-c", code, str(model("minilm-int8"))], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_model_that_failed_is_tried_again_once_its_files_are_others(model: Model, beside: Path) -> None:
    source, place = model("minilm-int8"), beside / "mended"
    shutil.copytree(source, place)
    (place / "model.onnx").write_bytes((source / "model.onnx").read_bytes()[:1000])
    handle = chosen("mended")
    assert handle.fault() == "", "by its files alone it may be loaded"
    with pytest.raises(Invalid, match=r"model\.onnx in .* is damaged"):
        handle.wait()
    assert "is damaged" in handle.fault() and handle.ready() is None
    shutil.copy(source / "model.onnx", place)
    assert handle.fault() == ""
    assert handle.wait().width == 384


def test_a_fault_that_nobody_thought_of_is_told_and_not_tried_for_ever(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def broken(folder: str, numbers: str = "") -> object:
        calls.append(folder)
        raise MemoryError("no room")
    monkeypatch.setattr(onnx, "load", broken)
    handle = chosen(str(model("minilm-int8")))
    with pytest.raises(Invalid, match=r"cannot be loaded \(MemoryError: no room\)"):
        handle.wait()
    assert handle.ready() is None and handle.ready() is None and len(calls) == 1


def test_a_repository_comes_from_the_hub(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the hub's own library keeps it: what has been fetched once is found without a network, what has not is told."""
    from huggingface_hub import constants
    kept = tmp_path / "hub/models--some--encoder"
    shutil.copytree(model("minilm-int8"), kept / "snapshots" / ("0" * 40))
    (kept / "refs").mkdir()
    (kept / "refs/main").write_text("0" * 40)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = chosen("some/encoder")
    assert found.fault() == "" and found.wait().width == 384
    with pytest.raises(Invalid, match=r"some/other cannot be fetched .* set late_model to a folder"):
        chosen("some/other").wait()
