"""Memory and work of a model's KV cache, from its published geometry: what tokens that are not sent do not cost.

A layer keeps a key and a value for each KV head and token: 2 x heads x width numbers. Multi-head latent attention (DeepSeek) keeps one
latent vector and one rotary key instead; with sparse attention (GLM-5) also the key by which an indexer finds the tokens that a query
meets. A sliding-window layer writes all and keeps its window. A linear layer (Qwen3.5) keeps a state of fixed size, and nothing for a
token. Numbers take two bytes (bf16); a cache in fp8 is half of that.

    written   bytes a token        = sum over layers                    (all of them, window or not)
    kept      bytes a token        = sum over layers without a window    (of a context longer than the window)
    held      bytes of a context   = kept x C + windowed x min(C, W)
    read      a decode step reads all that is held; R tokens carried over T turns of g tokens read kept x R x g x T bytes more
    prefill   FLOPs of X new tokens after C cached = 2 N X + 4 L n d (X C + X^2 / 2), N active parameters, L layers of n query heads of
              width d; in a window layer each new token meets at most W earlier ones

The second term of the last is two products (queries with keys, weights with values) of 2 n d operations for each pair of tokens. For
latent attention d is the mean of the two widths, those of queries and of values. An indexer has the first product alone.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid

BYTES = 2  # of a number in bf16


@dataclass(frozen=True, slots=True)
class Attention:
    """Layers of one kind. kv: numbers that each keeps of a token. work: query heads times their width. window: tokens that it keeps,
    0 for all. top: tokens that a query meets at most, though all are kept, 0 for all.
    """

    layers: int
    kv: int
    work: float
    window: int = 0
    top: int = 0

    def pairs(self, new: int, cached: int) -> float:
        """Pairs of tokens that meet in one layer when so many are new, each with half of itself."""
        most = self.window or self.top or new + cached
        within = max(0, min(new, most - cached))  # new tokens that still meet all before them
        return within * (cached + within / 2) + (new - within) * most


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a model keeps of a token. active: parameters used for a token. source: the public repository and the path in it that say so."""

    name: str
    attention: tuple[Attention, ...]
    active: float
    source: str

    @property
    def written(self) -> int:
        """Bytes that a token writes."""
        return sum(one.layers * one.kv for one in self.attention) * BYTES

    @property
    def kept(self) -> int:
        """Bytes that a token keeps once the windows have passed over it."""
        return sum(one.layers * one.kv for one in self.attention if not one.window) * BYTES

    def held(self, context: int) -> int:
        """Bytes that a context of so many tokens holds, and that a decode step reads where it meets them all."""
        return sum(one.layers * one.kv * min(context, one.window or context) for one in self.attention) * BYTES

    def carried(self, tokens: float, turns: float, written: float) -> float:
        """Bytes that so many tokens make the decode steps of later turns read, each of which writes `written` tokens."""
        return self.kept * tokens * turns * written

    def prefill(self, new: int, cached: int = 0) -> float:
        """FLOPs of a prompt's new tokens after so many that the cache holds. What linear layers do to their state is left out."""
        return 2 * self.active * new + sum(4 * one.work * one.layers * one.pairs(new, cached) for one in self.attention)


def _grouped(layers: int, kv_heads: int, width: int, heads: int, window: int = 0) -> Attention:
    return Attention(layers, 2 * kv_heads * width, heads * width, window)


def _latent(layers: int, heads: int, latent: int = 512, rope: int = 64, nope: int = 128, value: int = 128, top: int = 0) -> Attention:
    return Attention(layers, latent + rope, heads * (nope + rope + value) / 2, top=top)


_VIME = "vllm-project/vime scripts/models/"  # arguments with which published weights are loaded
_AIC = "ai-dynamo/aiconfigurator src/aiconfigurator/model_configs/"  # copies of config.json
_LLAMA = "meta-llama/llama-models models/llama3_1/api/sku_list.py"

# Active parameters as the README of the model's own repository says (deepseek-ai/DeepSeek-V3, MoonshotAI/Kimi-K2, openai/gpt-oss,
# zai-org/GLM-4.5, zai-org/GLM-5; of MiniMax-M2 huggingface/transformers docs/source/en/model_doc/minimax_m2.md), of Qwen's mixtures the
# A in their name, of dense models the sum over the sizes that the source gives, as tests/proxy/ledger/test_kv.py adds them up.
MODELS = (
    Geometry("Llama-3.1-8B", (_grouped(32, 8, 128, 32),), 8.0e9, _LLAMA),
    Geometry("Llama-3.1-70B", (_grouped(80, 8, 128, 64),), 70.6e9, _LLAMA),
    Geometry("Qwen3-8B", (_grouped(36, 8, 128, 32),), 8.2e9, _VIME + "qwen3-8B.sh"),
    Geometry("Qwen3-30B-A3B", (_grouped(48, 4, 128, 32),), 3.3e9, _VIME + "qwen3-30B-A3B.sh"),
    Geometry("Qwen3-235B-A22B", (_grouped(94, 4, 128, 64),), 22e9, _VIME + "qwen3-235B-A22B.sh"),
    Geometry("Qwen3.5-397B-A17B", (_grouped(15, 2, 256, 32),), 17e9, _AIC + "Qwen--Qwen3.5-397B-A17B_config.json"),  # 45 more are linear
    Geometry("DeepSeek-V3", (_latent(61, 128),), 37e9, _VIME + "deepseek-v3.sh"),
    Geometry("Kimi-K2", (_latent(61, 64),), 32e9, _AIC + "moonshotai--Kimi-K2-Instruct_config.json"),
    Geometry("gpt-oss-120b", (_grouped(18, 8, 64, 64), _grouped(18, 8, 64, 64, 128)), 5.1e9, "openai/gpt-oss gpt_oss/torch/model.py"),
    Geometry("gpt-oss-20b", (_grouped(12, 8, 64, 64), _grouped(12, 8, 64, 64, 128)), 3.6e9, _VIME + "gpt-oss-20B.sh"),
    Geometry("GLM-4.7", (_grouped(92, 8, 128, 96),), 32e9, _AIC + "zai-org--GLM-4.7-FP8_config.json"),
    Geometry("GLM-5", (_latent(78, 64, nope=192, value=256, top=2048), Attention(78, 128, 32 * 128 / 2)), 40e9,
             "huggingface/transformers src/transformers/models/glm_moe_dsa/configuration_glm_moe_dsa.py"),
    Geometry("MiniMax-M2", (_grouped(62, 8, 128, 48),), 10e9, _VIME + "minimax-m2.sh"),
    Geometry("Gemma-4-31B", (_grouped(10, 4, 512, 32), _grouped(50, 16, 256, 32, 1024)), 30.7e9,
             "google-deepmind/gemma gemma/gm/nn/gemma4/_gemma4.py"),
)

# Kinds of layers as transformers names them, and keys of configs whose layers keep something else than one vector a token.
_KNOWN = {"full_attention": "full", "sliding_attention": "sliding", "linear_attention": "linear", "deepseek_sparse_attention": "full"}
_OTHER = ("compress_ratios", "linear_attn_config", "hybrid_override_pattern", "layers_block_type")


def of_config(name: str, config: Mapping[str, Json], active: float) -> Geometry:
    """The geometry in a config.json as transformers writes it. active: parameters used for a token, which no config says.

    Raises `Invalid` for a config that lacks what it takes, or whose layers these formulas do not describe.
    """
    inner = config.get("text_config")
    if isinstance(inner, dict):
        config = inner
    other = next((key for key in _OTHER if config.get(key)), None)
    if other:
        raise Invalid(f"this config.json has {other}: what such layers keep of a token is not known here")
    heads, kinds = _number(config, "num_attention_heads"), _kinds(config)
    if isinstance(config.get("kv_lora_rank"), int):
        return Geometry(name, _of_latent(config, len(kinds), heads), active, "config.json")
    width = _number(config, "head_dim") if isinstance(config.get("head_dim"), int) else _number(config, "hidden_size") // heads
    kv_heads = _number(config, "num_key_value_heads") if isinstance(config.get("num_key_value_heads"), int) else heads
    window = _number(config, "sliding_window") if "sliding" in kinds else 0
    wide, few = width, kv_heads
    if window and isinstance(config.get("global_head_dim"), int):  # Gemma 4: layers without a window have heads of their own
        wide = _number(config, "global_head_dim")
        few = _number(config, "num_global_key_value_heads") if isinstance(config.get("num_global_key_value_heads"), int) else kv_heads
    groups = [_grouped(kinds.count("full"), few, wide, heads), _grouped(kinds.count("sliding"), kv_heads, width, heads, window)]
    return Geometry(name, tuple(one for one in groups if one.layers), active, "config.json")


def _of_latent(config: Mapping[str, Json], layers: int, heads: int) -> tuple[Attention, ...]:
    sizes = {"latent": "kv_lora_rank", "rope": "qk_rope_head_dim", "nope": "qk_nope_head_dim", "value": "v_head_dim"}
    found = {part: _number(config, key) for part, key in sizes.items()}
    if not isinstance(config.get("index_topk"), int):
        return (_latent(layers, heads, **found),)
    width, kinds = _number(config, "index_head_dim"), config.get("indexer_types")
    indexed = kinds.count("full") if isinstance(kinds, list) else layers  # the others go by what the layer before them found
    return (_latent(layers, heads, **found, top=_number(config, "index_topk")),
            Attention(indexed, width, _number(config, "index_n_heads") * width / 2))


def _kinds(config: Mapping[str, Json]) -> Sequence[str]:
    """What each layer is that keeps something of a token: full, sliding or linear. Layers that share another's cache are left out."""
    layers = _number(config, "num_hidden_layers")
    kinds, window, every = config.get("layer_types"), config.get("sliding_window"), config.get("full_attention_interval")
    if isinstance(kinds, list):
        odd = next((kind for kind in kinds if kind not in _KNOWN), None)
        if odd is not None:
            raise Invalid(f"this config.json has layers of the kind {str(odd)[:40]}: what they keep of a token is not known here")
        found = [_KNOWN[str(kind)] for kind in kinds]
    elif isinstance(every, int) and every > 0:
        found = ["linear" if (number + 1) % every else "full" for number in range(layers)]
    else:
        found = ["sliding" if isinstance(window, int) and window and config.get("use_sliding_window") is not False else "full"] * layers
    if config.get("use_sliding_window") is False:
        found = ["full" if kind == "sliding" else kind for kind in found]
    shared = config.get("num_kv_shared_layers")
    return found[:len(found) - shared] if isinstance(shared, int) else found


def _number(config: Mapping[str, Json], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Invalid(f"this config.json has no {name}: it is to be a number of 1 or more, not {str(value)[:40]}")
    return value
