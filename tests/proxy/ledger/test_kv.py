"""KV caches by geometry, against the published figures of models, sums over layers and tokens, and calculations by hand."""
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid
from byref.proxy.ledger.kv import MODELS, Geometry, of_config

BY_NAME = {model.name: model for model in MODELS}
KIB = {"Llama-3.1-8B": 128, "Llama-3.1-70B": 320, "Qwen3-8B": 144, "Qwen3-30B-A3B": 96, "Qwen3-235B-A22B": 188, "Qwen3.5-397B-A17B": 30,
       "DeepSeek-V3": 68.625, "Kimi-K2": 68.625, "gpt-oss-120b": 72, "gpt-oss-20b": 48, "GLM-4.7": 368, "GLM-5": 107.25, "MiniMax-M2": 248,
       "Gemma-4-31B": 880}
KEPT = {"gpt-oss-120b": 36, "gpt-oss-20b": 24, "Gemma-4-31B": 80}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "measuring.md"

# The fields of their config.json that matter here, as published.
LLAMA: dict[str, Json] = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
LATENT: dict[str, Json] = {"num_hidden_layers": 61, "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
                           "qk_nope_head_dim": 128, "v_head_dim": 128, "num_key_value_heads": 128}
GPT_OSS: dict[str, Json] = {"num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
                            "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 18}
QWEN: dict[str, Json] = {"text_config": {
    "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "full_attention_interval": 4,
    "layer_types": [*["linear_attention"] * 3, "full_attention"] * 15, "linear_num_value_heads": 64}}
GEMMA: dict[str, Json] = {"text_config": {
    "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 16, "num_global_key_value_heads": 4, "head_dim": 256,
    "global_head_dim": 512, "sliding_window": 1024, "num_kv_shared_layers": 0,
    "layer_types": [*["sliding_attention"] * 5, "full_attention"] * 10}}
GLM: dict[str, Json] = {"num_hidden_layers": 78, "num_attention_heads": 64, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
                        "qk_nope_head_dim": 192, "v_head_dim": 256, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 32}


@pytest.mark.parametrize("name", KIB)
def test_a_token_writes_and_keeps_what_the_geometry_says(name: str) -> None:
    assert BY_NAME[name].written == KIB[name] * 1024 and BY_NAME[name].kept == KEPT.get(name, KIB[name]) * 1024


def test_each_row_names_where_its_figures_are_published() -> None:
    assert set(KIB) == set(BY_NAME) and len(MODELS) >= 6
    for model in MODELS:
        repository, path = model.source.split(" ")
        assert repository.count("/") == 1 and path.rpartition(".")[2] in ("py", "sh", "json"), model


def test_the_table_of_the_manual_is_that_of_the_code() -> None:
    if not PAGE.is_file():
        pytest.skip("docs/measuring.md is not beside these tests: they run from a source package")
    rows = {row.split("|")[1].strip(): row for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ")}
    for model in MODELS:
        cells = [cell.strip() for cell in rows[model.name].split("|")[1:-1]]
        assert cells[-4:-2] == [f"{model.written / 1024:.4g}", f"{model.kept / 1024:.4g}"], model
        assert cells[-2] == f"{model.active / 1e9:g}" and cells[-1].replace("`", "") == model.source, model


def test_layers_with_a_window_keep_no_more_than_it() -> None:
    model = BY_NAME["gpt-oss-120b"]
    assert model.kept == 36 * 1024 and model.held(100) == 100 * 72 * 1024
    assert model.held(100_000) - model.held(50_000) == 50_000 * 36 * 1024
    assert model.carried(1000, 20, 300) == 36 * 1024 * 1000 * 20 * 300


def test_windows_and_whole_layers_may_have_heads_of_their_own() -> None:
    # 10 layers x 2 x 4 heads x 512 x 2 bytes x 32,768 tokens, and 50 x 2 x 16 x 256 x 2 x 1,024
    assert BY_NAME["Gemma-4-31B"].held(32_768) == 2_684_354_560 + 838_860_800


@pytest.mark.parametrize(("name", "tera"), [
    # 2 x 8.0e9 x 1000 + 4 x 32 layers x 32 heads x 128 x (1000 x 9000 + 1000^2 / 2)
    ("Llama-3.1-8B", 16 + 4.98073600),
    # 2 x 37e9 x 1000 + 4 x 61 x 128 x 160 x 9.5e6
    ("DeepSeek-V3", 74 + 47.47264000),
    # 2 x 5.1e9 x 1000 + 4 x 18 x 64 x 64 x 9.5e6, and 18 layers where each of 1000 tokens meets 128
    ("gpt-oss-120b", 10.2 + 2.80166400 + 0.037748736),
    # 2 x 17e9 x 1000 + 4 x 15 x 32 x 256 x 9.5e6
    ("Qwen3.5-397B-A17B", 34 + 4.669440000),
    # 2 x 40e9 x 1000 + 4 x 78 x 64 x 256 x 1000 x 2048, and 2 x 78 x 32 x 128 x 9.5e6 of the indexer
    ("GLM-5", 80 + 10.468982784 + 6.07027200)])
def test_prefill_of_a_thousand_tokens_after_nine_thousand(name: str, tera: float) -> None:
    assert BY_NAME[name].prefill(1000, 9000) == pytest.approx(tera * 1e12, rel=1e-9)


@given(st.sampled_from(MODELS), st.integers(0, 300), st.integers(0, 300))
def test_prefill_is_the_sum_over_tokens_and_layers(model: Geometry, new: int, cached: int) -> None:
    total = 2 * model.active * new
    for kind in model.attention:
        for token in range(new):
            before = cached + token + 0.5  # half of itself
            total += kind.layers * 4 * kind.work * min(before, kind.window or kind.top or before)
    assert model.prefill(new, cached) == pytest.approx(total, rel=1e-9)


def dense(vocabulary: int, hidden: int, inner: int, *kinds: tuple[int, int, int, int, int], tied: bool = False) -> float:
    """Parameters used for a token, in billions. kinds: layers, query heads, KV heads, width, projections of keys and values."""
    layers = sum(n * (2 * heads * width + made * few * width + 3 * inner) for n, heads, few, width, made in kinds)
    return ((1 if tied else 2) * vocabulary + layers) * hidden / 1e9


@pytest.mark.parametrize(("name", "billions"), [
    ("Llama-3.1-8B", dense(128256, 4096, 14336, (32, 32, 8, 128, 2))),
    ("Llama-3.1-70B", dense(128256, 8192, 28672, (80, 64, 8, 128, 2))),
    ("Qwen3-8B", dense(151936, 4096, 12288, (36, 32, 8, 128, 2))),
    ("Qwen3-30B-A3B", dense(151936, 2048, 8 * 768, (48, 32, 4, 128, 2))),
    ("Qwen3-235B-A22B", dense(151936, 4096, 8 * 1536, (94, 64, 4, 128, 2))),
    ("Gemma-4-31B", dense(262144, 5376, 21504, (50, 32, 16, 256, 2), (10, 32, 4, 512, 1), tied=True)),
    ("MiniMax-M2", dense(200064, 3072, 8 * 1536, (62, 48, 8, 128, 2)))])
def test_active_parameters_add_up(name: str, billions: float) -> None:
    assert BY_NAME[name].active / 1e9 == pytest.approx(billions, rel=0.1 if name == "MiniMax-M2" else 0.02)  # its README says 10 billion


@pytest.mark.parametrize(("name", "config"), [
    ("Llama-3.1-8B", LLAMA), ("DeepSeek-V3", LATENT), ("Kimi-K2", LATENT | {"num_attention_heads": 64}), ("gpt-oss-120b", GPT_OSS),
    ("Qwen3.5-397B-A17B", QWEN), ("Gemma-4-31B", GEMMA), ("GLM-5", GLM)])
def test_a_config_gives_the_geometry_of_the_table(name: str, config: dict[str, Json]) -> None:
    assert of_config("x", config, 1e9).attention == BY_NAME[name].attention


def test_what_a_config_may_say_besides() -> None:
    assert of_config("x", LLAMA | {"sliding_window": 4096, "use_sliding_window": False}, 8e9).kept == 128 * 1024
    assert of_config("x", LLAMA | {"sliding_window": 4096}, 8e9).kept == 0, "all of its layers have the window"
    assert of_config("x", LLAMA | {"full_attention_interval": 4}, 8e9).written == 8 * 4 * 1024
    shared = LLAMA | {"num_kv_shared_layers": 20}
    assert of_config("x", shared, 8e9).written == 12 * 4 * 1024, "layers that use another's cache write none"
    indexed = of_config("x", GLM | {"indexer_types": [*["full"] * 3, *["shared"] * 75]}, 40e9)
    assert indexed.written == (78 * 576 + 3 * 128) * 2


@pytest.mark.parametrize(("config", "said"), [
    ({"num_hidden_layers": 3}, "no num_attention_heads"), (LLAMA | {"layer_types": ["mamba"]}, "of the kind mamba"),
    (LATENT | {"compress_ratios": [4, 128]}, "has compress_ratios")])
def test_a_config_that_is_not_understood_says_why(config: dict[str, Json], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        of_config("x", config, 1)
