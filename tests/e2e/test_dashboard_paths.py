"""Ways through the dashboard: from a figure down to the bytes and back, addresses that are kept, downloads, filters, what is gone."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.dashboards import OTHER, SCOPE, Site, command, focused, row

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("dashboard")]
STEPS = "".join(f"step {n}: value {n * 7919 % 1009}\n" for n in range(3000))
BINARY = bytes(range(256)) * 40


class Ways(Site):
    """Two sessions, three tools, some that failed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.capture("elsewhere", "x\n", session="of another", scope=OTHER)
        with self.open() as gateway:
            session = gateway.session("alpha", scope=SCOPE)
            self.long = session.capture(tool="shell", args={"command": "make all"}, output={"stdout": STEPS, "stderr": BINARY}, exit_code=2)
            for number in range(8):
                session.capture(tool="Read", args={"file_path": f"src/{number}.py", "limit": 20}, output=f"x = {number}\n" * 30)
            for number in range(6):
                gateway.session("beta", scope=SCOPE).capture(
                    tool="shell", args={"command": f"echo {number}"}, output=f"{number}\n", exit_code=number % 2)


SITE = Ways


def commands(page: Any) -> list[str]:
    return list(page.locator("#list .command").all_inner_texts())


def test_from_savings_to_a_session_an_output_a_gap_and_its_bytes_and_back(site: Ways, page: Any) -> None:
    page.locator("#tab-savings").click()
    page.locator("#by-sessions a", has_text="alpha").click()
    page.locator("#list li:nth-child(10)").wait_for(state="detached")
    assert len(commands(page)) == 9 and page.locator("#session").input_value() == "alpha" and "session=alpha" in page.url
    row(page, "make all").click()
    page.locator(".gap").first.click()
    page.locator(".gap + .raw .bytes", has_text="step").wait_for()
    assert f"ref={site.long.ref}" in page.url and "at=" in page.url
    page.go_back()
    page.locator(".raw").wait_for(state="detached")
    assert page.locator("#detail").is_visible()
    page.go_back()
    page.locator("#detail").wait_for(state="hidden")
    assert command(page) == "make all", "the focus is where it was"
    page.go_back()
    page.locator("#savings").wait_for()
    page.go_forward()
    page.go_forward()
    page.go_forward()
    page.locator(".gap + .raw .bytes", has_text="step").wait_for()


def test_an_address_can_be_loaded_again_and_given_to_another_tab(site: Ways, page: Any, browser: Any) -> None:
    row(page, "make all").click()
    page.locator(".gap").first.click()
    page.locator(".gap + .raw .bytes").wait_for()
    address = page.url
    page.reload()
    page.locator(".gap + .raw .bytes", has_text="step").wait_for()
    assert page.url == address
    other = browser.new_page()
    other.goto(address)
    other.locator("#locked", has_text="no key").wait_for()
    other.locator("#code").fill(site.url())
    other.keyboard.press("Enter")
    other.locator(".gap + .raw .bytes", has_text="step").wait_for()
    assert other.url == address
    other.close()


def test_a_search_is_part_of_the_address_and_hits_lead_there_and_back(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("step 1500: value")
    page.keyboard.press("Enter")
    page.locator(".hit button").first.click()
    page.locator("#detail .raw .bytes", has_text="step 1500").wait_for()
    page.go_back()
    page.locator("#detail").wait_for(state="hidden")
    assert page.locator(".hit").count() > 0 and focused(page, "className") == "command"
    page.reload()
    page.locator(".hit", has_text="make all").first.wait_for()
    assert page.locator("#query").input_value() == "step 1500: value"


def test_outputs_are_narrowed_by_tool_shape_day_and_outcome(page: Any) -> None:
    page.locator("#tool option", has_text="Read").wait_for(state="attached")
    page.locator("#tool").select_option("Read")
    page.locator("#list li:nth-child(9)").wait_for(state="detached")
    assert commands(page) == [f"src/{number}.py limit=20" for number in range(7, -1, -1)]
    page.locator("#clear").click()
    page.locator("#list li:nth-child(15)").wait_for()
    assert page.locator("#clear").is_hidden() and focused(page, "id") == "tool"
    page.locator("#failed").check()
    page.locator("#list li:nth-child(5)").wait_for(state="detached")
    assert commands(page) == ["echo 5", "echo 3", "echo 1", "make all"]
    day = page.locator("#day option").nth(1).get_attribute("value")
    page.locator("#day").select_option(day)
    page.locator("#shape").select_option(page.locator("#shape option").nth(1).get_attribute("value"))
    page.wait_for_function("() => document.querySelectorAll('#list li').length < 4 || !document.querySelector('#empty').hidden")
    page.reload()
    page.locator("#clear").wait_for()
    assert page.locator("#failed").is_checked() and page.locator("#day").input_value() == day


def test_a_tool_of_an_output_leads_to_all_of_it(page: Any) -> None:
    row(page, "src/3.py limit=20").click()
    page.locator("#detail .facts a", has_text="Read").click()
    page.locator("#list li:nth-child(9)").wait_for(state="detached")
    assert page.locator("#detail").is_hidden() and page.locator("#tool").input_value() == "Read"


def test_bytes_are_downloaded_whole_with_their_name_and_type(site: Ways, page: Any, tmp_path: Path) -> None:
    row(page, "make all").click()
    for part, name, content in (("stdout", "stdout.txt", STEPS.encode()), ("stderr", "stderr.bin", BINARY)):
        with page.expect_download() as coming:
            page.get_by_role("button", name=f"Download {part}").click()
        coming.value.save_as(tmp_path / name)
        assert coming.value.suggested_filename == f"{site.long.ref}-{name}" and (tmp_path / name).read_bytes() == content


def test_a_ref_and_a_link_are_copied(site: Ways, page: Any, browser: Any) -> None:
    browser.grant_permissions(["clipboard-read", "clipboard-write"])
    row(page, "make all").click()
    for button, wanted in (("Copy ref", site.long.ref), ("Copy link", page.url)):
        page.get_by_role("button", name=button).click()
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == (page.url if button == "Copy link" else wanted)
        page.clock.fast_forward(2000)


def test_what_is_purged_while_it_is_open_is_said_and_what_was_read_stays(site: Ways, loose: Any) -> None:
    page = loose
    page.goto(site.url())
    site.ready(page)
    made = site.capture("make secret", STEPS)
    row(page, "make secret").click()
    page.locator(".gap").first.click()
    page.locator(".gap + .raw .bytes", has_text="step").wait_for()
    with site.open() as gateway:
        gateway.session("first", scope=SCOPE).purge(made.ref)
    page.locator("#gone", has_text="not stored any more").wait_for()
    row(page, "make secret").wait_for(state="detached")
    assert page.locator(".bytes", has_text="step").is_visible() and "evicted" in page.locator("#gone").inner_text()
    assert page.locator(".part:enabled").count() == 0


def test_each_figure_explains_itself_by_keyboard_too(page: Any) -> None:
    for tab in ("outputs", "savings", "layers", "time"):
        page.locator(f"#tab-{tab}").click()
        page.locator(f"#{tab} >> :is(li, canvas, td, #former)").first.wait_for()
    page.locator("#tab-savings").click()
    headings = page.locator("figure h2, dt, #layers > h2")
    for heading in headings.all():
        assert heading.locator(".why").count() == 1, heading.inner_text()
    why = page.locator("dt .why").last
    why.focus()
    page.keyboard.press("Enter")
    page.locator(".explains:popover-open", has_text="Net saved").wait_for()
    assert page.locator(".explains:popover-open").bounding_box()["x"] >= 0
    page.keyboard.press("Escape")
    page.locator(".explains:popover-open").wait_for(state="detached")
    assert page.locator(".explains:popover-open").count() == 0 and focused(page, "className") == "why"


def test_nothing_jumps_while_it_loads(site: Ways, page: Any) -> None:
    """Cumulative layout shift, as browsers count it: below 0.1 is good."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        page.locator("#unit", has_text="calls").wait_for()
        page.locator("#list button").first.wait_for()
        shift = page.evaluate("""() => new Promise((done) => {
            let sum = 0;
            new PerformanceObserver((list) => {
                for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value;
            }).observe({type: "layout-shift", buffered: true});
            requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
        })""")
        assert shift < 0.1, (width, shift)


def test_a_hidden_page_asks_nothing_and_sees_all_when_it_is_looked_at_again(site: Ways, page: Any) -> None:
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.locator("#connection", has_text="Live").wait_for()
    page.locator("#unit", has_text="calls").wait_for()
    page.evaluate(hide, True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    site.capture("unseen", "x\n")
    page.clock.fast_forward(120_000)
    page.wait_for_timeout(1500)
    assert asked == []
    page.evaluate(hide, False)
    row(page, "unseen").wait_for()
