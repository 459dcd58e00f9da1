"""The page of the matrix, in a real browser: what a cell shows, the filter, the keyboard, a phone, the dark."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2", reason="jinja2 is missing")

from tests.tools.made_page import EXAMINED, ONE, TWO, made


@pytest.fixture
def opened(visit, tmp_path):
    """Opens the page."""
    path = tmp_path / "matrix.html"
    path.write_text(made(tmp_path / "evidence"), encoding="utf-8")
    return lambda **options: visit(path.as_uri(), **options)


def cell(tab, row: int, release: str):
    return tab.locator("tbody tr").nth(row).locator("td").nth(EXAMINED.index(release))


def test_a_cell_shows_what_is_known(opened):
    tab = opened()
    letters = {"4.39.2": "·", "4.40.0": "R", "4.40.1": "X", "4.40.2": "B", "4.41.0": "B", "4.42.0": "F"}
    assert {release: cell(tab, 1, release).text_content() for release in letters} == letters
    assert [cell(tab, 0, release).text_content() for release in ("4.40.0", "4.40.1", "4.45.0", "4.50.0")] == list(
        "RXFB"
    )
    assert "broken in 75ba1e2; fixed in 2236c79" in tab.locator("tbody").nth(1).text_content()


def test_pointing_at_a_cell_tells_symptom_upstream_oracle_and_difference(opened):
    tab = opened()
    tab.get_by_role("button", name="rotary").click()
    cell(tab, 1, "4.40.0").hover()
    detail = tab.locator("#detail")
    said = detail.inner_text()
    assert "rotary in 4.40.0: broken, repaired by hotfix" in said
    assert "Input and cos/sin must have the same dtype" in said
    assert "AssertionError: same dtype <b>" in said
    assert "the same case in 4.42.0" in said
    assert "none, bitwise equal" in said
    links = [link.get_attribute("href") for link in detail.locator("a").all()]
    assert links[0] == "https://github.com/huggingface/transformers/issues/36065"
    assert len(links) == 2
    cell(tab, 1, "4.40.1").hover()
    assert "it differs" in detail.inner_text()


def test_the_table_is_walked_with_the_keyboard(opened):
    tab = opened()
    tab.locator("#filter").focus()
    tab.keyboard.press("Tab")  # the scrolling part or the first button, depending on the browser
    while tab.evaluate("document.activeElement.tagName") != "TD":
        tab.keyboard.press("Tab")
    tab.keyboard.press("End")
    assert "rotary in 4.57.2" in tab.locator("#detail h2").inner_text()
    tab.keyboard.press("ArrowLeft")
    assert "rotary in 4.57.1" in tab.locator("#detail h2").inner_text()
    tab.keyboard.press("Enter")
    assert tab.get_by_role("button", name="rotary").get_attribute("aria-expanded") == "true"
    tab.keyboard.press("ArrowDown")
    assert ONE in tab.locator("#detail").inner_text()
    tab.keyboard.press("ArrowDown")
    assert TWO in tab.locator("#detail").inner_text()
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#detail h2").inner_text() == "var"
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Home")
    assert "rotary in 4.36.0: no such code" in tab.locator("#detail h2").inner_text()
    assert tab.locator("td[tabindex='0']").count() == 1, "Tab reaches one cell"


def outline(tab) -> str:
    return str(tab.evaluate("getComputedStyle(document.activeElement).outlineStyle"))


def test_what_has_the_focus_can_be_seen_and_escape_leads_back(opened):
    tab = opened()
    reached = []
    for _ in range(20):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement === document.body"):
            break
        reached.append(tab.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
        assert outline(tab) != "none", reached[-1]
    assert [reached.count(name) for name in ("filter", "What is shown", "rotary", "var")] == [1, 1, 1, 1]
    tab.locator("#filter").focus()
    tab.keyboard.type("silent")
    assert tab.get_by_role("button", name="rotary").is_hidden()
    tab.keyboard.press("Escape")
    assert tab.locator("#filter").input_value() == ""
    button = tab.get_by_role("button", name="rotary")
    assert button.is_visible()
    button.focus()
    tab.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert ONE in tab.locator("#detail").inner_text()
    tab.keyboard.press("Escape")
    assert button.get_attribute("aria-expanded") == "false"
    assert tab.evaluate("document.activeElement.textContent") == "rotary"
    tab.locator("summary").focus()
    tab.keyboard.press("Enter")
    assert tab.locator(".legend").is_hidden()


def shown(tab):
    """The labels of the visible rows: fixes, and the targets of open fixes."""
    return [row.inner_text().split("\n")[0] for row in tab.locator("tbody tr:visible th").all()]


def test_the_filter_finds_fixes_by_their_words_and_targets_by_their_names(opened):
    tab = opened()
    tab.locator("#filter").fill("opt silent")
    assert shown(tab) == []
    assert tab.get_by_text("Nothing matches.").is_visible()
    tab.locator("#filter").fill("COS/SIN must")
    assert shown(tab) == ["rotary"]
    tab.locator("#filter").fill("modeling_two")
    assert shown(tab) == ["rotary", "two: Two.forward"]
    tab.locator("#filter").fill("")
    assert shown(tab) == ["rotary", "var"]


def test_models_are_found_as_people_write_them(opened):
    tab = opened()
    tab.locator("#filter").fill("Modeling-Two")
    assert shown(tab) == ["rotary", "two: Two.forward"]


def test_the_page_can_be_narrowed_to_a_release(opened):
    tab = opened()
    tab.locator("#release").select_option("4.40.1")
    assert shown(tab) == ["rotary"]
    assert tab.locator("thead th.chosen").inner_text() == "4.40.1"
    tab.locator("#release").select_option("4.45.0")
    assert shown(tab) == []
    tab.locator("#release").select_option("")
    assert shown(tab) == ["rotary", "var"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_reader_chooses_the_columns(opened, width):
    tab = opened(viewport={"width": width, "height": 800})
    tab.locator("#from").select_option("4.50.0")
    tab.locator("#to").select_option("4.51.2")
    heads = [head.inner_text() for head in tab.locator("thead th.release:visible").all()]
    assert heads == ["4.50.0", "4.50.1", "4.50.2", "4.51.0", "4.51.1", "4.51.2"]
    assert shown(tab) == ["rotary"], "what is broken in none of them is hidden"
    assert [row.inner_text() for row in tab.locator("tbody tr.whole td:visible").all()] == ["B"] * 6
    assert cell(tab, 0, "4.50.0").bounding_box()["x"] < width, "the first column is in sight"
    cell(tab, 0, "4.50.1").click()
    tab.keyboard.press("End")
    assert "rotary in 4.51.2" in tab.locator("#detail h2").inner_text()
    tab.keyboard.press("ArrowRight")
    assert "rotary in 4.51.2" in tab.locator("#detail h2").inner_text(), "the keyboard stays in the chosen columns"
    tab.keyboard.press("Home")
    assert "rotary in 4.50.0" in tab.locator("#detail h2").inner_text()
    tab.locator("#from").select_option("4.36.0")
    tab.locator("#to").select_option("4.36.2")
    assert shown(tab) == []
    tab.locator("#release").select_option("4.40.1")
    assert shown(tab) == ["rotary"], "a release that is not among them brings every column back"
    tab.locator("#release").select_option("")
    assert shown(tab) == ["rotary", "var"]
    assert tab.locator("thead th.release:visible").count() == len(EXAMINED)


def test_a_link_opens_a_fix_and_a_fix_makes_the_link(opened):
    tab = opened()
    tab.evaluate("location.hash = '#rotary'")
    button = tab.get_by_role("button", name="rotary")
    assert button.get_attribute("aria-expanded") == "true"
    assert tab.evaluate("document.activeElement.textContent") == "rotary"
    tab.get_by_role("button", name="var").click()
    assert tab.evaluate("location.hash") == "#var"
    tab.locator("#filter").fill("silent")
    tab.evaluate("location.hash = '#rotary'")
    assert button.is_visible(), "a link is stronger than a filter"
    tab.evaluate("location.hash = '#nothing'")


def test_it_fits_a_phone(opened):
    tab = opened(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert tab.locator(".scroll").bounding_box()["height"] > 640 / 2, "most of it is the table"
    cell(tab, 0, "4.40.0").tap()
    assert "rotary in 4.40.0" in tab.locator("#detail").inner_text()
    assert tab.locator("tbody th").first.bounding_box()["x"] == pytest.approx(0, abs=1), "names stay in sight"
    tab.get_by_text("What is shown").tap()
    assert tab.locator(".legend").is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert tab.locator(".scroll").bounding_box()["height"] >= 120, "with all of it open there is still a table"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_stand_out_in_the_light_and_in_the_dark(opened, scheme):
    tab = opened(color_scheme=scheme)
    page_is_dark = tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (luminance(page_is_dark) < 0.2) is (scheme == "dark")
    for letter in "RBXFN":
        colours = "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
        text, back = map(luminance, tab.locator(f".legend .{letter}").evaluate(colours))
        assert (max(text, back) + 0.05) / (min(text, back) + 0.05) >= 4.5, letter


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
