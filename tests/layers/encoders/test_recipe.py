"""A checkpoint says in its files how it wants its texts, in the words of whichever library saved it."""
from __future__ import annotations

import json
import string
from pathlib import Path

import pytest

from byref.layers.encoders.recipe import Recipe, marked, read
from byref.proxy.errors import Invalid


def saved(folder: Path, **files: object) -> str:
    for name, value in files.items():
        place = folder / (name.replace("__", "/") + ".json")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value))
    return str(folder)


def modules(*kinds: tuple[str, str]) -> list[dict[str, object]]:
    return [{"idx": number, "name": str(number), "path": path, "type": kind} for number, (kind, path) in enumerate(kinds)]


def test_a_folder_that_says_nothing_is_a_plain_encoder(tmp_path: Path) -> None:
    assert read(str(tmp_path)) == Recipe()


def test_a_checkpoint_of_pylate(tmp_path: Path) -> None:
    folder = saved(tmp_path, config={"max_position_embeddings": 512}, sentence_bert_config={"max_seq_length": 256},
                   config_sentence_transformers={"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 48,
                                                 "document_length": 300, "attend_to_expansion_tokens": False, "skiplist_words": ["!", "."],
                                                 "do_query_expansion": True, "prompts": {"query": "", "document": ""}},
                   modules=modules(("sentence_transformers.models.Transformer", ""), ("pylate.models.Dense.Dense", "1_Dense")))
    found = read(folder)
    assert found.late and found.inserted and found.prefixes == ("[Q] ", "[D] ")
    assert (found.fill, found.seen, found.window, found.skipped) == (48, False, 300, ("!", "."))
    assert found.projections == ("1_Dense",) and found.heads == ()


def test_what_pylate_leaves_unsaid_is_what_pylate_does(tmp_path: Path) -> None:
    found = read(saved(tmp_path, config_sentence_transformers={"model_type": "ColBERT", "query_prefix": "[Q] "}))
    assert (found.fill, found.skipped) == (32, tuple(string.punctuation))
    found = read(saved(tmp_path, config_sentence_transformers={"model_type": "ColBERT", "do_query_expansion": False, "skiplist_words": []}))
    assert (found.fill, found.skipped) == (0, ())


def test_an_export_of_pylate_to_onnx_has_a_file_of_its_own(tmp_path: Path) -> None:
    found = read(saved(tmp_path, onnx_config={"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 32, "document_length": 180,
                                              "skiplist_words": ["_"], "do_query_expansion": False}))
    assert found.late and found.prefixes == ("[Q] ", "[D] ") and (found.fill, found.window, found.skipped) == (0, 180, ("_",))


def test_a_checkpoint_of_stanford(tmp_path: Path) -> None:
    saved(tmp_path, config={"architectures": ["HF_ColBERT"], "max_position_embeddings": 512})
    (tmp_path / "artifact.metadata").write_text(json.dumps({"query_maxlen": 32, "doc_maxlen": 180, "attend_to_mask_tokens": True}))
    found = read(str(tmp_path))
    assert found.inserted and found.prefixes == ("[unused0]", "[unused1]")
    assert (found.fill, found.seen, found.window, found.skipped) == (32, True, 180, tuple(string.punctuation))


def test_a_checkpoint_of_sentence_transformers_for_late_interaction(tmp_path: Path) -> None:
    found = read(saved(
        tmp_path, config={"max_position_embeddings": 512},
        sentence_bert_config={"document_length": 200, "query_expansion": {"strategy": "fixed", "attend": True, "length": 24}},
        config_sentence_transformers={"model_type": "MultiVectorEncoder", "prompts": {"query": "ask: ", "document": "say: "}},
        modules=modules(("sentence_transformers.base.modules.transformer.Transformer", ""),
                        ("sentence_transformers.base.modules.dense.Dense", "1_Dense"),
                        ("sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask", "2_MultiVectorMask")),
        **{"2_MultiVectorMask__config": {"skiplist_words": [","]}}))
    assert found.late and not found.inserted and found.prefixes == ("ask: ", "say: ")
    assert (found.fill, found.seen, found.window, found.skipped) == (24, True, 200, (",",))


@pytest.mark.parametrize(("said", "pooling"), [
    ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"), ({"pooling_mode_cls_token": True}, "cls"),
    ({"pooling_mode": "lasttoken"}, "last"), ({"pooling_mode": "cls"}, "cls"),
    ({"pooling_mode_max_tokens": True}, ""), ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "")])
def test_how_a_text_becomes_one_vector(tmp_path: Path, said: dict[str, object], pooling: str) -> None:
    kinds = modules(("x.Transformer", ""), ("x.Pooling", "1_Pooling"), ("x.Dense", "2_Dense"), ("x.Normalize", "3_Normalize"))
    found = read(saved(tmp_path, modules=kinds, config_sentence_transformers={"prompts": {"query": "query: ", "passage": "passage: "}},
                       **{"1_Pooling__config": said}))
    assert found.pooling == pooling and not found.late
    assert found.heads == ("2_Dense",) and found.projections == () and found.prompts == ("query: ", "passage: ")


def test_a_window_is_what_the_model_has_positions_for(tmp_path: Path) -> None:
    endless = {"model_max_length": 10**30}
    assert read(saved(tmp_path, config={"max_position_embeddings": 2048}, tokenizer_config=endless)).window == 2048
    assert read(saved(tmp_path, config={"max_position_embeddings": 514, "model_type": "roberta"}, tokenizer_config=endless)).window == 512
    assert read(saved(tmp_path, config={"max_position_embeddings": 128}, sentence_bert_config={"max_seq_length": 256})).window == 128


def test_a_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position')
    with pytest.raises(Invalid, match=r"config\.json of the model in .* cannot be read .* fetch the model again"):
        read(str(tmp_path))


def test_another_file_another_mark(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    first = marked(saved(tmp_path, config={"hidden_size": 4}), ["model.onnx"], "")
    assert len(first) == 16 and int(first, 16) and first == marked(str(tmp_path), ["model.onnx"], "")
    assert first != marked(str(tmp_path), ["model.onnx"], "bf16")
    (tmp_path / "model.onnx").write_bytes(b"weightz")
    second = marked(str(tmp_path), ["model.onnx"], "")
    saved(tmp_path, tokenizer={"other": "words"})
    assert len({first, second, marked(str(tmp_path), ["model.onnx"], "")}) == 3
