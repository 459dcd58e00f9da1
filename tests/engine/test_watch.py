"""The watcher: which imports it sees, in which order, at what cost, and that it leaves nothing behind."""

from __future__ import annotations

import shutil
import textwrap
import zipfile

import pytest

from tests.facts import lacking

from .conftest import World

SAYS = "import hotfix; print([(one.verdict.value, one.state.value, one.late) for one in hotfix.report()])\n"
APPLIED = "[('broken', 'applied', False)]"
LATE = "[('broken', 'applied', True)]"


def test_a_module_that_is_imported_after_hotfix_is_repaired(world: World) -> None:
    done = world.run("import hotfix.auto\nfrom transformers.toy import scale\nprint(scale(5))\n" + SAYS)
    assert done.stdout.split("\n")[:2] == ["10", APPLIED]


def test_a_module_that_is_imported_after_its_package_is_repaired_and_not_late(world: World) -> None:
    done = world.run(
        "import transformers\nimport hotfix.auto\nfrom transformers.toy import scale\nprint(scale(5))\n" + SAYS
    )
    assert done.stdout.split("\n")[:2] == ["10", APPLIED]


def test_a_module_that_was_imported_before_is_repaired_with_all_its_copies_and_called_late(world: World) -> None:
    world.write(
        "third.py",
        "from functools import partial\nfrom transformers.toy import scale\nhalf = partial(scale, factor=3)\n",
    )
    done = world.run(
        """
        import third
        import transformers.toy as toy
        import hotfix.auto
        print(third.scale(5), third.half(5), toy.scale(5), toy.SCALERS["plain"](5))
        import hotfix
        print([(one.verdict.value, one.state.value, one.late) for one in hotfix.report()])
        """
    )
    assert done.stdout.split("\n")[:2] == ["10 15 10 10", LATE]


def test_asking_for_the_spec_before_the_import_loses_nothing(world: World) -> None:
    code = """
    import hotfix.auto, importlib.util
    for _ in range(3):
        importlib.util.find_spec("transformers")
        importlib.util.find_spec("transformers.toy")
    from transformers.toy import scale
    print(scale(5))
    """
    assert world.run(code).stdout == "10\n"


def test_a_reloaded_module_is_repaired_again(world: World) -> None:
    code = """
    import hotfix.auto, importlib
    import transformers.toy as toy
    importlib.reload(toy)
    print(toy.scale(5))
    """
    assert world.run(code).stdout == "10\n"


GIVES_A_NAME = """
from hotfix.fix import Fix

FIX = Fix(id="a-name", title="a name is gone", kind="removed-api")

@FIX.adds(("transformers:gone", "==1.0"))
def gone():
    return "given back"
"""

PUTS_ITSELF = """
import sys, types

__version__ = "1.0"
module = types.ModuleType(__name__)
module.__dict__.update(__path__=__path__, __file__=__file__, __spec__=__spec__, __version__=__version__)
sys.modules[__name__] = module
"""

# As transformers does to look up its own classes.
EXECUTES_IT = """
import importlib.util, pathlib

folder = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location(
    "transformers", folder / "__init__.py", submodule_search_locations=[str(folder)]
)
spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""


def test_a_package_executed_again_past_all_finders_keeps_its_names(world: World) -> None:
    world.write("transformers/__init__.py", PUTS_ITSELF)
    world.write("transformers/processing_utils.py", EXECUTES_IT)
    world.plant("a-name", GIVES_A_NAME, {"transformers:gone": "==1.0"}, {})
    code = """
    import hotfix.auto, sys, transformers as first
    print(first.gone())
    import transformers.processing_utils
    import transformers
    print(transformers is first, transformers.gone())
    import hotfix
    hotfix.revert()
    print(hasattr(transformers, "gone"))
    """
    assert world.run(code, HOTFIX_ONLY="a-name").stdout.splitlines() == ["given back", "False given back", "False"]


def test_the_module_has_its_own_loader_back_after_the_import(world: World) -> None:
    code = """
    import hotfix.auto, importlib.machinery
    import transformers.toy as toy
    print(type(toy.__loader__) is type(toy.__spec__.loader) is importlib.machinery.SourceFileLoader)
    """
    assert world.run(code).stdout == "True\n"


def test_a_module_in_a_zip_file_is_repaired_where_its_importer_can_be_watched(world: World) -> None:
    with zipfile.ZipFile(world.folder / "packed.zip", "w") as packed:
        for name in ("__init__.py", "toy.py"):
            packed.write(world.package / name, f"transformers/{name}")
    shutil.rmtree(world.package)
    code = """
    import hotfix.auto, sys, zipimport
    import transformers.toy as toy
    watchable = hasattr(zipimport.zipimporter, "exec_module")
    print(".zip" in toy.__file__, toy.scale(5) == (10 if watchable else 7))
    """
    assert world.run(code, path=(str(world.folder / "packed.zip"),)).stdout == "True True\n"


def test_arming_twice_is_the_same_as_once(world: World) -> None:
    code = """
    import sys
    import hotfix.auto, hotfix
    before = list(sys.meta_path)
    hotfix.apply(); hotfix.watch.arm()
    import transformers.toy as toy
    code = toy.scale.__code__
    hotfix.apply()
    print(sys.meta_path == before, toy.scale.__code__ is code, len(list(hotfix.report())))
    """
    assert world.run("import hotfix.watch\n" + textwrap.dedent(code)).stdout == "True True 1\n"


def test_revert_restores_the_identical_objects_and_the_meta_path(world: World) -> None:
    code = """
    import sys
    before = list(sys.meta_path)
    import transformers.toy as toy
    function, code = toy.scale, toy.scale.__code__
    import hotfix
    hotfix.apply()
    assert toy.scale(5) == 10 and toy.scale is function
    hotfix.revert()
    print(toy.scale is function, toy.scale.__code__ is code, toy.scale(5), sys.meta_path == before)
    """
    assert world.run(code).stdout == "True True 7 True\n"


def test_a_handle_reverts_on_the_way_out_also_after_an_exception(world: World) -> None:
    code = """
    import sys, hotfix
    before = list(sys.meta_path)
    try:
        with hotfix.apply(only=["toy-scale"]) as handle:
            import transformers.toy as toy
            print(toy.scale(5), handle.fixes)
            raise RuntimeError
    except RuntimeError:
        print(toy.scale(5), sys.meta_path == before)
    """
    assert world.run(code).stdout.splitlines() == ["10 ('toy-scale',)", "7 True"]


def test_a_handle_reverts_only_its_own_fixes(world: World) -> None:
    code = """
    import hotfix.auto, hotfix
    import transformers.toy as toy
    with hotfix.apply(only=["toy-scale"]) as handle:
        print(toy.scale(5), handle.fixes)
    print(toy.scale(5))
    """
    assert world.run(code).stdout == "10 ()\n10\n"


def test_nothing_is_loaded_before_a_watched_package_is_imported(world: World) -> None:
    code = """
    import sys
    before = set(sys.modules)
    result = __import__("hotfix.auto")
    print(sorted(set(sys.modules) - before))
    """
    done = world.run(code, planted=False)
    assert done.stdout == "['hotfix', 'hotfix.auto', 'hotfix.watch']\n"
    assert done.stderr == ""


def test_switched_off_nothing_is_there_at_all(world: World) -> None:
    code = """
    import sys
    modules, finders = set(sys.modules), list(sys.meta_path)
    import hotfix.auto
    print(sorted(set(sys.modules) - modules), sys.meta_path == finders)
    import transformers.toy as toy
    print(toy.scale(5))
    """
    assert world.run(code, planted=False, HOTFIX="0").stdout.splitlines() == ["['hotfix', 'hotfix.auto'] True", "7"]


def test_apply_under_hotfix_0_does_nothing(world: World) -> None:
    code = "import sys, hotfix\nbefore = list(sys.meta_path)\nprint(hotfix.apply().fixes, sys.meta_path == before)\n"
    assert world.run(code, HOTFIX="0").stdout == "() True\n"


@pytest.mark.parametrize("interpreters", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_two_threads_that_import_at_once_both_see_the_repaired_function(world: World, interpreters: int) -> None:
    code = """
    import hotfix.auto, threading
    gate, seen = threading.Barrier(2), []
    def work():
        gate.wait()
        from transformers.toy import scale
        seen.append(scale(5))
    threads = [threading.Thread(target=work) for _ in range(2)]
    [one.start() for one in threads]; [one.join() for one in threads]
    print(seen)
    """
    assert {world.run(code).stdout for _ in range(interpreters)} == {"[10, 10]\n"}


@pytest.mark.parametrize("flags", [(), ("-O",), ("-OO",), ("-X", "importtime")], ids=str)
def test_interpreter_flags_change_nothing(world: World, flags: tuple[str, ...]) -> None:
    done = world.run("import hotfix.auto\nfrom transformers.toy import scale\nprint(scale(5))", flags=flags)
    assert done.stdout == "10\n"


def test_a_broken_registry_leaves_the_import_alone(world: World) -> None:
    world.write("evidence/index.json", "{not json")
    done = world.run("import hotfix.auto\nfrom transformers.toy import scale\nprint(scale(5))")
    assert done.stdout == "7\n"
    assert done.stderr.count("\n") == 1
    assert (
        lacking(done.stderr, "hotfix: does nothing", "ValueError", f"{world.folder}/evidence/index.json cannot be")
        == []
    )


def test_a_broken_registry_stops_a_program_that_wants_no_run_without_hotfix(world: World) -> None:
    world.write("evidence/index.json", "{not json")
    for switch in ({"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-scale"}, {"HOTFIX_PIN": "0123456789ab"}):
        done = world.run("import hotfix.auto\nimport transformers.toy\nprint('ran')", check=False, **switch)
        assert done.returncode == 1
        assert done.stdout == ""
        assert "index.json cannot be" in done.stderr
