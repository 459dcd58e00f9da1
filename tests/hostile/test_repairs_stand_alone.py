"""A repaired function needs nothing from hotfix but itself, as it runs in the user's calls.

- After hotfix has left ``sys.modules`` (a test isolates modules, a program purges them), it works as before: its
  conditions, its repair on an error, its edits and replacements raise no ImportError, and load no second hotfix.
- A copy of a repaired function with other globals is repaired as well. A copy of its source is the release's code,
  because that is the content of the file; the report names such a copy if it replaces the function.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

import hotfix

from .conftest import World
from .test_audit_is_true import PURGES

PACKAGE = Path(str(hotfix.__file__)).parent

LAYERS = """
class Layer:
    def scale(self, x, factor=2):
        return x + factor

    def shift(self, x):
        if x > 5:
            raise ValueError("too large")
        return x

    def turn(self, x):
        return x

    def plain(self, x):
        return x
"""

FIX = """
from hotfix.fix import Fix

FIX = Fix(id="toy-alone", title="t", kind="crash", fixed_in="2.0", errors=("ValueError: too large",))

def text_of(x):
    return f"repaired {x}"

FIX.edits(("transformers.layers:Layer.scale", "==1.0"), old="x + factor", new="x * factor",
          own=("self.scale",), along=("transformers.layers:Layer.plain",))
FIX.edits(("transformers.layers:Layer.shift", "==1.0"), old='raise ValueError("too large")', new="return 5",
          on_error=True)

WHEN = "import hotfix._support.words as words_\\nwords_.parts('a') and x"

@FIX.replaces(("transformers.layers:Layer.turn", "==1.0"), when=WHEN)
def turn(self, x):
    from hotfix._support.words import parts
    return parts("a.b"), x

@FIX.replaces(("transformers.layers:Layer.plain", "==1.0"))
def plain(self, x):
    from hotfix._support.words import parts
    return parts("a.b"), x
"""

CALLS = "one = layers.Layer()\nprint(one.scale(5), one.shift(9), one.turn(1), one.turn(0), one.plain(1))\n"
COPIES = "print([name for name in sys.modules if name.partition('.')[0] == 'hotfix'])\n"
RIGHT = "10 5 (['a', 'b'], 1) 0 (['a', 'b'], 1)\n"


@pytest.fixture
def alone(world: World) -> World:
    world.write("transformers/layers.py", LAYERS)
    names = [f"Layer.{name}" for name in ("scale", "shift", "turn", "plain")]
    aims = {f"transformers.layers:{name}": "==1.0" for name in names}
    world.plant("toy-alone", FIX, aims, {f"transformers.layers:{name}": name for name in names})
    return world


@pytest.mark.parametrize("how", PURGES)
@pytest.mark.parametrize("called", ["", CALLS], ids=["not called before", "called before"])
def test_a_repaired_function_runs_on_after_hotfix_has_left_the_modules(alone: World, how: str, called: str) -> None:
    code = "import sys\nimport hotfix.auto\nfrom transformers import layers\n" + called + PURGES[how] + CALLS + COPIES
    done = alone.run(code)
    assert done.stdout == (RIGHT if called else "") + RIGHT + "[]\n", done.stderr


WRAPPED = """
import functools
def around(function):
    @functools.wraps(function)
    def called(self, x):
        return function(self, x)
    return called
layers.Layer.plain = around(layers.Layer.plain)
"""


@pytest.mark.parametrize("how", PURGES)
def test_a_repair_still_sees_that_another_place_is_only_wrapped(alone: World, how: str) -> None:
    code = "import sys\nimport hotfix.auto\nfrom transformers import layers\n" + WRAPPED + PURGES[how] + CALLS + COPIES
    done = alone.run(code)
    assert done.stdout == RIGHT + "[]\n", done.stderr


NAMES = """
import types
from hotfix.fix import Fix

FIX = Fix(id="toy-names", title="t", kind="removed-api", fixed_in="2.0", group="removed-names")

@FIX.adds_made(("transformers.layers:answer", "==1.0"))
def answer(layers):
    return 42

@FIX.adds_made(("transformers.layers:Layer.answer", "==1.0"))
def method(layers):
    return lambda self: 43

@FIX.adds_made(("transformers.layers:TABLE['answer']", "==1.0"))
def entry(layers):
    return 44

@FIX.adds_made(("transformers:gone", "==1.0"))
def gone(package):
    module = types.ModuleType("transformers.gone")
    module.answer = 45
    return module
"""
ASKED = """
def ask():
    from transformers.layers import answer
    print(answer, layers.answer, layers.Layer().answer(), layers.TABLE["answer"])
    print(hasattr(layers, "answer"), layers.TABLE.get("answer"), getattr(layers.Layer(), "answer", None))
"""


def plant_names(world: World) -> None:
    world.write("transformers/layers.py", LAYERS + "\nTABLE = {'here': 1}\n")
    names = ("transformers.layers:answer", "transformers.layers:Layer.answer", "transformers.layers:TABLE['answer']")
    world.plant("toy-names", NAMES, dict.fromkeys((*names, "transformers:gone"), "==1.0"), {}, group="removed-names")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="nothing is restored in this way from Python 3.14 on")
@pytest.mark.parametrize("how", [*PURGES, ""])
def test_a_restored_name_is_there_after_hotfix_has_left_the_modules(world: World, how: str) -> None:
    plant_names(world)
    code = "import sys\nimport hotfix.auto\nimport transformers\nfrom transformers import layers\n" + ASKED
    code += PURGES.get(how, "") + "ask()\n" + (COPIES if how else "")
    if how != "isolated":  # no finder is left, not even ours
        code += "from transformers.gone import answer\nprint(answer)\n"
    done = world.run(code)
    printed = ("42 42 43 44\nFalse None None\n", "[]\n" if how else "", "" if how == "isolated" else "45\n")
    assert done.stdout == "".join(printed), done.stderr


def test_it_does_so_in_a_process_that_was_forked_and_in_a_thread(alone: World) -> None:
    code = "import os, sys, threading\nimport hotfix.auto\nfrom transformers import layers\n" + PURGES["purged"]
    code += f"def call():\n    exec({CALLS + COPIES!r}, globals())\n    sys.stdout.flush()\n"
    code += "if not os.fork():\n    call()\n    os._exit(0)\nos.wait()\n"
    code += "thread = threading.Thread(target=call)\nthread.start()\nthread.join()\n"
    assert alone.run(code).stdout == (RIGHT + "[]\n") * 2


def test_after_a_revert_the_releases_own_code_runs(alone: World) -> None:
    code = (
        "import sys\nimport hotfix.auto, hotfix\nfrom transformers import layers\nhotfix.revert()\n"
        + PURGES["isolated"]
    )
    code += "one = layers.Layer()\nprint(one.scale(5), one.turn(1), one.plain(1))\n" + COPIES
    assert alone.run(code).stdout.splitlines() == ["7 1 1", "[]"]


def test_a_revert_leaves_no_trace_in_the_module(alone: World) -> None:
    code = "import hotfix.auto, hotfix\nfrom transformers import layers\nplain = {*vars(layers)}\n"
    code += "ours = [name for name in plain if 'hotfix' in name]\nhotfix.revert()\n"
    code += "print(len(ours) > 0, [name for name in vars(layers) if 'hotfix' in name])\n"
    assert alone.run(code).stdout == "True []\n"


COPY = """
import inspect, sys, textwrap
import hotfix.auto, hotfix
from transformers import layers
text = textwrap.dedent(inspect.getsource(layers.Layer.scale))
print(text == {text!r})
namespace = {{}}
exec(compile(text, "theirs.py", "exec"), namespace)
print(namespace["scale"](None, 5), layers.Layer().scale(5))
states = lambda: {{one.target: one.state.value + ", " + one.verdict.value for one in hotfix.report()}}
print(states()["transformers.layers:Layer.scale"])
layers.Layer.scale = namespace["scale"]
print(layers.Layer().scale(5), states()["transformers.layers:Layer.scale"])
"""


def test_a_copy_of_the_text_is_the_releases_and_is_reported_where_it_takes_the_functions_place(alone: World) -> None:
    text = "def scale(self, x, factor=2):\n    return x + factor\n"
    lines = alone.run(COPY.format(text=text)).stdout.splitlines()
    assert lines == ["True", "7 10", "applied, broken", "7 failed, foreign"]


def test_a_copy_with_other_globals_is_repaired(alone: World) -> None:
    code = "import types\nimport hotfix.auto\nfrom transformers import layers\n"
    code += (
        "copy = lambda name: types.FunctionType(getattr(layers.Layer, name).__code__, {'__builtins__': __builtins__})\n"
    )
    code += "one = layers.Layer()\nprint(copy('scale')(one, 5, 2), copy('shift')(one, 9), copy('plain')(one, 1))\n"
    assert alone.run(code).stdout.splitlines() == ["10 5 (['a', 'b'], 1)"]


# The imports of a replacement are bound with it. A matcher and `prepare` run before anything is installed.
BEFORE_THE_CALL = {"replaces", "recognises"}
AT_RUN_TIME = ("asking", "observing", "patching", "models", "training", "processing", "loading", "names", "neighbours")


def test_no_function_that_runs_in_the_programs_calls_imports_hotfix() -> None:
    files = [file for folder in AT_RUN_TIME for file in sorted((PACKAGE / folder).rglob("*.py"))]
    importing = [
        f"{file.stem}.{node.name}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _imports_hotfix(node)
    ]
    assert importing == ["need.prepare"]


def _imports_hotfix(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    called = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in function.decorator_list]
    if BEFORE_THE_CALL & {getattr(decorator, "attr", "") for decorator in called}:
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom) and (node.level or str(node.module).partition(".")[0] == "hotfix"):
            return True
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == "hotfix" for alias in node.names):
            return True
    return False


def test_the_record_of_a_process_without_hotfix_lists_the_restored_names(world: World) -> None:
    plant_names(world)
    code = "import sys\nimport hotfix.auto\nimport transformers\nfrom transformers import layers\n" + ASKED
    code += PURGES["purged"] + "ask()\n" + COPIES
    assert world.run(code, HOTFIX_RECORD="records").stdout.endswith("[]\n")
    (record,) = (json.loads(file.read_text()) for file in (world.folder / "records").iterdir())
    assert len(record["restored"]) == 3
