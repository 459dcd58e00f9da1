"""Until the distributions are on a package index, no page tells a reader to install them from there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "autoload" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FROM_AN_INDEX = re.compile(
    r"pip install [^\n`#@]*?(?<![\w./-])['\"]?transformers-hotfix(?:-autoload)?(?:\[\w+\])?['\"]?(?! @)"
)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_from_an_index(page):
    assert FROM_AN_INDEX.findall(page.read_text(encoding="utf-8")) == []


def test_the_pattern_finds_such_a_command():
    assert FROM_AN_INDEX.search("$ pip install 'transformers-hotfix[cli]'")
    assert not FROM_AN_INDEX.search("$ pip install './hotfix[cli]'")


def test_every_link_of_the_readme_leads_to_a_file():
    for target in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_the_readme_is_short():
    assert 100 <= len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
