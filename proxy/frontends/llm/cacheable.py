"""How short a prompt may be for a provider to cache it: one that a view makes shorter than that is paid in full each time.

https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching,
https://platform.openai.com/docs/guides/prompt-caching.
"""
from __future__ import annotations

from byref.proxy.frontends.llm.conversation import Conversation
from byref.proxy.text import estimate

# Tokens, by what stands in a model's name; the first that fits.
_MINIMUM = (("opus-4-5", 4096), ("opus-4-6", 4096), ("haiku-4-5", 4096), ("claude-3-5-haiku", 2048), ("claude-3-haiku", 2048))
OTHERS = 1024


def minimum(model: str) -> int:
    """Tokens from which a model's prompts are cached, as far as that is known."""
    return next((least for name, least in _MINIMUM if name in model), OTHERS)


def fallen(found: Conversation, before: str, after: str) -> int:
    """The minimum that a request was over and is under with views in it; 0 where that is not so. By the estimate of `proxy.text`."""
    least = minimum(found.model)
    if len(after) >= 4 * least or len(before) == len(after):
        return 0
    return least if estimate(after) < least <= estimate(before) else 0
