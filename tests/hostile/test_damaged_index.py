"""A guard does not trust a damaged installation of hotfix.

- With HOTFIX_STRICT, HOTFIX_REQUIRE or HOTFIX_PIN, an index of the fixes that is incomplete or was changed stops a
  program before its first step, and the message names the file.
- So does a watcher that the start-up files cannot load, or a core that is not installed next to them: the import of
  transformers fails. Programs that do not import it run as before.
- Without a guard, the remaining entries of the index are applied as before, and the program continues.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from hotfix.engine.catalogue import INDEX
from hotfix.engine.index import Index
from tests.engine.conftest import ROOT

from .conftest import World

pytestmark = pytest.mark.drawn(4)  # a process for each case

RUN = "import hotfix.auto, transformers.toy as toy\nprint('step 0', toy.scale(5))\n"
DAMAGE = {
    "without the line of a module": ('  "transformers.toy": ["toy-scale"]', ""),
    "with another module": ('"transformers.toy": [', '"transformers.tox": ['),
    "with fewer targets": ('"targets": {"transformers.toy:scale": "==1.0"}', '"targets": {}'),
    "with another range": ("==1.0", "==2.0"),
    "with another kind": ('"kind": "silent"', '"kind": "crash"'),
    "off by default": ('"optin": false', '"optin": true'),
    "examined": ('"examined": {"transformers": []}', '"examined": {"transformers": ["1.0"]}'),
    "without its digest": ('"digest"', '"no digest"'),
}


@pytest.mark.parametrize("guard", ["HOTFIX_STRICT", "HOTFIX_REQUIRE", "HOTFIX_PIN"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_an_index_that_is_not_whole_stops_a_guarded_program(world: World, damage: str, guard: str) -> None:
    digest = world.run("import hotfix.auto, hotfix, transformers.toy\nprint(hotfix.digest())\n").stdout.strip()
    value = {"HOTFIX_STRICT": "1", "HOTFIX_REQUIRE": "toy-scale", "HOTFIX_PIN": digest}[guard]
    assert world.run(RUN, **{guard: value}).stdout == "step 0 10\n"
    file = world.folder / "evidence" / "index.json"
    text = file.read_text()
    assert DAMAGE[damage][0] in text
    file.write_text(text.replace(*DAMAGE[damage]))
    done = world.run(RUN, check=False, **{guard: value})
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert str(file) in done.stderr
    assert world.run(RUN).stdout.startswith("step 0")


def test_the_index_of_this_checkout_is_whole() -> None:
    Index(INDEX).check()


LOADED = "import transformers.toy as toy\nprint('step 0', toy.scale(5))\n"
AUTOLOAD = "import hotfix_autoload\nhotfix_autoload.start()\n"
GUARDED = {
    "strict": {"HOTFIX_STRICT": "1"},
    "require": {"HOTFIX_REQUIRE": "toy-scale"},
    "pin": {"HOTFIX_PIN": ""},
    "file": {"HOTFIX_CONFIG": "settings.toml"},
}
FREE = {
    "nothing": {},
    "off": {"HOTFIX": "0"},
    "not strict": {"HOTFIX_STRICT": "0"},
    "file": {"HOTFIX_CONFIG": "free.toml"},
}


def start(world: World, code: str, how: str, watcher: str, switches: dict[str, str]):
    """Run code below a start-up file with this text in the file of the watcher; without one if it is empty."""
    place = world.folder / "installed"
    startup = place / "hotfix/commands/startup"
    startup.mkdir(parents=True)
    for file in (ROOT / "hotfix/commands/startup/sitecustomize.py", ROOT / "autoload/hotfix_autoload.py"):
        shutil.copy(file, startup if file.stem == "sitecustomize" else place)
    (place / "hotfix/__init__.py").write_text("")
    if watcher:
        (place / "hotfix/watch.py").write_text(watcher)
    world.write("settings.toml", "strict = true\n")
    world.write("free.toml", "skip = []\n")
    switches = {name: str(world.folder / value) if "." in value else value for name, value in switches.items()}
    if how == "wheel":
        code = AUTOLOAD + code
    path = (str(startup if how == "run" else place),)
    environment = world.environment(path, **switches)
    environment["PYTHONPATH"] = environment["PYTHONPATH"].replace(str(ROOT), str(place))
    script = world.script(code, planted=False)
    return subprocess.run(
        [sys.executable, str(script)], env=environment, cwd=world.folder, capture_output=True, text=True, check=False
    )


WATCHERS = {"not Python": "def (", "another file": "arm = None\n", "exits": "raise SystemExit(3)\n", "not there": ""}


@pytest.mark.parametrize("switches", GUARDED)
@pytest.mark.parametrize(("how", "watcher"), [(how, name) for how in ("run", "wheel") for name in WATCHERS])
def test_a_watcher_that_cannot_be_loaded_stops_a_program_with_a_guard(
    world: World, how: str, watcher: str, switches: str
) -> None:
    done = start(world, LOADED, how, WATCHERS[watcher], GUARDED[switches])
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "RuntimeError: hotfix is not armed" in done.stderr
    world.folder.joinpath("installed").rename(world.folder / "before")
    assert start(world, "print('a tool')", how, WATCHERS[watcher], GUARDED[switches]).stdout == "a tool\n"


@pytest.mark.parametrize("switches", FREE)
@pytest.mark.parametrize("how", ["run", "wheel"])
def test_and_no_other_program(world: World, how: str, switches: str) -> None:
    done = start(world, LOADED, how, WATCHERS["not Python"], FREE[switches])
    assert done.stdout == "step 0 7\n", done.stderr
