"""JSON paths into the bytes of an output: where what they name is written, without parsing a value."""
from __future__ import annotations

import json
import re
from typing import TypeAlias

from byref.filters.scanner import Document, Member, Span
from byref.proxy.errors import Invalid

_STEP = re.compile(r"""\.?(\*|[^.\[\]"'*\s][^.\[\]]*)|"""
                   r"""\.?\[(?:(\*)|(-?\d{1,18})|(-?\d{0,18}):(-?\d{0,18})|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))\]""", re.S)
_BOM = "\ufeff".encode()
Step: TypeAlias = "str | int | tuple[int | None, int | None] | None"  # a name, an index, a slice, or all


def steps(path: str) -> list[Step]:
    """The steps of a path: `$.results[3:9].title`, `["odd key"][0]`, `rows[*].id`. Raises `Invalid`."""
    out: list[Step] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or (at == 0 and path[0] == "."):
            raise Invalid(f"the path {path[:80]!r} cannot be read from {path[at:at + 20]!r}; "
                          "paths look like results[3].title, $.rows[3:9], [\"odd key\"]")
        name, star, index, first, last, quoted = found.groups()
        if name is not None:
            out.append(None if name == "*" else name)
        elif quoted is not None:
            try:
                string = quoted if quoted[0] == '"' else '"' + quoted[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
                out.append(str(json.loads(string)))
            except ValueError:
                raise Invalid(f"the name {quoted[:40]} in the path is not a JSON string") from None
        elif star is not None:
            out.append(None)
        elif index is not None:
            out.append(int(index))
        else:
            out.append((int(first) if first.strip("-") else None, int(last) if last.strip("-") else None))
        at = found.end()
    return out


def find(data: bytes, path: str) -> list[Span]:
    """The byte spans of what a path names, in order.

    A slice at the end of a path is one span, from its first element to the end of its last. A repeated name
    gives all its values. Over NDJSON the top is an array of the values. A path goes on through a string that
    itself holds JSON; the span is then that of the escaped text. Raises `Invalid`, which says what there is.
    """
    body = data
    while body.lstrip().startswith(_BOM):  # views go into JSON behind such marks, too
        body = body.lstrip()[len(_BOM):]
    document = Document(body.decode("latin-1"), base=len(data) - len(body))  # one character a byte: positions are those of the bytes
    way = steps(path)
    roots = document.roots()
    if not roots:
        raise Invalid("the output is empty, so no path leads into it")
    if document.text[roots[0][2]] not in '[{"' and len(roots) > 1:
        raise Invalid("the output is not JSON; take lines or bytes, such as L1-40 or b0-4096")
    at: list[tuple[Document, list[Member]]] = [(document, [root]) for root in roots] if len(roots) == 1 else []
    if not at:
        if not way or isinstance(way[0], str):
            if way:
                raise Invalid(f"the output is {len(roots)} JSON values, one after another; start with [0] to [{len(roots) - 1}]")
            return [(document.raw(roots[0][2]), document.raw(roots[-1][3]))]
        at = _step(document, roots, way.pop(0), not way, "the output", False)
    done = "$"
    for i, step in enumerate(way):
        found: list[tuple[Document, list[Member]]] = []
        fault: Invalid | None = None
        for owner, group in at:
            for member in group:
                try:
                    inner, children, named = _open(owner, member, done)
                    found += _step(inner, children, step, i == len(way) - 1, done, named)
                except Invalid as wrong:
                    fault = wrong
        if not found:
            raise fault or Invalid(f"{done} is empty")
        at = found
        done += f".{step}" if isinstance(step, str) else f"[{'*' if step is None else step}]" if not isinstance(step, tuple) else "[:]"
    return [(owner.raw(group[0][2]), owner.raw(group[-1][3])) for owner, group in at]


def _open(document: Document, member: Member, done: str) -> tuple[Document, list[Member], bool]:
    """The container that a member is, or that its string holds: its document, its members, and whether they have names."""
    _, _, start, end = member
    sign = document.text[start]
    if sign == '"':
        inner = document.inside(start, end)
        if inner is None:
            raise Invalid(f"{done} is a string: the path ends there")
        roots = inner.roots()
        if len(roots) > 1:
            return inner, roots, False
        document, start = inner, roots[0][2]
        sign = document.text[start]
    if sign not in "[{":
        raise Invalid(f"{done} is {document.spelt(start, end)[:20]}: the path ends there")
    return document, document.members(start), sign == "{"


def _step(document: Document, children: list[Member], step: Step, last: bool, done: str,
          named: bool) -> list[tuple[Document, list[Member]]]:
    """What a step leads to. Members that stay one span come in one group."""
    if step is None:
        return [(document, [child]) for child in children]
    if named:
        if not isinstance(step, str):
            raise Invalid(f"{done} is an object, not an array; it has {_names(document, children)}")
        hits = [child for child in children if _name(document, child) == step]
        if not hits:
            raise Invalid(f"{done} has no {step[:40]!r}; it has {_names(document, children)}")
        return [(document, [child]) for child in hits]
    n = len(children)
    if isinstance(step, str):
        raise Invalid(f"{done} is an array of {n}; take [0] to [{n - 1}], a slice [0:{n}], or [*]" if n else f"{done} is an empty array")
    if isinstance(step, int):
        if not -n <= step < n:
            raise Invalid(f"{done} has {n} elements: [0] to [{n - 1}]" if n else f"{done} is an empty array")
        return [(document, [children[step]])]
    chosen = children[step[0]:step[1]]
    if not chosen:
        raise Invalid(f"{done} has {n} elements: [0] to [{n - 1}]" if n else f"{done} is an empty array")
    return [(document, chosen)] if last else [(document, [child]) for child in chosen]


def _name(document: Document, member: Member) -> str:
    name = document.text[member[0] + 1:member[1] - 1]
    if name.isascii():
        return name
    try:
        written = document.escaped(name).encode("latin-1").decode("utf-8", "surrogateescape")
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return name


def _names(document: Document, children: list[Member]) -> str:
    names = list(dict.fromkeys(_name(document, child) for child in children))
    return (", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")) or "no members"
