"""Every fix that is on by default says when its repaired code runs, or why every caller is affected."""

from __future__ import annotations

import pytest

from hotfix.engine.catalogue import Catalogue

ENTRIES = Catalogue(lambda sentence: None).entries
RAISES = ("crash", "loading", "removed-api", "api", "training")


def on_by_default():
    return [pytest.param(entry, id=id) for id, entry in ENTRIES.items() if not entry.optin]


def changing(fix):
    """The targets whose code changes by default; names are given by asking, and converters act on files alone."""
    return [target for target in fix.targets if not target.way.adds_name and not target.converts and not target.optin]


@pytest.mark.parametrize("id", ENTRIES)
def test_fixes_off_by_default_give_a_reason(id):
    fix = ENTRIES[id].load()
    for reason in (fix.optin, *(target.optin for target in (*fix.targets, *fix.companions))):
        assert isinstance(reason, str)
        assert not reason.endswith(".")
    assert bool(fix.optin) is ENTRIES[id].optin


def test_all_fixes_that_restore_names_by_default_are_one_group():
    restoring = [id for id, entry in ENTRIES.items() if not entry.optin and not changing(entry.load())]
    names = [id for id in restoring if all(target.way.adds_name for target in ENTRIES[id].load().targets)]
    assert {ENTRIES[id].group for id in names} == {"removed-names"}


@pytest.mark.parametrize("entry", on_by_default())
def test_a_fix_declares_its_condition_or_a_reason(entry):
    fix = entry.load()
    without = [str(target) for target in changing(fix) if not target.condition.pieces]
    assert fix.everyone or not without


@pytest.mark.parametrize("entry", on_by_default())
def test_a_fix_of_a_bug_that_raises_declares_its_errors(entry):
    fix = entry.load()
    patterns = {*fix.errors, *(pattern for target in fix.targets for pattern in target.condition.on_error)}
    if entry.kind in RAISES and changing(fix):
        assert patterns
    for pattern in patterns:
        name, colon, _ = pattern.partition(":")
        assert all(part.isidentifier() for part in name.split("."))
        assert colon
