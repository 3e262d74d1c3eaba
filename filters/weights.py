"""What was fitted on recorded sessions: term worth, worth by place, thresholds and caps, in integers. `make fit` writes this file."""
from __future__ import annotations

# Log odds, in quarters, that a term which is new to the context is used later, by its form.
FORM = {"word": 1, "short": -4, "capital": -2, "camel": -3, "upper": -6, "name": -1, "dotted": -2, "path": -4, "number": -1}
# More where all its sub-words stand in the task, in the call, or some in either.
TASK, ASKED, PARTLY = 3, 2, 2
# Less for a term that stands in so many lines, and in an output of more characters than these.
RARE = {1: 3, 2: 1, 3: 1, 4: 1, 5: 1}
LARGE = ((30_000, 4), (10_000, 0))

# Worth of a line's share in a term that the call or the task names, and in one that the caller said it looks for.
NAMED, SOUGHT = 12, 100
# Quarters by the structure of code: a definition; a line inside one that the call or the task names, or has a word of.
DEFINITION, INSIDE_NAMED, INSIDE_RELATED = 3, 1, 1

# By profile: threshold, worth a character in 1/1024, and cap, characters of a part's view. Up to WHOLE characters of output only
# what was shown collapses; from there the threshold grows, up to FULL.
PROFILES = {"safe": (-1, 56_000), "auto": (157, 10_000), "lean": (240, 7_000)}
WHOLE, FULL = 800, 4_000
# Percent of the threshold that a shape takes, and where the caller narrowed the output; a shape without its own takes all, and none.
STRICTNESS = {"code": 120, "json": 75, "markup": 150}
NARROWED = {"tests": 60, "matches": 60}
