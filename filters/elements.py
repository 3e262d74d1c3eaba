"""HTML and XML: long lines cut where elements end, and what each piece is worth by the elements it stands in."""
from __future__ import annotations

import re

from byref.filters.lines import pieces
from byref.filters.units import ANCHOR, PLAIN

_PIECE, _LONG = 80, 300  # characters: a piece ends with the first element that ends after so many; the most of one
# where a line may be cut: after an element's end, before elements that stand for themselves
_POINT = re.compile(
    r"</(?P<closed>[A-Za-z][\w:.-]*)\s*>|/>|-->|\]\]>"
    r"|(?=<(?P<opened>h[1-6]|title|script|style|svg|nav|header|footer|aside|main|pre|table|meta|link|testcase|failure|error|violation)[\s>/])",
    re.I)
_ALONE = frozenset({
    "h1", "h2", "h3", "h4", "h5", "h6", "title", "script", "style", "svg", "nav", "header", "footer", "aside", "head", "pre"})
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)([^<>]*>?)|<!--|-->")
_HEADING = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "title"})
_UNSEEN = frozenset({"script", "style", "svg", "noscript", "iframe", "template"})  # what a browser shows no text of
_BESIDE = frozenset({"nav", "footer", "aside"})  # HTML Living Standard, 4.3: no part of what the page is about
_INPUTS = frozenset({"input", "button", "select", "textarea", "option", "form", "label"})
_LINKED = 4  # pieces in a row whose text is all of links: a menu or a list of links
_TAGS, _TOLD = 24, 12  # characters of tags that cost a quarter; the most that text is worth by its length
_UNSEEN_WORTH, _MENU_WORTH, _BARE_WORTH, _DATA_WORTH, _AGAIN_WORTH = -40, -12, -10, -6, -8  # quarters


def cut(row: str, start: int) -> list[str]:
    """Cuts row[start:] where elements end; scripts, headings and navigation stand for themselves. Joined, the pieces are the row."""
    out: list[str] = []
    begin = last = start
    for found in _POINT.finditer(row, start):
        at = found.end()
        alone = (found["closed"] or "").lower() in _ALONE or found["opened"] is not None
        if at - begin > _LONG and last > begin:
            out.append(row[begin:last])
            begin = last
        last = at
        if at - begin > _LONG:
            out += pieces(row[begin:at], 0)
            begin = at
        elif at > begin and (alone or at - begin >= _PIECE):
            out.append(row[begin:at])
            begin = at
    if begin < len(row):
        out += pieces(row[begin:], 0)
    return out


class _Reader:
    """Where in a document a reader stands: in an element without text, in a menu, within a tag, in a link."""

    __slots__ = ("beside", "comment", "data", "linked", "within")

    def __init__(self) -> None:
        self.comment = self.within = self.data = False
        self.linked = self.beside = 0

    def piece(self, text: str, unseen: str) -> tuple[str, str, int, set[str]]:
        """Reads a piece. Returns its visible text, the unseen element it ends in, how much of the text is of links, the elements begun."""
        words: list[str] = []
        begun: set[str] = set()
        at = link = 0
        if self.within:
            at = text.find(">") + 1
            if not at:
                return "", unseen, 0, begun
            self.within = False
        for found in _TAG.finditer(text, at):
            if not (unseen or self.comment):
                words.append(text[at:found.start()])
                link += (found.start() - at) * (self.linked > 0)
            at = found.end()
            name = (found[2] or "").lower()
            if not name:
                self.comment = not unseen and found[0] == "<!--"
            elif unseen:
                if found[1] and name == unseen:
                    unseen = ""
            elif not self.comment:
                closing = found[1] == "/"
                if not closing:
                    begun.add(name)
                if name in _UNSEEN and not closing and not found[3].endswith("/>"):
                    unseen, self.data = name, "json" in found[3]
                elif name in _BESIDE:
                    self.beside = max(0, self.beside + (-1 if closing else 1))
                elif name == "a":
                    self.linked = 0 if closing else 1
                self.within = not found[3].endswith(">") and at >= len(text)
        if not (unseen or self.comment or self.within):
            words.append(text[at:])
            link += (len(text) - at) * (self.linked > 0)
        return "".join(words).strip(), unseen, link, begun


def weigh(texts: list[str]) -> tuple[bytearray, list[int]]:
    """Rank and worth in quarters of the lines and pieces of an HTML document: its text and headings stand, what surrounds them does not."""
    rank, worth = bytearray(len(texts)), [0] * len(texts)
    reader, unseen, run = _Reader(), "", 0
    said: set[str] = set()
    for i, text in enumerate(texts):
        before, beside = unseen or reader.comment, reader.beside > 0
        visible, unseen, link, begun = reader.piece(text, unseen)
        menu = beside or begun & _BESIDE
        if not visible:
            if before or begun & _UNSEEN:
                worth[i] = _DATA_WORTH if reader.data else _UNSEEN_WORTH - len(text) // 2
            elif not begun & _INPUTS and 'name="description"' not in text:
                worth[i] = _BARE_WORTH
            run += not text.strip() or not run
            continue
        worth[i] = -(len(text) - len(visible)) // _TAGS + (0 if menu or unseen else min(_TOLD, len(visible) // 12))
        if menu and (reader.beside or link * 10 > len(visible) * 8):
            worth[i] += _MENU_WORTH
        elif begun & _HEADING:
            rank[i] = ANCHOR
        elif len(visible) > 2 and visible in said:
            worth[i] += _AGAIN_WORTH
        said.add(visible)
        run = run + 1 if link * 10 > len(visible) * 8 and rank[i] == PLAIN else 0
        if run >= _LINKED:
            for k in range(i - _LINKED + 1 if run == _LINKED else i, i + 1):
                worth[k] += _MENU_WORTH
    return rank, worth
