"""Our own constants as patterns: one alternative a line reads better than one line of alternatives."""
from __future__ import annotations

import re


def any_of(*alternatives: str, flags: re.RegexFlag = re.NOFLAG, opening: str = "") -> re.Pattern[str]:
    """A pattern that matches where any of the alternatives does. opening: what all start with; where it is missing, none is tried."""
    return re.compile(f"(?={opening})(?:{'|'.join(alternatives)})" if opening else "|".join(alternatives), flags)
