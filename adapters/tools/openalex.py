"""OpenAlex: works, authors, sources, institutions and topics of the world's research. https://docs.openalex.org

`OPENALEX_MAILTO` (the polite pool) and `OPENALEX_API_KEY` are sent where they are set, and never stored. The API allows ten calls a second
(https://docs.openalex.org/how-to-use-the-api/rate-limits-and-authentication). A work's abstract comes as an index of its words; it is put
together again as a part of its own, `abstracts`, for search: a heading names the path of the index, below it the text, a sentence a line.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from byref.proxy.contracts import Column, Json, Layout
from byref.proxy.errors import Invalid
from byref.proxy.operations import Adapter, Argument, Operation, Request

if TYPE_CHECKING:
    from byref.proxy.operations import Arguments

PAGE = 200  # records of a page at most
ABSTRACTS = "abstracts"
_KEYS = {"mailto": "OPENALEX_MAILTO", "api_key": "OPENALEX_API_KEY"}
_TOP = ("meta.count", "meta.per_page", "meta.page", "meta.next_cursor", "meta.groups_count")
_NAMED = (Column("id"), Column("display_name"))
_COUNTS = (Column("works_count"), Column("cited_by_count"))
_COLUMNS: Mapping[str, tuple[tuple[Column, ...], tuple[Column, ...], tuple[str, ...]]] = {
    "works": (
        (Column("id"), Column("display_name", "title"), Column("publication_year", "year")),
        (Column("primary_location.source.display_name", "venue"), Column("type"), Column("cited_by_count", "cited"),
         Column("open_access.oa_status", "oa"), Column("is_retracted", "retracted", flag=True),
         Column("authorships[].author.display_name", "authors", 3, also="is_authors_truncated"),
         Column("topics[].display_name", "topics", 2)),
        ("abstract_inverted_index",)),
    "authors": (
        _NAMED,
        (Column("orcid"), *_COUNTS, Column("summary_stats.h_index", "h"),
         Column("last_known_institutions[].display_name", "institutions", 3), Column("topics[].display_name", "topics", 3)), ()),
    "sources": (
        _NAMED,
        (Column("issn_l"), Column("type"), Column("host_organization_name", "host"), *_COUNTS, Column("is_oa", "oa", flag=True),
         Column("is_in_doaj", "doaj", flag=True), Column("topics[].display_name", "topics", 2)), ()),
    "institutions": (
        _NAMED, (Column("ror"), Column("country_code", "country"), Column("type"), *_COUNTS, Column("homepage_url", "homepage"),
                 Column("topics[].display_name", "topics", 2)), ()),
    "topics": (
        _NAMED, (Column("subfield.display_name", "subfield"), Column("field.display_name", "field"),
                 Column("domain.display_name", "domain"), *_COUNTS, Column("keywords[]", "keywords", 4)), ("description",)),
}
_OTHERS = (_NAMED, (Column("hint"), Column("entity_type", "type"), *_COUNTS), ("description",))
_BY_LETTER = {"w": "works", "a": "authors", "s": "sources", "i": "institutions", "t": "topics"}
_ARGUMENTS = (
    Argument("search", "words in title, abstract and text; AND, OR, NOT and \"phrases\"", plain=True),
    Argument("id", "one by its OpenAlex id, DOI, ORCID, ROR or ISSN, whole or as a link"),
    Argument("filter", "as the API writes it: publication_year:2024,is_oa:true"),
    Argument("sort", "as cited_by_count:desc or publication_date:desc"),
    Argument("select", "only these members, with commas between; else all"),
    Argument("group_by", "counts by a member instead of records: publication_year, type"),
    Argument("per_page", f"records of a page (25, {PAGE} at most)", "integer"),
    Argument("cursor", "* for the first of all pages; the next one's stands as meta.next_cursor"),
    Argument("page", "number of a page, up to 10,000 records", "integer"),
)


def _request(entity: str, arguments: Arguments) -> Request:
    given = {name: value for name, value in arguments.items() if value not in (None, "")}
    if "id" in given:
        if rest := given.keys() - {"id", "select"}:
            raise Invalid(f"id names one record, so {', '.join(sorted(rest))} cannot be asked beside it")
        query = (("select", str(given["select"])),) if "select" in given else ()
        return Request(f"/{entity}/{quote(_id(str(given['id'])), safe=':/.-_')}", query)
    if not given.keys() & {"search", "filter", "group_by", "cursor", "sort"}:
        raise Invalid(f"say which {entity}: a search, a filter, an id, or a group_by")
    if "page" in given and "cursor" in given:
        raise Invalid("give a page or a cursor, not both")
    for name in ("per_page", "page"):
        value = given.get(name, 1)
        if not isinstance(value, int) or not 1 <= value <= (PAGE if name == "per_page" else 10_000):
            raise Invalid(f"{name} is a number from 1 to {PAGE if name == 'per_page' else 10_000}, not {str(value)[:20]}")
    names = {"per_page": "per-page"}
    return Request(f"/{entity}", tuple((names.get(one.name, one.name), str(given[one.name])) for one in _ARGUMENTS if one.name in given))


def _id(text: str) -> str:
    """An id as the API takes it in a path: links of its own without their host; others as they are, DOIs with `doi:`."""
    bare = text.strip().removeprefix("https://openalex.org/").removeprefix("https://api.openalex.org/").strip("/")
    if bare.startswith("10."):
        return f"doi:{bare}"
    for host, kind in (("doi.org/", "doi"), ("orcid.org/", "orcid"), ("ror.org/", "ror")):
        if host in bare:
            return f"{kind}:{bare.partition(host)[2]}"
    return bare


def _after(request: Request, body: bytes) -> Request | None:
    """The page that follows, where this one was asked for by a cursor."""
    if not any(name == "cursor" for name, _ in request.query):
        return None
    found = _loaded(body)
    meta = found.get("meta") if isinstance(found, dict) else None
    cursor = meta.get("next_cursor") if isinstance(meta, dict) else None
    if not isinstance(cursor, str) or not (isinstance(found, dict) and found.get("results")):
        return None
    return Request(request.path, tuple((name, cursor if name == "cursor" else value) for name, value in request.query))


def _signed(environment: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return {}, {name: environment[variable] for name, variable in _KEYS.items() if environment.get(variable)}


def layout(path: str) -> Layout | None:
    """The layout of what lies at a path of the API: a list, or one record; lists of ids as `/W123` are records, too."""
    steps = [step for step in path.strip("/").split("/") if step]
    if not steps:
        return None
    entity = steps[0] if steps[0] in _COLUMNS else _BY_LETTER.get(steps[0][:1].lower(), "") if steps[0][1:].isdigit() else ""
    firm, columns, prose = _COLUMNS.get(entity, _OTHERS)
    one = (len(steps) > 1 and steps[0] != "autocomplete") or (steps[0] not in _COLUMNS and bool(entity))
    return Layout("" if one else "results", () if one else _TOP, firm, columns, prose)


def derived(body: bytes) -> Mapping[str, bytes]:
    """The abstracts of the works in an answer, every word in its place; those that are null or missing have none."""
    found = _loaded(body)
    records: list[tuple[str, Json]] = []
    if isinstance(found, dict) and isinstance(found.get("results"), list):
        records = [(f"results[{i}].", one) for i, one in enumerate(found["results"])]
    elif isinstance(found, dict):
        records = [("", found)]
    rows: list[str] = []
    for place, record in records:
        index = record.get("abstract_inverted_index") if isinstance(record, dict) else None
        text = _text(index)
        if text:
            rows += [f"{place}abstract_inverted_index", *_sentences(text), ""]
    return {ABSTRACTS: "\n".join(rows).encode("utf-8", "replace")} if rows else {}


def _text(index: Json) -> str:
    """A text from the index of its words. One that is none, or holds two words for a place, gives nothing."""
    if not isinstance(index, dict):
        return ""
    words: dict[int, str] = {}
    for word, places in index.items():
        if not isinstance(places, list):
            return ""
        for place in places:
            if not isinstance(place, int) or place in words:
                return ""
            words[place] = word
    return " ".join(words[place] for place in sorted(words))


def _sentences(text: str) -> list[str]:
    text = " ".join(text.split())
    out: list[str] = []
    for sign in (". ", "? ", "! "):
        text = text.replace(sign, sign[0] + "\n")
    for line in text.split("\n"):
        # an abbreviation or an initial ends no sentence
        if out and (len(out[-1].rsplit(" ", 1)[-1]) < 4 or line[:1].islower()):
            out[-1] += " " + line
        else:
            out.append(line)
    return out


def _loaded(body: bytes) -> Json:
    try:
        found: Json = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found


def _operation(entity: str, help: str) -> Operation:
    return Operation(entity, help, _ARGUMENTS, request=lambda arguments: _request(entity, arguments), after=_after)


ADAPTER = Adapter(
    "openalex", "research works, authors, sources, institutions and topics", (
        _operation("works", "Papers, books and data sets: title, year, venue, citations, open access, authors, topics, abstract."),
        _operation("authors", "Authors: names, institutions, works and citations."),
        _operation("sources", "Journals, conferences and repositories."),
        _operation("institutions", "Universities, companies and other institutions."),
        _operation("topics", "Topics of research, with their field and domain.")),
    base="https://api.openalex.org", rate=10, signed=_signed, layout=layout, derived=derived, environment=tuple(_KEYS.values()),
    asked="works")
