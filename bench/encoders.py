"""What encoders cost beside the bare model: on the same texts, batches and threads, in turns.

usage: encoders.py [--models NAME ...] [--rounds N]

`bare` is the model alone on numbers that were made before, so that ours beside it is all that we add: tokens, spans, padding, unit
length. `own` is what its library makes of the texts. Differences are of a number of a token's vector, and the mean cosine, against
the first model of the same weights that is there. Runs what is installed here: `make bench` has ONNX, `make bench-late` torch.
"""
from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from byref.layers.encoders import batched, choice
from byref.layers.encoders.contract import Encoded
from byref.proxy.config import models_folder

MODELS = ("minilm-onnx", "minilm", "minilm:bf16", "minilm-int8")
HELP = Path(__file__).parent / "sets/help.jsonl"
SIZE = 900  # characters of a text: of the size of a chunk
MANY = 12


def texts() -> list[str]:
    """Texts of a chunk's size, out of the help of commands."""
    lines = [json.loads(line)[1] for line in HELP.read_text(encoding="utf-8").splitlines()]
    whole = "\n".join(lines)
    return [whole[at:at + SIZE] for at in range(0, MANY * SIZE * 4, SIZE * 4)]


def taken(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor: those hardly depend on what else runs."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def bare(encoder: batched.Batched, given: Sequence[str]) -> Callable[[], object]:
    """The model alone, over the same batches."""
    windows = encoder._windows.documents(given)
    ready = [encoder._padded([windows[place] for place in batch]) for batch in batched._batches(windows, encoder.batch or batched.BATCH)]
    return lambda: [encoder._forward(*one) for one in ready]


def own(encoder: batched.Batched, given: list[str]) -> Callable[[], object] | None:
    """What the library itself makes of texts, where it does that."""
    model = getattr(encoder, "_model", None)
    if model is None:
        return None
    most = max(1, batched.BATCH // encoder.window)
    if hasattr(model, "encode_document"):
        return lambda: model.encode_document(given, batch_size=most, convert_to_numpy=True, normalize_embeddings=True,
                                             show_progress_bar=False)
    return lambda: model.encode(given, batch_size=most, is_query=False, show_progress_bar=False)


def compared(first: Sequence[Encoded], second: Sequence[Encoded]) -> str:
    a, b = (np.concatenate([text.vectors for text in found]) for found in (first, second))
    return f"largest {np.abs(a - b).max():.1e}, cosine {(a * b).sum(axis=1).mean():.4f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    given = texts()
    if all(choice.chosen(str(Path(models_folder()) / name)).fault() for name in asked.models):
        print(f"left out: none of {', '.join(asked.models)} is in {models_folder()}: make models")
        return 0
    first: list[Encoded] | None = None
    print(f"{len(given)} texts of {SIZE} characters, batches of {batched.BATCH} tokens; the best of {asked.rounds} rounds: tokens a "
          "second of the clock,\nand a second of the processor; time: ours by bare, of the processor, the median")
    print(f"{'model':<14} {'tokens/s':>10} {'ours/cpu-s':>10} {'bare/cpu-s':>10} {'time':>9} {'own/cpu-s':>10} {'load s':>7}  difference")
    for name in asked.models:
        began = time.perf_counter()
        place = str(Path(models_folder()) / name)
        handle = choice.chosen(place)
        if fault := handle.fault():
            print(f"{name:<14} left out: {fault}")
            continue
        encoder = handle.wait()
        loading = time.perf_counter() - began
        if not isinstance(encoder, batched.Batched):
            continue
        found = encoder.documents(given)
        if found is None:
            continue
        tokens = sum(len(text.tokens) for text in found)
        works: list[Callable[[], object]] = [lambda encoder=encoder: encoder.documents(given), bare(encoder, given)]  # type: ignore[misc]
        if (plain := own(encoder, given)) is not None:
            works.append(plain)
        times = [[taken(work) for work in works] for _ in range(asked.rounds)]
        clock, processor = ([tokens / min(row[place][kind] for row in times) for place in range(len(works))] for kind in (0, 1))
        share = median(row[0][1] / row[1][1] for row in times)
        said = "" if first is None else compared(first, found)
        first = first or found
        library = f"{processor[2]:.0f}" if len(works) > 2 else ""
        print(f"{name:<14} {clock[0]:>10.0f} {processor[0]:>10.0f} {processor[1]:>10.0f} {share:>8.2f}x {library:>10} "
              f"{loading:>7.1f}  {encoder.origin}{': ' + said if said else ''}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
