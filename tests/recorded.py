"""A server on loopback that answers as APIs document it, since no test may ask the real ones. Answers are made up, their forms are not.

OpenAlex: https://docs.openalex.org/api-entities/works/work-object. Exa: https://exa.ai/docs/reference/search. context7: its OpenAPI
specification. Crossref: https://github.com/CrossRef/rest-api-doc.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

SUBJECTS = [
    "late interaction retrieval",
    "prefix caching of language models",
    "soil moisture from satellites",
    "protein folding in water",
    "marine heat waves",
    "graph sampling",
    "optical networks",
]


def inverted(text: str) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index


def work(i: int) -> dict[str, Any]:
    """A work as the API gives it, its rarer members shortened."""
    subject = SUBJECTS[i % len(SUBJECTS)]
    abstract = (
        None
        if i % 7 == 6
        else (
            f"We study {subject} at scale. The method number {i} needs no index and the method needs no training. "
            f"On {i + 3} sets it is better than what was known. Code and data are free. " + "Further words fill the abstract. " * 8
        )
    )
    venue = {
        "id": f"https://openalex.org/S{9000 + i % 3}",
        "display_name": f"Journal of {subject.split()[0].title()} Studies",
        "issn_l": None,
        "is_oa": True,
        "type": "journal",
    }
    return {
        "id": f"https://openalex.org/W{4400000000 + i}",
        "doi": f"https://doi.org/10.5555/w{i}",
        "title": f"On {subject}, part {i}",
        "display_name": f"On {subject}, part {i}",
        "publication_year": 2015 + i % 10,
        "publication_date": f"{2015 + i % 10}-03-0{1 + i % 9}",
        "ids": {"openalex": f"https://openalex.org/W{4400000000 + i}", "doi": f"https://doi.org/10.5555/w{i}"},
        "language": "en",
        "primary_location": None
        if i % 5 == 4
        else {
            "is_oa": True,
            "landing_page_url": f"https://doi.org/10.5555/w{i}",
            "pdf_url": None,
            "source": venue,
            "license": "cc-by",
            "version": "publishedVersion",
        },
        "type": "article",
        "open_access": {"is_oa": True, "oa_status": "gold", "oa_url": f"https://example.org/{i}.pdf"},
        "authorships": [
            {
                "author_position": "first" if k == 0 else "middle",
                "author": {"id": f"https://openalex.org/A{5000000000 + 10 * i + k}", "display_name": f"Author {i}-{k}", "orcid": None},
                "institutions": [
                    {"id": f"https://openalex.org/I{k}", "display_name": f"University {k}", "country_code": "DE", "type": "education"}
                ],
                "raw_affiliation_strings": [f"Department {k}, University {k}, Town {k}"],
            }
            for k in range(2 + i % 6)
        ],
        "is_authors_truncated": i % 6 == 5,
        "cited_by_count": 7 * i,
        "is_retracted": i == 3,
        "is_paratext": False,
        "topics": [{"id": f"https://openalex.org/T{k}", "display_name": f"Topic {k}", "score": 0.9} for k in range(3)],
        "referenced_works": [f"https://openalex.org/W{k}" for k in range(40)],
        "related_works": [f"https://openalex.org/W{k}" for k in range(10)],
        "abstract_inverted_index": None if abstract is None else inverted(abstract),
        "counts_by_year": [{"year": 2015 + k, "cited_by_count": k} for k in range(8)],
        "updated_date": "2026-01-01T00:00:00",
    }


def works(query: dict[str, list[str]]) -> dict[str, Any]:
    size = int(query.get("per-page", ["25"])[0])
    start = 0 if query.get("cursor", ["*"])[0] == "*" else int(query["cursor"][0][1:])
    total = 60
    records = [work(i) for i in range(start, min(total, start + size))]
    following = f"c{start + size}" if start + size < total else None
    return {
        "meta": {
            "count": total,
            "db_response_time_ms": 31,
            "page": 1,
            "per_page": size,
            "groups_count": None,
            **({"next_cursor": following} if "cursor" in query else {}),
        },
        "results": records,
        "group_by": [],
    }


def exa(body: dict[str, Any]) -> dict[str, Any]:
    results = [
        {
            "id": f"https://example.org/{i}",
            "title": f"Page {i} about {body.get('query', 'something')}",
            "url": f"https://example.org/{i}",
            "publishedDate": "2024-05-01T00:00:00.000Z",
            "author": f"Writer {i}",
            "score": 0.25 + i / 100,
            "text": f"Opening of page {i}. "
            + "Filler about nothing much at all. " * 60
            + f"The cache number {i} is cold. "
            + "More filler. " * 40,
        }
        for i in range(body.get("numResults", 5))
    ]
    return {"requestId": "req-0001", "resolvedSearchType": "neural", "results": results, "costDollars": {"total": 0.007}}


SNIPPETS = "\n----------------------------------------\n\n".join(
    f"### Example {i}: cache a response\n\nSource: https://github.com/example/lib/blob/main/docs/{i}.md#_snippet_{i}\n\n"
    f"Shows how to keep a response number {i} for a while and how to let it go again.\n\n```python\n"
    + "".join(f"value_{i}_{k} = cache.get('key-{k}', ttl={k})\n" for k in range(12))
    + "```\n"
    for i in range(20)
)


@dataclass
class Recorded:
    """The server. asked: (method, target, headers, body) of each request, in order."""

    url: str
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    fail: list[tuple[int, dict[str, str]]] = field(default_factory=list)  # answers that come before all others


@contextmanager
def recorded() -> Iterator[Recorded]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.asked.append((self.command, self.path, dict(self.headers), body))
            if state.fail:
                status, headers = state.fail.pop(0)
                self.send(status, json.dumps({"error": "Not now", "message": f"status {status}"}).encode(), "application/json", headers)
                return
            parts = urlsplit(self.path)
            path, query = unquote(parts.path), parse_qs(parts.query)
            if path == "/works":
                self.send(200, json.dumps(works(query)).encode(), "application/json")
            elif path.startswith("/works/"):
                self.send(200, json.dumps(work(int(path[-1]) if path[-1].isdigit() else 0)).encode(), "application/json")
            elif path in ("/search", "/findSimilar", "/contents"):
                self.send(200, json.dumps(exa(json.loads(body))).encode(), "application/json; charset=utf-8")
            elif path == "/answer":
                found = exa({"numResults": 3})
                self.send(
                    200,
                    json.dumps(
                        {
                            "answer": "The cache is cold [1].",
                            "citations": found["results"],
                            "requestId": "req-2",
                            "costDollars": {"total": 0.005},
                        }
                    ).encode(),
                    "application/json; charset=utf-8",
                )
            elif path == "/v2/context":
                self.send(200, SNIPPETS.encode(), "text/plain; charset=utf-8")
            elif path == "/v2/libs/search":
                self.send(
                    200,
                    json.dumps(
                        {
                            "results": [
                                {
                                    "id": f"/example/lib{i}",
                                    "title": f"Lib {i}",
                                    "description": f"A library {i}",
                                    "branch": "main",
                                    "state": "finalized",
                                    "totalTokens": 1000,
                                    "totalSnippets": 20,
                                    "stars": 5,
                                    "trustScore": 9,
                                    "versions": [],
                                }
                                for i in range(12)
                            ]
                        }
                    ).encode(),
                    "application/json",
                )
            else:
                self.send(404, json.dumps({"error": "Not found", "message": path}).encode(), "application/json")

        do_GET = do_POST = do_HEAD = answer

        def send(self, status: int, body: bytes, media: str, headers: dict[str, str] | None = None) -> None:
            if "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 1000:
                body, headers = gzip.compress(body, mtime=0), {**(headers or {}), "Content-Encoding": "gzip"}
            self.send_response(status)
            for name, value in {"Content-Type": media, "Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = Recorded(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
