"""The dashboard where things are odd: nothing stored, a daemon that is gone, outputs that are huge, binary, hostile or purged."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.dashboards import OTHER, SCOPE, Site, command, focused, row, soon, watched

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("dashboard")]
PANELS = ("outputs", "savings", "search", "layers", "time")
HUGE = 100_000_000  # bytes
BIDI = "abc\u202edef\u2066\u200b\u00ad\U000e0041"


class Small(Site):
    """A store with some outputs of one project."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for number in range(60):
            self.capture(f"echo {number}", f"the pool of worker {number}\n" * (1 if number % 9 else 400))

    def ready(self, page: Any) -> None:
        chosen(page)


SITE = Small


def chosen(page: Any) -> None:
    """Waits for the list of the project; another one may be newer."""
    page.locator("#scope").select_option(SCOPE)
    row(page, "echo 59").wait_for(state="attached")


# what others see of it

@pytest.mark.parametrize("width, theme", [(360, "dark"), (1280, "light")])
def test_axe_finds_nothing(site: Site, page: Any, width: int, theme: str) -> None:
    """axe-core's rules, those of good practice too: names, roles, contrast, headings, landmarks, targets."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not here: pip install 'byref[browser]'").Axe()
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    found = []
    for panel in PANELS:
        page.locator(f"#tab-{panel}").click()
        if panel == "search":
            page.locator("#query").fill("pool of worker 9")
            page.keyboard.press("Enter")
            page.locator(".hit").first.wait_for()
            page.locator("form summary").click()
        page.locator(f"#{panel} >> :is(li, canvas, #by-layer canvas, td, #former)").first.wait_for()
        found += [(panel, one["id"], one["nodes"][0]["html"]) for one in axe.run(page).response["violations"]]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if panel == "outputs":
            row(page, "echo 54").click()
            page.locator(".gap").first.click()
            page.locator(".raw .bytes", has_text="worker 54").wait_for()
            found += [("output", one["id"], one["nodes"][0]["html"]) for one in axe.run(page).response["violations"]]
            page.keyboard.press("Escape")
            page.keyboard.press("Escape")
    assert found == [], "\n".join(map(str, found))


def test_nothing_of_the_page_can_run_what_a_store_brings(site: Site, loose: Any) -> None:
    loose.goto(site.url())
    chosen(loose)
    loose.evaluate("""() => {
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.owned = 1'><p style='color: red' id=styled>x</p>");
        const made = document.createElement("script");
        made.textContent = "window.owned = 2";
        document.body.append(made);
        document.body.append(Object.assign(document.createElement("iframe"), {src: "javascript:parent.owned = 3"}));
    }""")
    loose.wait_for_timeout(100)
    assert loose.evaluate("window.owned") is None
    assert loose.evaluate("getComputedStyle(document.querySelector('#styled')).color") != "rgb(255, 0, 0)"
    assert loose.evaluate("fetch('https://example.com/').then(() => 'went', () => 'forbidden')") == "forbidden"


# what it lives through

def test_what_comes_meanwhile_takes_neither_the_focus_nor_the_place(site: Site, page: Any) -> None:
    held = row(page, "echo 40")
    held.focus()
    before = held.bounding_box()["y"]
    site.capture("while focused", "x\n")
    soon(page)
    row(page, "while focused").wait_for()
    assert command(page) == "echo 40" and abs(held.bounding_box()["y"] - before) < 2
    page.evaluate("document.activeElement.blur(); scrollTo(0, 1500)")
    there = page.locator("#list button").nth(40)
    name, before = there.inner_text(), there.bounding_box()["y"]
    site.capture("while scrolled", "y\n")
    soon(page)
    row(page, "while scrolled").wait_for(state="attached")
    assert abs(page.locator("#list button").nth(41).bounding_box()["y"] - before) < 2
    assert page.locator("#list button").nth(41).inner_text() == name
    held.focus()
    site.capture("echo 40", "the pool of worker 40\n", session="second")  # the same output, captured again: it moves to the top
    soon(page)
    page.locator("#list li:first-child", has_text="echo 40").wait_for(state="attached")
    assert command(page) == "echo 40"


def test_a_project_and_a_session_that_come_meanwhile_can_be_chosen(site: Site, page: Any) -> None:
    page.locator("#scope").focus()
    site.capture("elsewhere", "x\n", session="late one", scope=OTHER)
    soon(page)
    page.locator("#scope option", has_text="/home/me/other").wait_for(state="attached")
    assert page.locator("#scope").input_value() == SCOPE and focused(page, "id") == "scope"
    page.locator("#scope").select_option(OTHER)
    row(page, "elsewhere").wait_for()
    assert page.locator("#session option").all_inner_texts() == ["all", "late one"]


def test_savings_of_one_project_can_be_told_from_those_of_all(site: Site, page: Any) -> None:
    site.capture("make", "line\n" * 5000, scope=OTHER)
    page.locator("#tab-savings").click()
    page.locator("#days").select_option("7")
    page.locator("#unit", has_text="counted at").wait_for()
    page.locator("#by-tools summary").click()
    every = page.locator("[data-figure=raw]").get_attribute("title")
    page.locator("#whose").select_option("here")
    page.wait_for_function("(every) => document.querySelector('[data-figure=raw]').title !== every", arg=every)
    here = page.locator("[data-figure=raw]").get_attribute("title")
    assert 0 < int(here.split()[0]) < int(every.split()[0])
    assert page.locator("#by-tools details").get_attribute("open") is not None, "what is open stays open"
    page.locator("#scope").select_option(OTHER)
    page.wait_for_function("(others) => !others.includes(document.querySelector('[data-figure=raw]').title)", arg=[here, every])


def test_a_network_that_fails_is_said_and_the_page_goes_on_when_it_is_back(site: Site, browser: Any, loose: Any) -> None:
    loose.goto(site.url())
    chosen(loose)
    loose.locator("#connection", has_text="Live").wait_for()
    browser.set_offline(True)
    loose.clock.fast_forward(60_000)  # nothing was heard for long
    loose.locator("#away-word", has_text="Not connected since").wait_for()
    assert row(loose, "echo 59").is_visible(), "what was there stays to be read"
    browser.set_offline(False)
    site.capture("back again", "x\n")
    row(loose, "back again").wait_for()
    assert loose.locator("#away").is_hidden()


def test_where_the_stream_is_cut_the_page_looks_from_time_to_time(site: Site, loose: Any) -> None:
    loose.route("**/live", lambda route: route.abort())
    loose.goto(site.url())
    chosen(loose)
    loose.locator("#connection", has_text="Every 15 s").wait_for()
    site.capture("seen late", "x\n")
    loose.clock.fast_forward(16_000)
    row(loose, "seen late").wait_for()
    loose.unroute_all()
    loose.clock.fast_forward(16_000)
    loose.locator("#connection", has_text="Live").wait_for()


def test_a_daemon_that_was_started_again_is_found_without_anybody_doing_anything(tmp_path: Path, loose: Any) -> None:
    site = Site(tmp_path)
    site.capture("make", "x\n" * 3)
    site.start()
    try:
        loose.goto(site.url())
        row(loose, "make").click()
        loose.locator(".bytes", has_text="x").wait_for()
        key = loose.evaluate("sessionStorage.getItem('key')")
        site.stop()
        loose.locator("#away-word", has_text="Not connected since").wait_for()
        assert row(loose, "make").is_visible() and loose.locator(".bytes").is_visible(), "what was there stays to be read"
        site.start()
        site.capture("after it", "x\n")
        loose.locator("#try").click()
        row(loose, "after it").wait_for()
        assert loose.locator("#connection").inner_text() == "Live" and loose.locator("#away").is_hidden()
        assert loose.evaluate("sessionStorage.getItem('key')") != key and loose.locator(".bytes").is_visible(), "a new key, the same place"
        loose.reload()
        row(loose, "after it").wait_for()
    finally:
        site.stop()


def test_a_daemon_of_another_token_asks_for_a_new_entry_and_leads_to_where_one_was(tmp_path: Path, loose: Any) -> None:
    site = Site(tmp_path)
    shown = site.capture("make", "x\n" * 3)
    site.start()
    try:
        loose.goto(site.url())
        row(loose, "make").click()
        loose.locator("#detail").wait_for()
        site.stop()
        (tmp_path / "byref" / "daemon.token").unlink()
        site.start()
        loose.locator("#locked-why", has_text="another token").wait_for()
        loose.locator("#code").fill("http://127.0.0.1:1/web/#short")
        loose.keyboard.press("Enter")
        loose.locator("#locked-why", has_text="This is not what").wait_for()
        loose.locator("#code").fill(site.url())
        loose.keyboard.press("Enter")
        loose.locator("#connection", has_text="Live").wait_for()
        assert loose.locator("#locked").is_hidden() and shown.ref in loose.url and loose.locator("#detail").is_visible()
        loose.evaluate("sessionStorage.clear()")
        loose.reload()
        loose.locator("#locked", has_text="no key").wait_for()
        loose.goto(site.url())  # another entry in the same tab
        row(loose, "make").wait_for()
    finally:
        site.stop()


def test_an_empty_store_says_so_everywhere_and_fills_by_itself(tmp_path: Path, browser: Any) -> None:
    site = Site(tmp_path)
    site.start()
    try:
        with watched(browser, site) as page:
            page.locator("#empty").wait_for()
            page.locator("#unit", has_text="0 calls").wait_for()
            page.locator("#tab-savings").click()
            page.locator("#by-days", has_text="Nothing was captured").wait_for()
            page.locator("#tab-time").click()
            page.locator("#time", has_text="Nothing is stored").wait_for()
            page.locator("#tab-layers").click()
            page.locator("#layers", has_text="nothing was looked at").wait_for()
            page.keyboard.press("/")
            page.locator("#query").fill("x")
            page.keyboard.press("Enter")
            page.locator("#notice", has_text="nothing to search").wait_for()
            page.locator("#tab-outputs").click()
            site.capture("the first", "x\n")
            soon(page)
            row(page, "the first").wait_for()
            assert page.locator("#empty").is_hidden() and page.locator("#scope").input_value() == SCOPE
    finally:
        site.stop()


# what is in it

def test_an_output_of_100_megabytes_opens_by_pieces(site: Site, page: Any) -> None:
    line = "{:08d} GET /v1/items/{} 200 of a long log that nobody reads as a whole\n"
    text = "".join(line.format(number, number * 7919 % 1009) for number in range(HUGE // 80))
    shown = site.capture("cat huge.log", text)
    row(page, "cat huge.log").click()
    gap = page.locator(".gap").first
    gap.click()
    start, end = (int(number) for number in shown.gaps[0].address[1:].split("-"))
    body = page.locator(".gap + .raw .bytes")
    body.get_by_text(f"{start - 1:08d} GET").wait_for()
    page.locator(".gap + .raw").get_by_role("button", name="More").click()
    page.wait_for_function("(node) => node.textContent.length > 25000", arg=body.element_handle())
    got = body.evaluate("node => node.textContent")
    lines = text.splitlines(keepends=True)[start - 1:end]
    assert "".join(lines[:2000]).startswith(got)
    assert page.locator(".gap + .raw [role=status]").inner_text().startswith(f"{shown.gaps[0].address} · ")


def test_binary_output_is_told_and_comes_as_base64(site: Site, page: Any) -> None:
    site.capture("cat image", bytes(range(256)) * 40)
    row(page, "cat image").click()
    page.locator(".gap").click()
    page.locator(".raw", has_text="binary").wait_for()
    page.get_by_role("button", name="As base64").click()
    page.locator(".bytes", has_text="AAECAwQFBgcICQoLDA0ODxAR").wait_for()


def test_hostile_names_and_texts_are_spelled_out(site: Site, page: Any) -> None:
    site.capture(f"echo {BIDI} <b>\x1b[2J", f"<b>bold</b> {BIDI}\u2028".encode() + b"\xff\xfe\x07", session=f"<i>{BIDI}\x1b[31m")
    button = page.locator("#list li:first-child button", has_text="abc")
    soon(page)
    button.wait_for()
    spelled = r"abc\u202edef\u2066\u200b\xad\u{e0041}"
    assert button.locator(".command").inner_text() == f"echo {spelled} <b>\\x1b[2J"
    soon(page)
    page.locator("#session option", has_text="<i>").wait_for(state="attached")
    assert page.locator("#session option", has_text="<i>").inner_text() == f"<i>{spelled}\\x1b[31m"
    button.click()
    page.locator(".bytes", has_text="bold").wait_for()
    assert page.locator(".bytes").evaluate("node => node.textContent") == f"<b>bold</b> {spelled}\\u2028\\xff\\xfe\\x07"
    assert page.locator("h2", has_text="abc").inner_text() == f"echo {spelled} <b>\\x1b[2J"
    assert page.locator("#detail :is(b, i), #list :is(b, i), select :is(b, i)").count() == 0
    page.locator("#session").select_option(f"<i>{BIDI}\x1b[31m")
    page.locator("#list li:nth-child(2)").wait_for(state="detached")
    assert page.locator("#list button").count() == 1


def test_a_purged_output_says_so_and_leaves_the_list(site: Site, loose: Any) -> None:
    page = loose
    page.goto(site.url())
    chosen(page)
    shown = site.capture("make secret", "".join(f"secret {number * 7919 % 1009}\n" for number in range(3000)))
    other = site.capture("make other secret", "x\n")
    row(page, "make secret").click()
    page.locator(".gap").first.wait_for()
    with site.open() as gateway:
        gateway.session("first", scope=SCOPE).purge(shown.ref)
    page.locator(".gap").first.click()
    page.locator(".gap + .raw [role=status]", has_text="evicted").wait_for()
    assert page.get_by_role("button", name="More").is_hidden() and page.get_by_role("button", name="Try again").is_hidden()
    soon(page)
    row(page, "make secret").wait_for(state="detached")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    held = row(page, "make other secret")
    held.focus()
    with site.open() as gateway:
        gateway.session("first", scope=SCOPE).purge(other.ref)
    soon(page)
    held.wait_for(state="detached")
    assert focused(page, "tagName") == "BUTTON", "the focus goes to the one beside it"
