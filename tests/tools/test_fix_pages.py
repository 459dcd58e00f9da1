"""The site's list of bugs and its pages of fixes, as text; tests/browser opens them."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2", reason="jinja2 is missing")

from hotfix.commands import bugs
from tools import fix_pages, pages


@pytest.fixture(scope="module")
def source():
    return pages.read(pytest.fail)


def test_the_list_has_every_known_bug_with_the_releases_that_scan_counts(source):
    rows = re.findall(r'<li id="bug-([^"]+)" data-kind="([\w-]+)".*? data-on="([^"]*)"', fix_pages.catalog(source))
    known = bugs.known()
    assert [(id, kind) for id, kind, _ in rows if known[id].kind != kind] == []
    assert len(rows) == len(known)
    for id, _, spans in rows:
        positions = [
            number
            for first, last in (span.split("-") for span in spans.split())
            for number in range(int(first), int(last) + 1)
        ]
        assert positions == [number for number, release in enumerate(source.examined) if known[id].is_in(release)], id


def test_every_fix_has_a_page_with_its_messages_upstream_and_releases(source):
    texts = dict(fix_pages.pages(source))
    assert len(texts) == len(source.fixes)
    for fix in source.fixes.values():
        text = texts[f"fixes/{fix.id}.md"]
        assert all(message in text.replace("`` ", "") for message in fix.errors), fix.id
        assert all(reference.partition("#")[2] in text for reference in fix.upstream), fix.id
        assert fix.fixed_in in text, fix.id
        assert (f"HOTFIX_OPTIN={fix.group or fix.id}" in text) is bool(fix.optin), fix.id


def test_messages_that_differ_in_a_name_share_a_line():
    lines = fix_pages._messages(
        [
            "ImportError: cannot import name 'A' from 'm'",
            "ImportError: cannot import name 'A' from 'n'",
            "ImportError: cannot import name 'B' from 'm'",
            "ImportError: cannot import name 'B' from 'n'",
            "AttributeError: 'C' object has no attribute 'x'",
            "AttributeError: 'C' object has no attribute 'y'",
            "KeyError: 'z'",
        ]
    )
    assert list(lines) == [
        "`KeyError: 'z'`",
        "`ImportError: cannot import name 'A' from 'm'`; the same for `B`; also from `n`",
        "`AttributeError: 'C' object has no attribute 'x'`; the same for `y`",
    ]


def test_links_to_reports_lead_to_the_pages_of_the_fixes():
    text = "[a](fixes.md#flash-rotary-dtype), [b](fixes.md), [c](list-of-fixes.md)"
    assert fix_pages.with_links_to_pages(text) == "[a](fixes/flash-rotary-dtype.md), [b](fixes.md), [c](fixes.md)"
