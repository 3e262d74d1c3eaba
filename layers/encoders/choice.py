"""Which encoder a setting means, by what is installed; loaded in the background, once for all scopes.

A setting is the path of a folder, the name of a folder beside the other models, or a repository of the Hugging Face hub
(`owner/name`); behind it may stand the numbers of its weights: `minilm:bf16`. A repository is fetched only because a setting names it,
once, into that library's own cache. A folder with an ONNX model runs on onnxruntime; else sentence-transformers, else PyLate runs it.
"""
from __future__ import annotations

import os
from functools import cache
from threading import Lock, Thread

from byref.layers.embedding import place_of
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from byref.layers.encoders.contract import Encoder

    class Library(Protocol):
        """A module of this folder. NEEDS: modules that it imports. EXTRA: of this package, that brings them. WANTED: files of a
        repository, as shell patterns. fits: whether the files of a folder are for it. load: raises `Invalid`."""

        NEEDS: Sequence[str]
        EXTRA: str
        WANTED: Sequence[str]

        def fits(self, folder: str) -> bool: ...
        def load(self, folder: str, numbers: str = "") -> Encoder: ...

DEFAULT = "minilm-int8"
LIBRARIES = ("onnx", "multivector", "pylate")  # the first that fits and is installed
HOW = "`make models` puts one there, or set late_model (BYREF_LATE_MODEL) to a folder or a repository"
PATIENCE = 15.0  # seconds that the end of the program waits for a model at work: torch may take ten to load
_NUMBERS = frozenset({"fp32", "bf16"})

_lock = Lock()
_handles: dict[tuple[str, str], Handle] = {}
_setting = ""


def use(setting: str) -> None:
    """The setting in force where none is given. Until it is said, the model that comes with `make models`."""
    global _setting
    _setting = setting


def chosen(setting: str = "") -> Handle:
    """The handle of what a setting means, the same for the same model. Loads nothing."""
    name, numbers = _parsed(setting or _setting or DEFAULT)
    with _lock:
        return _handles.setdefault((name, numbers), Handle(name, numbers))


class Handle:
    """A model that is loaded when it is first wanted. Safe for many threads. name: a folder, or a repository."""

    def __init__(self, name: str, numbers: str) -> None:
        self.name, self.numbers = name, numbers
        self._lock = Lock()
        self._encoder: Encoder | None = None
        self._failed: tuple[str, object] | None = None  # why, and the files' state by then
        self._thread: Thread | None = None

    def ready(self) -> Encoder | None:
        """The encoder, if it is loaded. Else loading starts, or goes on, in the background."""
        if self._encoder is None:
            self.start()
        return self._encoder

    def start(self) -> None:
        """Starts loading in the background. What failed is tried again once its files have changed."""
        with self._lock:
            busy = self._thread is not None and self._thread.is_alive()
            if self._encoder is None and not busy and not self._told():
                _settled_at_exit()
                self._thread = Thread(target=self._load, name="byref-encoder", daemon=True)
                self._thread.start()

    def wait(self) -> Encoder:
        """The encoder, loaded. Raises `Invalid`, with what to do, where it cannot be."""
        while self._encoder is None:
            self.start()
            thread = self._thread
            if thread is not None:
                thread.join()
            if self._encoder is None and (fault := self.fault()):
                raise Invalid(fault)
        return self._encoder

    def fault(self) -> str:
        """Why there is no such encoder and what to do, by what is known without loading it; empty where it may be loaded."""
        return "" if self._encoder is not None else self._told() or missing(self.name)

    def _told(self) -> str:
        """Why it failed, while its files are as they were then."""
        failed = self._failed
        return failed[0] if failed is not None and failed[1] == _state(self.name) else ""

    def _load(self) -> None:
        state = _state(self.name)
        try:
            self._encoder = _loaded(self.name, self.numbers)
        except Invalid as fault:
            self._failed = str(fault).removeprefix("invalid: "), state
        except Exception as fault:  # a thread that dies unheard would be started for ever
            self._failed = f"the model {self.name} cannot be loaded ({type(fault).__name__}: {str(fault)[:200]})", state


    def settle(self, seconds: float) -> None:
        """Waits for what is at work: libraries in C++ abort a process that ends meanwhile. No document is encoded any more."""
        thread, encoder = self._thread, self._encoder
        if thread is not None:
            thread.join(seconds)
        if encoder is not None:
            encoder.end(seconds)


@cache
def _settled_at_exit() -> None:
    import atexit

    def settle() -> None:
        for handle in list(_handles.values()):
            handle.settle(PATIENCE)
    atexit.register(settle)


def missing(name: str) -> str:
    """What is not there and how to get it, by a look at files and packages alone; empty where a model may be loaded."""
    there = [library for library in _libraries() if not _lacking(library)]
    if _is_hub(name):
        return "" if there else f"nothing is installed that could run {name}: pip install 'byref[late]' (or onnx, pylate)"
    if not os.path.isdir(name):
        return f"no model in {name}: {HOW}"
    if not os.path.isfile(os.path.join(name, "tokenizer.json")):
        return f"the model in {name} lacks tokenizer.json: fetch it again; {HOW}"
    fitting = [library for library in _libraries() if library.fits(name)]
    if not fitting:
        return f"the model in {name} lacks its weights (model.onnx, or config.json and model.safetensors): fetch it again; {HOW}"
    if not any(library in there for library in fitting):
        return f"{' and '.join(_lacking(fitting[0]))} not installed: pip install 'byref[{fitting[0].EXTRA}]'"
    return ""


def _loaded(name: str, numbers: str) -> Encoder:
    """Raises `Invalid`."""
    folder = _fetched(name) if _is_hub(name) else name
    fault = missing(folder)
    if fault:
        raise Invalid(fault)
    return next(library for library in _libraries() if library.fits(folder) and not _lacking(library)).load(folder, numbers)


def _fetched(repository: str) -> str:
    """The folder of a repository, fetched where it is not yet. Raises `Invalid`."""
    from huggingface_hub import snapshot_download
    wanted = sorted({pattern for library in _libraries() if not _lacking(library) for pattern in library.WANTED})
    try:
        return snapshot_download(repository, allow_patterns=wanted)
    except Exception as fault:  # of the network, of the hub, of the disk
        said = " ".join(str(fault).split())[:200]
        raise Invalid(f"{repository} cannot be fetched ({type(fault).__name__}: {said}): see whether the name is right and the hub in "
                      "reach, or set late_model to a folder") from None


def _parsed(setting: str) -> tuple[str, str]:
    """Folder or repository, and numbers."""
    name, _, numbers = setting.strip().rpartition(":")
    if numbers not in _NUMBERS or not name:
        name, numbers = setting.strip(), ""
    if os.path.isabs(name) or name.startswith(".") or os.path.isdir(name):
        return os.path.abspath(name), numbers
    beside = place_of(name)
    return (name if name.count("/") == 1 and not os.path.isdir(beside) else beside), numbers


def _is_hub(name: str) -> bool:
    return not os.path.isabs(name)


def _libraries() -> list[Library]:
    from importlib import import_module
    return [import_module(f"byref.layers.encoders.{library}") for library in LIBRARIES]


def _lacking(library: Library) -> list[str]:
    return [name.partition(".")[0] for name in library.NEEDS if not _installed(name)]


@cache
def _installed(name: str) -> bool:
    """Whether there is such a module, without importing any: of a package, its parent would be."""
    from importlib.util import find_spec
    top, _, part = name.partition(".")
    found = find_spec(top)
    if found is None or not part:
        return found is not None
    inside = part.replace(".", os.sep)
    return any(os.path.isdir(place) or os.path.isfile(f"{place}.py")
               for place in (os.path.join(folder, inside) for folder in found.submodule_search_locations or ()))


def _state(name: str) -> object:
    """By what a change of a folder's files is told; a repository is tried again each time the program starts."""
    if _is_hub(name):
        return name
    found = []
    for place, _, files in os.walk(name):
        for file in files:
            try:
                held = os.stat(os.path.join(place, file))
                found.append((file, held.st_size, held.st_mtime_ns))
            except OSError:
                continue
    return sorted(found)
