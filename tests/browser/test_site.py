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

from .test_matrix_page import luminance, outline

ROOT = Path(__file__).resolve().parents[2]
# As they were pasted into issues, with what stands around them there.
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
    """How bright what stands behind a page is."""
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
    first = tab.locator(".md-search-result__link").nth(1)  # the page stands above its parts
    first.wait_for(timeout=10_000)
    found = urlsplit(first.get_attribute("href"))
    assert (found.path, found.fragment) == ("/fixes/", id)
    first.click()
    tab.wait_for_url(re.compile(f"/fixes/.*#{id}$"))
    assert tab.locator(f"[id='{id}']").is_visible()
