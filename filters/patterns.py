"""Our own constants as patterns: one alternative a line reads better than one line of alternatives."""
from __future__ import annotations

import re


def any_of(*alternatives: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """A pattern that matches where any of the alternatives does."""
    return re.compile("|".join(alternatives), flags)
