"""A fix has the name of the module that declares it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hotfix.fix import Fix
from tools import evidence


def test_every_fix_has_the_name_of_its_module():
    fixes = evidence.discover(pytest.fail)
    assert len(fixes) > 200
    assert [module for module, fix in fixes.items() if module.rpartition(".")[2] != fix.id.replace("-", "_")] == []


def test_a_fix_without_an_id_is_called_as_the_module_that_declares_it():
    namespace = {"__name__": "my_fixes.happy_module", "Fix": Fix}
    exec("FIX = Fix(title='a', kind='silent')", namespace)
    assert namespace["FIX"].id == "happy-module"


def test_an_id_that_is_given_stays():
    fix = Fix(id="a", title="t", kind="silent")
    assert fix.id == "a"
    assert replace(fix, id="plugin:a").id == "plugin:a"


def test_a_fix_declares_its_kind_of_bug():
    with pytest.raises(ValueError, match="kind"):
        Fix(id="a", title="t")
