"""What every part may share beside contracts: hashes and names, canonical JSON, terms, RE2, the size estimate, `project`.

On the cold path of `byref run`: `re`, `re2` and `rfc8785` are imported by the functions that need them.
"""
from __future__ import annotations

from _blake2 import blake2b
from _json import encode_basestring

from byref.proxy.contracts import Buffer, Call, Json, Manifest
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    class Pattern(Protocol):
        """A compiled RE2 pattern over bytes: linear time whatever the pattern."""

        pattern: bytes

        def finditer(self, text: bytes) -> Iterator[re.Match[bytes]]: ...
        def search(self, text: bytes, pos: int = 0) -> re.Match[bytes] | None: ...

REF_LENGTH = 11
SMALL = 400  # bytes; outputs up to here are half of all calls and 4 % of the characters: they pass as they are
_SAID, _LONGEST = 1 << 18, 1 << 16  # characters of texts of which the terms are held, and of one: a call may write a whole file
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"  # RFC 4648, lower case
_SHIFTS = (45, 40, 35, 30, 25, 20, 15, 10, 5, 0)
# Left out of canonical arguments: they do not change what a call returns, or only when it is cut short.
_NOT_CANONICAL = frozenset({"description", "timeout", "timeout_ms", "cwd", "workdir", "working_dir", "working_directory"})


def digest(data: Buffer) -> str:
    """The name of these bytes: `b2:` and BLAKE2b-256 in hex."""
    return "b2:" + blake2b(data, digest_size=32).hexdigest()


def short_hash(text: str) -> bytes:
    """8 bytes that stand for a line or term in the store: enough that a context's lines never meet by chance."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def canonical(value: Json) -> str:
    """RFC 8785 JSON. Integers beyond 2**53, which it cannot hold, keep all their digits."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        try:
            names = sorted(value, key=None if "".join(value).isascii() else _utf16)
        except TypeError:
            raise Invalid("arguments must be JSON values: a name in them is no text") from None
        held = [encode_basestring(one) if type(one := value[name]) is str else canonical(one) for name in names]
        return "{" + ",".join([f"{name}:{one}" for name, one in zip(map(encode_basestring, names), held, strict=True)]) + "}"
    if value is None or value is True or value is False:
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        import rfc8785
        try:
            return rfc8785.dumps(value).decode()
        except rfc8785.CanonicalizationError:  # NaN and infinities are not JSON
            return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical, value)) + "]"
    raise Invalid(f"arguments must be JSON values, not {type(value).__name__}")


def _utf16(name: str) -> bytes:
    """What names are sorted by; names in ASCII are in that order as they are."""
    return name.encode("utf-16-be", "surrogatepass")


def canonical_arguments(arguments: Json) -> str:
    """Canonical JSON of a call's arguments, without what does not change its output."""
    if isinstance(arguments, dict) and not _NOT_CANONICAL.isdisjoint(arguments):
        arguments = {k: v for k, v in arguments.items() if k not in _NOT_CANONICAL}
    return canonical(arguments)


def canonical_of(call: Call) -> str:
    """The same of a call, as a manifest has it; what all its arguments are is held for `around`."""
    arguments = call.arguments
    if isinstance(arguments, dict) and not _NOT_CANONICAL.isdisjoint(arguments):
        return canonical_arguments(arguments)
    text = canonical(arguments)
    _hold(call, "" if arguments is None else text)
    return text


def manifest_json(manifest: Manifest) -> str:
    """The canonical form whose hash names an output."""
    quoted = encode_basestring
    parts = ",".join([f'{{"blob":{quoted(p.blob.digest)},"media":{quoted(p.media)},"name":{quoted(p.name)},"size":{p.blob.size}}}'
                      for p in manifest.parts])
    return (f'{{"arguments":{quoted(manifest.arguments)},"error":{canonical(manifest.is_error)},"exit":{canonical(manifest.exit_code)},'
            f'"parts":[{parts}],"tool":{quoted(manifest.tool)},"v":1}}')


def ref_of(manifest: Manifest) -> str:
    """`r` and 50 bits of the manifest's hash in lower-case base32 (RFC 4648)."""
    number = int.from_bytes(blake2b(manifest_json(manifest).encode("utf-8", "surrogatepass"), digest_size=32).digest()[:7], "big") >> 6
    return "r" + "".join([_BASE32[number >> shift & 31] for shift in _SHIFTS])


def check_ref(ref: str) -> str:
    """The ref itself, or `Invalid`: 1 to 64 ASCII letters and digits, nothing else."""
    if not (isinstance(ref, str) and 0 < len(ref) <= 64 and ref.isascii() and ref.isalnum()):
        raise Invalid("a ref is 1 to 64 letters and digits, such as rk7f3qmab2x, as it stands in a view's first line")
    return ref


def main_part(names: Sequence[str]) -> str:
    """The part that an address without a part's name means: stdout, else text, else the first; empty where there is none."""
    return next((name for name in ("stdout", "text") if name in names), names[0] if names else "")


def estimate(text: str) -> int:
    """Tokens of a text, roughly, in integers and on every machine alike: what budgets count in.

    Fitted on o200k over tool outputs: 10 ASCII characters are about 3 tokens, another character is about one.
    """
    if text.isascii():
        return (3 * len(text) + 9) // 10
    other = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return (3 * len(text) + 4 * other + 9) // 10


# Everything but letters, digits and the signs that hold identifiers and paths together ends a term; line ends stay.
_BREAKS = bytes(code if code > 127 or chr(code).isalnum() or chr(code) in "_./-\n" else 32 for code in range(256))
_SIGNS = "\u00a0«»\u2018\u2019\u201c\u201d\u2022\u2026\u2192\u3001\u3002\uff0c\uff1a"  # so do these


def mapped(text: str, table: bytes) -> str:
    """The text with its ASCII characters mapped by a table of 256 bytes: `str.translate` looks up every character of other texts."""
    if text.isascii():
        return text.encode().translate(table).decode()
    return text.encode("utf-8", "surrogatepass").translate(table).decode("utf-8", "surrogatepass")


def terms_by_line(text: str) -> list[list[str]]:
    """The terms of each line: words, identifiers, numbers and paths as they stand, with `.`, `-` and `/` inside."""
    return [line.split() for line in _apart(text).split("\n")]


def terms_of(text: str) -> set[str]:
    """The terms of all lines, each once."""
    return set(_apart(text).split())


_said: dict[str, frozenset[str]] = {}  # terms of what was asked about last
_size = 0  # characters of these


def terms_said(text: str) -> frozenset[str]:
    """The same of what stands around a call, such as a task: it is asked about more than once."""
    global _size
    found = _said.get(text)
    if found is None:
        found = frozenset(_apart(text).split())
        if len(text) <= _LONGEST:
            _size += len(text) + 1
            if _size > _SAID:
                _said.clear()
                _size = len(text) + 1
            _said[text] = found
    return found


_around: tuple[Call | None, tuple[str, ...]] = None, ()  # the call that was asked about last: each is, several times


def around(call: Call) -> tuple[str, ...]:
    """What the agent wrote around a call, as far as it wrote any: its arguments, its words before it, and its intent."""
    held, texts = _around
    return texts if held is call else _hold(call, "" if call.arguments is None else canonical(call.arguments))


def _hold(call: Call, arguments: str) -> tuple[str, ...]:
    global _around
    texts = tuple([text for text in (arguments, call.said, call.intent) if text])
    _around = call, texts
    return texts


def _apart(text: str) -> str:
    """The text with a blank for whatever ends a term; line ends stay."""
    text = mapped(text, _BREAKS)
    if not text.isascii():
        for sign in _SIGNS:
            text = text.replace(sign, " ")
    return text


def subwords(term: str) -> tuple[str, ...]:
    """The words inside an identifier or path in lower case: getHTTPResponse_v2 gives get, http, response, v, 2."""
    import re
    return tuple(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", term))


def to_text(data: bytes) -> str:
    """UTF-8, with a surrogate for each byte that is not, so that the same bytes can be had back."""
    return data.decode("utf-8", "surrogateescape")


def project(text: str) -> str:
    """The one way by which layers, signatures, ledger and logs read text. The identity for now; later it redacts."""
    return text


def pattern(source: str) -> Pattern:
    """An RE2 pattern over UTF-8 bytes. For every pattern that is not one of our own constants. Raises `Invalid`."""
    import re2
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    try:
        compiled: Pattern = re2.compile(source.encode("utf-8", "surrogatepass"), options)
    except re2.error as fault:
        detail = fault.args[0] if fault.args else fault
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise Invalid(f"the pattern /{source[:80]}/ is not RE2: {text}") from None
    return compiled
