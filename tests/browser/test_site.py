"""The documentation as a built site, in a real browser: the matrix inside of it, every page on a phone, the search."""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("material", reason="mkdocs-material is missing; `nox -s browser` has it")

from packaging.version import Version

from hotfix.commands import bugs

from .test_matrix_page import luminance, outline

ROOT = Path(__file__).resolve().parents[2]
# As users pasted them into issues, with the text around them.
MESSAGES = {
    "flash-rotary-dtype": "AssertionError: Input and cos/sin must have the same dtype, got torch.float32 "
    "and torch.bfloat16",
    "fa2-right-padding-check": "ValueError: You are attempting to perform batched generation with padding_side='right' "
    "this may lead to unexpected behaviour for Flash Attention version of Qwen2. Make sure to  call "
    "`tokenizer.padding_side  = 'left'` before tokenizing the input. ",
    "llama-flash-attention2-removed": "ImportError: cannot import name 'LlamaFlashAttention2' from "
    "'transformers.models.llama.modeling_llama' (/usr/local/lib/python3.12/dist-packages/transformers/models/llama/"
    "modeling_llama.py)",
    "tokenizer-class-tokenizersbackend": "ValueError: Tokenizer class TokenizersBackend does not exist or is not "
    "currently imported.",
    "v5-rope-init-default-removed": "self.rope_init_fn = ROPE_INIT_FUNCTIONS[self.rope_type] KeyError: 'default'",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    matrix = threading.Event()  # cleared, the table's bytes do not come; its headers do
    matrix.set()

    def log_message(self, *_):
        """Say nothing."""

    def copyfile(self, source, outputfile):
        if self.path.startswith("/matrix.html"):
            self.matrix.wait(60)
        super().copyfile(source, outputfile)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site, built as it is published."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    with http.server.ThreadingHTTPServer(("localhost", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def pages() -> list[str]:
    """The addresses of the site's pages, as mkdocs.yml names them."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return ["" if name == "index" else f"{name}/" for name in re.findall(r"^ +- [^:\n]+: ([\w-]+)\.md$", text, re.M)]


def test_every_page_fits_a_phone_and_asks_for_nothing_from_elsewhere(site, visit):
    assert len(pages()) > 20
    tab = visit(site, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    wide = {}
    for page in pages():
        tab.goto(site + page)
        wide[page] = tab.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    assert {page: width for page, width in wide.items() if width > 360} == {}


def test_the_matrix_is_filtered_inside_of_the_site(site, visit):
    tab = visit(site + "matrix/")
    inside = tab.frame_locator("iframe")
    texts = "all => all.filter(one => one.checkVisibility()).map(one => one.textContent)"
    shown = functools.partial(inside.locator("tbody th button").evaluate_all, texts)
    every = len(shown())
    assert every > 100
    inside.locator("#filter").fill("Qwen2.5-VL")
    with_model = shown()
    assert "flash-rotary-dtype" in with_model
    assert 3 < len(with_model) < every / 3
    inside.locator("#release").select_option("4.49.0")
    both = shown()
    assert "flash-rotary-dtype" in both
    assert set(both) < set(with_model)
    inside.locator("#filter").fill("")
    assert set(both) < set(shown())
    inside.locator("#release").select_option("")
    assert len(shown()) == every


@pytest.mark.parametrize("page", ["matrix/", "matrix.html"])
def test_a_link_opens_a_fix(site, visit, page):
    tab = visit(f"{site}{page}#flash-rotary-dtype")
    inside = tab if page.endswith("html") else tab.frame_locator("iframe")
    button = inside.locator("[id='flash-rotary-dtype'] button")
    button.wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    assert inside.get_by_text("qwen2_5_vl: apply_rotary_pos_emb_flashatt", exact=True).is_visible()
    place, frame = button.bounding_box(), inside.locator(".scroll").bounding_box()
    assert frame["y"] <= place["y"] < frame["y"] + frame["height"], "it is in sight"


def test_the_keyboard_leads_from_the_site_into_the_matrix_and_back(site, visit):
    tab = visit(site + "matrix/")
    tab.get_by_role("link", name="matrix.html#flash-rotary-dtype").focus()
    inside = tab.frame(url=re.compile("matrix.html"))
    for _ in range(4):
        tab.keyboard.press("Tab")
        if inside.evaluate("document.activeElement.id") == "filter":
            break
    assert inside.evaluate("document.activeElement.id") == "filter"
    assert outline(inside) != "none"
    tab.keyboard.type("flash-rotary-dtype")
    while inside.evaluate("document.activeElement.tagName") != "BUTTON":
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert inside.locator("tr.target:visible").count() == 2
    tab.keyboard.press("Escape")
    assert inside.locator("tr.target:visible").count() == 0


def background(page):
    """The luminance of a page's background."""
    return luminance(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


def test_the_matrix_is_as_dark_as_the_site_around_it(site, visit):
    tab = visit(site + "matrix/", color_scheme="light")
    inside = tab.frame(url=re.compile("matrix.html"))
    assert background(inside) > 0.8
    tab.locator("label[for=__palette_1]").click()
    assert tab.locator("body").get_attribute("data-md-color-scheme") == "slate"
    assert background(inside) < 0.2
    tab = visit(site + "matrix/", color_scheme="dark")
    inside = tab.frame(url=re.compile("matrix.html"))
    assert background(inside) < 0.2


def test_the_matrix_may_come_later_than_the_choice_of_colours(site, visit):
    tab = visit(site, color_scheme="light")
    Quiet.matrix.clear()
    try:
        tab.goto(site + "matrix/", wait_until="domcontentloaded")
        tab.wait_for_function("document.querySelector('iframe').contentDocument.documentElement === null")
        tab.locator("label[for=__palette_1]").click()
        assert tab.locator("body").get_attribute("data-md-color-scheme") == "slate"
    finally:
        Quiet.matrix.set()
    tab.wait_for_load_state("load")
    assert background(tab.frame(url=re.compile("matrix.html"))) < 0.2


@pytest.mark.parametrize("id", MESSAGES)
def test_the_search_finds_a_pasted_message(site, visit, id):
    tab = visit(site)
    tab.locator(".md-search__input").click()
    tab.keyboard.insert_text(MESSAGES[id])
    tab.keyboard.press("End")
    first = tab.locator(".md-search-result__link").first
    first.wait_for(timeout=10_000)
    assert urlsplit(first.get_attribute("href")).path == f"/fixes/{id}/"
    first.click()
    tab.wait_for_url(re.compile(f"/fixes/{id}/"))
    assert tab.locator("article").get_by_text(id, exact=True).first.is_visible()


def test_the_search_puts_the_bug_of_every_declared_message_first(site, visit):
    tab = visit(site)
    box = tab.locator(".md-search__input")
    box.click()
    box.fill("hotfix")
    tab.keyboard.press("End")
    tab.locator(".md-search-result__link").first.wait_for(timeout=10_000)
    first = "all => all.slice(0, 3).map(one => one.dataset.message || '')"
    missed = {}
    for bug in bugs.known().values():
        for message in bug.errors:
            pasted = message.replace("…", "Some")
            box.fill(f"Traceback (most recent call last):\n  in forward\n{pasted}" if len(message) > 40 else pasted)
            result = tab.locator(".md-search-result__list > li").evaluate_all(first)
            if bug.id not in result:
                missed[message] = (bug.id, result)
    assert missed == {}
    box.fill("nobody has ever had this message")
    assert tab.locator("[data-message]").count() == 0


def listed(tab) -> dict[str, str]:
    """The visible bugs on the page of the fixes: id, and the kind of repair."""
    pairs = tab.locator("#catalog > li").evaluate_all(
        "all => all.filter(one => one.checkVisibility()).map(one => [one.id.slice(4), one.dataset.repair])"
    )
    return dict(pairs)


SCREENS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_a_release_has_the_bugs_that_scan_counts(site, visit, width, scheme):
    tab = visit(site + "fixes/", viewport={"width": width, "height": 800}, color_scheme=scheme)
    every = listed(tab)
    assert every == {bug.id: _repair(bug) for bug in bugs.known().values()}
    for release in ("4.49.0", "5.2.0"):
        tab.get_by_label("I am on").select_option(release)
        here = [bug for bug in bugs.known().values() if bug.is_in(Version(release))]
        assert listed(tab) == {bug.id: _repair(bug) for bug in here}
        summary = tab.locator("#catalog-summary").inner_text()
        counts = [_repair(bug) for bug in here]
        numbers = [len(here), *(counts.count(name) for name in ("on", "opt-in", "none"))]
        assert re.findall(r"(?<![\w.])\d+(?![\w.])", summary) == list(map(str, numbers))
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    text, back = (luminance(tab.evaluate(f"getComputedStyle({part}")) for part in _COLOURS)
    assert (back < 0.2) is (scheme == "dark")
    assert (max(text, back) + 0.05) / (min(text, back) + 0.05) >= 4.5


def test_the_list_of_bugs_is_filtered_by_kind_repair_model_and_words(site, visit):
    tab = visit(site + "fixes/")
    known, every = bugs.known(), listed(tab)
    tab.get_by_label("Kind").select_option("silent")
    assert {known[id].kind for id in listed(tab)} == {"silent"}
    tab.get_by_label("Repair").select_option("opt-in")
    assert listed(tab)
    assert all(known[id].kind == "silent" and known[id].optin for id in listed(tab))
    tab.get_by_label("Repair").select_option("none")
    assert listed(tab)
    assert not any(known[id].repaired for id in listed(tab))
    tab.get_by_label("Kind").select_option("")
    tab.get_by_label("Repair").select_option("")
    tab.get_by_label("Model").fill("Qwen2.5-VL")
    assert "flash-rotary-dtype" in listed(tab)
    assert all(any(".qwen2_5_vl." in place for place in known[id].where) for id in listed(tab))
    tab.get_by_label("Model").fill("")
    tab.get_by_label("Words").fill("cos/sin SAME dtype")
    assert list(listed(tab)) == ["flash-rotary-dtype"]
    tab.get_by_label("Words").fill("no bug has these words")
    assert listed(tab) == {}
    tab.get_by_label("Words").fill(MESSAGES["llama-flash-attention2-removed"])
    assert listed(tab) == {}
    tab.get_by_role("link", name="Search all pages").click()
    first = tab.locator(".md-search-result__link").first
    first.wait_for(timeout=10_000)
    assert urlsplit(first.get_attribute("href")).path == "/fixes/llama-flash-attention2-removed/"
    tab.goto(site + "fixes/")
    assert listed(tab) == every


def test_a_choice_of_filters_is_a_link(site, visit):
    tab = visit(site + "fixes/#release=4.49.0&kind=crash")
    first = listed(tab)
    assert "flash-rotary-dtype" in first
    assert tab.get_by_label("I am on").input_value() == "4.49.0"
    tab.get_by_label("Kind").select_option("silent")
    assert "kind=silent" in tab.url
    tab.reload()
    assert tab.get_by_label("Kind").input_value() == "silent"
    assert not first.keys() & listed(tab).keys()


def test_each_fix_has_a_page_with_its_messages(site, visit):
    tab = visit(site + "fixes/#fa2-right-padding-check")  # a link to the report, as GitHub shows it
    tab.wait_for_url(re.compile("/fixes/fa2-right-padding-check/$"))
    assert tab.title().startswith(bugs.named("fa2-right-padding-check").title)
    description = tab.locator("meta[name=description]").get_attribute("content")
    assert "You are attempting to perform batched generation with padding_side='right'" in description
    assert "4.36.0 to 5.1.0" in description
    article = tab.locator("article").inner_text()
    assert "transformers.models.qwen2.modeling_qwen2:Qwen2Model" in article
    assert "4.53.0" in article
    assert tab.get_by_role("link", name="transformers#37866").is_visible()
    tab.get_by_role("link", name="all fixes").click()
    tab.locator("#catalog a[href='flash-rotary-dtype/']").click()
    tab.wait_for_url(re.compile("/fixes/flash-rotary-dtype/$"))
    assert "Input and cos/sin must have the same dtype" in tab.locator("article").inner_text()


def test_the_pages_of_fixes_fit_a_phone(site, visit):
    tab = visit(site, viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True)
    wide = {}
    for id in ("fa2-right-padding-check", "hybrid-cache-removed", "names-elsewhere", "v5-generate-position-ids"):
        tab.goto(f"{site}fixes/{id}/")
        wide[id] = tab.evaluate("document.documentElement.scrollWidth")
    assert {id: width for id, width in wide.items() if width > 390} == {}


def _repair(bug) -> str:
    return "none" if not bug.repaired else "opt-in" if bug.optin else "on"


_COLOURS = (
    "document.querySelector('#catalog-tools select')).color",
    "document.body).backgroundColor",
)
