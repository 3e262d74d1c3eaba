"""Pages as web tools write them: Markdown with links, accessibility trees of browsers, page texts with their metadata.

What a page says stands; what surrounds it on every page of a site does not: menus, cookie banners, addresses of pictures, metadata.
"""
from __future__ import annotations

import re

from byref.filters.units import ANCHOR

_HEADING = re.compile(r"(?:>\s*)?#{1,6} +\S")
_LINK = re.compile(r"!?\[(?:!\[[^\[\]]*\]\([^()\s]*\))?[^\[\]]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?: +\"[^\"]*\")?\)")
_BULLET = re.compile(r"(?:[-*+•|]|\d{1,3}[.)])\s+")
_BETWEEN = " \t|·•,/>›»*_-+\\"
_LINKED = 4  # lines in a row that are nothing but links: a menu, unless most of the page's text is such lines
# a node of an accessibility tree, as Playwright and the browser servers built on it write it: `- link "Docs" [ref=e12] [cursor=pointer]:`
_NODE = re.compile(r"( *)- '?([a-z]+)(?: \"((?:[^\"\\]|\\.)*)\"|:? ?)(.*)")
_UID = re.compile(r"( *)uid=\w+ ([A-Za-z]+)(?: \"((?:[^\"\\]|\\.)*)\")?(.*)")  # the same of Chrome's DevTools server
_AROUND = frozenset({"navigation", "contentinfo", "banner", "complementary"})  # ARIA landmarks beside `main`
_WRAPPERS = frozenset({
    "generic", "img", "image", "list", "listitem", "separator", "group", "none", "presentation", "genericcontainer", "ignored"})
# names of metadata that tell something of a page: of <meta>, Open Graph, schema.org
_TELLING = re.compile(r"(?:\w+[:.])?(?:type|description|keywords|headline|name|title|author|text|caption|abstract|date\w*|published\w*|"
                      r"modified\w*|articleBody|telephone|address\w*|street\w*|price\w*|rating\w*|question|answer|isbn|duration|startDate|endDate|"
                      r"about|genre|\w+_time|citation_\w+|openingHours\w*)$", re.I)
_MEMBER = re.compile(r"\s*\"([^\"]{1,80})\": ?(.*)")
_COOKIE = re.compile(r"\bcookies?\b", re.I)
_CONSENT = re.compile(r"\b(?:accept|consent|agree|we use|uses? cookies|policy|preferences|settings|experience|necessary|reject)\b", re.I)
_CHROME = frozenset({  # what stands on every page of a site, as whole lines
    "skip to main content", "skip to content", "skip to navigation", "sign in", "log in", "login", "sign up", "register", "subscribe",
    "privacy policy", "terms of use", "terms of service", "terms", "privacy", "cookie policy", "accept all", "accept cookies", "reject all",
    "advertisement", "ad", "share", "menu", "search", "close", "feedback", "facebook", "twitter", "instagram", "linkedin", "youtube",
    "contact us", "about us", "careers", "help", "got it", "back to top", "all rights reserved", "toggle navigation", "more"})
_ADDRESSES = ("http:", "https:", "//", "data:")
_TOKEN = 40  # characters of a value without a blank that is a key
_UNBROKEN = 160  # characters without a blank: an encoded image, a token, a key
# quarters
_MENU, _CHROME_WORTH, _BANNER, _CODED, _META, _BRACE, _TOLD, _AGAIN, _ADDRESS, _WRAPPER = -12, -6, -16, -40, -6, -2, 4, -6, -6, -6


def weigh(texts: list[str]) -> tuple[bytearray, list[int]]:
    """Rank and worth in quarters of the lines and pieces of a page."""
    n = len(texts)
    rank, worth = bytearray(n), [0] * n
    said: set[str] = set()
    landmark = -1  # the indent of the landmark that a tree's node stands in, -1 for none
    run: list[int] = []
    menus: list[int] = []
    told = 0  # characters of text that is no link
    meta, fence = False, ""
    for i, text in enumerate(texts):
        row = text.strip()
        if not row:
            continue
        first = row[0]
        if text[0] == "{" and row == "{" and i + 1 < n and texts[i + 1].lstrip()[:1] == '"':
            meta = True
        if meta:
            worth[i] = _BRACE if len(row) < 3 else _member(row, said)
            meta = text[0] != "}"
            continue
        if first == "`" and row.startswith("```"):
            fence = "" if fence else row[3:].strip() or "code"
            continue
        if fence and fence != "yaml":
            continue
        if first == "-" or row.startswith("uid="):
            found = _NODE.match(text) or _UID.match(text)
            if found and (landmark >= 0 or "[" in text or first == "u" or text.endswith(":")):
                indent = len(found[1])
                landmark = landmark if 0 <= landmark < indent else -1
                rank[i], worth[i], around = _node(found, said)
                if landmark >= 0:
                    rank[i], worth[i] = 0, worth[i] + _MENU
                elif around:
                    landmark = indent
                continue
            if row.startswith("- /url:"):
                worth[i] = _ADDRESS + (_MENU if landmark >= 0 else 0)
                continue
        if (first == "#" or first == ">") and _HEADING.match(row):
            rank[i] = ANCHOR
            continue
        worth[i] = _line(row, said)
        if "](" in row and not _LINK.sub("", _BULLET.sub("", row)).strip(_BETWEEN):
            run.append(i)
            if len(run) >= _LINKED:
                menus += run if len(run) == _LINKED else [i]
        else:
            told += len(row)
            run = []
    if told > sum([len(texts[i]) for i in menus]):
        for i in menus:
            worth[i] += _MENU
    return rank, worth


def _line(row: str, said: set[str]) -> int:
    """The worth of a line of text by its form."""
    if len(row) > _UNBROKEN and row.count(" ") * _UNBROKEN < len(row):
        return _CODED - len(row) // 2
    if len(row) < 30 and row.strip(_BETWEEN).casefold() in _CHROME:
        return _CHROME_WORTH
    if row in said:
        return _AGAIN
    said.add(row)
    if "ookie" in row and _COOKIE.search(row) and _CONSENT.search(row):
        return _BANNER
    if row.startswith("![") and not _LINK.sub("", row).strip(_BETWEEN):
        return _ADDRESS
    return 0


def _member(row: str, said: set[str]) -> int:
    """The worth of a line of a page's metadata: what tells of the page, once; addresses, sizes and keys not."""
    found = _MEMBER.match(row)
    value = (found[2] if found else row).strip('", ')
    if value in said or value.isdecimal():
        return _META
    said.add(value)
    if value.startswith(_ADDRESSES):
        return _META
    if len(value) > _TOKEN and " " not in value:
        return _CODED
    if found is None:
        return 0
    return _TOLD if value and _TELLING.match(found[1]) else 0


def _node(found: re.Match[str], said: set[str]) -> tuple[int, int, bool]:
    """Rank and worth of a node of an accessibility tree, and whether what is in it surrounds the page."""
    role, name = found[2].lower(), (found[3] or "").strip()
    if role == "heading":
        return ANCHOR, 0, False
    if role in _AROUND:
        return 0, _WRAPPER, True
    again = bool(name) and name in said
    said.add(name)
    if again:
        return 0, _AGAIN, False
    rest = found[4].partition("]: ")[2] or (found[4] if "[" not in found[4] else "")
    return 0, _WRAPPER if role in _WRAPPERS and not name and not rest.strip(" :") else 0, False
