"""What was fitted on recorded sessions: term worth, worth by place, thresholds and caps. Integers; `make fit` writes this file."""
from __future__ import annotations

# Log odds, in quarters, that a term which is new to the context is used later: by its form.
WORD, SHORT_WORD, CAPITAL, CAMEL, UPPER, NAME, DOTTED, PATH, NUMBER = 1, -4, 0, -2, -3, 0, -2, -3, -7
# By its sub-words: all in the task, all in the call, some in either.
TASK, ASKED, PARTLY = 6, 5, 2
# Off for a term that stands in so many lines, and in outputs of more characters than these.
RARE = {1: 4, 2: 2, 3: 2, 4: 2, 5: 2}
LARGE = ((30_000, 3), (10_000, 1))
# Worth of a line's share in a term that the call or the task names, and in one that the caller said it looks for.
NAMED, SOUGHT = 12, 60
# Quarters by the structure of code: a definition; a line inside one that the call or the task names, or has a word of.
DEFINITION, INSIDE_NAMED, INSIDE_RELATED = 6, 2, 1
# Profiles: threshold, worth a character in 1/1024, and cap, characters of a part's view. Below WHOLE characters only what was
# shown collapses; the threshold grows up to FULL.
PROFILES = {"safe": (-1, 40_000), "auto": (150, 12_000), "lean": (240, 8_000)}
WHOLE, FULL = 800, 4000
