"""Time on the dashboard: how one answer came to be, how many did, and what a search can be told."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.dashboards import SCOPE, Site, focused

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("dashboard")]
CHART = "(id) => Chart.getChart(document.querySelector(`#${id} canvas`)).data"
ASKED = ("what of the lost connection pool", "worker 7", "/nothing_like_it_qz[xy]/", "timeout of worker 3", "connection pool")


class Searched(Site):
    """A store whose ledger holds searches."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with self.open() as gateway:
            session = gateway.session("first", scope=SCOPE)
            for number in range(30):
                text = f"the connection pool of worker {number} is lost\n" * 3 + f"timeout of worker {number % 5} after {number} s\n" * 2
                session.capture(tool="shell", args={"command": f"make {number}"}, output=text)
            for query in ASKED:
                session.search(query, timebox_ms=20_000)


SITE = Searched


def search(page: Any, query: str) -> None:
    page.keyboard.press("/")
    page.locator("#query").fill(query)
    page.keyboard.press("Enter")
    page.locator("#told", has_text=" hits").wait_for()


def rows(page: Any, table: str) -> list[list[str]]:
    return [line.split("\t") for line in page.locator(f"{table} tbody tr").all_inner_texts()]


def test_a_search_shows_when_each_layer_was_through_and_what_stood_by_then(page: Any) -> None:
    search(page, "what of the lost connection pool")
    page.locator("#by-layer canvas").wait_for()
    for figure in ("by-layer", "anytime"):
        page.locator(f"#{figure} summary").click()
    told = rows(page, "#by-layer")
    asked = {line[0] for line in rows(page, "#story > .scroll") if line[1] != "skipped"}
    assert {line[0] for line in told} == asked and {"text", "names"} <= asked
    data = page.evaluate(CHART, "by-layer")
    assert [label.partition(" · ")[0] for label in data["labels"]] == [line[0] for line in told]
    ends = [end for _, end in data["datasets"][0]["data"]]
    assert ends == sorted(ends) and all(0 <= began < end for began, end in data["datasets"][0]["data"])
    sets = {one["label"]: one["data"] for one in page.evaluate(CHART, "anytime")["datasets"]}
    assert set(sets) == {"standing by what was through", "named by then", "looked at"}
    for points in sets.values():
        assert points[0]["y"] == 0 and points[-1]["y"] == 100 and [point["x"] for point in points] == sorted(point["x"] for point in points)
    assert [line[2] for line in rows(page, "#anytime")][-1] == "10 of 10"


def test_a_search_is_measured_in_growing_timeboxes(page: Any) -> None:
    search(page, "timeout of worker 3")
    page.locator("#measure").focus()
    page.keyboard.press("Enter")
    page.locator("#story [role=status]", has_text="timeboxes").wait_for()
    (points,) = [one["data"] for one in page.evaluate(CHART, "anytime")["datasets"] if one["label"] == "measured"]
    assert points[0]["x"] == 5 and points[-1]["y"] == 100
    page.locator("#anytime summary").click()
    assert sum(line[0].startswith("a timebox of") for line in rows(page, "#anytime")) == len(points)
    search(page, "worker 7")
    page.wait_for_function("Chart.getChart(document.querySelector('#anytime canvas')).data.datasets.length === 3")
    assert page.locator("#story [role=status]").inner_text() == "", "what was measured was of another search"


def test_a_search_that_finds_nothing_has_no_curve_and_says_so(page: Any) -> None:
    search(page, "/nothing_like_it_qz[xy]/")
    page.locator("#anytime", has_text="Nothing was found").wait_for()
    page.locator("#anytime canvas").wait_for(state="hidden")
    assert page.locator(".hit").count() == 0
    assert page.locator("#weights").is_hidden(), "a pattern has no words"


def test_profile_layers_and_weights_are_chosen_by_keys_and_asked_for(page: Any) -> None:
    asked: list[Any] = []
    page.on("request", lambda request: asked.append(request.post_data_json) if request.url.endswith("/search") else None)
    page.keyboard.press("/")
    page.keyboard.type("worker timeout")
    for _ in range(4):  # outcome, timebox, button, choices
        page.keyboard.press("Tab")
    assert focused(page, "tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert focused(page, "id") == "profile"
    page.keyboard.press("r")
    page.locator("#emphasis").select_option("recall")
    for box in page.locator("#which input:not([value=text]):not([value=bm25])").all():
        box.uncheck()
    page.locator("#weights input[data-word=worker]").fill("0")
    page.locator("#query").press("Enter")
    page.locator("#told", has_text=" hits").wait_for()
    assert asked == [{"scope": SCOPE, "query": "worker timeout", "profile": "rrf", "emphasis": "recall", "timebox_ms": 1000,
                      "layers": ["bm25", "text"], "weights": {"worker": 0}}]
    assert [line[0] for line in rows(page, "#story > .scroll")] == ["bm25", "text"]
    page.locator("#query").fill("worker pool")
    weights = page.locator("#weights input").evaluate_all("all => all.map((one) => [one.dataset.word, one.value])")
    assert weights == [["worker", "0"], ["pool", "1"]]
    for name in ("text", "bm25"):
        page.locator(f"#which input[value={name}]").uncheck()
    page.locator("#query").press("Enter")
    page.locator("#notice", has_text="at least one layer").wait_for()
    page.locator("#query").fill("  ")
    page.locator("#query").press("Enter")
    page.locator("#notice", has_text="Say what to look for").wait_for()


def test_recorded_searches_have_a_median_with_quartiles_and_can_be_measured_again(page: Any) -> None:
    page.keyboard.press("5")
    page.locator("#former", has_text="searches by agents").wait_for()
    page.locator("#many canvas").wait_for()
    drawn = f"{len(ASKED) - 1} of {len(ASKED)} searches by agents are drawn · 1 found nothing"
    assert page.locator("#former").inner_text() == drawn
    lower, upper, median = [[point["y"] for point in one["data"]] for one in page.evaluate(CHART, "many")["datasets"]]
    assert all(low <= half <= high for low, half, high in zip(lower, median, upper, strict=True))
    assert median[0] <= median[-1] == 100
    assert {line[0] for line in rows(page, "#many-searches > .scroll")} >= {"text", "names"}
    page.locator("#again").click()
    page.locator("#many-searches [role=status]", has_text="queries measured").wait_for()
    assert len(page.evaluate(CHART, "many")["datasets"]) == 6
    page.locator("#many summary").click()
    assert {line[0] for line in rows(page, "#many")} == {"recorded", "measured again"}


def test_measuring_can_be_stopped(page: Any) -> None:
    page.keyboard.press("5")
    page.route("**/measure", lambda route: None)  # is never answered
    page.locator("#again").click()
    page.locator("#again", has_text="Stop").click()
    page.locator("#many-searches [role=status]", has_text="Stopped after 0").wait_for()
    page.unroute_all(behavior="ignoreErrors")


def test_a_band_is_the_quartiles_of_steps(page: Any) -> None:
    got = page.evaluate("""async () => {
        const { band, quantile, reached } = await import("/web/anytime.js");
        const curves = [[[1000, 10000]], [[2000, 5000], [4000, 10000]], [[3000, 10000]]];
        const some = [quantile([3, 1, 2], 0.5), quantile([0, 10], 0.25), reached(curves[1], 1999), reached(curves[1], 2000)];
        return [...some, band(curves, [500, 2000, 9000])];
    }""")
    assert got == [2, 2.5, 0, 5000, [[500, 0, 0, 0], [2000, 2500, 5000, 7500], [9000, 10000, 10000, 10000]]]
