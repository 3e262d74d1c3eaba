"""What a term is worth that the context has not seen: how likely it is to be used later, in integers.

Log odds of later use were fitted on recorded sessions (`byref.filters.weights`); what adds up is 8 * e**(odds).
"""
from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import compress
from operator import ne, not_
from typing import TypeAlias

from byref.filters import weights
from byref.proxy.contracts import Call, Seen
from byref.proxy.text import around, mapped, terms_said

Words: TypeAlias = tuple[frozenset[str], frozenset[str]]  # terms, and the sub-words in them

# 8 * e**(x/4), rounded, for x from -16 to 12: a term's log odds of later use, in quarters, as a worth that adds up
_EXP = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36, 46, 59, 76, 97, 125, 161)
NEVER = -99  # odds of what is not worth naming
_MIXED = "mixed"  # a hash, or a word with digits in it
_FORM = {**weights.FORM, "": NEVER}
_BELOW = 128  # so that no sum of odds is a negative index
_WORTH = (0,) * (_BELOW - 16) + _EXP + (_EXP[-1],) * 16
# by form: more than this is a term worth only where the call or the task points at it
UNPOINTED = {form: _WORTH[_BELOW + odds] for form, odds in _FORM.items()}
_SIGNS = bytes.maketrans(b"bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"a" * 25 + b"A" * 25 + b"0" * 9)
_HEX = frozenset("0123456789abcdef-")
FIRST = _EXP[-1]  # the most that a term is worth
SHORT = 4  # characters of a term that is worth naming, at least


def odds_of(terms: list[str]) -> list[int]:
    """Log odds in quarters that a new term is used later, by its form alone; NEVER for what is not worth naming."""
    return [_FORM[form] for form in forms_of(terms)]


def forms_of(terms: list[str]) -> list[str]:
    """The form of each term, a key of `weights.FORM`; nothing for what is not worth naming."""
    signs = mapped("\n".join(terms), _SIGNS).split("\n") if terms else []
    found = {sign: "path" if "/" in sign and len(sign) >= SHORT and sign.strip("0/.-") else _form(sign) for sign in set(signs)}
    forms = [found[sign] for sign in signs]  # 2026/05/04 is no path
    if _MIXED in forms:
        forms = [form if form != _MIXED else "number" if _HEX.issuperset(term) else "name" for term, form in zip(terms, forms, strict=True)]
    return forms


@lru_cache(maxsize=1 << 14)
def _form(sign: str) -> str:
    """The form of a term, no path, whose letters and digits are written `a`, `A` and `0`; _MIXED if its letters have to be looked at."""
    size = len(sign)
    if size < SHORT:
        return ""
    if sign.isdigit():
        return "number"
    if sign.isalpha():
        if sign.islower():
            return "word" if size > 5 else "short"
        return "upper" if sign.isupper() else "camel" if sign[1:] != sign[1:].lower() else "capital"
    letters = sum(map(str.isalpha, sign))
    if letters * 2 < size:
        return "number" if letters else ""  # times, sizes
    if size > 6 and not sign.strip("a0-") and "0" in sign:  # a hash, or a UUID, whichever digits it has
        return _MIXED
    if "." in sign:
        return "dotted"
    if sign.isupper():
        return "upper"
    return "name" if "_" in sign or "-" in sign or sign[1:] == sign[1:].lower() else "camel"


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+|\n")  # of `subwords`, and the end of a term
_SEPARATORS = bytes.maketrans(b"_./-0123456789", b" " * 14)


def insides(terms: list[str]) -> list[str]:
    """The words inside each term, between blanks, in lower case, without its numbers: all in one go, since what is new is seen once."""
    if not terms:
        return []
    joined = "\n".join(terms).lower()
    lower, cut = joined.split("\n"), mapped(joined, _SEPARATORS).split("\n")
    camel = [i for i in compress(range(len(terms)), map(ne, terms, lower)) if terms[i][1:] != lower[i][1:] and not terms[i].isupper()]
    if camel:
        words = " ".join(_WORD.findall("\n".join([terms[i] for i in camel]))).lower()
        for i, inside in zip(camel, mapped(words, _SEPARATORS).split("\n"), strict=True):
            cut[i] = inside
    return cut


@lru_cache(maxsize=64)
def words_of(text: str) -> Words:
    """The terms of a text, and the sub-words of them that say something: three letters or more."""
    terms = terms_said(text)
    return terms, frozenset([word for word in set(" ".join(insides(list(terms))).split()) if len(word) > 2])


def sharers(lines: int) -> int:
    """By how many a term's worth is divided that stands in so many lines."""
    return 3 + (lines if lines < 30 else 30)


def weigh(lines: Counter[str], asked: Words, task: Words, seen: Seen, total: int) -> dict[str, int]:
    """The worth of every term that neither the call nor the context holds already, if it has any. lines: how often each term stands."""
    given, seen_terms = asked[0] | task[0], seen.terms
    new = {term: often for term, often in lines.items() if len(term) >= SHORT and term not in given and term not in seen_terms}
    terms = list(new)
    base = _BELOW - next((less for size, less in weights.LARGE if total > size), 0)
    rare = weights.RARE.get
    places = [odds + base - rare(often, 0) for often, odds in zip(new.values(), odds_of(terms), strict=True)]
    pointing = asked[1] | task[1]
    inside = insides(terms) if pointing else []
    strange = map(pointing.isdisjoint, map(str.split, inside))
    for i in compress(range(len(terms)), map(not_, strange)):
        words = inside[i].split()
        places[i] += (weights.TASK if task[1].issuperset(words) else weights.ASKED if asked[1].issuperset(words) else weights.PARTLY)
    return {term: value for term, value in zip(terms, map(_WORTH.__getitem__, places), strict=True) if value}


_asked: tuple[Call | None, Words] = None, (frozenset(), frozenset())  # the call that was asked about last: each is, several times


def asked_of(call: Call) -> Words:
    """The terms and sub-words of what the call itself says it looks for."""
    global _asked
    held, found = _asked
    if held is not call:
        parts = [words_of(text) for text in around(call)]
        found = frozenset().union(*[terms for terms, _ in parts]), frozenset().union(*[words for _, words in parts])
        _asked = call, found
    return found


def task_of(call: Call) -> Words:
    """The same of what the agent was set to do, and of an explicit intent."""
    return words_of(f"{call.task}\n{call.intent}")
