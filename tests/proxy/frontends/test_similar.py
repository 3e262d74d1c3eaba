"""`byref similar`: what is like a stretch, by the address that a view or a search gave."""
from __future__ import annotations

import json


def test_what_is_like_it_is_found_and_a_miss_is_the_one_of_fetch(byref, ref):
    first = ref(byref("run", "--", "seq", "-f", "worker %g timed out in the pool", "9000").stdout)
    byref("run", "--", "echo", "worker 77 timed out in the pool")
    found = json.loads(byref("similar", first, "L77", "--layer", "text", "--json").stdout)
    assert found["query"] == f"like {first} stdout:L77" and "duplicate" in found["hits"][0]["signals"]
    assert found["hits"][0]["ref"] != first and "worker 77 " in found["hits"][0]["excerpt"]
    for words, code in ((("rk7f3qmab2x",), 3), ((first, "L99999"), 2), ((first, "what?"), 2)):
        similar, fetched = byref("similar", *words), byref("fetch", *words)
        assert (similar.returncode, similar.stderr) == (fetched.returncode, fetched.stderr) and similar.returncode == code
