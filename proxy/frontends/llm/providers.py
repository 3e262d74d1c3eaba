"""Which LLM APIs stand behind `byref serve --llm`: NAME=URL, or the name alone of one that we know."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from byref.proxy.errors import ConfigError
from byref.proxy.frontends.reverse.upstreams import Upstream, upstream
from byref.proxy.gates import Limits

PREFIX = "llm/"
BASES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
SILENCE = 600.0  # seconds in which a model may say nothing before an answer begins: what the providers' own clients wait
LIMITS = Limits(rate=1e9, concurrency=1 << 20, timeout=SILENCE, attempts=1)


@dataclass(frozen=True, slots=True)
class Offer:
    """What `byref serve` is asked to stand before. stateless, answers: as `Rewriter` takes them."""

    upstreams: Sequence[Upstream]
    stateless: bool = False
    answers: bool = False


def chosen(pairs: Sequence[str]) -> list[Upstream]:
    """The APIs of a command line. Raises `ConfigError`.

    An API's URL is what stands before `/v1`; where that is said, too, it is taken off.
    """
    found: dict[str, Upstream] = {}
    for pair in pairs:
        name, sign, url = pair.partition("=")
        if not sign and name not in BASES:
            raise ConfigError(f"--llm {name[:80]!r}: say NAME=URL; without a URL there are {', '.join(BASES)}")
        if name in found:
            raise ConfigError(f"--llm: two are named {name}")
        one = upstream(name, url if sign else BASES[name])
        # Whoever names a server of models means it: many stand in the network at hand.
        found[name] = replace(one, name=PREFIX + name, url=one.url.removesuffix("/v1"), limits=LIMITS, private=bool(sign))
    return list(found.values())
