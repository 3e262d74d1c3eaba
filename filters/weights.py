"""What was fitted on recorded sessions: term worth, worth by place, thresholds and caps, in integers. `make fit` writes this file."""
from __future__ import annotations

# Log odds, in quarters, that a term which is new to the context is used later, by its form.
FORM = {"word": 1, "short": -4, "capital": 0, "camel": -2, "upper": -3, "name": 0, "dotted": -2, "path": -3, "number": -7}
# More where all its sub-words stand in the task, in the call, or some in either.
TASK, ASKED, PARTLY = 6, 5, 2
# Less for a term that stands in so many lines, and in an output of more characters than these.
RARE = {1: 4, 2: 2, 3: 2, 4: 2, 5: 2}
LARGE = ((30_000, 3), (10_000, 1))

# Worth of a line's share in a term that the call or the task names, and in one that the caller said it looks for.
NAMED, SOUGHT = 12, 60
# Quarters by the structure of code: a definition; a line inside one that the call or the task names, or has a word of.
DEFINITION, INSIDE_NAMED, INSIDE_RELATED = 2, 1, 1

# By profile: threshold, worth a character in 1/1024, and cap, characters of a part's view. Up to WHOLE characters of output only
# what was shown collapses; from there the threshold grows, up to FULL.
PROFILES = {"safe": (-1, 40_000), "auto": (150, 12_000), "lean": (240, 8_000)}
WHOLE, FULL = 800, 4_000
# Percent of the threshold that a shape takes, and where the caller narrowed the output; a shape without its own takes all, and none.
STRICTNESS = {"text": 100}
NARROWED = {"tests": 30}
