"""Synonym rules of a user: other forms of a query, each of which is searched beside it and weighs less (`weighted.QUERIES`).

`synonyms.toml` in byref's home:

    groups = [["login", "sign in", "authentication"], ["error", "failure"]]   # each stands for every other
    [words]
    db = ["database", "postgres"]                                            # asked for db, also look for these, not the other way

A form differs from the query in one place: words or phrases are whole ones, in any case, and the longest that begins at a place is
replaced. First alternatives come first. A pattern has no forms.
"""
from __future__ import annotations

import re

from byref.proxy.contracts import dataclass
from byref.proxy.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from byref.proxy.contracts import Json
    from byref.proxy.query import Query

FORMS = 4  # of a query: each is a whole search
RULES = 2000  # phrases of a file
LONGEST = 100  # characters of a phrase
# Han, kana, Hangul, Thai and its neighbours put no blanks between words: there a phrase stands wherever its signs do.
_SPACED = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Alternatives by phrase in lower case. `found` is None where there is no rule."""

    alternatives: Mapping[str, tuple[str, ...]]
    found: re.Pattern[str] | None

    def forms(self, query: Query) -> list[str]:
        """At most FORMS other texts for a query, none of them twice nor as it was asked."""
        if self.found is None or query.compiled is not None:
            return []
        places = [(match.start(), match.end(), self.alternatives[_plain(match[0])]) for match in self.found.finditer(query.text)]
        told = {_plain(query.text)}
        made: list[str] = []
        for turn in range(max((len(others) for *_, others in places), default=0)):
            for start, end, others in places:
                text = query.text[:start] + others[turn] + query.text[end:] if turn < len(others) else ""
                if text and _plain(text) not in told and len(made) < FORMS:
                    told.add(_plain(text))
                    made.append(text)
        return made


NONE = Synonyms({}, None)


def synonyms(table: Mapping[str, Json], place: str) -> Synonyms:
    """The rules of a file that was read. place: of the file. Raises `ConfigError` for what is no rule."""
    known: dict[str, dict[str, None]] = {}
    for key in table:
        if key not in ("groups", "words"):
            raise ConfigError(f"{place}: no setting {key[:40]!r}; there are groups, a list of lists, and the table [words]")
    groups, words = table.get("groups", ()), table.get("words", {})
    if not isinstance(groups, (list, tuple)) or not isinstance(words, dict):
        raise ConfigError(f"{place}: groups is a list of lists of texts, [words] a table of such lists")
    for group in groups:
        phrases = _phrases(group, place, "a group", 2)
        for phrase in phrases:
            known.setdefault(_plain(phrase), {}).update({other: None for other in phrases if _plain(other) != _plain(phrase)})
    for word, others in words.items():
        phrase, = _phrases([word], place, "a word", 1)
        known.setdefault(_plain(phrase), {}).update(dict.fromkeys(_phrases(others, place, f"the list of {phrase!r}", 1)))
    if len(known) > RULES:
        raise ConfigError(f"{place}: {len(known)} phrases are more than {RULES}; take some away")
    if not known:
        return NONE
    longest_first = sorted(known, key=lambda phrase: (-len(phrase), phrase))
    return Synonyms({phrase: tuple(others) for phrase, others in known.items()},
                    re.compile("|".join(map(_pattern, longest_first)), re.IGNORECASE))


def _phrases(given: Json, place: str, what: str, least: int) -> list[str]:
    if not isinstance(given, (list, tuple)) or len(given) < least:
        raise ConfigError(f"{place}: {what} is a list of {'two texts or more' if least > 1 else 'texts'}, not {str(given)[:40]!r}")
    found = []
    for one in given:
        text = " ".join(one.split()) if isinstance(one, str) else ""
        if not text or len(text) > LONGEST:
            raise ConfigError(f"{place}: in {what} {str(one)[:40]!r} is no text of 1 to {LONGEST} characters")
        found.append(text)
    return found


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _pattern(phrase: str) -> str:
    """Whole words only, where its script sets them apart."""
    inner = r"\s+".join(map(re.escape, phrase.split()))
    before = rf"(?<!{_SPACED})" if re.match(_SPACED, phrase) else ""
    after = rf"(?!{_SPACED})" if re.match(_SPACED, phrase[-1]) else ""
    return before + inner + after
