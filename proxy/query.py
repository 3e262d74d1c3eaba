"""What a search asks for: a text that stands somewhere, an RE2 pattern between slashes, and the words in it.

A word of a query is a token as it was written (`retryOnConflict`, `tests/test_a.py`, `连接池`) and the pieces inside: the words
of an identifier, the pairs of neighbouring characters where a script puts no blanks between words.
"""
from __future__ import annotations

import re

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid
from byref.proxy.text import pattern, subwords, terms_by_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byref.proxy.text import Pattern

TERMS = 400  # of a query; more come from pasted text, whose rest adds nothing
LONGEST = 100  # characters of a term
_LOOSE = 4  # characters from which on a word stands for longer ones that begin with it
# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: words are not set apart by blanks, or not as they are asked for.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for. form: in lower case, as UTF-8. tokens: the tokens of the query that it stands for, as bits.

    factor: what it weighs beside other terms. edged: it must begin where a word begins; loose: a longer word will do.
    """

    form: bytes
    tokens: int
    factor: int
    edged: bool
    loose: bool


@dataclass(frozen=True, slots=True)
class Query:
    """text: as it was given, without blanks around it. compiled: of a query that is a pattern. fault: why it is none."""

    text: str
    exact: bytes
    compiled: Pattern | None
    fault: str
    tokens: tuple[str, ...]
    terms: tuple[Term, ...]

    def without_terms(self) -> Query:
        """The same, to be looked for as a whole alone."""
        return Query(self.text, self.exact, self.compiled, self.fault, self.tokens, ())


def met(query: Query, bits: int) -> tuple[str, ...]:
    """The tokens of the query of which a term is among these."""
    held = 0
    for bit, term in enumerate(query.terms):
        if bits >> bit & 1:
            held |= term.tokens
    return tuple(token for number, token in enumerate(query.tokens) if held >> number & 1)


def parse(text: str) -> Query:
    """The query of a text. Raises nothing: a pattern that RE2 does not take is searched as the text that it is."""
    asked = text.strip()
    exact = asked.encode("utf-8", "surrogateescape" if _escaped(asked) else "surrogatepass")
    body, slash, flags = asked[1:].rpartition("/") if asked[:1] == "/" else ("", "", "")
    fault = ""
    if slash and body and flags in ("", "i"):
        try:
            return Query(asked, exact, pattern(f"(?m{flags}){body.replace(chr(92) + '/', '/')}"), "", (), ())
        except Invalid as miss:
            fault = str(miss).removeprefix("invalid: ")
    tokens, terms = _terms(asked)
    return Query(asked, exact, None, fault, tokens, terms)


def _escaped(text: str) -> bool:
    """Whether its surrogates, if any, stand for raw bytes."""
    return all("\udc80" <= c <= "\udcff" for c in text if "\ud800" <= c <= "\udfff")


def _terms(text: str) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    tokens: dict[str, None] = {}
    for row in terms_by_line(text):
        for token in row:
            token = token.strip("._-/")[:LONGEST]
            if _WORD.search(token):
                tokens.setdefault(token)
    found: dict[bytes, tuple[int, int, bool, bool]] = {}
    for number, token in enumerate(tokens):
        if len(found) >= TERMS:
            break
        low = token.lower()
        inside = pieces(token)
        for piece in {low: None, **dict.fromkeys(inside)}:
            form = piece.encode("utf-8", "surrogatepass")
            whole = piece == low
            if len(form) == 1 and len(tokens) > 1 and not form.isdigit():
                continue
            edged = form[0] < 128
            stem, loose = form, edged and len(form) >= _LOOSE and form.isalpha()
            if loose and not (whole and len(inside) > 1) and form.endswith(b"s") and not form.endswith(b"ss"):
                stem = form[:-1]  # what is asked for in the plural stands there in the singular, too
            bits, factor, _, _ = found.get(stem, (0, 0, False, False))
            found[stem] = bits | 1 << number, max(factor, 2 if whole and len(inside) > 1 else 1), edged, loose
    kept = list(found.items())[:TERMS]
    return tuple(tokens), tuple(Term(form, *rest) for form, rest in kept)


def pieces(token: str) -> list[str]:
    """The words inside a token in lower case."""
    if token.isascii():
        return list(subwords(token))
    found: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(token):
        found += _spaced(token[at:run.start()])
        text = run[0]
        found += [text[i:i + 2] for i in range(len(text) - 1)] or [text]
        at = run.end()
    return found + _spaced(token[at:])


def _spaced(text: str) -> list[str]:
    if text.isascii():
        return list(subwords(text))
    return [word.lower() for word in re.findall(r"[^\W\d_]+|\d+", text)]
