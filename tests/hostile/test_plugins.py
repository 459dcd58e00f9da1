"""Only installed plugins are loaded, and a plugin that fails is the only one left out.

- Nothing is loaded from the working directory: not under `python -c` and `-m`, and not by an empty or a relative entry
  of PYTHONPATH. Plugins in a folder that PYTHONPATH names in full are loaded.
- A plugin that exits, raises, has a duplicate id or offers nonsense is named in one line and left out; in strict mode
  the program stops. Its output is printed. A plugin is loaded when transformers is imported: if it hangs, that import
  hangs, stderr names the plugin after some seconds, and Ctrl-C ends it like any import.
- An edit or a trigger that exits is a failed repair, and does not end the program.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.engine.conftest import PREAMBLE, ROOT, _site_packages
from tests.facts import lacking

from .conftest import FIX, World

pytestmark = pytest.mark.drawn(4)  # a process for each case

ENTRY = "[hotfix.fixes]\nfixes = planted:FIXES\n"
RUN = "import hotfix.auto, transformers.toy as toy\nprint('step 0', toy.scale(5))\n"


def declare(world: World, text: str, folder: str = ".") -> None:
    world.write(f"{folder}/planted-1.0.dist-info/entry_points.txt", ENTRY)
    world.write(f"{folder}/planted.py", text)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ("-c", []),
        ("-m", []),
        ("-c", [""]),
        ("-c", ["."]),
        ("-c", ["", "elsewhere"]),
        ("-c", [os.path.join("..", "{name}")]),
    ],
)
def test_nothing_is_loaded_from_the_working_directory(world: World, how: str, path: list[str]) -> None:
    declare(world, "print('LOADED')\nFIXES = []\n", "work")
    preamble = PREAMBLE.format(index=str(world.folder / "evidence/index.json"), folder=str(world.folder / "evidence"))
    world.write("work/main_of_it.py", preamble + RUN)
    search = [*(entry.replace("{name}", "work") for entry in path), str(world.folder), str(ROOT), *_site_packages()]
    done = subprocess.run(
        [sys.executable, *(["-c", preamble + RUN] if how == "-c" else ["-m", "main_of_it"])],
        env={**{name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")},
             "PYTHONPATH": os.pathsep.join(search)},
        cwd=world.folder / "work",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )  # fmt: skip
    assert done.stdout == "step 0 10\n", done.stderr


def test_a_plugin_in_a_folder_that_is_named_in_full_is_loaded(world: World) -> None:
    declare(world, "print('LOADED')\nFIXES = []\n")
    assert world.run(RUN).stdout.splitlines() == ["LOADED", "step 0 10"]


FAILING = {
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "exits in its fixes": ("import sys\nclass F:\n    def __iter__(self): sys.exit('bye')\nFIXES = F()", "bye"),
    "raises": ("1 / 0", "ZeroDivisionError"),
    "cannot be imported": ("import nothing_of_this_name", "nothing_of_this_name"),
    "is no Python": ("def", "SyntaxError"),
    "has no such name": ("", "FIXES"),
    "offers nonsense": ("FIXES = [3]", "3 is not a hotfix.Fix"),
    "offers nothing": ("FIXES = None", "TypeError"),
    "has an id twice": (
        FIX.replace('"toy-scale"', '"twice"').replace("toy:scale", "nowhere:scale") + "FIXES = [FIX, FIX]",
        "two fixes called planted:twice",
    ),
    "skips": ("class Skipped(BaseException): pass\nraise Skipped('no GPU')", "Skipped: no GPU"),
    "ends a generator": ("raise GeneratorExit", "GeneratorExit"),
    "exits in its message": ("class E(Exception):\n    def __str__(self): raise SystemExit(4)\nraise E", "SystemExit"),
    "steers a terminal": ("raise ValueError('\\x1b[31m\\n' + 'x' * 100_000)", "ValueError"),
    "has an unusual id": (FIX.replace('"toy-scale"', "'a\\x1b[31m\\n'") + "FIXES = [FIX]", "no id"),
    "has a long id": (FIX.replace('"toy-scale"', "'a' * 100_000") + "FIXES = [FIX]", "no id"),
    "has the id of a pattern": (FIX.replace('"toy-scale"', "'*'") + "FIXES = [FIX]", "no id"),
    "recurses": ("def f():\n    f()\nf()", "RecursionError"),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_plugin_that_fails_takes_only_itself_out(world: World, how: str) -> None:
    text, reason = FAILING[how]
    declare(world, text)
    done = world.run(RUN)
    assert done.stdout == "step 0 10\n"
    lines = [line for line in done.stderr.splitlines() if "see hotfix status" not in line]
    assert len(lines) == 1
    assert lacking(lines[0], "planted:FIXES", "left out") == []
    assert reason in lines[0]
    assert lines[0].isprintable()
    assert len(lines[0]) < 1500


@pytest.mark.parametrize("how", FAILING)
def test_a_plugin_that_fails_stops_a_strict_program(world: World, how: str) -> None:
    text, reason = FAILING[how]
    declare(world, text)
    done = world.run(RUN, check=False, HOTFIX_STRICT="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert reason in done.stderr.splitlines()[-1]
    assert "HotfixError" in done.stderr


def test_the_output_of_a_plugin_is_printed_and_nothing_else_happens(world: World) -> None:
    declare(world, "import sys\nprint('hello')\nprint('there', file=sys.stderr)\nFIXES = []\n")
    done = world.run(RUN)
    assert done.stdout.splitlines() == ["hello", "step 0 10"]
    assert done.stderr.startswith("there\n")


def test_an_interrupt_of_a_hanging_plugin_interrupts_the_program(world: World) -> None:
    declare(world, "raise KeyboardInterrupt\n")
    done = world.run(RUN, check=False)
    assert done.stdout == ""
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    assert done.returncode in (130, -2, 1)


def test_a_plugin_that_hangs_is_named(world: World) -> None:
    declare(world, "import sys, time\ntime.sleep(3)\nprint('goes on', file=sys.stderr)\nFIXES = []\n")
    done = world.run("import hotfix.engine.plugins\nhotfix.engine.plugins._SECONDS = 0.1\n" + RUN)
    assert done.stdout == "step 0 10\n"
    first, second, *_ = done.stderr.splitlines()
    assert "planted:FIXES of planted" in first
    assert second == "goes on"
    assert "planted" not in world.run(RUN).stderr


EXITING = """
from hotfix.fix import Fix

FIX = Fix(id="exits", title="exits", kind="crash", matcher_decides=True)
FIXES = [FIX]

@FIX.edits("transformers.toy:Layer.halve")
def edit(node):
    raise SystemExit(3)

@FIX.recognises
def is_broken(node):
    return True
"""


def test_an_edit_that_exits_is_a_repair_that_failed(world: World) -> None:
    declare(world, EXITING)
    done = world.run(RUN + "import hotfix\nprint([one.state.value for one in hotfix.report() if 'exits' in one.fix])\n")
    assert done.stdout.splitlines() == ["step 0 10", "['failed']"]
    assert "SystemExit: 3" in done.stderr
    done = world.run(RUN, check=False, HOTFIX_STRICT="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "planted:exits" in done.stderr


def test_a_trigger_that_exits_ends_nothing(world: World) -> None:
    trigger = 'from hotfix.trigger import Trigger\nTRIGGER = Trigger("exits", when="w", wrong="x")\n'
    trigger += "@TRIGGER.strikes()\ndef strikes(call):\n    raise SystemExit(3)\n"
    declare(world, EXITING + trigger)
    done = world.run(RUN + "print(toy.Layer.halve(5))\n", HOTFIX_MODE="observe")
    assert done.stdout.splitlines() == ["step 0 7", "3"]
    assert "SystemExit: 3" in done.stderr
