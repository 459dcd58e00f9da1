"""An audit reports the truth about a run, including the limits of its knowledge.

- A function that `torch.compile` put into a graph (cold, warm, from a cache) is "not known", unless its bug was
  triggered outside the graph.
- A process that ends by `os._exit`, a signal or a crash has recorded its calls: no called function is reported as
  "never reached", and a function that was called without a visible trigger is "not known".
- The first lines of the report say so, and `--fail` passes only if it is known that no process triggered a bug. It does
  not pass if a function was called whose bug is silent and has no known condition.
- An observed function needs nothing from hotfix but itself: not `sys.modules`, and no name that the function has.
"""

from __future__ import annotations

import json
import sys

import pytest

from tests.engine.test_observe import KINDS, plant

from .conftest import World

OBSERVE = {"HOTFIX_MODE": "observe"}
AUDIT = """
import json, sys
from pathlib import Path
from hotfix.commands.audit import command as audit
found = audit.summarised(Path("records"), 0)
audit._show(found, every=True)
print(json.dumps([found.is_clean, {one.id: one.state.value for one in found.bugs}]))
"""


def audited(world: World, code: str, **env: str) -> tuple[bool, str, list[str]]:
    """Run code observed; return whether the audit is clean, the state of the bug, and the report's first lines."""
    records = world.folder / "records"
    done = world.run(code, check=False, HOTFIX_RECORD=str(records), **OBSERVE, **env)
    world.ended = (done.returncode, done.stdout, done.stderr)
    shown = world.run(AUDIT)
    *lines, last = shown.stdout.splitlines()
    clean, states = json.loads(last)
    for file in records.glob("*"):
        file.unlink()
    return clean, states.get("toy-kinds", "no row"), [line for line in lines if line][:3]


CALLS = "import hotfix.auto\nfrom transformers import kinds\n"
CALLED = CALLS + "for x in range(-5, 1): kinds.Layer.halve(x)\n"
ENDS = {
    "os._exit": "import os\nos._exit(0)\n",
    "SIGKILL": "import os\nos.kill(os.getpid(), 9)\n",
    "SIGTERM": "import os\nos.kill(os.getpid(), 15)\n",
    "a crash": "import ctypes\nctypes.string_at(0)\n",
    "an abort": "import os\nos.abort()\n",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_ends_without_pythons_end_is_not_known(world: World, end: str) -> None:
    plant(world, targets=["Layer.halve"])
    assert audited(world, CALLED)[:2] == (True, "not triggered")
    clean, state, lines = audited(world, CALLED + ENDS[end])
    assert (clean, state) == (False, "not known")
    assert "not known" in lines[0]
    assert "toy-kinds" in lines[1]
    assert audited(world, CALLED + "kinds.Layer.halve(2)\n" + ENDS[end])[:2] == (False, "triggered")
    assert audited(world, CALLS + ENDS[end])[:2] == (True, "never reached")


@pytest.mark.parametrize(("kind", "clean"), [("silent", False), ("loading", False), ("crash", True)])
def test_a_call_of_a_function_without_a_condition_shows_nothing(world: World, kind: str, clean: bool) -> None:
    text = (world.folder / "toy_scale.py").read_text().replace('kind="silent"', f'kind="{kind}"')
    key = {"transformers.toy:scale": "==1.0"}
    world.plant("toy-scale", text, key, {"transformers.toy:scale": "scale"}, kind=kind)
    call = "import hotfix.auto, transformers.toy as toy\n"
    assert unclear(world, call + "toy.scale(5)\n") == (clean, "reached", not clean)
    assert unclear(world, call) == (True, "never reached", False)


def test_a_call_of_a_function_whose_bug_raises_an_error_is_no_doubt(world: World) -> None:
    text = (world.folder / "toy_scale.py").read_text()
    text = text.replace('kind="silent"', 'kind="training", errors=("TypeError: scale() got another argument",)')
    world.plant(
        "toy-scale", text, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"}, kind="training"
    )
    assert unclear(world, "import hotfix.auto, transformers.toy as toy\ntoy.scale(5)\n") == (True, "reached", False)


def unclear(world: World, code: str) -> tuple[bool, str, bool]:
    """Whether the audit is clean, the state of the toy's bug, and whether the first line says "not known"."""
    records = world.folder / "records"
    world.run(code, HOTFIX_RECORD=str(records), **OBSERVE)
    first, *_, last = world.run(AUDIT).stdout.splitlines()
    for file in records.glob("*"):
        file.unlink()
    clean, states = json.loads(last)
    return clean, states["toy-scale"], "not known" in first


COMPILED = """
import hotfix.auto, torch
from transformers import kinds
one = torch.compile(lambda x: kinds.Layer.halve(x) - 1, backend="{backend}", fullgraph=True)
print(one(torch.arange(3.0)).tolist(), one(torch.arange(3.0)).tolist())
print(torch._dynamo.utils.counters["graph_break"], torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""


@pytest.mark.parametrize(
    ("backend", "runs"), [("eager", 1), ("aot_eager", 1), pytest.param("inductor", 2, marks=pytest.mark.slow)]
)
def test_a_compiled_function_is_not_known_cold_and_from_a_cache(world: World, backend: str, runs: int) -> None:
    pytest.importorskip("torch")
    plant(world, targets=["Layer.halve"], body="return bool((call['x'] > 1).any())")
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(world.folder / "cache"), "TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}
    for _ in range(runs):
        clean, state, lines = audited(world, COMPILED.format(backend=backend), **cache)
        assert (clean, state) == (False, "not known")
        assert "torch.compile" in lines[1]
        assert world.ended[1] == "[-1.0, -0.5, 0.0] [-1.0, -0.5, 0.0]\nCounter() 1\n"


def test_a_compiled_function_that_struck_elsewhere_struck(world: World) -> None:
    pytest.importorskip("torch")
    plant(world, targets=["Layer.halve"], body="return bool((call['x'] > 1).any())")
    code = COMPILED.format(backend="eager") + "kinds.Layer.halve(torch.ones(1) * 5)\n"
    assert audited(world, code)[1] == "triggered"


def test_what_torch_may_take_from_its_cache_of_graphs_is_not_known(world: World) -> None:
    pytest.importorskip("torch")
    plant(world, targets=["Layer.halve"])
    code = "import hotfix.auto, torch._dynamo.config\nfrom transformers import kinds\n"
    clean, state, _ = audited(world, code, TORCH_CACHING_PRECOMPILE="1")
    assert (clean, state) == (False, "not known")


def test_a_function_that_another_finder_loaded_is_not_known(world: World) -> None:
    from .test_finders import AHEAD

    plant(world, targets=["Layer.halve"])
    code = "import hotfix.auto\n" + AHEAD.replace("transformers.toy", "transformers.kinds")
    code += "from transformers import kinds\nkinds.Layer.halve(5)\n"
    clean, state, _ = audited(world, code)
    assert (clean, state) == (False, "not known")


PURGES = {
    "purged": "[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('hotfix')]\n",
    "isolated": "[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('hotfix')]\n"
    "sys.meta_path.clear()\nsys.path.clear()\n",
}


@pytest.mark.parametrize("how", PURGES)
@pytest.mark.parametrize("mode", [OBSERVE, {"HOTFIX_COUNT": "1"}], ids=str)
def test_an_observed_function_runs_on_after_hotfix_has_left_the_modules(world: World, how: str, mode) -> None:
    plant(world, targets=["Layer.halve", "generator"])
    code = "import sys\n" + CALLED + "begun = kinds.generator(2)\n" + PURGES[how]
    code += "print(kinds.Layer.halve(4), list(kinds.generator(2)), list(begun))\n"
    halved = 2.0 if mode is OBSERVE else 4 / 99  # the result of this toy's repair
    assert world.run(code, **mode).stdout == f"{halved} [0, 1] [0, 1]\n"


@pytest.mark.parametrize("name", ["_hotfix_seen", "__hotfix_seen_0__", "hotfix"])
@pytest.mark.parametrize("where", ["parameter", "local", "closure"])
def test_a_function_may_have_any_name_of_ours(world: World, name: str, where: str) -> None:
    bodies = {
        "parameter": f"def named(x, {name}=1):\n    return x + {name}\n",
        "local": f"def named(x):\n    {name} = 1\n    return x + {name}\n",
        "closure": f"def named(x):\n    {name} = 1\n    def inner():\n        return x + {name}\n    return inner()\n",
    }
    plant(world, targets=["named"], text=KINDS + bodies[where])
    done = world.run(CALLS + "print(kinds.named(4))\n", **OBSERVE)
    assert done.stdout == "5\n", done.stderr


def test_a_generator_that_was_made_before_a_revert_runs_after_it(world: World) -> None:
    plant(world, targets=["generator"])
    code = CALLS + "import hotfix\nbegun = kinds.generator(2)\nhotfix.revert()\nprint(list(begun))\n"
    assert world.run(code, **OBSERVE).stdout == "[0, 1]\n"


FRESH = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("transformers.kinds", kinds.__file__)
again = sys.modules["transformers.kinds"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(again)
again.Layer.halve(5)
"""
RELOADED = """
import importlib, sys
from importlib.machinery import PathFinder
class Ahead:
    find_spec = staticmethod(lambda name, path=None, target=None: PathFinder.find_spec(name, path))
sys.meta_path.insert(0, Ahead)
again = importlib.reload(kinds)
again.Layer.halve(5)
"""
LOST = {
    "another module in its place": FRESH,
    "reloaded past hotfix": RELOADED,
    "code put back": "old = (lambda x: x - 2).__code__\nkinds.Layer.halve.__code__ = old\nkinds.Layer.halve(5)\n",
    "replaced": "kinds.Layer.halve = staticmethod(lambda x: x - 2)\nkinds.Layer.halve(5)\n",
}


@pytest.mark.parametrize("calls", [CALLS, CALLED], ids=["not called before", "called before"])
@pytest.mark.parametrize("how", LOST)
def test_a_function_that_is_not_observed_any_more_is_not_known(world: World, how: str, calls: str) -> None:
    plant(world, targets=["Layer.halve"])
    clean, state, lines = audited(world, calls + LOST[how])
    assert world.ended[0] == 0, world.ended[2]
    assert not clean
    if "called before" in calls:
        assert state == "not known"
    assert state not in ("never reached", "not triggered"), lines


OTHERS = {
    "exec": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', ''])\n",
    "a fork without exec": "import os\nif not os.fork():\n    kinds.Layer.halve(5)\n    os._exit(0)\nos.wait()\n",
    "a fork that returns": "import os\nif os.fork():\n    os.wait()\nelse:\n    kinds.Layer.halve(5)\n",
    "streams closed": "import sys\nsys.stderr.close(); sys.stdout.close()\nkinds.Layer.halve(5)\n",
    "the switch changed": "import os\nos.environ['HOTFIX_MODE'] = 'repair'\nkinds.Layer.halve(5)\n",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no fork, and another exec")
@pytest.mark.parametrize("how", OTHERS)
def test_an_unusual_process_is_known_or_not_known(world: World, how: str) -> None:
    plant(world, targets=["Layer.halve"])
    clean, state, _ = audited(world, CALLS + ("kinds.Layer.halve(5)\n" if how == "exec" else "") + OTHERS[how])
    assert (clean, state in ("triggered", "not known")) == (False, True)
