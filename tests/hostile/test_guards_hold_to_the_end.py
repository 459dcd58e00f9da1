"""A guard checks the running code at each look until the process ends, not only the code that was once repaired.

- If another tool has replaced or undone a repair, the program stops at the next report, digest or `assert_uniform`, and
  at the end of the process. A wrapper around the repair does not stop it, nor does a module that has left
  ``sys.modules``.
- A module that was executed again, bypassing hotfix, is repaired late at the next look, like one that was loaded so.
- A pin is compared, and a guard with an unusual value holds, even if no import ever reached hotfix.
- A process of multiprocessing that loads hotfix itself is guarded, with each start method.
- Objects that are not modules, and lazy modules that have not been executed, stop no program without a reason, and are
  left alone. So is a stub that takes the place of a repaired module: the report says that it is gone.
- A settings file that cannot be parsed stops a program if any form of TOML in it may set a guard. A pipe or a device in
  its place does not block the program.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from tests.facts import lacking

from .conftest import World
from .test_guards_past_finders import GUARDS, OWN, RUN, guard_of

pytestmark = pytest.mark.drawn(4)  # a process for each case

ARM = "import hotfix.auto\n"
PAST = OWN + RUN
FRESH = """
import importlib.util, sys, transformers
def fresh(name="transformers.toy"):
    spec = importlib.util.spec_from_file_location(name, transformers.__path__[0] + "/toy.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
THEIRS = "exec(compile('def scale(x, factor=2):\\n    return x + factor', 'theirs.py', 'exec'), theirs := {})\n"
AGAIN = {
    "another module in its place": FRESH + "toy = fresh()\n",
    "imported again": "import sys, importlib\ndel sys.modules['transformers.toy']\n"
    + OWN
    + "toy = importlib.import_module('transformers.toy')\n",
    "reloaded": OWN + "import importlib\nimportlib.reload(toy)\n",
}
REPLACED = {
    "a function in its place": "toy.scale = lambda x, factor=2: x + factor\n",
    "other code in it": THEIRS + "toy.scale.__code__ = theirs['scale'].__code__\n",
}
KEPT = {
    "a wrapper around it": "import functools\nscale = toy.scale\n"
    "toy.scale = functools.wraps(scale)(lambda *args, **names: scale(*args, **names))\n",
    "a mock for a while": "from unittest import mock\nwith mock.patch.object(toy, 'scale'): toy.scale(5)\n",
    "the module dropped": "import sys\ndel sys.modules['transformers.toy']\n",
    "the module copied": "import sys, types\nold, toy = toy, types.ModuleType('transformers.toy')\n"
    "vars(toy).update(vars(old)); toy.__spec__ = None\nsys.modules['transformers.toy'] = toy\n",
}
BROKEN = "print('then', toy.scale(5), flush=True)\n"


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("how", [*REPLACED, *AGAIN])
def test_a_repair_that_is_gone_at_the_end_is_a_failure(world: World, how: str, guard: str) -> None:
    code = ARM + RUN + {**REPLACED, **AGAIN}[how] + BROKEN
    done = world.run(code, check=False, **guard_of(world, guard))
    assert (done.returncode, done.stdout.splitlines()) == (1, ["step 0 10", "then 7"]), done.stderr
    assert "toy-scale: transformers.toy:scale" in done.stderr
    assert world.run(code).returncode == 0


@pytest.mark.parametrize("look", ["report()", "digest()", "assert_uniform()"])
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("how", REPLACED)
def test_a_repair_that_was_replaced_is_missing_at_each_look(world: World, how: str, guard: str, look: str) -> None:
    code = ARM + RUN + REPLACED[how] + f"import hotfix\nhotfix.{look}\n" + BROKEN
    if look == "assert_uniform()":
        pytest.importorskip("torch")
    done = world.run(code, check=False, **guard_of(world, guard))
    assert (done.returncode, done.stdout) == (1, "step 0 10\n"), done.stderr
    assert "HotfixError" in done.stderr


@pytest.mark.parametrize("guard", ["", *GUARDS])
@pytest.mark.parametrize("look", ["hotfix.report()", "import transformers.again"])
@pytest.mark.parametrize("how", AGAIN)
def test_a_module_that_was_executed_again_is_repaired_late(world: World, how: str, look: str, guard: str) -> None:
    world.write("transformers/again.py", "")
    switch = guard_of(world, guard) if guard else {}
    if "import" in look and (not guard or OWN not in AGAIN[how]):
        look = "hotfix.digest()"  # with a guard and a finder that answers first, each import is a look
    done = world.run(ARM + RUN + AGAIN[how] + f"import hotfix\n{look}\n" + BROKEN, check=False, **switch)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["step 0 10", "then 10"]), done.stderr


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("how", KEPT)
def test_a_repair_that_still_runs_stops_nobody(world: World, how: str, guard: str) -> None:
    code = ARM + RUN + KEPT[how] + BROKEN
    done = world.run(code, check=False, **guard_of(world, guard))
    assert (done.returncode, done.stdout.splitlines()) == (0, ["step 0 10", "then 10"]), done.stderr


@pytest.mark.parametrize("guard", GUARDS)
def test_dropping_the_package_does_not_drop_the_guard(world: World, guard: str) -> None:
    code = ARM + PAST + "del sys.modules['transformers']\n"
    assert world.run(code, check=False, **guard_of(world, guard)).returncode == 1


@pytest.mark.parametrize(
    "switch",
    [
        {"HOTFIX_PIN": ""},
        {"HOTFIX_PIN": " "},
        {"HOTFIX_PIN": "0"},
        {"HOTFIX_REQUIRE": "0"},
        {"HOTFIX_REQUIRE": ", ,"},
        {"HOTFIX_REQUIRE": "toy-scale", "HOTFIX_MODE": "observe"},
    ],
    ids=str,
)
@pytest.mark.parametrize("program", [PAST, RUN], ids=["past", "seen"])
def test_an_unusual_value_of_a_guard_is_a_guard(world: World, switch: dict[str, str], program: str) -> None:
    assert world.run(ARM + program, check=False, **switch).returncode == 1


def test_a_pin_is_compared_although_nothing_was_seen(world: World) -> None:
    world.write("transformers/toy.py", "def scale(x, factor=2):\n    return x * factor\n")
    right = world.run(ARM + "import hotfix, transformers\nprint(hotfix.digest())\n").stdout.strip()
    assert world.run(ARM + PAST, check=False, HOTFIX_PIN=right).returncode == 0
    done = world.run(ARM + PAST, check=False, HOTFIX_PIN="0123456789ab")
    assert (done.returncode, "0123456789ab" in done.stderr) == (1, True), done.stderr


CHILD = """
import multiprocessing, sys
{armed}
def child():
    {arms}
    exec({program!r}, {{}})

if __name__ == "__main__":
    process = multiprocessing.get_context({method!r}).Process(target=child)
    process.start()
    process.join()
    print("child", process.exitcode)
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.parametrize("where", ["armed", "arms"])
def test_a_child_that_arms_hotfix_itself_is_guarded(world: World, where: str, method: str) -> None:
    words = {"armed": "", "arms": "", where: "import hotfix.auto"}
    for program, status in ((PAST, 1), (RUN, 0)):
        done = world.run(CHILD.format(method=method, program=program, **words), HOTFIX_STRICT="1")
        assert f"child {status}" in done.stdout, done.stdout + done.stderr


NOT_MODULES = {
    "mock": "from unittest import mock\nsys.modules['transformers.toy'] = mock.MagicMock()\n",
    "object": "sys.modules['transformers.toy'] = object()\n",
}


@pytest.mark.parametrize("what", NOT_MODULES)
def test_an_object_that_is_no_module_does_not_prevent_other_repairs(world: World, what: str) -> None:
    source = (world.package / "toy.py").read_text()
    world.write("transformers/other.py", source)
    text = "transformers.other:scale"
    fix = (world.folder / "toy_scale.py").read_text().replace("transformers.toy", "transformers.other")
    world.plant("other-scale", fix.replace("toy-scale", "other-scale"), {text: "==1.0"}, {text: "scale"})
    use = "import transformers.other\nprint(transformers.other.scale(5))\n"
    for first in ("import sys, transformers\n", "import sys\n"):
        code = ARM + first + NOT_MODULES[what] + "import hotfix\n" + use + "hotfix.report()\n"
        done = world.run(code)
        assert done.stdout == "10\n", done.stderr
        assert "does nothing" not in done.stderr
    stopped = world.run(code, check=False, HOTFIX_REQUIRE="toy-scale")
    assert stopped.returncode == 1
    assert "toy-scale" in stopped.stderr
    assert "not a module" in stopped.stderr


STUBS = {
    **NOT_MODULES,
    "nothing": "sys.modules['transformers.toy'] = None\n",
    "namespace": "import types\nsys.modules['transformers.toy'] = types.SimpleNamespace()\n",
    "number": "sys.modules['transformers.toy'] = 7\n",
    "slots": "class Stub: __slots__ = ()\nsys.modules['transformers.toy'] = Stub()\n",
    "raises": "class Stub:\n    def __getattribute__(self, name): raise RuntimeError(name)\n"
    "sys.modules['transformers.toy'] = Stub()\n",
}


@pytest.mark.parametrize("guard", ["", *GUARDS])
@pytest.mark.parametrize("what", STUBS)
def test_a_stub_in_place_of_a_repaired_module_stops_nobody_and_is_reported(world: World, what: str, guard: str) -> None:
    code = ARM + RUN + "import sys, hotfix\n" + STUBS[what]
    code += "print([(row.fix, row.state.value) for row in hotfix.report()])\n"
    done = world.run(code, **guard_of(world, guard) if guard else {}, HOTFIX_RECORD=str(world.folder / "records"))
    assert done.stdout.splitlines() == ["step 0 10", "[('toy-scale', 'failed')]"], done.stderr
    assert "no record" not in done.stderr


def test_a_stub_with_a_function_of_its_own_does_not_satisfy_a_requirement(world: World) -> None:
    stub = "import sys, types\n" + THEIRS + "sys.modules['transformers.toy'] = types.SimpleNamespace(**theirs)\n"
    done = world.run(ARM + RUN + stub, check=False, HOTFIX_REQUIRE="toy-scale")
    assert (done.returncode, done.stdout) == (1, "step 0 10\n"), done.stderr
    assert "toy-scale" in done.stderr


LAZY = """
import importlib.util, sys
from importlib.machinery import PathFinder
class Ahead:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "transformers.toy":
            spec = PathFinder.find_spec(name, path)
            spec.loader = importlib.util.LazyLoader(spec.loader)
            return spec
sys.meta_path.insert(0, Ahead)
import transformers.toy as toy
"""


@pytest.mark.parametrize("guard", ["", *GUARDS])
def test_a_lazy_module_that_is_never_used_is_not_executed_and_stops_nobody(world: World, guard: str) -> None:
    switch = guard_of(world, guard) if guard else {}
    with (world.package / "toy.py").open("a") as file:
        file.write("\nprint('executed')\n")
    assert world.run(ARM + LAZY + "import hotfix\nhotfix.report()\n", **switch).stdout == ""
    if guard:
        used = world.run(ARM + LAZY + "toy.scale(5)\n", check=False, **switch)
        assert used.returncode == 1
    late = world.run(ARM + LAZY + "toy.Layer\nimport hotfix\nhotfix.report()\nprint(toy.scale(5))\n", **switch)
    assert late.stdout.splitlines()[-1] == "10"


SETTINGS = {
    "dotted": "tool.hotfix.strict = true\ntool.hotfix.no-such = 1\n",
    "inline": "[tool]\nhotfix = {strict = true, no-such = 1}\n",
    "quoted": '[tool.hotfix]\n"strict" = true\nno-such = 1\n',
    "escaped": '[tool.hotfix]\n"str\\u0069ct" = true\nno-such = 1\n',
    "not TOML": "[tool]\nhotfix = {require = ['toy-scale'], \n",
    "of a tool that is no table": "tool = 3\nstrict = true\n",
    "nested too deep": "strict = true\nskip = " + "[" * 100_000,
    "too large": "#" * 1024 * 1024 + "\nstrict = true\n",
}


@pytest.mark.parametrize("text", SETTINGS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_settings_that_may_have_a_guard_fail_closed(world: World, text: str, encoding: str) -> None:
    file = world.folder / "settings.toml"
    file.write_bytes(SETTINGS[text].encode(encoding))
    done = world.run(ARM + RUN, check=False, HOTFIX_CONFIG=str(file))
    if (text, encoding) == ("escaped", "utf-16"):
        return  # neither TOML nor a mention of the guard
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "settings.toml" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in the file system")
def test_settings_in_a_pipe_or_a_device_do_not_block_a_program(world: World) -> None:
    pipe = world.folder / "settings.toml"
    os.mkfifo(pipe)
    for file in (str(pipe), "/dev/zero"):
        done = world.run(ARM + RUN, HOTFIX_CONFIG=file)
        assert done.stdout == "step 0 7\n"
        assert not lacking(done.stderr, file)


def test_settings_with_a_byte_order_mark_are_read(world: World) -> None:
    file = world.folder / "settings.toml"
    file.write_bytes(b"\xef\xbb\xbfstrict = true\r\n")
    assert world.run(ARM + RUN, HOTFIX_CONFIG=str(file)).stdout == "step 0 10\n"


def test_settings_that_are_no_table_are_named(world: World) -> None:
    file = world.write("settings.toml", "[tool]\nhotfix = 3\n")
    done = world.run(ARM + RUN, HOTFIX_CONFIG=str(file))
    assert "settings.toml" in done.stderr
    assert "Attribute" not in done.stderr


STREAMS = {
    "stderr closed": "sys.stderr.close()\n",
    "both closed": "sys.stderr.close()\nsys.stdout.close()\n",
    "stderr None": "sys.stderr = None\n",
    "both None": "sys.stdout = sys.stderr = None\n",
}


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("streams", STREAMS)
def test_a_daemon_without_streams_runs_and_is_repaired(world: World, streams: str, format: str) -> None:
    code = f"import sys, pathlib\n{STREAMS[streams]}{ARM}import transformers.toy as toy\n"
    world.run(code + "pathlib.Path('told').write_text(str(toy.scale(5)))\n", HOTFIX_LOG_FORMAT=format)
    assert (world.folder / "told").read_text() == "10"


@pytest.mark.parametrize("streams", STREAMS)
def test_a_daemon_without_streams_runs_on_where_hotfix_has_gone(world: World, streams: str) -> None:
    gone = "import builtins\nreal = builtins.__import__\ndef broken(name, names=None, own=None, what=(), level=0):\n"
    gone += "    if level and names.get('__package__') == 'hotfix': raise ImportError('gone')\n"
    gone += "    return real(name, names, own, what, level)\nbuiltins.__import__ = broken\n"
    code = f"import sys, pathlib\n{ARM}{STREAMS[streams]}{gone}import transformers.toy as toy\n"
    world.run(code + "pathlib.Path('told').write_text(str(toy.scale(5)))\n")
    assert (world.folder / "told").read_text() == "7"
