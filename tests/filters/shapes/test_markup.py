"""Markup: the text of a page and its headings stand, what surrounds it on every page goes first; reports keep their errors."""
from __future__ import annotations

import json as module
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byref.filters.detect import detect
from byref.filters.shapes.markup import SHAPE
from byref.proxy.contracts import Call
from conformance.outputs import SHARED
from conformance.shapes import look_as
from conformance.views import check, look, span

CASES = Path(__file__).parents[2] / "cases" / "markup"
SNAPSHOT = (CASES / "snapshot.txt").read_text()
WORDS = ("amber", "birch", "cobalt", "damask", "ebony", "fennel", "garnet", "hazel", "indigo", "jasper")
PLACES = ("Home", "Products", "Pricing", "Blog", "Customers", "Support", "Partners", "Login")
MENU = "".join(f"* [{place}](/en/shop/{place.lower()}.html)\n" for place in PLACES)
ARTICLE = ("Skip to content\n\n" + MENU + "\n# The harbour bridge reopens\n\nWe use cookies to improve your experience, to measure how "
           "our pages are read and to show what may interest you. Accept all or change your preferences at any time; some of our "
           "partners also use cookies on these pages, and keep what they learn for up to thirteen months.\n\n" + "".join(
               f"Inspectors replaced hanger {word} in week {n}, at a cost of {n * 1700} euros, and the ferry sailed as before.\n\n"
               for n, word in enumerate(WORDS, 3))
           + "## What comes next\n\nThe north ramp stays closed until spring.\n\n![](data:image/png;base64," + "iVBORw0KGgo" * 40 + ")\n\n"
           + MENU + "\nPrivacy Policy\nTerms of Use\nAll rights reserved\n")


def pydoc_page() -> str:
    """A real page: the documentation of a module as `python -m pydoc -w` writes it."""
    return pydoc.html.page("json", pydoc.html.document(module))


@pytest.fixture(scope="module")
def junit(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report that pytest wrote: 60 tests, two fail, one is skipped."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_shop.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(57))\ndef test_add(n): assert n + 1 > n\n"
        "def test_total(): assert {'net': 3, 'tax': 1} == {'net': 3, 'tax': 2}, 'tax is wrong'\n"
        "def test_lookup(): return {}['missing']\n@pytest.mark.skip(reason='later')\ndef test_later(): pass\n")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", "test_shop.py"], cwd=folder,
                   capture_output=True, check=False)
    return (folder / "report.xml").read_text()


def test_a_page_keeps_its_text_and_loses_what_surrounds_it() -> None:
    shown = check(look(ARTICLE, tool="fetch", arguments={"url": "https://example.org/bridge"}))
    assert shown.view.shape == "markup"
    assert {"# The harbour bridge reopens", "## What comes next", "The north ramp stays closed until spring."} <= set(shown.lines)
    assert sum("Inspectors" in line for line in shown.lines) == 10
    assert "iVBORw0KGgo" not in "".join(shown.lines) and "* [Pricing](/en/shop/pricing.html)" not in shown.lines
    small = check(look(ARTICLE, tool="fetch", arguments={"url": "https://example.org/bridge"}, profile="lean", budget=330))
    assert "Privacy Policy" not in small.lines and sum("Inspectors" in row for row in small.lines) > 3


def test_a_list_of_links_that_is_the_page_stands() -> None:
    links = [f"- [Picture of {word}](https://example.org/{word}.html)" for word in WORDS]
    shown = look("\n".join(["# Archive", "", *links, ""]), tool="fetch", arguments={"url": "https://example.org"})
    assert set(links) <= set(shown.lines)


def test_a_real_html_page_in_one_line_is_cut_where_elements_end() -> None:
    page = pydoc_page().replace("\n", " ")
    shown = check(look(page, "curl -s http://localhost:8000/json.html"))
    assert shown.view.shape == "markup" and len(shown.text) < len(page) / 2 and shown.view.gaps
    raw = page.encode()
    starts = [raw[span(gap.address, raw)[0]:][:1] for gap in shown.view.gaps]
    assert starts.count(b"<") >= 2


def test_a_page_in_one_line_is_a_page_though_it_is_read_as_a_file() -> None:
    written = pydoc_page()
    for page, yes in ((written.replace("\n", " "), True), ("\n".join(re.split(r"(?<=>)\s*", written)), False)):
        assert (SHAPE.match(Call("Bash", {"command": "cat json.html"}), "", page[:4000]) > 60) is yes


def test_scripts_styles_and_menus_of_html_go_first() -> None:
    menu = "".join(f'<li><a class="nav-link" href="/{place.lower()}">{place}</a></li>' for place in PLACES)
    text = "".join(f"<p>The {word} valve was opened at noon and closed by hand in the evening.</p>" for word in
                   ["amber", "birch", "cobalt", "damask", "ebony", "fennel", "garnet", "hazel"])
    page = ("<!doctype html><html><head><title>Valves</title><style>" + ".a{color:red;margin:0 auto}" * 90 + "</style><script>"
            + "window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}" * 40
            + f"</script></head><body><nav><ul>{menu}</ul></nav><h1>Log of valves</h1>{text}<footer>{menu}</footer></body></html>")
    shown = check(look(page, "curl -s http://localhost/"))
    said = "".join(shown.lines)
    assert shown.view.shape == "markup" and said.count("valve was opened") == 8 and "Log of valves" in said and "<title>Valves" in said
    assert "dataLayer.push" not in said and "color:red" not in said and "/customers" not in said and len(shown.text) < len(page) / 4


def test_a_browsers_tree_keeps_what_can_be_read_and_used() -> None:
    shown = check(look(SNAPSHOT, tool="browser_snapshot", arguments={}))
    assert shown.view.shape == "markup" and len(shown.text) < len(SNAPSHOT) * 9 / 10
    assert {'  - heading "Orders" [level=1] [ref=s1e20]', '  - searchbox "Search" [ref=s1e23]', '  - button "Filter" [ref=s1e24]',
            "  - paragraph [ref=s1e21]: 3 of 128 orders are late.", '  - heading "Export" [level=2] [ref=s1e111]'} <= set(shown.lines)
    assert '        - link "Invoices" [ref=s1e14]:' not in shown.lines and "Invoices" in "".join(shown.markers)


def test_metadata_of_a_page_tells_once_and_its_keys_not() -> None:
    meta = {"meta_tags": {"viewport": "width=device-width", "og:url": "https://example.org/a?session=" + "x" * 90,
                          "og:image": "https://cdn.example.org/" + "y" * 90 + ".png", "token": "Zm9v" * 40, "fb:app_id": "3732605936979161",
                          "description": "How the harbour bridge was repaired in nine weeks",
                          "twitter:image": "https://cdn.example.org/" + "z" * 90}}
    text = ("Here is the page.\nThe following metadata was extracted:\n\n" + module.dumps(meta, indent=4) + "\n\nText of the page:\n\n"
            + ARTICLE.split("\n\n", 3)[3])
    shown = check(look(text, tool="visit", arguments={"url": "https://example.org/a"}))
    assert shown.view.shape == "markup" and "How the harbour bridge was repaired in nine weeks" in "".join(shown.lines)
    assert "Zm9vZm9v" not in shown.text and "y" * 90 not in "".join(shown.lines)


def test_a_report_of_pytest_keeps_failing_tests_and_counts_the_rest(junit: str) -> None:
    for raw in (junit, junit.replace("><", ">\n<")):
        shown = check(look(raw, "cat report.xml"))
        said = "".join(shown.lines)
        assert shown.view.shape == "markup" and re.search(r" of 60 tests»", shown.view.head)
        assert 'name="test_total"' in said and 'name="test_lookup"' in said and "tax is wrong" in said and 'tests="60"' in said
        assert "test_add[7]" not in said and len(shown.text) < len(raw) * 2 / 3
        assert sum(gap.count for gap in shown.view.gaps) == 60 - int(shown.view.head.split()[1])


def test_reports_of_checkers_keep_errors_and_count_milder_findings() -> None:
    raw = (CASES / "cppcheck.xml").read_text()
    shown = check(look(raw, "cat cppcheck.xml", profile="lean", budget=500))
    errors = [line for line in raw.split("\n") if 'severity="error"' in line]
    assert len(errors) == 5 and set(re.findall(r'<error id="\w+" severity="error"', raw)) <= set(
        re.findall(r'<error id="\w+" severity="error"', "".join(shown.lines)))
    assert "of 15 findings»" in shown.view.head and 'severity="style"' not in "".join(shown.lines)


def test_a_checkstyle_report_of_mild_findings_is_counted_and_its_errors_stand() -> None:
    mild = (CASES / "checkstyle.xml").read_text()
    row = next(line for line in mild.split("\n") if "SC3014" in line)
    raw = mild.replace("</file>", "".join(row.replace("line='6'", f"line='{n}'") + "\n" for n in range(20, 90))
                       + row.replace("warning", "error").replace("line='6'", "line='7'") + "\n</file>")
    shown = check(look(raw, "run-checks", exit_code=1))
    assert shown.view.shape == "markup" and "<file name='deploy.sh' >" in shown.lines
    assert [line for line in shown.lines if "severity='error'" in line] == [row.replace("warning", "error").replace("line='6'", "line='7'")]
    assert "of 84 findings»" in shown.view.head and "1 failure" not in "".join(shown.markers)


def test_a_page_that_could_not_be_had_says_so() -> None:
    raw = "Error: net::ERR_NAME_NOT_RESOLVED at https://nowhere.example\n" + SNAPSHOT
    shown = check(look(raw, tool="browser_navigate", arguments={}, budget=100))
    assert "Error: net::ERR_NAME_NOT_RESOLVED at https://nowhere.example" in shown.lines


def test_prose_about_failures_is_none() -> None:
    raw = ARTICLE.replace("and the ferry sailed as before", "and the ferry failed to sail, an error that cannot be undone, they said")
    shown = check(look(raw, tool="fetch", arguments={"url": "https://example.org"}, budget=150))
    assert shown.view.shape == "markup" and "failure" not in "".join(shown.markers)


@pytest.mark.parametrize(("text", "command", "tool"), [
    ("<!doctype html><html><body><p>x</p></body></html>\n" * 9, "cat index.html", "Bash"), ("1\t<html>\n2\t<p>a</p>\n" * 9, None, "Read"),
    ('{"a": "<html><p>x</p></html>"}\n' * 9, None, "fetch"), ("a < b and c > d\nx << 3\n" * 9, "run", "Bash"),
    ("- one item\n- two items\n" * 20, "run", "Bash"), ("# a comment\nvalue = 1\n" * 20, "cat settings.conf", "Bash")])
def test_files_that_are_read_and_what_only_looks_like_it_are_no_pages(text: str, command: str | None, tool: str) -> None:
    assert detect(text, Call(tool, {"command": command} if command else {}))[0] != "markup"


def test_it_takes_nothing_from_other_shapes_on_recorded_logs() -> None:
    files = sorted(SHARED.glob("corpus/logs/**/*.txt"))
    if not files:
        pytest.skip(f"no {SHARED}/corpus: it is laid beside the checkout where this project is developed")
    taken = [file.name for file in files if file.stat().st_size < 200_000
             and detect(file.read_text("utf-8", "surrogateescape"), Call("Bash", {"command": "run"}))[0] == "markup"]
    assert all((b"<" in (next(f for f in files if f.name == name)).read_bytes()[:2000]) for name in taken)


PIECES = [line for text in (ARTICLE, SNAPSHOT, (CASES / "cppcheck.xml").read_text()) for line in text.split("\n")] + [
    "<script>", "</script>", "<nav>", "</nav>", "<!--", "-->", "<p", ">", "<a href='x", "```", "```yaml", "{", "}", "<h1>é</h1>",
    '"og:title": "x",',
    "<testcase name='a'>", "<failure>", "</failure>", "]]>", "<![CDATA[", "<" * 400, "[" * 400 + "](" * 50]


@given(st.lists(st.sampled_from(PIECES), max_size=50), st.sampled_from(["\n", "", " "]), st.sampled_from(["auto", "lean", "safe"]))
def test_pieces_of_markup_in_any_order(pieces: list[str], glue: str, profile: str) -> None:
    look_as("markup", glue.join(pieces), "run", exit_code=0, profile=profile, budget=90)
