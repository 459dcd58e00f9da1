"""The pages describe the fixes as they are: those parts are generated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hotfix import Fix
from tools import pages


@pytest.fixture(scope="module")
def source():
    problems: list[str] = []
    read = pages.read(problems.append)
    assert not problems
    return read


def test_the_pages_are_up_to_date(capsys):
    status = pages.main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_every_part_is_on_some_page():
    texts = "".join((pages.ROOT / name).read_text(encoding="utf-8") for name in pages.PAGES)
    assert all(f"<!-- generated: {name} -->" in texts for name in pages.SECTIONS)


def test_a_new_fix_makes_the_pages_stale(source):
    planted = Fix(id="planted", title="It says `no` | and stops", kind="crash", fixed_in="4.50.0")
    planted.replaces(("transformers.modeling_utils:nothing", ">=4.48.0,<=4.49.0"))(lambda: None)
    more = replace(source, fixes={**source.fixes, __name__: planted})
    row = next(line for line in pages.fixes(more).splitlines() if "planted" in line)
    assert row.endswith("| on | It says `no` \\| and stops | 4.48.0 to 4.49.0 |")
    assert "## planted" in pages.reports(more)
    for name in ("docs/list-of-fixes.md", "docs/fixes.md"):
        page = (pages.ROOT / name).read_text(encoding="utf-8")
        assert pages.rendered(page, source) == page
        assert pages.rendered(page, more) != page


def test_tokens_around_a_part_stay(source):
    page = "before\n<!-- generated: fixes -->\nold\n<!-- end: fixes -->\nafter\n"
    new = pages.rendered(page, source)
    assert new.startswith("before\n")
    assert new.endswith("\nafter\n")
    assert "\nold\n" not in new
    assert "flash-rotary-dtype" in new


def test_a_part_that_nobody_makes_is_an_error(source):
    with pytest.raises(KeyError):
        pages.rendered("<!-- generated: nonsense -->\n<!-- end: nonsense -->", source)
