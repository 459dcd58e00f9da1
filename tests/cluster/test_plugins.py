"""Fixes from other packages: found when transformers is imported, namespaced, and isolated from each other."""

from __future__ import annotations

import json

import pytest

from tests.cluster import toy
from tests.facts import lacking

HOTFIXED = "import hotfix.auto; "


@pytest.fixture
def plugin(tmp_path):
    """Writes a distribution into a folder and returns the environment variables that put it on the path."""

    def write(name, value, text="", module="planted", entry_points=None):
        (tmp_path / f"{module}.py").write_text(text)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(entry_points or f"[hotfix.fixes]\nplanted = {value}\n")
        return {"PYTHONPATH": str(tmp_path)}

    return write


GOOD = toy.FILES["toy_fixes.py"].replace("models.toy:", "models.other:").replace('id="toy"', 'id="other"')
OTHER = "from transformers.models.other import answer; print(answer())"


def outcomes(plain, env):
    results = plain.run("-m", "hotfix", "status", "--json", env=env)
    return {outcome["fix"]: outcome["state"] for outcome in json.loads(results.stdout)["outcomes"]}


def test_a_plugin_is_called_by_the_name_of_its_distribution(plain, plugin):
    env = plugin("My_Package", "planted:FIX", GOOD)
    assert plain.run("-c", HOTFIXED + OTHER, env=env).stdout == "fixed\n"
    assert outcomes(plain, env)["my-package:other"] == "pending"
    assert plain.run("-c", HOTFIXED + OTHER, env={**env, "HOTFIX_SKIP": "my-package:*"}).stdout == "broken\n"


@pytest.mark.parametrize("value", ["planted:FIXES", "planted:Holder.FIXES"])
def test_a_plugin_may_bring_several_fixes(value, plain, plugin):
    text = GOOD + "\nFIXES = [FIX]\nclass Holder:\n    FIXES = (FIX,)\n"
    assert plain.run("-c", HOTFIXED + OTHER, env=plugin("pack", value, text)).stdout == "fixed\n"


BROKEN = {
    "it raises": ("planted:FIX", "raise RuntimeError('mine')", "RuntimeError: mine"),
    "it is not there": ("nowhere_at_all:FIX", "", "ModuleNotFoundError"),
    "it has no such name": ("planted:FIX", "", "AttributeError"),
    "it is no fix": ("planted:FIX", "FIX = [1]", "TypeError: 1 is not a hotfix.Fix"),
    "it is a module": ("planted", GOOD, "TypeError"),
    "it has no targets": ("planted:FIX", "from hotfix import Fix\nFIX = Fix('x', 'x', 'crash')", "has no targets"),
    "it names itself in full": ("planted:FIX", GOOD.replace('"other"', '"a:b"'), "an id has no colon"),
    "it comes twice": ("planted:FIXES", GOOD + "\nFIXES = [FIX, FIX]", "two fixes called pack:other"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_plugin_takes_only_itself_out(how, plain, plugin):
    value, text, message = BROKEN[how]
    env = plugin("pack", value, text)
    done = plain.run("-c", HOTFIXED + toy.SAY, env=env)
    assert done.stdout == "fixed\n"
    lines = [line for line in done.stderr.splitlines() if "pack" in line]
    assert len(lines) == 1
    assert message in lines[0]


def test_a_broken_plugin_stops_a_strict_program(plain, plugin):
    env = plugin("pack", "planted:FIX", "raise RuntimeError('mine')")
    done = plain.run("-c", HOTFIXED + toy.SAY, env={**env, "HOTFIX_STRICT": "1"}, check=False)
    assert done.returncode == 1
    assert "RuntimeError: mine" in done.stderr


def test_entry_points_that_cannot_be_read_are_named(plain, plugin):
    env = plugin("pack", "", entry_points="hotfix.fixes without a section")
    done = plain.run("-c", HOTFIXED + toy.SAY, env=env)
    assert done.stdout == "fixed\n"
    assert lacking(done.stderr, "entry points", "pack") == []


def test_plugins_are_not_looked_for_at_start_up(plain, plugin):
    env = plugin("pack", "planted:FIX", GOOD + "\nprint('planted')\n")
    code = "import hotfix.auto, sys; print('planted' in sys.modules, 'hotfix.engine.plugins' in sys.modules); "
    code += "import transformers; print('importlib.metadata' in sys.modules)"
    assert plain.run("-c", code, env=env).stdout.splitlines() == ["False False", "planted", "False"]


@pytest.mark.parametrize("first", [HOTFIXED, "import elsewhere; " + HOTFIXED], ids=["later", "before"])
def test_a_plugin_may_repair_another_package_whenever_that_is_imported(plain, plugin, tmp_path, first):
    env = plugin("pack", "planted:FIX", GOOD.replace("transformers.models.other:", "elsewhere:"))
    (tmp_path / "elsewhere.py").write_text('def answer():\n    return "broken"\n')
    code = "import transformers, elsewhere; print(elsewhere.answer())"
    assert plain.run("-c", first + code, env=env).stdout == "fixed\n"
