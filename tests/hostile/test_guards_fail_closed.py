"""With HOTFIX_STRICT and HOTFIX_REQUIRE a program stops before its step 0, unless the repair is shown to be in place.

If the module was loaded past another finder, or was still executing, the program stops at the first look: the next
import, a report, a digest, `assert_uniform`, the callback of the Trainer, the end of the process.
"""

from __future__ import annotations

import py_compile

import pytest

from .conftest import FIX, TOY, World

pytestmark = pytest.mark.drawn(4)  # a process for each case

INSISTENT = {"HOTFIX_STRICT": "1", "HOTFIX_REQUIRE": "toy-scale"}
LOOK = "import hotfix\nhotfix.digest()\n"
STEP = "print('step 0', toy.scale(5))\n"
IMPORT = "import transformers.toy as toy\n"
AHEAD = """
import sys
from importlib.machinery import PathFinder
class Ahead:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, path) if name == "transformers.toy" else None
sys.meta_path.insert(0, Ahead)
"""
SECOND = "import importlib, hotfix.watch\nimportlib.reload(hotfix.watch)\nhotfix.watch.arm()\n"
UPGRADE = """
import pathlib
file = pathlib.Path(toy.__file__)
file.write_text(file.read_text().replace("x + factor", "x * factor"))
"""
TWICE = "try:\n    import transformers.toy\nexcept Exception:\n    pass\n"


def unrepairable(world: World) -> None:
    world.write("toy_scale.py", FIX.replace("x, factor=2):\n    return x * factor", "x):\n    return x * 2"))


def bytecode_alone(world: World) -> None:
    file = world.package / "toy.py"
    py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")), doraise=True)
    file.unlink()


def stale_bytecode(world: World) -> None:
    file = world.write("transformers/toy.py", TOY.replace("x + factor", "x + factor + 1"))
    py_compile.compile(str(file), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    world.write("transformers/toy.py", TOY)


def half_executed(world: World) -> None:
    unrepairable(world)
    world.write("transformers/toy.py", "import arming\n" + TOY)
    world.write("arming.py", "import hotfix\nhandle = hotfix.apply()\n")


CASES = {
    "past a finder": (unrepairable, "import hotfix.auto\n" + AHEAD + IMPORT + LOOK),
    "bytecode alone": (bytecode_alone, "import hotfix.auto\n" + IMPORT),
    "bytecode alone, past a finder": (bytecode_alone, "import hotfix.auto\n" + AHEAD + IMPORT + LOOK),
    "a file exchanged since": (lambda world: None, IMPORT + UPGRADE + "import hotfix\nhotfix.apply()\n"),
    "stale bytecode": (stale_bytecode, "import hotfix.auto\n" + IMPORT),
    "tried again": (unrepairable, "import hotfix.auto\n" + TWICE + IMPORT),
    "a second watcher": (unrepairable, "import hotfix.auto\n" + SECOND + IMPORT),
    "being executed": (half_executed, IMPORT + LOOK),
}


@pytest.mark.parametrize("switches", [{}, INSISTENT, *({name: INSISTENT[name]} for name in INSISTENT)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_a_job_that_requires_a_missing_repair_stops_before_step_0(
    world: World, case: str, switches: dict[str, str]
) -> None:
    prepare, code = CASES[case]
    prepare(world)
    done = world.run(code + STEP, check=False, **switches)
    if not switches:
        assert done.stdout.startswith("step 0"), done.stderr  # it breaks no import
        return
    assert (done.returncode, done.stdout) == (1, "")
    assert "HotfixError" in done.stderr
    assert "toy-scale" in done.stderr


@pytest.mark.parametrize("switches", [{}, INSISTENT], ids=str)
def test_a_job_that_requires_the_repair_and_gets_it_runs(world: World, switches: dict[str, str]) -> None:
    for code in ("import hotfix.auto\n" + IMPORT, "import hotfix.auto\n" + AHEAD + IMPORT + LOOK):
        assert world.run(code + STEP, **switches).stdout == "step 0 10\n"
