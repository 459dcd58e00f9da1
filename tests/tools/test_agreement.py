"""Triggers are held against random draws, and the page says what came of it."""

from __future__ import annotations

from functools import cache

import pytest

from hotfix import trigger
from hotfix.engine.catalogue import Catalogue
from tools import evidence
from tools.studies import agreement, draws

ENTRIES = Catalogue(lambda sentence: None).entries


@cache
def units():
    return agreement.units()


def unit_of(fix):
    return next(unit for unit in units() if unit.fix.id == fix)


def row(struck, differs, over=None, **more):
    over = differs if over is None else over
    counts = {"drawn": {"tokens": "3"}, "calls": 1, "struck": struck, "untold": 0, "differs": differs, "over": over}
    return {**counts, "relative": 0.5 * differs, "of": "logits", "raises": "", **more}


def test_every_trigger_is_tested_with_draws_or_gives_a_reason():
    covered = set()
    for module, fix in evidence.discover(pytest.fail).items():
        if trigger.load(fix.id, module) is not None:
            covered.add(fix.id)
    assert covered == {*draws.load(), *draws.CANNOT}
    assert not draws.load().keys() & draws.CANNOT.keys()


def test_every_silent_bug_has_a_trigger_or_says_why_not():
    silent = [(fix.id, module) for module, fix in evidence.discover(pytest.fail).items() if fix.kind == "silent"]
    on = [(name, module) for name, module in silent if not ENTRIES[name].optin]
    assert [name for name, module in on if trigger.load(name, module) is None] == []


def test_a_draw_is_made_again_from_its_seed():
    first, second = (draws.Draw(None, 5, ["a.b:C.d", "a.b:E.f"]) for _ in range(2))
    assert [first.number("rows", 1, 100) for _ in range(9)] == [second.number("rows", 1, 100) for _ in range(9)]
    assert first.lengths("lengths", 4, 9) == second.lengths("lengths", 4, 9)
    assert first.target == second.target
    assert max(first.said["lengths"]) == 9


def test_rows_are_distinguished():
    rows = [
        row(1, True),
        row(2, True, over=False),  # a difference within the tolerance is one all the same
        row(0, False),
        row(0, True, over=False),  # but no miss
        row(1, False),
        row(0, True),
        row(0, True, raises="raises IndexError: none"),
        row(0, True, untold=1),
        row(1, True, untold=1),
    ]
    summed = agreement.summary(rows, unit_of("opt-double-scaling"))
    numbers = {name: summed[name] for name in ("draws", "struck", "silent", "alarms", "misses", "untold", "raise")}
    assert numbers == {"draws": 9, "struck": 3, "silent": 2, "alarms": 1, "misses": 1, "untold": 1, "raise": 1}
    assert summed["rounded"] == 1
    assert summed["some misses"] == [{"tokens": "3", "calls": 1, "struck": 0, "relative": 0.5, "of": "logits"}]


@pytest.mark.testbed
def test_a_trigger_agrees_with_the_computed_results():
    pytest.importorskip("torch")
    measured = agreement.measured(unit_of("opt-double-scaling"), number=24)
    assert measured["struck"] > 8
    assert measured["silent"] > 2
    assert (measured["alarms"], measured["misses"], measured["raise"], measured["untold"]) == (0, 0, 0, 0)


def test_the_table_on_the_page_is_that_of_the_results():
    page = agreement.PAGE.read_text(encoding="utf-8")
    assert agreement.page(page, agreement.read()) == page
    assert agreement.page(page, {}) != page


def test_each_disagreement_has_a_reason():
    data = agreement.read()
    disagree = {
        fix
        for fix, releases in data.items()
        if any(release["alarms"] or release["misses"] for release in releases.values())
    }
    assert disagree == set(agreement.REASONS) & data.keys()  # draws of changed triggers are open


@pytest.mark.parametrize("fix", sorted(draws.load()))
def test_the_results_are_those_of_todays_triggers(fix):
    # If this fails: python -m tools.studies.agreement --fix ID
    data, own = agreement.read().get(fix), [unit for unit in units() if unit.fix.id == fix]
    if data is None:
        pytest.skip(
            "its trigger or its cure has changed, and the draws were not run since: python -m tools.studies.agreement"
        )
    for unit in agreement.first_and_last(own):
        assert unit.releases[0] in data
    for release, counts in data.items():
        assert counts["text"] == agreement.text_of(own[0]), release
        assert counts["draws"] >= agreement.NUMBER
