"""Memory and work of a model's KV cache, from the geometry in its published config: what tokens that are not sent do not cost.

A layer keeps a key and a value for each KV head and token: 2 x heads x width numbers. Multi-head latent attention (DeepSeek) keeps one
latent vector and one rotary key instead. A sliding-window layer writes all and keeps its window. Numbers take two bytes (bf16).

    written   bytes a token        = sum over layers                    (all of them, window or not)
    kept      bytes a token        = sum over layers without a window    (of a context longer than the window)
    held      bytes of a context   = kept x C + windowed x min(C, W)
    read      a decode step reads all that is held; R tokens carried over T turns of g tokens read kept x R x g x T bytes more
    prefill   FLOPs of X new tokens after C cached = 2 N X + 4 L n d (X C + X^2 / 2), N active parameters, L layers of n query heads of
              width d; in a window layer each new token meets at most W earlier ones

The second term of the last is two products (queries with keys, weights with values) of 2 n d operations for each pair of tokens. For
latent attention d is the mean of the two widths, those of queries and of values.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byref.proxy.contracts import Json
from byref.proxy.errors import Invalid

BYTES = 2  # of a number in bf16


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a model's config says. kv: numbers that a layer keeps of a token; heads, width: of its queries; active: parameters used for a
    token; windowed: layers with a sliding window of so many tokens. source: the repository whose config.json says so.
    """

    name: str
    layers: int
    kv: int
    heads: int
    width: int
    active: float
    source: str
    windowed: int = 0
    window: int = 0

    @property
    def written(self) -> int:
        """Bytes that a token writes."""
        return self.layers * self.kv * BYTES

    @property
    def kept(self) -> int:
        """Bytes that a token keeps once the windows have passed over it."""
        return (self.layers - self.windowed) * self.kv * BYTES

    def held(self, context: int) -> int:
        """Bytes that a context of so many tokens holds, and that a decode step reads."""
        return self.kept * context + self.windowed * self.kv * BYTES * min(context, self.window)

    def carried(self, tokens: float, turns: float, written: float) -> float:
        """Bytes that so many tokens make the decode steps of later turns read, each of which writes `written` tokens."""
        return self.kept * tokens * turns * written

    def prefill(self, new: int, cached: int = 0) -> float:
        """FLOPs of a prompt's new tokens after so many that the cache holds."""
        pairs = new * (cached + new / 2)
        near = pairs
        if self.windowed:
            within = max(0, min(new, self.window - cached))  # new tokens that still meet all before them
            near = within * (cached + within / 2) + (new - within) * self.window
        each = 4 * self.heads * self.width
        return 2 * self.active * new + each * ((self.layers - self.windowed) * pairs + self.windowed * near)


def _grouped(name: str, layers: int, kv_heads: int, width: int, heads: int, active: float, source: str, windowed: int = 0,
             window: int = 0) -> Geometry:
    return Geometry(name, layers, 2 * kv_heads * width, heads, width, active, source, windowed, window)


# Layers, KV heads, width, query heads as in config.json of the repository on huggingface.co; active parameters as its model card says.
MODELS = (
    _grouped("Llama-3.1-8B", 32, 8, 128, 32, 8.0e9, "meta-llama/Llama-3.1-8B"),
    _grouped("Llama-3.1-70B", 80, 8, 128, 64, 70.6e9, "meta-llama/Llama-3.1-70B"),
    _grouped("Qwen3-8B", 36, 8, 128, 32, 8.2e9, "Qwen/Qwen3-8B"),
    _grouped("Qwen3-30B-A3B", 48, 4, 128, 32, 3.3e9, "Qwen/Qwen3-30B-A3B"),
    _grouped("Qwen3-235B-A22B", 94, 4, 128, 64, 22e9, "Qwen/Qwen3-235B-A22B"),
    Geometry("DeepSeek-V3", 61, 512 + 64, 128, (128 + 64 + 128) // 2, 37e9, "deepseek-ai/DeepSeek-V3"),
    Geometry("Kimi-K2", 61, 512 + 64, 64, (128 + 64 + 128) // 2, 32e9, "moonshotai/Kimi-K2-Instruct"),
    _grouped("gpt-oss-120b", 36, 8, 64, 64, 5.1e9, "openai/gpt-oss-120b", windowed=18, window=128),
    _grouped("gpt-oss-20b", 24, 8, 64, 64, 3.6e9, "openai/gpt-oss-20b", windowed=12, window=128),
    _grouped("GLM-4.6", 92, 8, 128, 96, 32e9, "zai-org/GLM-4.6"),
)


def of_config(name: str, config: Mapping[str, Json], active: float) -> Geometry:
    """The geometry in a config.json as transformers writes it. active: parameters used for a token, which no config says.

    Raises `Invalid` for a config that lacks what it takes.
    """
    layers, heads = _number(config, "num_hidden_layers"), _number(config, "num_attention_heads")
    if isinstance(config.get("kv_lora_rank"), int):
        rope = _number(config, "qk_rope_head_dim")
        width = (_number(config, "qk_nope_head_dim") + rope + _number(config, "v_head_dim")) // 2
        return Geometry(name, layers, _number(config, "kv_lora_rank") + rope, heads, width, active, "config.json")
    width = _number(config, "head_dim") if isinstance(config.get("head_dim"), int) else _number(config, "hidden_size") // heads
    kv_heads = _number(config, "num_key_value_heads") if isinstance(config.get("num_key_value_heads"), int) else heads
    kinds, window = config.get("layer_types"), config.get("sliding_window")
    windowed = 0
    if isinstance(window, int) and config.get("use_sliding_window") is not False:
        windowed = layers if not isinstance(kinds, list) else sum(kind == "sliding_attention" for kind in kinds)
    near = window if windowed and isinstance(window, int) else 0
    return _grouped(name, layers, kv_heads, width, heads, active, "config.json", windowed, near)


def _number(config: Mapping[str, Json], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Invalid(f"this config.json has no {name}: it is to be a number of 1 or more, not {str(value)[:40]}")
    return value
