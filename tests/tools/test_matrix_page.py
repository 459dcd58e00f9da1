"""The page of the matrix as a text: what it links to, and what its letters say."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2", reason="jinja2 is missing")

from tools import evidence, page

from .made_page import EXAMINED, ONE, SOURCE, fixes, made


@pytest.fixture
def text(tmp_path) -> str:
    return made(tmp_path / "evidence")


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


def test_the_symptom_matches_the_report():
    report = "Title.\n\nSymptom   ``ValueError: one``,\n          two\nCause     three\n"
    assert page.symptom(report) == "ValueError: one, two"
    assert page.symptom("Title.") == ""


def test_only_functions_broken_before_are_called_fixed(tmp_path):
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
    assert "not exist yet" in text


def test_the_page_of_this_checkout_can_be_made():
    text, problems = page.made()
    assert problems == []
    assert "flash-rotary-dtype" in text
