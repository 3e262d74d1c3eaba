"""Questions with known answers, frozen in bench/sets, and the documents that they are asked of.

questions.tsv holds set, collection, query and the keys of its answers, written by hand before anything of ours was tried on them.
Collections: `python`, docstrings of the standard library of the Python that runs, by keys and hashes in python.tsv, so that what
another version says otherwise is left out and told; `help`, options of common tools with free licences, as each printed them
(help.jsonl); `translated`, such texts in other languages (translated.jsonl, ours); `cranfield`, abstracts, where its files are.
"""
from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import io
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SETS = Path(__file__).parent / "sets"
CRANFIELD = Path(__file__).parents[2] / "shared/corpus/labels/cranfield"
MODULES = """argparse array ast asyncio base64 bisect builtins bz2 calendar cmath codecs collections concurrent.futures configparser
contextlib copy csv datetime decimal difflib dis doctest email.message email.utils enum fileinput filecmp fnmatch fractions
functools gc getpass glob graphlib gzip hashlib heapq hmac html http.client http.cookiejar http.server importlib.metadata
importlib.util inspect io ipaddress itertools json linecache locale logging logging.handlers lzma math mimetypes mmap
multiprocessing multiprocessing.pool numbers operator os os.path pathlib pickle pkgutil platform plistlib pprint profile
pstats py_compile queue random re reprlib runpy sched secrets select selectors shelve shlex shutil signal socket socketserver
sqlite3 ssl stat statistics string struct subprocess sys sysconfig tarfile tempfile textwrap threading time timeit tokenize trace
traceback tracemalloc types typing unicodedata unittest unittest.mock urllib.parse urllib.request urllib.robotparser uuid venv warnings
wave weakref webbrowser xml.dom.minidom xml.etree.ElementTree xmlrpc.client zipfile zipimport zlib zoneinfo"""
_METHODS = {"builtins", "collections", "contextlib", "csv", "datetime", "fractions", "graphlib", "logging", "pathlib", "queue", "re",
            "sqlite3", "statistics", "subprocess", "tarfile", "unittest", "zipfile"}  # modules whose classes' methods are documents, too
_LEAST = 6  # words of a docstring that says something


@dataclass(frozen=True, slots=True)
class Question:
    """answers: grade by key of a document; 1 where answers are not graded."""

    tag: str
    collection: str
    query: str
    answers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Labelled:
    """documents: text by key, by collection. missing: keys that were frozen and that this Python does not have, or has otherwise."""

    questions: tuple[Question, ...]
    documents: Mapping[str, Mapping[str, str]]
    missing: tuple[str, ...]


def labelled() -> Labelled:
    """All sets that there are, each question with at least one answer among the documents."""
    found = docstrings()
    frozen = dict(line.split("\t") for line in (SETS / "python.tsv").read_text(encoding="utf-8").splitlines())
    python = {key: found[key] for key, mark in frozen.items() if key in found and marked(found[key]) == mark}
    documents = {"python": python, "help": _lines("help"), "translated": _lines("translated")}
    questions: list[Question] = []
    for line in (SETS / "questions.tsv").read_text(encoding="utf-8").splitlines():
        tag, collection, query, keys = line.split("\t")
        answers = {key: 1 for key in _keys(keys, collection) if key in documents[collection]}
        if answers:
            questions.append(Question(tag, collection, query, answers))
    if CRANFIELD.is_dir():
        documents["cranfield"] = _cranfield_documents()
        questions += _cranfield_questions(documents["cranfield"])
    return Labelled(tuple(questions), documents, tuple(key for key in frozen if key not in python))


def marked(text: str) -> str:
    """What a document is told by."""
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def docstrings() -> dict[str, str]:
    """Docstrings of functions, classes and methods of MODULES by qualified name, each text once and below its name."""
    found: dict[str, str] = {}
    told: set[str] = set()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for name in MODULES.split():
            module = importlib.import_module(name)
            for key, value in _members(name, module):
                text = getattr(value, "__doc__", None)
                if isinstance(text, str) and len(text.split()) >= _LEAST and (text := inspect.cleandoc(text)) not in told:
                    told.add(text)
                    found[key] = f"{key}\n{text}"
    return found


def _members(name: str, module: object) -> Iterator[tuple[str, object]]:
    for own, value in sorted(vars(module).items()):
        if own.startswith("_") or not callable(value):
            continue
        yield f"{name}.{own}", value
        if inspect.isclass(value) and name in _METHODS:
            for inner, method in sorted(vars(value).items()):
                if not inner.startswith("_"):
                    yield f"{name}.{own}.{inner}", method


def _lines(name: str) -> dict[str, str]:
    rows = map(json.loads, (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return {key: text if name == "translated" else f"{key}\n{text}" for key, text in rows}


def _keys(text: str, collection: str) -> list[str]:
    """Names of Python hold no blank, so several stand apart by blanks; of a tool's option each begins with the tool's name."""
    if collection == "python":
        return text.split()
    return re.split(r" (?=(?:cargo|curl|docker|gradle|pg_restore|pip) )", text)


def _cranfield_documents() -> dict[str, str]:
    """Title and abstract by number. One of them is empty."""
    text = (CRANFIELD / "cran.all.1400").read_text(encoding="latin-1")
    found = {}
    for record in text.split("\n.I ")[0:]:
        number = record.removeprefix(".I ").split("\n", 1)[0].strip()
        title = record.partition("\n.T\n")[2].partition("\n.A\n")[0]
        body = record.partition("\n.W\n")[2]
        found[number] = body.strip() if body.lstrip().startswith(title.strip()) else f"{title}\n{body}".strip()
    return {number: text for number, text in found.items() if text}


def _cranfield_questions(documents: Mapping[str, str]) -> Iterator[Question]:
    """Queries are numbered in the judgements by their place, not by the number that they bear. Grade 1 is the best, 4 the least."""
    answers: dict[int, dict[str, int]] = {}
    for line in (CRANFIELD / "cranqrel").read_text().splitlines():
        query, number, grade = line.split()
        if number in documents and 1 <= int(grade) <= 4:
            answers.setdefault(int(query), {})[number] = 5 - int(grade)
    text = (CRANFIELD / "cran.qry").read_text()
    for place, record in enumerate(text.split(".I ")[1:], start=1):
        if place in answers:
            yield Question("cranfield", "cranfield", " ".join(record.partition(".W\n")[2].split()), answers[place])


if __name__ == "__main__":
    (SETS / "python.tsv").write_text("".join(f"{key}\t{marked(text)}\n" for key, text in docstrings().items()), encoding="utf-8")
