"""The page of the matrix, in a real browser: what a cell shows, the filter, the keyboard, a phone, the dark."""

from __future__ import annotations

import os
import re
import shutil

import pytest

pytest.importorskip("jinja2", reason="jinja2 is missing")

from hotfix.fix import Fix
from tools import evidence, page

EXAMINED = [f"4.{minor}.{micro}" for minor in range(36, 58) for micro in range(3)]
MODULE = "hotfix.models.flash_rotary_dtype"  # its docstring has the symptom
SOURCE = "0123456789abcdef0123"
ONE = "transformers.models.one.modeling_one:rotate"
TWO = "transformers.models.two.modeling_two:Two.forward"
RESULTS = {
    "versions": {"torch": "2.13.0", "hotfix": "0.1"},
    "fixes": {
        "rotary": {
            ONE: {
                "4.40.0": {
                    "result": "repaired",
                    "source": SOURCE,
                    "before": "AssertionError: same dtype <b>",
                    "oracle": "4.42.0",
                    "difference": 0.0,
                    "of": "",
                },
                "4.40.1": {"result": "failed", "source": SOURCE, "reason": "it differs"},
                "4.40.2": {"result": "repaired", "source": "of another text"},
            }
        }
    },
}


def fixes() -> dict[str, Fix]:
    rotary = Fix(
        id="rotary",
        title="It refuses <bfloat16>.",
        kind="crash",
        upstream=("transformers#36065", "flash-attention@1870a0dc", "hearsay"),
        fixed_in="4.41.0",
    )
    rotary.replaces(ONE, TWO)(lambda q: None)
    var = Fix(id="var", title="Another.", kind="silent", optin=True)
    var.replaces("*.basic_var:rotate")(lambda q: None)
    return {MODULE: rotary, "hotfix.models": var}


@pytest.fixture
def text(tmp_path) -> str:
    folder = tmp_path / "evidence"
    broken = {
        "absent": ["4.36.0 - 4.39.2"],
        "broken": {SOURCE: ["4.40.0 - 4.41.2"]},
        "fixed": {"a" * 20: ["4.42.0 and later"]},
    }
    later = {"absent": ["4.36.0 - 4.49.2"], "broken": {SOURCE: ["4.50.0 and later"]}, "fixed": {}}
    by_hand = {"broken": {SOURCE: ["75ba1e2"]}, "fixed": {"b" * 20: ["2236c79"]}}
    evidence.write(folder / "index.json", {"examined": {"transformers": EXAMINED}})
    evidence.write(folder / "rotary.json", {"fix": "rotary", "targets": {ONE: broken, TWO: later}})
    evidence.write(folder / "var.json", {"fix": "var", "targets": {"*.basic_var:rotate": by_hand}})
    return page.render(fixes(), RESULTS, folder)


def test_nothing_is_loaded_from_elsewhere(text):
    assert not re.findall(r"""(?:src|@import|url\()\s*=?\s*["']?(?!data:)\w""", text)
    assert re.findall(r"<link [^>]*href=\"([^\"]*)", text) == ["data:,"]


def test_text_of_fixes_is_escaped(text):
    assert "It refuses &lt;bfloat16&gt;." in text
    assert "<bfloat16>" not in text


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("transformers#36065", "https://github.com/huggingface/transformers/issues/36065"),
        ("#36065", "https://github.com/huggingface/transformers/issues/36065"),
        ("FoundationVision/VAR@2236c79", "https://github.com/FoundationVision/VAR/commit/2236c79"),
        ("nobody#1", ""),
        ("said on a mailing list", ""),
    ],
)
def test_references_become_links(reference, address):
    assert page.link(reference) == address


def test_the_symptom_is_what_the_report_says():
    report = "Title.\n\nSymptom   ``ValueError: one``,\n          two\nCause     three\n"
    assert page.symptom(report) == "ValueError: one, two"
    assert page.symptom("Title.") == ""


def test_fixed_is_said_only_of_what_was_broken_before(tmp_path):
    """A release that is right because the bug came later has a letter of its own."""
    folder = tmp_path / "evidence"
    entry = {
        "absent": ["4.36.0 - 4.37.2"],
        "fixed": {"c" * 20: ["4.38.0 - 4.39.2"], "a" * 20: ["4.42.0 and later"]},
        "broken": {SOURCE: ["4.40.0 - 4.41.2"]},
    }
    evidence.write(folder / "index.json", {"examined": {"transformers": EXAMINED}})
    evidence.write(folder / "rotary.json", {"fix": "rotary", "targets": {ONE: entry}})
    text = page.render(fixes(), {}, folder)
    letters = re.findall(r'"letters": "([A-Z]{2,})"', text)[0]
    assert dict(zip(EXAMINED, letters))["4.37.2"] == "A"
    assert dict(zip(EXAMINED, letters))["4.38.0"] == "N"
    assert dict(zip(EXAMINED, letters))["4.41.2"] == "B"
    assert dict(zip(EXAMINED, letters))["4.42.0"] == "F"
    assert "the bug did not exist yet" in text


def test_the_committed_page_is_up_to_date(capsys):
    assert page.main(["--check"]) == 0, capsys.readouterr().out


# -- in the browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing")
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is missing")
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu", *quiet])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, text, tmp_path):
    """Opens the page; at the end nothing else may have been asked for and no script may have failed."""
    path = tmp_path / "matrix.html"
    path.write_text(text, encoding="utf-8")
    asked, errors, contexts = [], [], []

    def visit(**options):
        contexts.append(chromium.new_context(**options))
        tab = contexts[-1].new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(path.as_uri())
        return tab

    yield visit
    for context in contexts:
        context.close()
    assert errors == []
    assert [url for url in asked if url != path.as_uri() and not url.startswith("data:")] == []


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


def test_the_filter_finds_fixes_by_their_words_and_targets_by_their_names(opened):
    tab = opened()
    shown = lambda: [row.inner_text() for row in tab.locator("tbody tr:visible th").all()]  # noqa: E731
    tab.locator("#filter").fill("opt silent")
    assert shown() == []
    assert tab.get_by_text("Nothing matches.").is_visible()
    tab.locator("#filter").fill("COS/SIN must")
    assert [row.split("\n")[0] for row in shown()] == ["rotary"]
    tab.locator("#filter").fill("modeling_two")
    assert [row.split("\n")[0] for row in shown()] == ["rotary", "two: Two.forward"]
    tab.locator("#filter").fill("")
    assert [row.split("\n")[0] for row in shown()] == ["rotary", "var"]


def test_models_are_found_as_people_write_them(opened):
    tab = opened()
    shown = lambda: [row.inner_text().split("\n")[0] for row in tab.locator("tbody tr:visible th").all()]  # noqa: E731
    tab.locator("#filter").fill("Modeling-Two")
    assert shown() == ["rotary", "two: Two.forward"]


def test_the_page_can_be_narrowed_to_a_release(opened):
    tab = opened()
    shown = lambda: [row.inner_text().split("\n")[0] for row in tab.locator("tbody tr:visible th").all()]  # noqa: E731
    tab.locator("#release").select_option("4.40.1")
    assert shown() == ["rotary"]
    assert tab.locator("thead th.chosen").inner_text() == "4.40.1"
    tab.locator("#release").select_option("4.45.0")
    assert shown() == []
    tab.locator("#release").select_option("")
    assert shown() == ["rotary", "var"]


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
    scroller = tab.locator(".scroll")
    assert scroller.evaluate("one => one.clientHeight") >= 128
    cell(tab, 0, "4.40.0").tap()
    assert "rotary in 4.40.0" in tab.locator("#detail").inner_text()
    assert tab.locator("tbody th").first.bounding_box()["x"] == pytest.approx(0, abs=1), "names stay in sight"


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
