"""The verdict: which functions are changed, which are not, and what the report says."""

from __future__ import annotations

import json

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from hotfix.engine.catalogue import INDEX
from hotfix.versions import ranges
from tests.facts import lacking

from .conftest import FIX, TOY, World

IMPORT = "import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))\n"
REPORT = "import hotfix\nfor one in hotfix.report(): print(one.verdict.value, one.state.value)\n"


def test_source_that_nobody_has_seen_and_that_looks_broken_is_left_alone_with_one_short_warning(world: World) -> None:
    world.write("transformers/toy.py", TOY.replace("x + factor", "x + factor + 0"))
    done = world.run(IMPORT + REPORT)
    assert done.stdout == "7\nunknown skipped\n"
    assert done.stderr.count("\n") == 1
    assert lacking(done.stderr, "toy-scale: looks broken", "transformers 1.0") == []
    assert "hotfix status --unknown" in done.stderr
    assert len(done.stderr) < 160


def test_source_that_nobody_has_seen_and_that_does_not_look_broken_is_no_news(world: World) -> None:
    world.write("transformers/toy.py", TOY.replace("x + factor", "x * factor * 1"))
    for switches in ({}, {"HOTFIX_STRICT": "1"}):
        done = world.run(IMPORT + REPORT, **switches)
        assert (done.stdout, done.stderr) == ("10\nunknown skipped\n", "")


def test_unknown_source_is_repaired_on_request(world: World) -> None:
    world.write("transformers/toy.py", TOY.replace("x + factor", "x + factor + 0"))
    assert world.run(IMPORT + REPORT, HOTFIX_UNKNOWN="apply").stdout == "10\nunknown applied\n"


@pytest.mark.parametrize("switch", [{"HOTFIX_UNKNOWN": "raise"}, {"HOTFIX_STRICT": "1"}], ids=str)
def test_unknown_source_raises_on_request(world: World, switch: dict[str, str]) -> None:
    world.write("transformers/toy.py", TOY.replace("x + factor", "x + factor + 0"))
    done = world.run(IMPORT, check=False, **switch)
    assert done.returncode == 1
    assert "hotfix.errors.HotfixError: toy-scale" in done.stderr


def test_comments_docstrings_and_layout_do_not_make_source_unknown(world: World) -> None:
    world.write(
        "transformers/toy.py",
        TOY.replace('"""Scale x."""', '"""Other."""  # a comment\n').replace("x + factor", "(x\n+factor)"),
    )
    assert world.run(IMPORT + REPORT).stdout == "10\nbroken applied\n"


def test_a_release_without_the_target_is_absent(world: World) -> None:
    world.write(
        "transformers/toy.py",
        TOY.replace("def scale", "def grow").replace('"plain": scale', "").replace("scale(5)", ""),
    )
    done = world.run("import hotfix.auto\nimport transformers.toy\n" + REPORT)
    assert done.stdout == "absent skipped\n"
    assert done.stderr == ""


def test_the_number_of_the_release_does_not_decide(world: World) -> None:
    world.write("transformers/__init__.py", '__version__ = "7.0.0.dev0"\n')
    assert world.run(IMPORT + REPORT).stdout == "10\nbroken applied\n"


def test_the_bug_of_a_package_that_is_not_here_is_unaffected(world: World) -> None:
    world.plant("toy-scale", FIX.replace('kind="silent"', 'kind="silent", needs={"flash-attn": "<2.8"}'), *_aims())
    assert world.run(IMPORT + REPORT).stdout == "7\nunaffected skipped\n"
    world.write("flash_attn/__init__.py", '__version__ = "2.8.3.post2"\n')
    assert world.run(IMPORT + REPORT).stdout == "7\nunaffected skipped\n"
    world.write("flash_attn/__init__.py", '__version__ = "2.7.4.post1"\n')
    assert world.run(IMPORT + REPORT).stdout == "10\nbroken applied\n"


def test_a_function_that_somebody_else_has_replaced_is_left_to_them(world: World) -> None:
    code = "import transformers.toy as toy\ntoy.scale = lambda x, factor=2: 'theirs'\n"
    done = world.run(code + "import hotfix.auto\nprint(toy.scale(5))\n" + REPORT)
    assert done.stdout == "theirs\nforeign skipped\n"
    assert "script.py" in done.stderr


def test_a_replacement_whose_signature_does_not_fit_is_refused(world: World) -> None:
    world.write(
        "toy_scale.py", FIX.replace("def scale(x, factor=2):\n    return x * factor", "def scale(x):\n    return x * 2")
    )
    done = world.run(IMPORT + REPORT)
    assert done.stdout == "7\nbroken failed\n"
    assert lacking(done.stderr, "(x, factor=2)", "(x)") == []


def test_a_replacement_that_uses_a_name_the_module_lacks_is_refused(world: World) -> None:
    world.write("toy_scale.py", FIX.replace("return x * factor", "return multiply(x, factor)"))
    done = world.run(IMPORT + REPORT)
    assert done.stdout == "7\nbroken failed\n"
    assert lacking(done.stderr, "uses multiply", "transformers.toy") == []


def test_a_fix_that_cannot_be_loaded_takes_only_itself_out(world: World) -> None:
    world.plant("toy-other", "raise OSError('no such disk')", *_aims())
    done = world.run(IMPORT + REPORT)
    assert done.stdout.splitlines() == ["10", "broken applied", "unknown failed"]
    assert "OSError: no such disk" in done.stderr


def test_failures_raise_in_strict_mode(world: World) -> None:
    world.plant("toy-other", "raise OSError('no such disk')", *_aims())
    done = world.run(IMPORT, check=False, HOTFIX_STRICT="1")
    assert done.returncode == 1
    assert "HotfixError" in done.stderr


def test_a_required_fix_that_is_in_place_lets_the_program_run(world: World) -> None:
    assert world.run(IMPORT, HOTFIX_REQUIRE="toy-scale").stdout == "10\n"


def test_a_required_fix_that_is_not_in_place_stops_the_program_at_the_import(world: World) -> None:
    world.write("transformers/toy.py", TOY.replace("x + factor", "x + factor + 0"))
    done = world.run(IMPORT, check=False, HOTFIX_REQUIRE="toy-scale")
    assert done.returncode == 1
    assert done.stdout == ""
    assert lacking(done.stderr, "HOTFIX_REQUIRE=toy-scale: not", "transformers.toy") == []


def test_targets_not_imported_yet_are_pending_and_the_digest_predicts_them(world: World) -> None:
    code = """
    import hotfix.auto, hotfix, transformers
    before = hotfix.digest()
    print([one.state.value for one in hotfix.report()])
    import transformers.toy
    print([one.state.value for one in hotfix.report()], hotfix.digest() == before, len(before))
    hotfix.revert()
    print(hotfix.digest() == before)
    """
    assert world.run(code).stdout.splitlines() == ["['pending']", "['applied'] True 12", "False"]


def _aims() -> tuple[dict[str, str], dict[str, str]]:
    return {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"}


def test_a_release_lies_in_the_ranges_in_which_packaging_has_it() -> None:
    index = json.loads(INDEX.read_text())
    examined = [Version(release) for releases in index["examined"].values() for release in releases]
    known = {specifier for fix in index["fixes"].values() for specifier in fix["targets"].values() if specifier}
    assert len(known) > 100
    for releases in known:
        contained = [release for release in examined if ranges.contains(releases, release)]
        assert contained == list(SpecifierSet(releases).filter(examined)), releases


@pytest.mark.parametrize("releases", ["", ">=1.0", "<2", " >= 1.0 , != 1.1 ", "==1.*", "~=1.1", "===1.1", "<=1.1,>1.0"])
@pytest.mark.parametrize(
    "release", ["1.0", "1.0.0", "1.1", "2.0rc1", "2.0", "1.1.post1", "1.1+cu130", "1.2.dev0", "1!1.1"]
)
@pytest.mark.parametrize("prereleases", [None, True])
def test_other_releases_and_ranges_are_left_to_packaging(releases: str, release: str, prereleases: bool | None) -> None:
    version = Version(release)
    assert ranges.contains(releases, version, prereleases) is SpecifierSet(releases).contains(version, prereleases)
