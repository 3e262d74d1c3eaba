"""`byref search`: the shell finds what it stored, and what it is given for a hit is what fetch takes."""
from __future__ import annotations

import json


def test_a_hit_is_fetched_by_its_address(byref, ref):
    byref("run", "--", "seq", "20000")
    byref("run", "--", "echo", "nothing of it")
    found = json.loads(byref("search", "15077", "--json").stdout)
    (hit,) = found["hits"]
    assert "15077" in hit["excerpt"] and hit["signals"] == ["exact", "words"] and found["outputs"] == 2
    assert byref("fetch", hit["ref"], hit["address"]).stdout.decode().rstrip("\n") == hit["excerpt"]


def test_refs_narrow_it_and_nothing_found_is_told_by_the_exit_code(byref, ref):
    first = ref(byref("run", "--", "seq", "20000").stdout)
    second = ref(byref("run", "--", "seq", "20001", "40000").stdout)
    assert first.encode() in byref("search", "/^1234/", "--ref", first).stdout
    done = byref("search", "15077", "--ref", second)
    assert done.returncode == 1 and done.stdout.startswith(b"[no match; ")
    assert byref("search", "15077", "--ref", first, "--ref", second).returncode == 0
    assert byref("search", "x", "--ref", "runknown234").returncode == 3
    assert byref("search", "x", "-k", "0").returncode == 2
    assert byref("search", "15077", BYREF_SCOPE="elsewhere").returncode == 1


def test_words_have_weights(byref, ref):
    byref("run", "--", "printf", "alpha here\\n%s\\nbravo there\\n" % ("-\\n" * 20))
    plain, weighed = (json.loads(byref("search", "alpha bravo", "--layer", "text", "--json", *more).stdout)
                      for more in ((), ("--weight", "bravo=5", "--weight", "alpha=0.5")))
    assert plain["hits"][0]["excerpt"].startswith("alpha")
    assert "bravo" in weighed["hits"][0]["excerpt"]
    for wrong in ("bravo", "bravo=x", "=2", "bravo=-1", "charlie=2", "bravo=nan"):
        done = byref("search", "alpha bravo", "--weight", wrong)
        assert done.returncode == 2 and (wrong.encode() in done.stderr or wrong.partition("=")[0].encode() in done.stderr)


def test_the_order_is_by_the_profile_that_is_asked_for(byref, ref):
    byref("run", "--", "seq", "-f", "worker %g waits for the pool", "300")
    for profile in ("cascade", "rrf", "weighted"):
        told = json.loads(byref("search", "which worker waits", "--layer", "text", "--profile", profile, "--explain").stdout)
        assert told["explanation"]["profile"] == profile and told["hits"]
    assert byref("search", "worker", "--profile", "best").returncode == 2
