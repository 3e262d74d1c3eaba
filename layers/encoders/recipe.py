"""How a checkpoint wants its texts: what its configuration files say of prefixes, lengths, masks and pooling.

Reads the files that sentence-transformers, PyLate and its ONNX exports write beside a model. What no file says is as a plain encoder
has it: no prefix, no mask tokens, every token kept, the mean of the tokens as the vector of a text.
"""
from __future__ import annotations

import os
import string

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from byref.proxy.contracts import Json

VERSION = "1"  # of how texts become vectors
WINDOW = 512  # tokens, where a model does not say; BERT has so many positions
_MOST = 8192  # of any window: attention grows with its square
_QUERY = 32  # tokens that PyLate fills a query up to, where a checkpoint does not say
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}
_SETTINGS = ("config_sentence_transformers.json", "onnx_config.json", "sentence_bert_config.json", "config.json", "tokenizer_config.json",
             "artifact.metadata")


@dataclass(frozen=True, slots=True)
class Recipe:
    """prefixes: of a query and a document, set before the text; inserted: as a token by its number, which no text may spell. window:
    most tokens at once, with those that the model adds.

    fill: tokens that a query is filled up to with mask tokens, 0 for none; seen: the model attends to them. skipped: tokens of documents
    that get no vector. late: trained for late interaction, so that a query's own signs have vectors too. pooling: mean, cls or last;
    empty where it is another that we have not. prompts: as prefixes, for a text's one vector. projections: folders of linear modules
    over tokens. heads: of those over a text's vector. lower: texts are put into lower case first.
    """

    prefixes: tuple[str, str] = ("", "")
    inserted: bool = False
    window: int = WINDOW
    fill: int = 0
    seen: bool = False
    skipped: tuple[str, ...] = ()
    late: bool = False
    pooling: str = "mean"
    prompts: tuple[str, str] = ("", "")
    projections: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    lower: bool = False


def read(folder: str) -> Recipe:
    """The recipe of a model's folder. Raises `Invalid` for a file that cannot be read."""
    settings, exported, backbone, config, tokenizing = (table(folder, name) for name in _SETTINGS[:5])
    said = {**_stanford(folder, config), **exported, **settings}
    modules = _modules(folder)
    tasks = dict(_pairs(said.get("prompts")))
    prompts = (str(tasks.get("query") or ""), str(tasks.get("document") or tasks.get("passage") or ""))
    # PyLate saves its prefixes by themselves; sentence-transformers saves them as prompts
    pylate = said.get("model_type") == "ColBERT" or any(key in said for key in ("query_prefix", "document_prefix", "skiplist_words"))
    late = pylate or said.get("model_type") == "MultiVectorEncoder" or any(kind == "MultiVectorMask" for kind, _ in modules)
    mask = next((table(folder, os.path.join(place, "config.json")) for kind, place in modules if kind == "MultiVectorMask"), {})
    skipped = said.get("skiplist_words", mask.get("skiplist_words"))
    if skipped is None and pylate:
        skipped = list(string.punctuation)
    expansion = dict(_pairs(said.get("query_expansion", backbone.get("query_expansion"))))
    fill = _number(expansion.get("length")) if expansion.get("strategy") == "fixed" else 0
    seen = bool(expansion.get("attend"))
    if pylate and not expansion:
        fill = _number(said.get("query_length")) or _QUERY if said.get("do_query_expansion", True) else 0
        seen = bool(said.get("attend_to_expansion_tokens"))
    lengths = [_number(value) for value in (said.get("document_length"), backbone.get("document_length"), backbone.get("max_seq_length"),
                                            tokenizing.get("model_max_length"))]
    positions = _number(config.get("max_position_embeddings")) or WINDOW
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # their positions begin behind the padding's
    window = next((length for length in lengths if length), positions)
    pooled = next((number for number, (kind, _) in enumerate(modules) if kind == "Pooling"), len(modules))
    dense = [(number, place) for number, (kind, place) in enumerate(modules) if kind == "Dense"]
    return Recipe(
        (str(said.get("query_prefix") or prompts[0]), str(said.get("document_prefix") or prompts[1])) if late else ("", ""),
        "query_prefix" in said or "document_prefix" in said, max(8, min(window, positions, _MOST)), fill, seen,
        tuple(str(one) for one in _list(skipped)), late, _pooling(folder, modules), ("", "") if late else prompts,
        tuple(place for number, place in dense if number < pooled), tuple(place for number, place in dense if number > pooled),
        backbone.get("do_lower_case") is True)


def marked(folder: str, names: Sequence[str], numbers: str) -> str:
    """16 hex digits over files of a model, our version, and the kind of number that it computes with. Raises `Invalid`."""
    from hashlib import blake2b
    hashed = blake2b(f"{VERSION} {numbers}".encode(), digest_size=8)
    for name in sorted({*names, *_SETTINGS, "modules.json", *_inside(folder), "tokenizer.json"}):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                hashed.update(f"{name}\0".encode())
                while block := file.read(1 << 20):
                    hashed.update(block)
        except FileNotFoundError:
            continue
        except OSError as fault:
            raise Invalid(f"the model in {folder} cannot be read: {fault}") from None
    return hashed.hexdigest()


def table(folder: str, name: str) -> dict[str, Json]:
    """A configuration file; empty where there is none. Raises `Invalid`."""
    found = _json(folder, name)
    if not isinstance(found, dict):
        raise Invalid(f"{name} of the model in {folder} is no table: fetch the model again")
    return found


def _json(folder: str, name: str) -> Json:
    import json
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found: Json = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as fault:
        raise Invalid(f"{name} of the model in {folder} cannot be read ({fault}): fetch the model again") from None
    return found


def _modules(folder: str) -> list[tuple[str, str]]:
    """Kind and folder of the modules that a text goes through, as sentence-transformers lists them."""
    found = []
    for one in _list(_json(folder, "modules.json")):
        module = dict(_pairs(one))
        found.append((str(module.get("type", "")).rpartition(".")[2], str(module.get("path", ""))))
    return found


def _inside(folder: str) -> list[str]:
    return [os.path.join(place, name) for _, place in _modules(folder) if place
            for name in ("config.json", "model.safetensors", "pytorch_model.bin")]


def _stanford(folder: str, config: dict[str, Json]) -> dict[str, Json]:
    """What a checkpoint of Stanford's ColBERT says, in PyLate's words, with the defaults that both libraries take for it."""
    if "HF_ColBERT" not in _list(config.get("architectures")):
        return {}
    held = table(folder, "artifact.metadata")
    return {"query_prefix": held.get("query_token_id") or "[unused0]", "document_prefix": held.get("doc_token_id") or "[unused1]",
            "query_length": held.get("query_maxlen"), "document_length": held.get("doc_maxlen"),
            "attend_to_expansion_tokens": held.get("attend_to_mask_tokens"),
            "skiplist_words": list(string.punctuation) if held.get("mask_punctuation", True) else []}


def _pooling(folder: str, modules: Sequence[tuple[str, str]]) -> str:
    place = next((place for kind, place in modules if kind == "Pooling"), None)
    if place is None:
        return "mean"
    said = table(folder, os.path.join(place, "config.json"))
    if isinstance(said.get("pooling_mode"), str):  # as later versions of sentence-transformers save it
        return {"mean": "mean", "cls": "cls", "lasttoken": "last"}.get(str(said["pooling_mode"]), "")
    on = [key for key, value in said.items() if key.startswith("pooling_mode_") and value is True]
    return _POOLINGS.get(on[0], "") if len(on) == 1 else ""


def _number(value: object) -> int:
    """A length that means something: tokenizers without one say 10^30."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1 << 20 else 0


def _pairs(value: Json) -> Sequence[tuple[str, Json]]:
    return tuple(value.items()) if isinstance(value, dict) else ()


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
