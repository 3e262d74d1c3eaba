"""What one search brings back of what views lost, on recorded sessions, for settings of `proxy/unseen.py`.

usage: es1.py FILE [--profile auto] [--limit N] [--set NAME=VALUE ...]. Needs ../shared/eval/evidence.py, which says what the
columns mean. found: of what `data` lost, the share that `es1` has; cost: tokens of all those searches, as a share of the raw ones.
Without a setting, the ones that stand. `BYREF_MODELS` says whether the static layer takes part.
"""
from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
from pathlib import Path

from byref.proxy import unseen

EVIDENCE = Path(__file__).resolve().parents[2] / "shared" / "eval" / "evidence.py"
NAMES = ("LEAST", "RISE", "FOUND", "LONG")


def figures(path: str, profile: str, limit: int | None) -> dict[str, float]:
    """Over all sources of a file."""
    spec = importlib.util.spec_from_file_location("evidence", EVIDENCE)
    assert spec is not None and spec.loader is not None
    evidence = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(evidence)
    total, shares = evidence.replay(path, evidence.arm(f"byref@{profile}"), limit, None, True, None)
    count, mean = total["ALL"], {name: statistics.mean(values) for name, values in shares["ALL"].items()}
    data, es1 = mean["data"], mean["es1"]
    return {"data": data, "es1": es1, "found": (es1 - data) / (1 - data) if data < 1 else 1.0, "saved": 1 - count["view"] / count["raw"],
            "net": 1 - (count["view"] + count["fetched"]) / count["raw"], "cost": count["fetched"] / count["raw"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--profile", default="auto")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=f"of {', '.join(NAMES)}")
    given = parser.parse_args()
    if not EVIDENCE.exists():
        print(f"not measured: {EVIDENCE.parent.name}/{EVIDENCE.name} is not there", file=sys.stderr)
        return 0
    for setting in given.set:
        name, _, value = setting.partition("=")
        if name not in NAMES or not value.isdigit():
            parser.error(f"--set takes one of {', '.join(NAMES)} and a whole number, as LEAST=60, not {setting[:40]!r}")
        setattr(unseen, name, int(value))
    found = figures(given.path, given.profile, given.limit)
    print(" ".join([f"{given.profile:5}", *(f"{name} {value:.4f}" for name, value in found.items()), *given.set]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
