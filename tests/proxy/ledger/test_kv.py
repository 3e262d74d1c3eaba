"""KV caches by geometry, against the published figures of models and against sums over layers and tokens."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.proxy.errors import Invalid
from byref.proxy.ledger.kv import MODELS, Geometry, of_config

BY_NAME = {model.name: model for model in MODELS}


@pytest.mark.parametrize(("name", "kib"), [
    ("Llama-3.1-8B", 128), ("Llama-3.1-70B", 320), ("Qwen3-8B", 144), ("Qwen3-30B-A3B", 96), ("Qwen3-235B-A22B", 188),
    ("DeepSeek-V3", 68.625), ("Kimi-K2", 68.625), ("gpt-oss-120b", 72), ("GLM-4.6", 368)])
def test_a_token_writes_what_the_geometry_says(name: str, kib: float) -> None:
    assert BY_NAME[name].written == kib * 1024


def test_layers_with_a_window_keep_no_more_than_it() -> None:
    model = BY_NAME["gpt-oss-120b"]
    assert model.kept == 36 * 1024 and model.held(100) == 100 * 72 * 1024
    assert model.held(100_000) - model.held(50_000) == 50_000 * 36 * 1024
    assert model.carried(1000, 20, 300) == 36 * 1024 * 1000 * 20 * 300


@given(st.sampled_from(MODELS), st.integers(0, 300), st.integers(0, 300))
def test_prefill_is_the_sum_over_tokens_and_layers(model: Geometry, new: int, cached: int) -> None:
    total = 2 * model.active * new
    for layer in range(model.layers):
        for token in range(new):
            before = cached + token + 0.5  # half of itself
            total += 4 * model.heads * model.width * (min(before, model.window) if layer < model.windowed else before)
    assert model.prefill(new, cached) == pytest.approx(total, rel=1e-9)


def test_a_config_gives_the_geometry_of_the_table() -> None:
    llama = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
    assert of_config("x", llama, 8e9).written == BY_NAME["Llama-3.1-8B"].written
    latent = {"num_hidden_layers": 61, "num_attention_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
              "v_head_dim": 128}
    assert of_config("x", latent, 37e9).prefill(1000) == BY_NAME["DeepSeek-V3"].prefill(1000)
    slides = {"num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
              "layer_types": ["sliding_attention", "full_attention"] * 18}
    assert of_config("x", slides, 5.1e9).held(9999) == BY_NAME["gpt-oss-120b"].held(9999)
    assert of_config("x", llama | {"sliding_window": 4096, "use_sliding_window": False}, 8e9).windowed == 0


def test_a_config_that_lacks_something_says_what() -> None:
    with pytest.raises(Invalid, match="no num_attention_heads"):
        of_config("x", {"num_hidden_layers": 3}, 1)
