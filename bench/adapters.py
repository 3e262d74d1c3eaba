"""Recorded answers of APIs through their adapters: what a view costs, what it shows of every record, what one search finds of the rest.

usage: adapters.py [FOLDER]   FOLDER holds openalex/, crossref/, ...: answers as files of JSON, a folder an API
"""
from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import byref
from byref.proxy import discover
from byref.proxy.contracts import Json
from byref.proxy.frontends.tools import engine
from byref.proxy.ledger.counter import token_counter
from byref.proxy.operations import Adapter, Request

RECORDED = Path(__file__).parents[2] / "shared/corpus/api"
_IDS = ("id", "DOI", "doi", "paperId", "full_name", "sha", "node_id", "key", "name", "login")  # what a record is told by, the first it has
_LISTS = ("results", "items", "data", "organic_results")
_LETTERS = {"W": "works", "A": "authors", "S": "sources", "I": "institutions", "T": "topics"}


def records(body: Json) -> list[Mapping[str, Json]]:
    """The records of an answer: the list that it is or that it holds under a usual name, else the one record that it is."""
    if isinstance(body, dict) and isinstance(body.get("message"), dict):
        body = body["message"]
    if isinstance(body, dict):
        body = next((body[name] for name in _LISTS if isinstance(body.get(name), list)), body)
    if isinstance(body, dict):
        return [body] if any(name in body for name in _IDS) else []
    return [one for one in body if isinstance(one, dict)] if isinstance(body, list) else []


def path_of(tool: str, body: Json) -> str:
    """The path that an answer came from, by its form: the recordings do not say."""
    if tool == "openalex" and isinstance(body, dict):
        name = str(body.get("id", "")).rpartition("/")[2]
        return "/works" if "results" in body else f"/{_LETTERS.get(name[:1], 'x')}/{name}"
    if tool == "crossref" and isinstance(body, dict):
        message = body.get("message")
        return "/works" if isinstance(message, dict) and "items" in message else "/works/10.5555/1"
    return "/"


def answers(folder: Path) -> Iterator[tuple[str, str, bytes, Json]]:
    for file in sorted(folder.rglob("*.json")):
        data = file.read_bytes()
        try:
            yield file.parent.name, file.name, data, json.loads(data)
        except ValueError:
            continue


def looked(session: byref.Session, adapters: Mapping[str, Adapter], tool: str, name: str, data: bytes, body: Json) -> str:
    """The view, by the adapter where there is one."""
    if tool in adapters:
        request = Request(path_of(tool, body), (("recorded", name),))
        return engine.shown(engine.capture(session, adapters[tool], request, 200, data, "application/json"))
    return session.capture(tool=tool, args={"recorded": name}, output=data, media={"text": "application/json"}).text


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    if not folder.is_dir():
        print(f"no recordings in {folder}: skipped")
        return 0
    adapters = {name: engine.adapter(name) for name in discover.names("tools")}
    counter = token_counter()
    rows: dict[str, list[tuple[int, int]]] = {}
    ids = hidden = 0
    with byref.open("memory:") as gateway:
        for tool, name, data, body in answers(folder):
            text = data.decode("utf-8", "surrogateescape")
            view = looked(gateway.session(f"{tool}/{name}", proven=False), adapters, tool, name, data, body)
            raw, size = counter.count([text, view])
            rows.setdefault(tool, []).append((raw, size))
            plain = view.replace("\\/", "/")
            for record in records(body):
                known = next((str(record[key]) for key in _IDS if isinstance(record.get(key), (str, int)) and record[key] != ""), "")
                ids += bool(known)
                hidden += bool(known) and known not in plain
    print(f"{'api':10} files  tokens  view/raw median  of all saved")
    for tool, found in [*sorted(rows.items()), ("all", [pair for one in rows.values() for pair in one])]:
        raw, size = sum(pair[0] for pair in found), sum(pair[1] for pair in found)
        median = statistics.median(pair[1] / pair[0] for pair in found if pair[0])
        print(f"{tool:10} {len(found):5} {raw:7} {median:16.3f} {1 - size / raw:13.3f}")
    print(f"identifiers of records that no view shows: {hidden} of {ids}")
    if "openalex" in rows:
        print(found_by_search(folder / "openalex", adapters["openalex"]))
    return 0


def found_by_search(folder: Path, of: Adapter) -> str:
    """Of OpenAlex: ids, titles and years that the views show; authors, and sentences of abstracts, that one search shows."""
    shown = wanted = authors = named = sentences = read = 0
    for _, name, data, body in answers(folder):
        with byref.open("memory:") as gateway:
            session = gateway.session(name, proven=False)
            request = Request(path_of("openalex", body), (("recorded", name),))
            view = engine.shown(engine.capture(session, of, request, 200, data, "application/json"))
            for record in records(body) if "works" in request.path else []:
                for key in ("id", "display_name", "publication_year"):
                    if record.get(key) is not None:
                        wanted += 1
                        shown += json.dumps(record[key]).strip('"') in view or str(record[key]) in view
                ships = record.get("authorships")
                for ship in ships if isinstance(ships, list) else []:
                    author = ship.get("author") if isinstance(ship, dict) else None
                    said = author.get("display_name") if isinstance(author, dict) else None
                    if isinstance(said, str):
                        authors += 1
                        answer = session.search(said, max_tokens=1500).text
                        named += said in answer or json.dumps(said).strip('"') in answer
            derived = of.derived(data) if of.derived is not None else {}
            for part in derived.values():
                for row in part.decode().split("\n"):
                    if row and not row.endswith("abstract_inverted_index"):
                        sentences += 1
                        read += row[:200] in session.search(row[:200], max_tokens=1500).text
    return (f"openalex works: {shown} of {wanted} ids, titles and years in the views; one search shows {named} of {authors} authors "
            f"and {read} of {sentences} sentences of abstracts")


if __name__ == "__main__":
    raise SystemExit(main())
