"""Code and other files as read tools show them: numbered lines, or the bare text of a file."""
from __future__ import annotations

import re

from byref.filters.lines import split
from byref.filters.narrow import command, narrowed
from byref.filters.units import ANCHOR, PLAIN, Units
from byref.proxy.contracts import Call

NUMBERED = re.compile(r"^ *(\d+)(→|\t|: ?|\| ?)", re.M)
_READERS = frozenset({"read", "view", "open", "open_file", "read_file", "edit", "multiedit", "str_replace_editor", "str_replace_based_edit_tool", "notebookread"})
# What an edit prints back is what the next edit starts from: 18 % of its lines are edited again, against 3 % of a whole read's.
_EDITORS = frozenset({"edit", "multiedit", "write", "str_replace_editor", "str_replace_based_edit_tool", "notebookedit", "apply_patch"})
_READ_COMMAND = re.compile(r"^\s*(?:cat|nl|head|tail|sed|less|more|bat|open|goto|scroll_down|scroll_up|edit)\b(?!.*<<)")
_DEFINITION = re.compile(
    r"^ *(?:@\w|(?:export |default |public |private |protected |static |abstract |final |async |pub(?:\(\w+\))? |unsafe |inline |virtual )*"
    r"(?:class|def|function|func|fn|interface|struct|enum|trait|impl|module|namespace|type|macro_rules!|const [A-Z]|describe|it)\b)")


class Code:
    name = "code"

    def match(self, call: Call, media: str, sample: str) -> int:
        if call.tool.lower() in _READERS:
            return 80
        numbers = len(NUMBERED.findall(sample))
        if numbers > 4 and numbers * 10 > sample.count("\n") * 8:
            return 70
        if _READ_COMMAND.match(command(call)):
            return 60
        return 30 if len(_DEFINITION.findall(sample)) > 3 else 0

    def units(self, text: str, call: Call) -> Units:
        lines = split(text)
        n = len(lines.texts)
        texts, labels = lines.texts, None
        found = [NUMBERED.match(t) for t in texts]
        numbered = sum(m is not None for m in found)
        if numbered * 10 >= n * 5 and numbered > 2:
            labels = [m[0].lstrip() if m else "" for m in found]
            texts = [t[m.end():] if m else t for t, m in zip(texts, found, strict=True)]
        rank = bytearray(n)
        worth = [0] * n
        for i, t in enumerate(texts):
            if _DEFINITION.match(t):
                worth[i] = 6
        return Units(texts, lines.address, rank, worth, keys=[t.strip() for t in texts], glued=lines.glued, labels=labels,
                     total=lines.numbers[-1] if lines.numbers else n,
                     strictness=0 if narrowed(call) or call.tool.lower() in _EDITORS else 100)


SHAPE = Code()
