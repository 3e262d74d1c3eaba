"""The dashboard in a real browser: what a person clicks and types, with no request to another origin and no error on the console."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.dashboards import OTHER, SCOPE, Site, command, focused, row, soon

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("dashboard")]
STEPS = "".join(f"step {n}: value {n * 7919 % 1009}\n" for n in range(3000))
HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">\n«L1-20 12 lines»\n"
MANY = 120


class Filled(Site):
    """A store with outputs of two projects."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with self.open() as gateway:
            gateway.session("elsewhere", scope=OTHER).capture(tool="shell", args={"command": "other project"}, output="elsewhere\n")
            first = gateway.session("first", scope=SCOPE)
            for number in range(MANY):
                first.capture(tool="shell", args={"command": f"echo {number}"}, output=f"{number}\n")
            second = gateway.session("second", scope=SCOPE)
            second.capture(tool="shell", args={"command": "odd"}, output=b"caf\xe9 \x1b[31mred\x1b[0m \xe2\x80\xae" + HOSTILE.encode())
            self.long = second.capture(tool="shell", args={"command": "make"}, output=HOSTILE + STEPS, exit_code=1)
            second.fetch(self.long.ref, "L100-110")
        self.gap = self.long.gaps[-1].address
        lines = (HOSTILE + STEPS).splitlines(keepends=True)
        start, end = (int(number) for number in self.gap[1:].split("-"))
        self.hidden = "".join(lines[start - 1:end])


SITE = Filled


def test_a_gap_opens_the_exact_bytes_in_place(site: Filled, page: Any) -> None:
    row(page, "make").click()
    gap = page.locator(".gap").last
    assert gap.inner_text().startswith(f"«{site.gap}") and gap.get_attribute("aria-expanded") == "false"
    gap.click()
    box = page.locator(".gap + .raw")
    box.get_by_text("of").first.wait_for()
    got = box.locator(".bytes").evaluate("node => node.textContent")
    while box.get_by_role("button", name="More").is_visible():
        before = len(got)
        box.get_by_role("button", name="More").click()
        while len(got := box.locator(".bytes").evaluate("node => node.textContent")) == before:
            page.wait_for_timeout(20)
    assert got == site.hidden
    box.get_by_role("button", name="Close").click()
    assert page.locator(".raw").count() == 0 and focused(page, "className") == "gap"


def test_text_of_an_output_is_shown_and_never_read_as_markup_or_marker(site: Filled, page: Any) -> None:
    row(page, "make").click()
    page.locator(".view").wait_for()
    view = page.locator(".view").evaluate("node => node.textContent")
    assert view == site.long.text and "<script>" in view and "<L1-20" in view
    assert page.locator(".view script, .view img").count() == 0
    assert page.locator(".gap").count() == len(site.long.gaps)


def test_bytes_that_are_no_text_and_what_cannot_be_seen_are_made_visible(page: Any) -> None:
    row(page, "odd").click()
    page.locator(".bytes", has_text="caf").wait_for()
    text = page.locator(".bytes").evaluate("node => node.textContent")
    assert text.startswith(r"caf\xe9 \x1b[31mred\x1b[0m \u202e<script>")
    assert page.locator(".bytes script").count() == page.locator("#detail .gap").count() == 0


def test_keys_alone_open_an_output_and_a_gap_and_close_them(page: Any) -> None:
    page.keyboard.press("j")
    assert command(page) == "make"
    page.keyboard.press("ArrowDown")
    assert command(page) == "odd"
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.locator("#detail").wait_for()
    page.keyboard.press("j")
    assert focused(page, "className") == "gap"
    page.keyboard.press("Enter")
    page.locator(".raw .bytes", has_text="step 5").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".raw").count() == 0 and page.locator("#detail").is_visible() and focused(page, "className") == "gap"
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden() and command(page) == "make"
    page.keyboard.press("/")
    assert focused(page, "id") == "query"


def test_what_has_the_focus_can_be_seen_and_tab_reaches_all(page: Any) -> None:
    reached = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)") >= 2
        reached.add(focused(page, "id") or focused(page, "className"))
    assert {"skip", "scope", "why", "theme", "whose", "days", "tab-outputs", "session", "tool", "shape", "day", "failed"} <= reached
    page.locator("#tab-outputs").focus()
    page.keyboard.press("ArrowRight")
    assert focused(page, "id") == "tab-savings" and page.locator("#savings").is_visible()
    page.keyboard.press("End")
    assert focused(page, "id") == "tab-time" and page.locator("#time").is_visible()
    page.keyboard.press("ArrowRight")
    assert focused(page, "id") == "tab-outputs"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert focused(page, "id") == "tab-outputs" and page.locator("#outputs").is_visible()


@pytest.mark.parametrize("panel", ["outputs", "savings", "search", "layers", "time"])
def test_it_is_readable_at_360_pixels_in_the_dark_and_without_motion(page: Any, panel: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.locator(f"#tab-{panel}").click()
    if panel == "outputs":
        row(page, "make").click()
        page.locator(".gap").last.click()
        page.locator(".raw .bytes", has_text="step 5").wait_for()
        assert page.locator("#list").is_hidden(), "the output has the whole width"
    elif panel == "savings":
        page.locator("canvas").first.wait_for()
    elif panel == "search":
        page.locator("#query").fill("step 1500")
        page.keyboard.press("Enter")
        page.locator(".hit").first.wait_for()
    elif panel == "layers":
        page.locator("#layer-rows td").first.wait_for()
    else:
        page.locator("#former").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
    assert page.evaluate("getComputedStyle(document.querySelector('#theme')).transitionDuration") == "0s"


def test_the_theme_can_be_chosen_and_stays(page: Any) -> None:
    page.emulate_media(color_scheme="dark")
    for name, ground in (("light", "rgb(247, 247, 245)"), ("dark", "rgb(20, 24, 27)")):
        page.locator("#theme").click()
        assert page.locator("#theme").inner_text() == f"Theme: {name}"
        page.emulate_media(color_scheme="light" if name == "dark" else "dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    page.reload()
    page.locator("#list button").first.wait_for()
    assert page.locator("#theme").inner_text() == "Theme: dark"


def test_the_code_is_gone_from_the_url_and_the_page_can_be_read_again(page: Any) -> None:
    assert page.url.partition("#")[2].startswith("/outputs?project=")
    page.reload()
    page.locator("#list button").first.wait_for()


def test_outputs_come_page_by_page_and_by_project_and_session(page: Any) -> None:
    rows = page.locator("#list button")
    assert rows.count() == 50
    page.locator("#older").click()
    page.locator("#list li:nth-child(51) button").wait_for()
    assert rows.count() == 100
    page.locator("#older").click()
    page.locator(f"#list li:nth-child({MANY + 2})").wait_for()
    assert page.locator("#older").is_hidden() and rows.last.locator(".command").inner_text() == "echo 0"
    page.locator("#session").select_option("second")
    page.locator("#list li:nth-child(3)").wait_for(state="detached")
    assert rows.count() == 2
    page.locator("#scope").select_option(OTHER)
    page.get_by_text("other project").wait_for()
    assert rows.count() == 1


def test_what_is_captured_now_comes_to_the_top_by_itself(site: Filled, page: Any) -> None:
    made = site.capture("just now", "new\n")
    soon(page)
    page.locator("#list li:first-child", has_text="just now").wait_for()
    with site.open() as gateway:
        gateway.session("first", scope=SCOPE).purge(made.ref)


def test_figures_are_those_of_byref_report(site: Filled, page: Any) -> None:
    told = json.loads(site.byref("report", "--json", "--estimate"))
    figures = {"raw": told["total"]["raw"], "view": told["total"]["view"], "fetched": told["total"]["fetched"],
               "repeated": told["total"]["repeated"], "searched": told["searched"], "definitions": told["definitions"], "net": told["net"]}
    assert 2 * figures["raw"] == sum(figures.values()), "the line on top adds up: raw is all the others together"
    assert figures["fetched"] > 0
    page.locator("#tab-savings").click()
    page.locator("#days").select_option("30")  # nobody asked for that before, so it is counted now
    for name, figure in figures.items():
        page.locator(f"[data-figure={name}][title='{figure} tokens']").wait_for()
    page.locator("#by-tools summary").click()
    assert page.locator("#by-tools tbody tr").inner_text().split("\t")[:2] == ["shell", str(told["tools"]["shell"]["calls"])]
    assert page.locator("#by-sessions tbody tr").count() == 3


def test_a_hit_opens_at_its_address_and_every_layer_says_what_became_of_it(site: Filled, page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("step 1500: value")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    layers = page.locator("#story tbody tr").all_inner_texts()
    assert any(line.startswith("text\tran\t") for line in layers)
    page.locator(".hit button").first.click()
    page.locator("#detail .raw .bytes", has_text="step 1500: value").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden() and focused(page, "className") == "command"
