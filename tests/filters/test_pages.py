"""Pages: headings anchor, menus and banners count less than text, a list of links that is the page is no menu."""
from __future__ import annotations

from byref.filters.pages import weigh
from byref.filters.units import ANCHOR


def worth(*rows: str) -> dict[str, int]:
    return dict(zip(rows, weigh(list(rows))[1], strict=True))


TEXT = "The valve was opened at noon and closed by hand in the evening, as the log of the harbour says. " * 3


def test_headings_anchor_and_comments_in_code_do_not() -> None:
    rank, _ = weigh(["# Title", "text", "```sh", "# no heading", "```", "## Next", "#hashtag", "> # quoted"])
    assert list(rank) == [ANCHOR, 0, 0, 0, 0, ANCHOR, 0, ANCHOR]


def test_links_alone_are_a_menu_beside_text_only() -> None:
    menu = [f"- [{word}](/{word})" for word in ("home", "shop", "blog", "help")]
    assert all(value < 0 for row, value in worth(*menu, TEXT).items() if row in menu)
    assert not any(weigh(menu)[1])
    assert not any(weigh([*menu[:3], TEXT])[1][:3]), "three links are no menu"
    beside = [f"{row} of some use to those who come by" for row in menu]
    assert not any(weigh([*beside, TEXT])[1]), "links with words are text"


def test_what_is_said_again_counts_less_the_second_time() -> None:
    assert weigh([TEXT, TEXT])[1][0] == 0 > weigh([TEXT, TEXT])[1][1]


def test_banners_and_encoded_text_are_far_below_text() -> None:
    banner = "We use cookies to improve your experience. Accept all or change your preferences."
    assert worth(banner)[banner] < -12 and worth("x" * 200)["x" * 200] <= -40
    recipe = "These cookies bake for twelve minutes."
    assert worth(recipe)[recipe] == 0


def test_metadata() -> None:
    title, plain, text = '    "og:title": "The harbour bridge",', '    "viewport": "width=device-width",', "The harbour bridge, in the text"
    dull = ['    "og:image": "https://cdn.example.org/a.png",', '    "og:width": "600",', '    "twitter:title": "The harbour bridge",']
    rows = worth("{", title, *dull, plain, "}", text)
    assert rows[title] > 0 == rows[plain] == rows[text] > max(rows[row] for row in dull)
    assert weigh(["{", "int x = 1;", "}", "text"])[1] == [0, 0, 0, 0], "a block of code is no metadata"


def test_landmarks_of_a_browsers_tree_surround_the_page() -> None:
    rows = ["- banner [ref=e1]:", '  - link "Docs" [ref=e2]:', "    - /url: /docs", "- main [ref=e3]:",
            '  - heading "Orders" [level=1] [ref=e4]', '  - button "Filter" [ref=e5]',
            "  - generic [ref=e6]:", '    - cell "Ada" [ref=e7]', '    - cell "Ada" [ref=e8]']
    rank, value = weigh(rows)
    assert value[1] < 0 and value[2] < value[1] and rank[4] == ANCHOR and value[5] == value[7] == 0 and value[6] < 0 and value[8] < 0
    assert value[3] == 0, "what follows a landmark at its own column is outside of it"
    rank, value = weigh(['uid=1_0 RootWebArea "Orders"', '  uid=1_1 navigation "Main"', '    uid=1_2 link "Home"',
                         '  uid=1_3 heading "Orders" level="1"'])
    assert value[2] < 0 and rank[3] == ANCHOR
