"""The watcher breaks no import, and code that bypasses it is not reported as repaired.

- A module that another finder has loaded first is repaired late, at the next look: a report, a digest, a later import.
- If it cannot be repaired then, a program with a guard stops; the digest of such a process differs.
- Modules that a plugin imports at its top are repaired, too; a module that is still executing, at the next look.
- A process has a single watcher, however often and from wherever hotfix is loaded, and nothing is repaired twice.
- What the import system skips in ``sys.path`` and ``sys.modules``, because it is not a string, is skipped.
- Finders that query all other finders, and programs that copy loaders, see an ordinary finder and an ordinary loader.
- A program that was stopped once is stopped again.
- If one caller of `apply` reverts, the requests of others remain: the union of all requests is in force.
"""

from __future__ import annotations

import shutil
import textwrap

import pytest

from tests.engine.conftest import ROOT

from .conftest import FIX, TOY, World

pytestmark = pytest.mark.drawn(4)  # a process for each case

STATES = "import hotfix\nprint([(one.verdict.value, one.state.value, one.late) for one in hotfix.report()])\n"
LATE = "[('broken', 'applied', True)]\n"
INSISTENT = ({"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-scale"})

# As typeguard's and jaxtyping's import hooks do: ahead of all others, without calling them.
AHEAD = """
import sys
from importlib.machinery import PathFinder
class Ahead:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path) if name == "transformers.toy" else None
sys.meta_path.insert(0, Ahead)
"""
PAST = "import hotfix.auto\n" + AHEAD + "import transformers.toy as toy\nassert toy.scale(5) == 7\n"


def unrepairable(world: World) -> None:
    """The replacement does not match, no matter which finder loads the module."""
    world.write("toy_scale.py", FIX.replace("x, factor=2):\n    return x * factor", "x):\n    return x * 2"))


@pytest.mark.parametrize(
    "look", ["hotfix.report()", "hotfix.digest()", "hotfix.assert_uniform()", "import transformers.other"]
)
def test_modules_loaded_ahead_by_a_finder_are_repaired_by_the_next_look(world: World, look: str) -> None:
    if look == "hotfix.assert_uniform()":
        pytest.importorskip("torch")
    world.write("transformers/other.py", "def scale(x, factor=2):\n    return x + factor\n")
    world.plant("toy-other", FIX.replace("toy:scale", "other:scale").replace("toy-scale", "toy-other"),
                {"transformers.other:scale": "==1.0"}, {"transformers.other:scale": "scale"})  # fmt: skip
    code = PAST + f"import hotfix\n{look}\nprint(toy.scale(5))\n" + STATES.replace("report()", "report() if one.late")
    path: tuple[str, ...] = ()
    if look == "hotfix.assert_uniform()":
        import torch

        path = (torch.__path__[0].rpartition("/")[0],)
    done = world.run(code, path=path, HOTFIX_LOG="info")
    assert done.stdout == "10\n" + LATE
    assert "(late)" in done.stderr


def test_a_record_lists_modules_loaded_past_hotfix(world: World) -> None:
    code = "import json, pathlib, atexit\n@atexit.register\ndef show():\n"
    code += "    (one,) = [json.loads(file.read_text()) for file in pathlib.Path('records').glob('*.json')]\n"
    code += "    print(one['ended'], any('toy-scale' in patch for patch in one['patches']))\n"
    done = world.run(code + PAST, HOTFIX_RECORD="records")
    assert done.stdout == "True False\n"


@pytest.mark.parametrize("switch", INSISTENT, ids=str)
def test_a_strict_program_stops_at_a_late_repair_that_is_impossible(world: World, switch) -> None:
    unrepairable(world)
    for look in ("hotfix.report()", "hotfix.digest()"):
        code = PAST + f"import hotfix\nfor _ in range(2):\n    try:\n        {look}\n    except hotfix.HotfixError:\n"
        code += "        print('stopped')\n"
        done = world.run(code, check=False, **switch)
        assert (done.stdout, done.returncode) == ("stopped\nstopped\n", 1)


def test_the_digest_of_a_process_in_which_the_repair_failed_is_another_one(world: World) -> None:
    good = world.run("import hotfix.auto, hotfix, transformers.toy\nprint(hotfix.digest())\n").stdout
    late = world.run(PAST + "import hotfix\nprint(hotfix.digest())\n").stdout
    assert good == late
    blocked = PAST + "toy.scale = lambda x, factor=2: x\nimport hotfix\nprint(hotfix.digest())\n"
    assert world.run(blocked).stdout not in (good, "")


@pytest.mark.parametrize("switch", [{}, *INSISTENT], ids=str)
def test_modules_imported_at_the_top_of_a_plugin_are_repaired(world: World, switch) -> None:
    world.write("eager-1.0.dist-info/entry_points.txt", "[hotfix.fixes]\nfixes = eager:FIXES\n")
    world.write("eager.py", "import transformers.toy\nFIXES = []\n")
    done = world.run("import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))\n" + STATES, **switch)
    assert done.stdout == "10\n" + LATE


def test_a_module_that_is_being_executed_is_repaired_as_soon_as_it_is_looked_at(world: World) -> None:
    world.write("transformers/toy.py", "import arming\n" + TOY)
    world.write("arming.py", "import hotfix\nhandle = hotfix.apply()\n")
    done = world.run("import transformers.toy as toy\n" + STATES + "print(toy.scale(5))\n")
    assert done.stdout == LATE + "10\n"
    assert "put the function" not in done.stderr


@pytest.mark.parametrize("switch", INSISTENT, ids=str)
def test_a_partly_executed_module_that_cannot_be_repaired_stops_a_strict_job(world: World, switch) -> None:
    unrepairable(world)
    world.write("transformers/toy.py", "import arming\n" + TOY)
    world.write("arming.py", "import hotfix\nhandle = hotfix.apply()\n")
    done = world.run("import transformers.toy, hotfix\nhotfix.report()\nprint('step 0')\n", check=False, **switch)
    assert (done.returncode, done.stdout) == (1, "")
    assert "HotfixError" in done.stderr


# -- one watcher ---------------------------------------------------------------------------------------------------

AGAIN = {
    "reloaded": "import importlib, hotfix.watch\nimportlib.reload(hotfix.watch)\nhotfix.watch.arm()\n",
    "reloaded with auto": "import importlib, hotfix.watch\nimportlib.reload(hotfix.watch)\n"
    "importlib.reload(hotfix.auto)\n",
    "purged": "import sys\n[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('hotfix')]\n"
    "import hotfix.auto\n",
    "vendored": "import vendored.hotfix.watch\nvendored.hotfix.watch.arm()\n",
}
ONE = "import sys\nprint(sum(hasattr(one, 'is_hotfix') for one in sys.meta_path))\n"
PLANT = """
import pathlib, sys
for name in [one for one in sys.modules if one.endswith("hotfix")]:
    import importlib
    importlib.import_module(name + ".engine.catalogue").INDEX = pathlib.Path({index!r})
    importlib.import_module(name + ".versions.verdict").EVIDENCE = pathlib.Path({folder!r})
"""


@pytest.mark.parametrize("switch", [{}, *INSISTENT], ids=str)
@pytest.mark.parametrize("how", AGAIN)
def test_one_watcher_remains_however_often_hotfix_is_loaded(world: World, how: str, switch) -> None:
    shutil.copytree(ROOT / "hotfix", world.folder / "vendored/hotfix", ignore=shutil.ignore_patterns("__pycache__"))
    world.write("vendored/__init__.py", "")
    if how == "vendored":
        world.write("toy_scale.py", FIX.replace("from hotfix.fix", "from vendored.hotfix.fix"))
    plant = PLANT.format(index=str(world.folder / "evidence/index.json"), folder=str(world.folder / "evidence"))
    code = "import hotfix.auto\n" + AGAIN[how] + plant + ONE + "import transformers.toy as toy\nprint(toy.scale(5))\n"
    assert world.run(code, **switch).stdout == "1\n10\n"


@pytest.mark.parametrize("how", ["reloaded", "purged"])
@pytest.mark.parametrize("method", ["replace", "edit", "wrap"])
def test_a_reloaded_hotfix_repairs_nothing_twice(world: World, how: str, method: str) -> None:
    body = {
        "replace": '@FIX.replaces("transformers.toy:scale")\ndef scale(x, factor=2):\n    return x * factor\n',
        "edit": 'FIX.edits("transformers.toy:scale", old="x + factor", new="x + factor + 3")\n',
        "wrap": '@FIX.wraps("transformers.toy:scale")\ndef around(original):\n'
        "    def wrapper(x, factor=2):\n        return original(x, factor) + 3\n    return wrapper\n",
    }
    text = FIX.partition("@FIX.replaces")[0] + body[method]
    world.plant("toy-scale", text, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})
    plant = PLANT.format(index=str(world.folder / "evidence/index.json"), folder=str(world.folder / "evidence"))
    code = "import hotfix.auto\nimport transformers.toy as toy\n" + AGAIN[how] + plant
    code += "import hotfix\nhotfix.apply(); hotfix.report()\nprint(toy.scale(5))\n"
    assert world.run(code).stdout == "10\n"


@pytest.mark.parametrize("switch", [{}, *INSISTENT], ids=str)
def test_finders_that_ask_all_finders_do_no_harm(world: World, switch) -> None:
    """As snoop and birdseye do; there are two of them, and they swallow exceptions."""
    code = """
    import sys
    class Asking:
        def find_spec(self, name, path=None, target=None):
            for finder in sys.meta_path:
                if finder is self or self.asking:
                    continue
                self.asking = True
                try:
                    spec = finder.find_spec(name, path, target)
                except Exception:
                    continue
                finally:
                    self.asking = False
                if spec is not None:
                    return spec
        asking = False
    class AskingWithoutGuard:
        def find_spec(self, name, path=None, target=None):
            for finder in sys.meta_path[sys.meta_path.index(self) + 1:]:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
    sys.meta_path.insert(0, Asking())
    import hotfix.auto
    sys.meta_path.insert(0, Asking())
    sys.meta_path.insert(0, AskingWithoutGuard())
    import transformers.toy as toy
    print(toy.scale(5), sum(hasattr(one, "is_hotfix") for one in sys.meta_path))
    """
    done = world.run(code, **switch)
    assert done.stdout == "10 1\n"
    assert "does nothing" not in done.stderr


def test_a_finder_that_asks_back_without_end_meets_no_recursion(world: World) -> None:
    code = """
    import sys
    import hotfix.auto
    class Mirror:
        def find_spec(self, name, path=None, target=None):
            if name.startswith("transformers"):
                return sys.meta_path[0].find_spec(name, path, target)
    sys.meta_path.append(Mirror())
    sys.meta_path.insert(1, Mirror())
    import transformers.toy as toy
    print(toy.scale(5))
    try:
        import transformers.toy.nothing
    except ImportError as error:
        print(type(error).__name__)
    """
    assert world.run(code).stdout == "10\nModuleNotFoundError\n"


def test_a_loader_can_be_copied_and_pickled_like_any_other(world: World) -> None:
    code = """
    import copy, importlib.util, sys
    import hotfix.auto
    import transformers
    spec = importlib.util.find_spec("transformers.toy")
    other = copy.copy(spec.loader)
    assert other.path == spec.loader.path and other.get_source("transformers.toy")
    spec.loader = other
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    print(module.scale(5))
    """
    assert world.run(code).stdout == "10\n"


def test_a_loader_answers_as_without_hotfix(world: World) -> None:
    code = """
    import importlib.abc, importlib.machinery, importlib.util, pickle
    import transformers
    loader = importlib.util.find_spec("transformers.toy").loader
    print([isinstance(loader, kind) for kind in (importlib.machinery.SourceFileLoader, importlib.abc.SourceLoader)])
    print(loader.__class__, type(pickle.loads(pickle.dumps(loader))), repr(loader).partition(" at ")[0])
    """
    assert world.run("import hotfix.auto\n" + textwrap.dedent(code)).stdout == world.run(code, planted=False).stdout


ODD = {
    "a key of sys.modules": "sys.modules[None] = sys.modules[3] = sys\n",
    "an entry of sys.path": "sys.path[:0] = [None, b'/nowhere', pathlib.Path('nowhere'), ['unhashable']]\n",
}


@pytest.mark.parametrize("switch", [{}, {"HOTFIX_STRICT": "1"}, {"HOTFIX_REQUIRE": "toy-scale"}], ids=str)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("what", ODD)
def test_what_the_import_system_skips_is_skipped(world: World, what: str, first: bool, switch) -> None:
    arm, odd = "import hotfix.auto\n", "import sys, pathlib\n" + ODD[what]
    use = "import transformers.toy as toy, hotfix\nprint(toy.scale(5), len(hotfix.report()))\n"
    done = world.run((odd + arm if first else arm + odd) + use, **switch)
    assert done.stdout == "10 1\n"
    assert "Traceback" not in done.stderr
    past = AHEAD + "import transformers.toy\n"
    assert world.run(arm + past + odd, check=False, **switch).returncode == int(bool(switch))


def test_a_module_that_refuses_attributes_is_imported(world: World) -> None:
    code = """
    import sys, types
    from importlib.machinery import PathFinder, SourceFileLoader
    import hotfix.auto
    class Module(types.ModuleType):
        def __setattr__(self, name, value):
            if name != "__spec__":
                raise AttributeError(name)
            super().__setattr__(name, value)
    class Loader(SourceFileLoader):
        def create_module(self, spec):
            return Module(spec.name)
        def exec_module(self, module):
            exec(self.get_code(self.name), vars(module))
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "transformers.toy":
                spec = PathFinder.find_spec(name, path)
                spec.loader = Loader(name, spec.origin)
                return spec
    sys.meta_path.insert(1, Finder)
    import transformers.toy as toy
    print(toy.scale(5))
    """
    assert world.run(code).stdout == "7\n"


# -- stopped, again ------------------------------------------------------------------------------------------------

UNRUNNABLE = (
    {"HOTFIX_STRICT": "1", "HOTFIX_ONLY": "toy-scael"},
    {"HOTFIX_REQUIRE": "toy-scael"},
    {"HOTFIX_REQUIRE": "toy-scale", "HOTFIX_SKIP": "toy-scale"},
    {"HOTFIX_STRICT": "yes"},
    {"HOTFIX_PIN": "0123456789ab"},
)


@pytest.mark.parametrize("switches", UNRUNNABLE, ids=str)
def test_a_program_that_was_stopped_once_is_stopped_again(world: World, switches) -> None:
    code = """
    import hotfix.auto
    for name in ("transformers", "transformers", "transformers.toy", "transformers.toy"):
        try:
            __import__(name)
        except Exception as error:
            print(type(error).__module__)
    """
    assert world.run(code, **switches).stdout == "hotfix.errors\n" * 4


@pytest.mark.parametrize("switch", INSISTENT, ids=str)
def test_a_repair_that_failed_stops_each_import_of_its_module(world: World, switch) -> None:
    unrepairable(world)
    code = """
    import hotfix.auto, hotfix
    for _ in range(3):
        try:
            import transformers.toy
        except hotfix.HotfixError as error:
            print("stopped")
    """
    assert world.run(code, **switch).stdout == "stopped\n" * 3


# -- the union of all requests --------------------------------------------------------------------------------------


def plant_other(world: World) -> None:
    text = FIX.replace("toy-scale", "toy-halve").replace("toy:scale", "toy:Layer.halve")
    text = text.replace("def scale(x, factor=2):\n    return x * factor", "def halve(x):\n    return x / 2")
    name = "transformers.toy:Layer.halve"
    world.plant("toy-halve", text.replace("def scale", "def halve"), {name: ""}, {name: "Layer.halve"})


HANDLES = {
    "a handle that was closed before transformers was imported": """
        import hotfix.auto, hotfix
        with hotfix.apply(only=["toy-halve"]):
            pass
        import transformers.toy as toy
        print(toy.scale(5), toy.Layer.halve(8))
    """,
    "a handle that is kept": """
        import hotfix.auto, hotfix
        kept = hotfix.apply(only=["toy-halve"])
        import transformers.toy as toy
        print(toy.scale(5), toy.Layer.halve(8))
    """,
    "the first one closed first": """
        import hotfix
        import transformers.toy as toy
        first = hotfix.apply(only=["toy-scale"])
        second = hotfix.apply()
        first.revert()
        print(toy.scale(5), toy.Layer.halve(8))
        second.revert()
        assert (toy.scale(5), toy.Layer.halve(8)) == (7, 6)
    """,
    "a second close that counts once": """
        import hotfix
        first, second, third = (hotfix.apply() for _ in range(3))
        first.revert(); first.revert(); second.revert()
        import transformers.toy as toy
        print(toy.scale(5), toy.Layer.halve(8))
    """,
    "tasks": """
        import asyncio, hotfix
        import transformers.toy as toy
        async def task(begin, end):
            await asyncio.sleep(begin / 100)
            with hotfix.apply():
                for _ in range(end - begin):
                    assert toy.scale(5) == 10
                    await asyncio.sleep(0.01)
                assert toy.scale(5) == 10
        async def main():
            await asyncio.gather(*[task(begin, begin + 4) for begin in range(0, 12, 3)])
        asyncio.run(main())
        assert toy.scale(5) == 7
        with hotfix.apply():
            print(toy.scale(5), toy.Layer.halve(8))
    """,
    "armed for the environment after a handle": """
        import hotfix
        kept = hotfix.apply(only=["toy-halve"])
        import hotfix.auto
        import transformers.toy as toy
        print(toy.scale(5), toy.Layer.halve(8))
    """,
    "one after the other": """
        import hotfix
        import transformers.toy as toy
        for _ in range(3):
            with hotfix.apply():
                assert toy.scale(5) == 10
            assert toy.scale(5) == 7
        with hotfix.apply():
            print(toy.scale(5), toy.Layer.halve(8))
    """,
    "everything reverted, and armed again": """
        import hotfix.auto, hotfix, hotfix.watch
        import transformers.toy as toy
        hotfix.revert()
        assert toy.scale(5) == 7
        hotfix.watch.arm()
        print(toy.scale(5), toy.Layer.halve(8))
    """,
}


@pytest.mark.parametrize("order", HANDLES)
def test_active_groups_are_the_union_of_all_requests(world: World, order: str) -> None:
    plant_other(world)
    assert world.run(textwrap.dedent(HANDLES[order])).stdout == "10 4.0\n"


def test_the_last_handle_takes_the_watcher_away(world: World) -> None:
    code = """
    import sys, hotfix
    before = list(sys.meta_path)
    first, second = hotfix.apply(), hotfix.apply()
    first.revert()
    assert sys.meta_path != before
    second.revert()
    print(sys.meta_path == before)
    """
    assert world.run(code).stdout == "True\n"
