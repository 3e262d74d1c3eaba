"""What a search asks for: a text that stands somewhere, an RE2 pattern between slashes, and the words in it.

A word of a query is a token as it was written (`retryOnConflict`, `tests/test_a.py`, `连接池`) and the pieces inside: the words
of an identifier, the pairs of neighbouring characters where a script puts no blanks between words.
"""
from __future__ import annotations

import re
from bisect import bisect_left

from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid
from byref.proxy.text import pattern, subwords, terms_by_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from byref.proxy.text import Pattern

TERMS = 400  # of a query; more come from pasted text, whose rest adds nothing
LONGEST = 100  # characters of a term
AS_IT_IS = 1000  # thousandths: what a word weighs that was given no weight
LIKE = 64 << 10  # characters of a stretch of text whose words are counted
READ = 8000  # and of its start that a model reads
OFTEN = 8  # times that a word in it counts at most
EXACT = 4096  # bytes up to which it is looked for to the letter
HEAVIEST = 100  # weight; beyond it the rest of the query would be rounded away
_LOOSE = 4  # characters from which on a word stands for longer ones that begin with it
# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: words are not set apart by blanks, or not as they are asked for.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_NONE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for. form: in lower case, as UTF-8. tokens: the tokens of the query that it stands for, as bits.

    factor: what it weighs beside other terms. edged: it must begin where a word begins; loose: a longer word will do.
    weight: what the caller gave it, in thousandths.
    """

    form: bytes
    tokens: int
    factor: int
    edged: bool
    loose: bool
    weight: int = AS_IT_IS


@dataclass(frozen=True, slots=True)
class Query:
    """text: as it was given, without blanks around it and words of weight 0. compiled: of a query that is a pattern.

    fault: why it is none. weights: of words, in lower case and in order, in thousandths: 1000 as it is, 0 out. whole: the text with
    the words of weight 0 and without lone surrogates, for a model that reads them and leaves them out of its scores. apart: of a query
    for what is like a stretch of a stored output, that stretch, as (digest, start, end) in bytes: it is no answer.
    """

    text: str
    exact: bytes
    compiled: Pattern | None
    fault: str
    tokens: tuple[str, ...]
    terms: tuple[Term, ...]
    weights: tuple[tuple[str, int], ...] = ()
    whole: str = ""
    apart: tuple[tuple[str, int, int], ...] = ()

    def without_terms(self) -> Query:
        """The same, to be looked for as a whole alone."""
        return self.with_terms(())

    def with_terms(self, terms: tuple[Term, ...]) -> Query:
        """The same with other terms."""
        return Query(self.text, self.exact, self.compiled, self.fault, self.tokens, terms, self.weights, self.whole, self.apart)


def within_stretch(query: Query) -> Callable[[str, int, int], bool]:
    """Whether bytes of a blob, half-open, touch the stretch that a query asks for the like of."""
    by_blob: dict[str, list[tuple[int, int]]] = {}
    for blob, start, end in sorted(query.apart):
        spans = by_blob.setdefault(blob, [])
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))

    def touches(blob: str, start: int, end: int) -> bool:
        spans = by_blob.get(blob)
        if not spans:
            return False
        at = bisect_left(spans, (end, 0)) - 1
        return at >= 0 and spans[at][1] > start
    return touches


def met(query: Query, bits: int) -> tuple[str, ...]:
    """The tokens of the query of which a term is among these."""
    held = 0
    for bit, term in enumerate(query.terms):
        if bits >> bit & 1:
            held |= term.tokens
    return tuple(token for number, token in enumerate(query.tokens) if held >> number & 1)


def parse(text: str, weights: Mapping[str, float] | None = None) -> Query:
    """The query of a text. weights: what words of it weigh, 1 being as they are and 0 as if they were not asked for.

    A text raises nothing: a pattern that RE2 does not take is searched as the text that it is. Raises `Invalid` for weights that are
    none: below 0, above 100, of a word that the query does not hold, 0 for all there is.
    """
    asked = text.strip()
    exact = _bytes(asked)
    body, slash, flags = asked[1:].rpartition("/") if asked[:1] == "/" else ("", "", "")
    fault = ""
    if slash and body and flags in ("", "i"):
        try:
            compiled = pattern(f"(?m{flags}){body.replace(chr(92) + '/', '/')}")
        except Invalid as miss:
            fault = str(miss).removeprefix("invalid: ")
        else:
            if weights:
                raise Invalid("a pattern has no words that could be weighed: give weights to a query of words")
            return Query(asked, exact, compiled, "", (), (), (), _readable(asked))
    tokens = _tokens(asked)
    given = _weights(weights, tokens) if weights else {}
    left = asked
    if 0 in given.values():
        for start, word in reversed(list(_placed(asked))):
            if given.get(word.lower()) == 0:
                left = left[:start] + left[start + len(word):]
        left = " ".join(left.split()) if left != asked else left
        tokens = [token for token in tokens if given.get(token.lower()) != 0]
        exact = _bytes(left)
    terms = _terms(tokens, given)
    if given and not tokens:
        raise Invalid("all words of the query weigh 0, so that nothing is left to look for: leave one of them a weight")
    return Query(left, exact, None, fault, tuple(tokens), terms, tuple(sorted(given.items())), _readable(asked))


def like(text: str, apart: Sequence[tuple[str, int, int]], weights: Mapping[str, float] | None = None) -> Query:
    """The query for what is like a stretch of text: its words, in the order in which they are likely to tell, each as heavy as it is often.

    apart: as in `Query`. weights: as in `parse`, and raises as that does.
    """
    asked = text[:LIKE].strip()
    counts: dict[str, int] = {}
    for _, word in _placed(asked):
        counts[word] = counts.get(word, 0) + 1
    tokens = _tokens(asked)
    given = _weights(weights, tokens) if weights else {}
    tokens = [token for token in tokens if given.get(token.lower()) != 0]
    tokens.sort(key=lambda token: -min(len(token), 16) * min(counts[token], 4) * (1 if any(map(str.isdigit, token)) else 2))
    del tokens[TERMS:]
    terms = []
    for term in _terms(tokens, given):
        often = sum(counts[token] for number, token in enumerate(tokens) if term.tokens >> number & 1)
        terms.append(Term(term.form, term.tokens, term.factor, term.edged, term.loose, term.weight * min(often, OFTEN)))
    exact = _bytes(asked)
    return Query(asked[:READ], exact if len(exact) <= EXACT else b"", None, "", tuple(tokens), tuple(terms), tuple(sorted(given.items())),
                 _readable(asked[:READ]), tuple(apart))


def weighed(text: str, weights: Sequence[tuple[str, int]]) -> Iterator[tuple[int, int, int]]:
    """Where words with a weight stand in a text: half-open character spans in order, and thousandths.

    A word inside a word that has a weight of its own goes by that.
    """
    by_word = dict(weights)
    for start, word in _placed(text):
        low, done, inside = word.lower(), 0, 0
        whole = by_word.get(low)
        for piece in pieces(word) if len(low) == len(word) else ():
            place = low.find(piece, inside)
            if piece != low and place >= done and piece in by_word:
                if whole is not None and place > done:
                    yield start + done, start + place, whole
                done = place + len(piece)
                yield start + place, start + done, by_word[piece]
            inside = max(inside, place)
        if whole is not None and done < len(word):
            yield start + done, start + len(word), whole


def _placed(text: str) -> Iterator[tuple[int, str]]:
    """Each word of a text, as often as it stands there, with the character it begins at."""
    at = 0
    for token in (token for row in terms_by_line(text) for token in row):
        at = text.index(token, at)
        word = token.strip("._-/")[:LONGEST]
        yield at + token.index(word), word
        at += len(token)


def _weights(weights: Mapping[str, float], tokens: Sequence[str]) -> dict[str, int]:
    """Thousandths by word in lower case."""
    known = {word for token in tokens for word in (token.lower(), *pieces(token))}
    given: dict[str, int] = {}
    for word, weight in weights.items():
        name = str(word)[:40]
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= HEAVIEST:
            raise Invalid(f"the weight of {name!r} is a number from 0 to {HEAVIEST}, not {str(weight)[:20]}")
        low = word.strip().strip("._-/").lower()[:LONGEST]
        if low not in known:
            raise Invalid(f"the query holds no word {name!r} that could be given a weight; it holds "
                          f"{' '.join(dict.fromkeys(token[:40] for token in tokens[:12])) or 'none'}")
        thousandths = round(weight * AS_IT_IS)
        if weight and not thousandths:
            raise Invalid(f"the weight of {name!r} is 0 or at least 0.001, not {str(weight)[:20]}")
        if given.setdefault(low, thousandths) != thousandths:
            raise Invalid(f"{name!r} is given two weights: case does not tell words apart")
    return given


def _readable(text: str) -> str:
    """The text, character for character, with U+FFFD for what is none (lone surrogates): tokenizers take no other."""
    return text if text.isascii() else _NONE.sub("\ufffd", text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape" if _escaped(text) else "surrogatepass")


def _escaped(text: str) -> bool:
    """Whether its surrogates, if any, stand for raw bytes."""
    return all("\udc80" <= c <= "\udcff" for c in text if "\ud800" <= c <= "\udfff")


def _tokens(text: str) -> list[str]:
    """The words of a text as they were written, each once."""
    return list(dict.fromkeys(word for _, word in _placed(text) if _WORD.search(word)))


def _terms(tokens: Sequence[str], weights: Mapping[str, int]) -> tuple[Term, ...]:
    """What to look for. A term that stands for several words has the largest of their weights."""
    found: dict[bytes, tuple[int, int, bool, bool, int]] = {}
    for number, token in enumerate(tokens):
        if len(found) >= TERMS:
            break
        low = token.lower()
        wholes = _written(low)
        inside = pieces(token if token.isascii() else wholes[-1])
        for piece in dict.fromkeys((*wholes, *inside)):
            weight = weights.get(piece, weights.get(low, AS_IT_IS))
            form = piece.encode("utf-8", "surrogatepass")
            whole = piece in wholes
            if not weight or (len(form) == 1 and len(tokens) > 1 and not form.isdigit()):
                continue
            edged = form[0] < 128
            stem, loose = form, edged and len(form) >= _LOOSE and form.isalpha()
            if loose and not (whole and len(inside) > 1) and form.endswith(b"s") and not form.endswith((b"ss", b"us", b"is")):
                stem = form[:-1]  # what is asked for in the plural stands there in the singular, too
            bits, factor, _, _, most = found.get(stem, (0, 0, False, False, 0))
            found[stem] = bits | 1 << number, max(factor, 2 if whole and len(inside) > 1 else 1), edged, loose, max(most, weight)
    kept = list(found.items())[:TERMS]
    return tuple(Term(form, *rest) for form, rest in kept)


def _written(word: str) -> tuple[str, ...]:
    """The ways in which the same word is written, the composed one last: é is one character or two (Unicode NFC and NFD, as in names
    of files on macOS), and looks the same."""
    if word.isascii():
        return (word,)
    from unicodedata import normalize
    composed = normalize("NFC", word)
    return *dict.fromkeys(form for form in (word, normalize("NFD", word)) if form != composed), composed


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
