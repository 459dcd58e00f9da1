"""A guard does not depend on the finder that loads a module: HOTFIX_STRICT, HOTFIX_REQUIRE and HOTFIX_PIN always hold.

- If a finder loaded a target past hotfix, and nothing has looked at it before the program ends, the program ends with a
  non-zero status, whatever status it requested, in a child of multiprocessing as well; stderr names fix and module.
- Its files are written as at any end, up to the last byte.
- Another import, a report, a digest, `assert_uniform` and the callback of the Trainer look before that.
- A program whose functions are repaired, however late, ends as it would without a guard.
- Removing hotfix's finder from `sys.meta_path` does not remove the guard.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile

import pytest

from tests.engine.conftest import PREAMBLE
from tools.testbed import overlay

from .conftest import FIX, TOY, World

pytestmark = pytest.mark.drawn(4)  # a process for each case

DIGEST = "import hotfix.auto, hotfix, transformers.toy\nprint(hotfix.digest())\n"
GUARDS = ("HOTFIX_STRICT", "HOTFIX_REQUIRE", "HOTFIX_PIN")
RUN = "import transformers.toy as toy\nprint('step 0', toy.scale(5), flush=True)\n"

AHEAD = """
import sys, zipimport
from importlib.machinery import PathFinder
class Ahead:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return {how} if name in ("transformers", "transformers.toy") else None
sys.meta_path.insert(0, Ahead)
"""
OWN = AHEAD.format(how="PathFinder.find_spec(name, path)")
ZIP = AHEAD.format(how="zipimport.zipimporter((path or ['toys.zip'])[0]).find_spec(name)")
PYTEST = "import sys, pytest\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_it.py']))\n"

PAST = {
    "typeguard": "import typeguard\ntypeguard.install_import_hook('transformers')\n" + RUN,
    "beartype": "import beartype.claw\nbeartype.claw.beartype_package('transformers')\n" + RUN,
    "pytest": PYTEST,
    "zipimporter": ZIP + RUN,
    "own": OWN + RUN,
}
LATE = {
    "typeguard": "import typeguard\ntypeguard.install_import_hook('elsewhere')\n" + RUN,
    "beartype": "import beartype.claw\nbeartype.claw.beartype_package('elsewhere')\n" + RUN,
    "pytest": PYTEST,
    "zipimporter": "import sys\nsys.path.insert(0, 'toys.zip')\n" + RUN,
    "own": OWN + "import transformers.toy as toy, hotfix\nhotfix.report()\n" + RUN,
}


def prepare(world: World, finder: str, past: bool) -> tuple[str, ...]:
    """Create the files that a program with this finder needs, and return the entry for its path."""
    if finder == "pytest":
        rewritten = "import pytest\npytest.register_assert_rewrite('transformers')\n" if past else ""
        world.write("conftest.py", rewritten)
        right = 7 if past else 10
        world.write(
            "test_it.py", f"import transformers.toy\ndef test_it():\n    assert transformers.toy.scale(5) == {right}\n"
        )
        world.write("transformers/toy.py", TOY + "\nassert scale\n")
    if finder == "zipimporter":
        with zipfile.ZipFile(world.folder / "toys.zip", "w") as archive:
            for name in ("__init__.py", "toy.py"):
                archive.write(world.package / name, f"transformers/{name}")
    if finder == "beartype" and past:  # it leaves functions without annotations alone
        world.write("transformers/toy.py", TOY.replace("scale(x,", "scale(x: int,"))
        world.plant("toy-scale", FIX, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})
    if finder in ("typeguard", "beartype"):
        release = {"typeguard": "4.4.1", "beartype": "0.19.0"}[finder]
        return tuple(str(folder) for folder in (overlay.alone(f"{finder}=={release}"), _extensions()))
    return ()


def _extensions() -> object:
    return overlay.alone("typing_extensions==4.12.2")


def guard_of(world: World, guard: str) -> dict[str, str]:
    values = {"HOTFIX_STRICT": "1", "HOTFIX_REQUIRE": "toy-scale"}
    return {guard: values[guard] if guard in values else world.run(DIGEST).stdout.strip()}


MATRIX = [
    pytest.param(guard, finder, marks=[pytest.mark.testbed] if finder in ("typeguard", "beartype") else [])
    for finder in PAST
    for guard in GUARDS
]


@pytest.mark.parametrize(("guard", "finder"), MATRIX)
def test_a_program_whose_function_was_loaded_past_hotfix_does_not_end_well(
    world: World, guard: str, finder: str
) -> None:
    path = prepare(world, finder, past=True)
    switch = guard_of(world, guard)
    done = world.run("import hotfix.auto\n" + PAST[finder], path=path, check=False, **switch)
    assert done.returncode != 0, done.stdout + done.stderr
    if finder != "pytest":
        assert "toy-scale" in done.stderr or "HOTFIX_PIN" in done.stderr, done.stderr
    without = world.run("import hotfix.auto\n" + PAST[finder], path=path)
    assert "step 0 7" in without.stdout or "1 passed" in without.stdout


@pytest.mark.parametrize(("guard", "finder"), MATRIX)
def test_a_program_whose_function_is_repaired_ends_as_without_a_guard(world: World, guard: str, finder: str) -> None:
    path = prepare(world, finder, past=False)
    switch = guard_of(world, guard)
    done = world.run("import hotfix.auto\n" + LATE[finder], path=path, check=False, **switch)
    assert done.returncode == 0, done.stderr
    assert "step 0 10" in done.stdout or "1 passed" in done.stdout


ENDS = {
    "returns": "",
    "exits": "sys.exit(0)\n",
    "in a function": "def main():\n    raise SystemExit\nmain()\n",
    "closes stderr": "sys.stderr.close()\nsys.stdout.close()\n",
    "has no streams": "sys.stdout = sys.stderr = None\n",
    "takes the finder out": "sys.meta_path[:] = [one for one in sys.meta_path if not hasattr(one, 'is_hotfix')]\n",
    "clears the path": "sys.meta_path.clear()\n",
    "registered for its own end": "import atexit\natexit.register(print, 'own end')\n",
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("end", ENDS)
def test_however_it_ends_its_status_is_not_0(world: World, end: str, guard: str) -> None:
    switch = guard_of(world, guard)
    code = "import hotfix.auto\n" + OWN + RUN + ENDS[end]
    done = world.run(code, check=False, **switch)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "step 0 7"), done.stderr
    if end == "registered for its own end":
        assert done.stdout.splitlines()[-1] == "own end"
    assert world.run(code).returncode == 0


WRITES = {
    "text": ("out = open(path, 'w'); out.write('results')\n", b"results"),
    "bytes": ("out = open(path, 'wb'); out.write(b'results')\n", b"results"),
    "both ways": ("out = open(path, 'w+b'); out.write(b'results')\n", b"results"),
    "in a cycle": (
        "class Logger: pass\nout = Logger(); out.me = out\nout.file = open(path, 'w')\nout.file.write('x')\n",
        b"x",
    ),
    "beside a full disk": (
        "full = open('/dev/full', 'w'); full.write('x')\nout = open(path, 'w'); out.write('x')\n",
        b"x",
    ),
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("how", WRITES)
def test_a_program_that_is_stopped_at_its_end_has_its_files(world: World, how: str) -> None:
    write, written = WRITES[how]
    code = "import hotfix.auto\n" + OWN + RUN + f"path = 'out.txt'\n{write}"
    done = world.run(code, check=False, HOTFIX_STRICT="1")
    assert done.returncode == 1
    assert (world.folder / "out.txt").read_bytes() == written


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_worker_writes_nothing_that_its_parent_has_not_yet_written(world: World) -> None:
    code = "import hotfix.auto, multiprocessing\n" + OWN + "out = open('out.txt', 'w')\nout.write('once')\n"
    code += "def work():\n    import transformers.toy\n"
    code += "worker = multiprocessing.get_context('fork').Process(target=work)\n"
    code += "worker.start()\nworker.join()\nprint(worker.exitcode)\n"
    assert world.run(code, HOTFIX_STRICT="1").stdout == "1\n"
    assert (world.folder / "out.txt").read_text() == "once"


@pytest.mark.parametrize("guard", GUARDS)
def test_dropping_the_modules_of_hotfix_does_not_drop_the_guard(world: World, guard: str) -> None:
    switch = guard_of(world, guard)
    plant = PREAMBLE.format(index=str(world.folder / "evidence/index.json"), folder=str(world.folder / "evidence"))
    drop = "[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('hotfix')]\n"
    code = "import hotfix.auto, hotfix\nhotfix.report()\n" + OWN + RUN
    done = world.run(code + drop + plant, check=False, **switch)
    assert (done.returncode, done.stdout) == (1, "step 0 7\n"), done.stderr
    assert world.run(code + "hotfix.report()\n" + drop, **switch).stdout == "step 0 7\n"


@pytest.mark.parametrize("guard", GUARDS)
def test_the_next_import_that_reaches_hotfix_repairs_late_or_stops(world: World, guard: str) -> None:
    switch = guard_of(world, guard)
    code = "import hotfix.auto\n" + OWN + RUN + "import colorsys\nprint('step 1', toy.scale(5))\n"
    done = world.run(code, **switch, HOTFIX_LOG="info")
    assert done.stdout.splitlines() == ["step 0 7", "step 1 10"]
    assert "(late)" in done.stderr
    world.write("transformers/toy.py", TOY.replace("x, factor=2", "x, /, factor=2"))  # no replacement matches
    done = world.run(code, check=False, **switch)
    assert done.returncode == 1
    assert "step 1" not in done.stdout


def test_sources_that_are_not_broken_stop_no_job(world: World) -> None:
    world.write("transformers/toy.py", TOY.replace("x + factor", "x * factor"))
    code = "import hotfix.auto\n" + OWN + RUN
    assert world.run(code, HOTFIX_STRICT="1").stdout == "step 0 10\n"


def test_a_required_fix_alone_is_looked_for(world: World) -> None:
    code = "import hotfix.auto\n" + OWN + RUN
    key = {"transformers.toy:Layer.halve": "==1.0"}
    text = world.folder.joinpath("toy_scale.py").read_text().replace("toy-scale", "toy-halve")
    text = text.replace("toy:scale", "toy:Layer.halve").replace("x, factor=2", "x").replace("x * factor", "x / 2")
    world.plant("toy-halve", text.replace("ast.Add", "ast.Sub"), key, {"transformers.toy:Layer.halve": "Layer.halve"})
    done = world.run(code, check=False, HOTFIX_REQUIRE="toy-halve")
    assert done.returncode == 1
    assert "toy-halve" in done.stderr
    assert "toy-scale" not in done.stderr


@pytest.mark.parametrize("end", ["revert", "handle"])
def test_a_program_may_remove_hotfix(world: World, end: str) -> None:
    taken = {
        "revert": "import hotfix.auto, hotfix\nhotfix.revert()\n",
        "handle": "import hotfix\nhotfix.apply().revert()\n",
    }
    assert world.run(taken[end] + OWN + RUN, HOTFIX_STRICT="1").stdout == "step 0 7\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_worker_does_not_end_well_either(world: World) -> None:
    code = "import hotfix.auto, multiprocessing\n" + OWN
    code += "def work():\n    import transformers.toy\n"
    code += "worker = multiprocessing.get_context('fork').Process(target=work)\n"
    code += "worker.start()\nworker.join()\nprint(worker.exitcode)\n"
    assert world.run(code, HOTFIX_STRICT="1").stdout == "1\n"
    assert world.run(code).stdout == "0\n"


def test_the_record_lists_unknown_functions(world: World) -> None:
    world.run("import hotfix.auto\n" + OWN + RUN, check=False, HOTFIX_STRICT="1", HOTFIX_RECORD="records")
    (file,) = (world.folder / "records").glob("*.json")
    (outcome,) = json.loads(file.read_text())["outcomes"]
    assert (outcome["fix"], outcome["state"]) == ("toy-scale", "failed")


def test_no_guard_loads_nothing_more(world: World) -> None:
    code = "import sys\nbefore = set(sys.modules)\nimport hotfix.auto\nprint(sorted(set(sys.modules) - before))\n"
    plain = world.run(code, planted=False).stdout
    assert plain == "['hotfix', 'hotfix.auto', 'hotfix.watch']\n"
    more = set(eval(world.run(code, planted=False, HOTFIX_STRICT="1").stdout)) - set(eval(plain))
    assert more <= {"atexit"}
