"""HOTFIX_MODE=observe and HOTFIX_COUNT=1, on a toy: nothing changes, except that calls are counted."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest

from tests.facts import lacking

KINDS = '''
"""All kinds of functions."""

import asyncio
import functools


def plain(x, /, y=2, *rest, z=3, **others):
    """Say something."""
    return x, y, rest, z, others, sorted(locals())


def generator(n):
    for i in range(n):
        yield i


async def coroutine(x):
    await asyncio.sleep(0)
    return x


async def asynchronous(n):
    for i in range(n):
        yield i


def raises(x):
    """Raise."""
    if x > 1:
        raise ValueError(x)
    return x


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def made(base):
    class Inner:
        @logged
        def add(self, x):
            return x + base

    return Inner


class Base:
    def forward(self, x):
        return x


class Layer(Base):
    size = 7

    @logged
    def forward(self, x):
        return super().forward(x) + __class__.size

    @staticmethod
    def halve(x):
        return x / 2

    @classmethod
    def build(cls, x):
        return cls, x

    @property
    def double(self):
        return 2 * self.size

    def __hidden(self, __x=1):
        return [(lambda: x + __x)() for x in range(3)]

    def hidden(self):
        return self.__hidden()


constant = functools.partial(plain, 1)
'''

TARGETS = [
    "plain",
    "generator",
    "coroutine",
    "asynchronous",
    "raises",
    "Layer.forward",
    "Layer.halve",
    "Layer.build",
    "Layer.double",
    "Layer._Layer__hidden",
    "constant",
]

FIX = """
import ast
from hotfix.fix import Fix
from hotfix.trigger import Trigger

FIX = Fix(id="toy-kinds", title="kinds", kind="silent", fixed_in="2.0")

@FIX.edits({targets})
def edit(node):
    return ast.Constant(99) if isinstance(node, ast.Constant) and node.value == 2 else None

@FIX.recognises
def is_broken(node):
    return True

TRIGGER = Trigger("toy-kinds", when="x is more than 1", wrong="it is too large"{more})

@TRIGGER.strikes()
def strikes(call):
    {body}
"""

# The attributes of every function, so that two processes can be compared.
LOOK = """
import asyncio, inspect, pickle, traceback
from transformers import kinds

async def collected():
    return [one async for one in kinds.asynchronous(3)]

def caught():
    try:
        kinds.raises(2)
    except ValueError:
        return [line for line in traceback.format_exc().splitlines() if "script.py" not in line]

layer = kinds.Layer()
told = [
    kinds.plain(1), kinds.plain(2, 3, 4, z=5, a=6), list(kinds.generator(3)), asyncio.run(kinds.coroutine(4)),
    asyncio.run(collected()), kinds.raises(1), caught(), layer.forward(3), layer.halve(4), str(layer.build(5)),
    layer.double, layer.hidden(), kinds.constant(),
    [str(inspect.signature(one)) for one in (kinds.plain, kinds.generator, kinds.Layer.forward, kinds.Layer.build)],
    [one.__qualname__ + str(one.__doc__) for one in (kinds.plain, kinds.raises, kinds.Layer.halve)],
    [inspect.isgeneratorfunction(kinds.generator), inspect.iscoroutinefunction(kinds.coroutine)],
    inspect.getsource(kinds.raises), pickle.loads(pickle.dumps(kinds.plain)) is kinds.plain,
]
"""
OBSERVE = {"HOTFIX_MODE": "observe"}
SEEN = """
import hotfix, json
report = hotfix.report()
counted = {one.place.partition(":")[2]: (one.calls, one.struck, one.untold) for one in report.observed}
states = {one.target.partition(":")[2]: (one.state.value, one.reason) for one in report if "kinds" in one.target}
print(json.dumps([counted, states, [one.to_dict() for one in report.observed]]))
"""


@pytest.fixture
def kinds(world):
    return plant(world)


def plant(world, body="return call.get('x', 0) > 1", targets=TARGETS, more="", text=KINDS):
    world.write("transformers/kinds.py", text)
    names = ", ".join(f"'transformers.kinds:{target}'" for target in targets)
    fix = FIX.format(targets=names, body=body, more=more)
    known = {
        f"transformers.kinds:{target}": target
        for target in targets
        if target not in ("constant", "Layer._Layer__hidden")
    }
    world.plant("toy-kinds", fix, {f"transformers.kinds:{target}": "==1.0" for target in targets}, known)
    return world


def seen(world, code, **switches):
    done = world.run(f"import hotfix.auto\n{code}\n{SEEN}", **{**OBSERVE, **switches})
    counted, states, rows = json.loads(done.stdout.splitlines()[-1])
    return {name: tuple(counts) for name, counts in counted.items()}, states, rows, done


def test_all_kinds_of_functions_behave_as_before(kinds):
    printed = "\nprint(repr(told))"
    without = kinds.run(LOOK + printed).stdout
    observed = kinds.run("import hotfix.auto\n" + LOOK + printed, **OBSERVE).stdout
    assert observed == without


def test_calls_and_strikes_are_counted(kinds):
    counted, states, rows, done = seen(kinds, LOOK)
    assert counted == {
        "plain": (3, 1, 0),  # one of them through a partial
        "generator": (1, 0, 0),
        "coroutine": (1, 1, 0),
        "asynchronous": (1, 0, 0),
        "raises": (2, 1, 0),
        "Layer.forward": (1, 1, 0),
        "Layer.halve": (1, 1, 0),
        "Layer.build": (1, 1, 0),
        "Layer.double": (1, 0, 0),
    }
    assert {name for name, (state, _) in states.items() if state == "observed"} == set(counted)
    lines = [line for line in done.stderr.splitlines() if "was triggered" in line]
    assert len(lines) == 6
    assert done.stderr.count("HOTFIX_MODE=observe: ") == 1
    assert lacking(lines[0], "toy-kinds was triggered", "1 of 3", "calls of plain") == []
    assert lacking(lines[0], "too large", "HOTFIX_MODE=repair") == []
    first = next(row["first"] for row in rows if row["place"].endswith(":raises"))
    file, line = first["place"].rsplit(":", 1)
    assert os.path.samefile(file, kinds.folder / "script.py")
    assert (kinds.folder / "script.py").read_text().splitlines()[int(line) - 1].strip() == "kinds.raises(2)"


WRAPPED = """
from hotfix.fix import Fix

FIX = Fix(id="toy-wrapped", title="wrapped", kind="silent", fixed_in="2.0")

@FIX.wraps(("transformers.partly:loads", "==1.0"), fingerprint_of=("use",))
def wrap(original):
    def wrapper(*args, **kwargs):
        return original(*args, **kwargs)
    return wrapper

@FIX.recognises
def is_broken(node):
    return True
"""


def test_only_functions_of_the_module_are_observable(world):
    world.write("transformers/partly.py", "from json import loads\n\n\ndef use(x):\n    return loads(x)\n")
    name = "transformers.partly:loads"
    world.plant("toy-wrapped", WRAPPED, {name: "==1.0"}, {name: "use"})
    code = """
import hotfix.auto, hotfix, json
from transformers import partly
partly.use("1")
(one,) = [one for one in hotfix.report() if one.fix == "toy-wrapped"]
print(one.verdict.value, one.state.value, one.reason, hotfix.report().observed, partly.loads is json.loads)
"""
    why = "Not repaired, and not observable: loads is no Python function that is defined in transformers.partly."
    assert world.run(code, **OBSERVE).stdout == f"broken skipped {why} () True\n"


def test_a_function_that_was_replaced_since_is_not_observed_any_more(kinds):
    code = "from transformers import kinds\nkinds.raises = lambda x: x\nkinds.raises(3)"
    counted, states, _, _ = seen(kinds, code)
    assert counted["raises"] == (0, 0, 0)
    assert states["raises"][0] == "skipped"
    assert "not counted" in states["raises"][1]


def test_revert_gives_back_the_identical_code(kinds):
    code = """
import hotfix.auto
from types import FunctionType
import importlib.util, sys
first = {}
from hotfix.session import Session
handle, Session._handle = Session._handle, lambda self, module, late: (remember(module), handle(self, module, late))
def remember(module):
    for name, one in list(vars(module).items()):
        if isinstance(one, FunctionType): first[name] = one, one.__code__
    for name, one in list(vars(getattr(module, "Layer", object)).items()):
        if isinstance(one, FunctionType): first["Layer." + name] = one, one.__code__
from transformers import kinds
import hotfix
changed = [name for name, (one, code) in first.items() if one.__code__ is not code]
names = set(vars(kinds))
kinds.raises(1)
hotfix.revert()
print(sorted(changed), all(one.__code__ is code for one, code in first.values()), len(first) > 9)
print(names == set(vars(kinds)), vars(kinds)["raises"] is first["raises"][0], "hotfix" in sys.modules)
"""
    lines = kinds.run(code, **OBSERVE).stdout.splitlines()
    assert lines[0] == "['asynchronous', 'coroutine', 'generator', 'plain', 'raises'] True True"
    assert lines[1] == "True True True"


def test_an_error_in_a_trigger_has_no_effect_and_is_reported_once(world):
    plant(world, body="raise ZeroDivisionError('oh')", targets=["plain", "raises"])
    counted, _, _, done = seen(world, "from transformers import kinds\nkinds.plain(1), kinds.plain(5), kinds.raises(1)")
    assert counted == {"plain": (2, 0, 2), "raises": (1, 0, 1)}
    assert (
        len(
            [line for line in done.stderr.splitlines() if lacking(line, "kinds:plain", "(ZeroDivisionError: oh)") == []]
        )
        == 1
    )


@pytest.mark.parametrize("body", ["return None", "return 1", "return 'yes'"])
def test_an_answer_that_is_neither_true_nor_false_is_unknown(world, body):
    plant(world, body=body, targets=["raises"])
    counted, _, _, _ = seen(world, "from transformers import kinds\nkinds.raises(1)")
    assert counted == {"raises": (1, 0, 1)}


def test_a_trigger_that_cannot_be_loaded_leaves_the_calls_counted(world):
    plant(world, targets=["raises"], more=", every=0")
    world.write("toy_kinds.py", (world.folder / "toy_kinds.py").read_text().replace("TRIGGER = ", "TRIGGER = 3 #"))
    done = world.run("import hotfix.auto, transformers.kinds", check=False, **OBSERVE)
    assert done.returncode == 0


def test_a_trigger_may_judge_every_nth_call(world):
    plant(world, targets=["raises"], more=", every=10")
    code = "from transformers import kinds\nfor _ in range(25):\n    try: kinds.raises(2)\n    except ValueError: pass"
    counted, _, rows, done = seen(world, code)
    assert counted == {"raises": (25, 3, 0)}
    assert (rows[0]["asked"], rows[0]["every"]) == (3, 10)
    assert lacking(done.stderr, "3 of 3", "calls of raises", "25 in all") == []


def test_the_arguments_are_those_of_the_call_with_defaults(world):
    plant(
        world, body="print(call.target, call.owner, {one: call[one] for one in call}); return False", targets=["plain"]
    )
    done = world.run("import hotfix.auto\nfrom transformers import kinds\nkinds.plain(1, 4, 5, a=6)", **OBSERVE)
    assert done.stdout == "transformers.kinds:plain None {'x': 1, 'y': 4, 'z': 3, 'rest': (5,), 'a': 6}\n"


def test_the_owner_is_the_object_of_a_method_call(world):
    body = "print(type(call.owner).__name__, call.get('x')); return False"
    plant(world, body=body, targets=["Layer.forward", "Layer.build", "Layer.halve", "Layer.double"])
    code = "layer = kinds.Layer(); layer.forward(1), layer.build(2), layer.halve(3), layer.double"
    done = world.run(f"import hotfix.auto\nfrom transformers import kinds\n{code}", **OBSERVE)
    assert done.stdout.splitlines() == ["Layer 1", "type 2", "NoneType 3", "Layer None"]


def test_a_place_that_is_no_target_is_observed_once_a_target_is_broken(world):
    world.write("transformers/step.py", "def step(x):\n    return x\n")
    plant(world, targets=["raises"])
    text = (world.folder / "toy_kinds.py").read_text().replace("strikes()", "strikes('transformers.step:step')")
    world.write("toy_kinds.py", text)
    for imports in ("transformers.step, transformers.kinds", "transformers.kinds, transformers.step"):
        code = f"import {imports}\ntransformers.step.step(2), transformers.step.step(1), transformers.kinds.raises(1)"
        counted, states, _, _ = seen(world, code)
        assert counted == {"step": (2, 1, 0)}
        assert states["raises"][0] == "observed"
        assert "counted in transformers.step:step" in states["raises"][1]


def test_nothing_is_repaired_and_the_digest_says_so(kinds):
    code = "import hotfix.auto, hotfix\nfrom transformers import kinds, toy\nprint(kinds.plain(1)[1], hotfix.digest())"
    assert kinds.run(code, **OBSERVE).stdout.split() == ["2", "e3b0c44298fc"]
    y, digest = kinds.run(code).stdout.split()
    assert y == "2"
    assert digest != "e3b0c44298fc"
    done = kinds.run(code, check=False, HOTFIX_PIN=digest, **OBSERVE)
    assert "HOTFIX_PIN" in done.stderr
    assert done.returncode
    done = kinds.run(code, check=False, HOTFIX_REQUIRE="toy-kinds", **OBSERVE)
    assert "HOTFIX_REQUIRE=toy-kinds: not" in done.stderr


@pytest.mark.parametrize(("name", "value"), [("HOTFIX_MODE", "watch"), ("HOTFIX_COUNT", "yes")])
def test_a_bad_value_is_one_clear_error(kinds, name, value):
    done = kinds.run("import hotfix.auto, transformers.kinds", **{name: value})
    (line,) = done.stderr.splitlines()
    assert lacking(line, f"{name}={value}: ", "allowed are ") == []
    assert "repair, observe" in line or "0, 1" in line


def test_nothing_of_it_is_loaded_unless_requested(world):
    code = """
import hotfix.auto, hotfix, sys
from transformers import toy
report = hotfix.report()
print([one for one in sys.modules if one in ("hotfix.trigger", "hotfix.observing.counter", "hotfix.observing.observer")
       or one.startswith(("hotfix.triggers", "hotfix.reports.observed"))])
print(any("hotfix_seen" in name for name in toy.scale.__code__.co_names), "observed" in report.to_dict(), toy.scale(3))
"""
    assert world.run(code).stdout.splitlines() == ["[]", "False False 6"]
    assert world.run(code, **OBSERVE).stdout.splitlines()[1] == "True True 5"


def test_repaired_calls_are_counted_on_request(world):
    world.write("transformers/kinds.py", KINDS)
    text = FIX.format(targets="'transformers.kinds:Layer.halve'", body="return call['x'] > 1", more="")
    name = "transformers.kinds:Layer.halve"
    world.plant("toy-kinds", text, {name: "==1.0"}, {name: "Layer.halve"})
    code = "from transformers import kinds\nprint(kinds.Layer.halve(198), kinds.Layer.halve(1))"
    counted, states, _, done = seen(world, code, HOTFIX_MODE="repair", HOTFIX_COUNT="1")
    assert done.stdout.splitlines()[0] == f"2.0 {1 / 99}"  # repaired
    assert counted == {"Layer.halve": (2, 1, 0)}
    assert states["Layer.halve"][0] == "applied"
    assert lacking(done.stderr, "toy-kinds", "1 of 2", "Layer.halve", "too large") == []
    assert "repaired 1 of" not in world.run(f"import hotfix.auto\n{code}").stderr
    (world.folder / "toy_kinds.py").write_text(text.replace('is too large"', 'is too large", while_repaired=False'))
    counted, states, _, _ = seen(world, code, HOTFIX_MODE="repair", HOTFIX_COUNT="1")
    assert (counted, states["Layer.halve"][0]) == ({}, "applied")


def test_calls_of_replaced_functions_are_counted_on_request(world):
    world.write("transformers/kinds.py", KINDS)
    change = """@FIX.replaces(("transformers.kinds:Layer.halve", "==1.0"))
def halve(x):
    return x * 3
"""
    text = FIX.format(targets="", body="return call['x'] > 1", more="")
    text = text[: text.index("@FIX.edits")] + change + text[text.index("@FIX.recognises") :]
    name = "transformers.kinds:Layer.halve"
    world.plant("toy-kinds", text, {name: "==1.0"}, {name: "Layer.halve"})
    code = "from transformers import kinds\nprint(kinds.Layer.halve(4), kinds.Layer.halve(1))"
    counted, states, _, done = seen(world, code, HOTFIX_MODE="repair", HOTFIX_COUNT="1")
    assert done.stdout.splitlines()[0] == "12 3"
    assert counted == {"Layer.halve": (2, 1, 0)}
    assert states["Layer.halve"][0] == "applied"
    # A replacement may have a different name from its target.
    (world.folder / "toy_kinds.py").write_text(text.replace("def halve", "def other"))
    counted, states, _, done = seen(world, code, HOTFIX_MODE="repair", HOTFIX_COUNT="1")
    assert (counted, done.stdout.splitlines()[0]) == ({"Layer.halve": (2, 1, 0)}, "12 3")
    assert states["Layer.halve"][0] == "applied"


def test_threads_count_exactly(world):
    plant(world, targets=["Layer.forward"])
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
from transformers import kinds
def work():
    layer = kinds.Layer()
    for i in range(2000): layer.forward(i % 4)
threads = [threading.Thread(target=work) for _ in range(8)]
[one.start() for one in threads]; [one.join() for one in threads]
"""
    counted, _, _, _ = seen(world, code)
    assert counted == {"Layer.forward": (16000, 8000, 0)}


RECORDS = """
import hotfix.auto, multiprocessing, sys
from transformers import kinds
def work(x):
    for _ in range(x): kinds.halve(x)
if __name__ == "__main__":
    kinds.halve = kinds.Layer.halve
    kinds.halve(2)
    start = multiprocessing.get_context(sys.argv[1] if len(sys.argv) > 1 else "{way}")
    workers = [start.Process(target=work, args=(x,)) for x in (1, 3, 5)]
    [one.start() for one in workers]; [one.join() for one in workers]
else:
    kinds.halve = kinds.Layer.halve
"""


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_each_process_counts_for_itself_and_writes_it_down(world, tmp_path, way):
    if sys.platform == "win32" and way != "spawn":
        pytest.skip("needs fork")
    plant(world, targets=["Layer.halve"])
    folder = tmp_path / "records"
    done = world.run(RECORDS.replace("{way}", way), HOTFIX_RECORD=str(folder), **OBSERVE)
    records = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    counted = sorted((row["calls"], row["struck"]) for record in records for row in record.get("observed", ()))
    assert [pair for pair in counted if pair[0]] == [(1, 0), (1, 1), (3, 3), (5, 5)]
    assert all(record["mode"] == "observe" for record in records)
    assert all(record["ended"] for record in records if record["observed"])
    assert done.stderr.count("was triggered") == 1  # the first process reports only itself

    from hotfix.reports import fleet

    (total,) = fleet.summarise(folder).observed
    assert (total["calls"], total["struck"], total["processes"]) == (10, 9, 4)


WORKER = """
import hotfix.auto, multiprocessing
def work(x):
    from transformers import kinds
    for _ in range(x): kinds.Layer.halve(x)
if __name__ == "__main__":
    workers = [multiprocessing.get_context("fork").Process(target=work, args=(x,)) for x in (1, 4)]
    [one.start() for one in workers]; [one.join() for one in workers]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_that_imports_it_itself_is_counted(world, tmp_path):
    plant(world, targets=["Layer.halve"])
    world.run(WORKER, HOTFIX_RECORD=str(tmp_path / "records"), **OBSERVE)
    records = [json.loads(file.read_text()) for file in (tmp_path / "records").glob("*.json")]
    assert sorted(row["calls"] for record in records for row in record["observed"]) == [1, 4]


LOADER = """
import hotfix.auto, torch
from transformers import kinds
class Data(torch.utils.data.Dataset):
    def __len__(self): return 7
    def __getitem__(self, index): return kinds.Layer.halve(index)
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Data(), batch_size=1, num_workers=2)
    print(sum(float(one) for _ in range(2) for one in loader), kinds.Layer.halve(2))
"""


def test_the_workers_of_a_data_loader_are_counted_exactly(world, tmp_path):
    pytest.importorskip("torch")
    plant(world, targets=["Layer.halve"])
    done = world.run(LOADER, HOTFIX_RECORD=str(tmp_path / "records"), **OBSERVE)
    assert done.stdout == "21.0 1.0\n"

    from hotfix.reports import fleet

    summary = fleet.summarise(tmp_path / "records")
    (total,) = summary.observed
    assert (total["calls"], total["struck"], total["processes"]) == (15, 11, 5)
    assert lacking(str(summary), "toy-kinds was triggered", "11 of 15", "Layer.halve") == []


COMPILED = """
import hotfix.auto, torch
from transformers import kinds
layer = kinds.Layer()
one = torch.compile(layer.forward, backend="eager", fullgraph=True)
other = torch.compile(lambda x: kinds.Layer.halve(x) + 1, backend="eager", fullgraph=True)
x = torch.arange(3.0)
print(one(x).tolist(), other(x).tolist(), one(x + 1).tolist())
print(torch._dynamo.utils.counters["graph_break"], layer.forward(x).tolist())
"""


def test_a_compiled_graph_is_whole_and_its_calls_are_not_counted(world):
    pytest.importorskip("torch", minversion="2.3", reason="earlier ones cannot compile the toy, with hotfix or without")
    plant(world, targets=["Layer.forward", "Layer.halve"], body="return bool((call['x'] > 1).any())")
    without = world.run(COMPILED, HOTFIX="0").stdout
    assert without == world.run(COMPILED, **OBSERVE).stdout
    assert without.splitlines()[1].startswith("Counter()")
    counted, _, _, _ = seen(world, COMPILED)
    assert counted == {"Layer.forward": (1, 1, 0), "Layer.halve": (0, 0, 0)}


def test_a_tensor_tells_whether_a_bug_strikes(world):
    pytest.importorskip("torch")
    plant(world, targets=["Layer.halve"], body="return (call['x'] > 1).any()")
    code = (
        "import torch\nfrom transformers import kinds\nfor one in (0, 1, 2, 3): kinds.Layer.halve(torch.tensor([one]))"
    )
    code += "\nkinds.Layer.halve(torch.ones(1, device='meta'))"
    counted, _, _, done = seen(world, code)
    assert counted == {"Layer.halve": (5, 2, 1)}
    assert "tensors on meta" in done.stderr


CALLBACK = """
import sys, types
summary, config = {}, types.SimpleNamespace(update=lambda *args, **kwargs: None)
run = types.SimpleNamespace(summary=summary, config=config)
sys.modules["wandb"] = types.SimpleNamespace(run=run)
import hotfix.auto
from transformers import kinds
from hotfix.callback import HotfixCallback
callback = HotfixCallback()
state = types.SimpleNamespace(is_world_process_zero=True)
callback.on_train_begin(None, state, None)
kinds.Layer.halve(1), kinds.Layer.halve(2)
callback.on_train_end(None, state, None)
print([(one.fix, one.calls, one.struck) for one in callback.observed], summary)
"""


def test_the_callback_has_the_counts(world):
    pytest.importorskip("torch")  # the callback checks whether all processes agree
    world.write("transformers/__init__.py", '__version__ = "1.0"\nclass TrainerCallback: pass\n')
    plant(world, targets=["Layer.halve"])
    printed = world.run(CALLBACK, **OBSERVE).stdout
    assert printed == "[('toy-kinds', 2, 1)] {'hotfix/triggered/toy-kinds': 1}\n"


def test_json_output_matches_the_schemas(world, tmp_path):
    from hotfix.reports import fleet
    from tests.commands.schemas import check

    plant(world, targets=["Layer.halve"])
    code = """
import hotfix.auto, hotfix
from transformers import kinds
kinds.Layer.halve(2)
print(hotfix.report().to_json())
"""
    done = world.run(code, HOTFIX_RECORD=str(tmp_path / "records"), **OBSERVE)
    check("status", json.loads(done.stdout))
    check("fleet", json.loads(fleet.summarise(tmp_path / "records").to_json()))


def test_values_on_a_device_are_read_once_they_are_computed(monkeypatch):
    torch = pytest.importorskip("torch")
    from hotfix.observing import counter as observing
    from hotfix.trigger import Trigger

    empty = torch.empty
    done: list[bool] = []

    class Event:
        def record(self):
            pass

        def query(self):
            return bool(done)

        def synchronize(self):
            done.append(True)

    class OnDevice:
        """A tensor with one truth value, on another device."""

        device = SimpleNamespace(type="cuda")

        def detach(self):
            return torch.tensor(True)

    monkeypatch.setattr(torch, "empty", lambda *args, pin_memory, **kwargs: empty(*args, **kwargs))
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    trigger = Trigger("mine", when="w", wrong="x")
    trigger.strikes()(lambda call: OnDevice())
    firsts = []
    counter = observing.Counter("mine", "m:f", trigger, ("x",), False, "", lambda counted, first: firsts.append(first))
    seen = counter.seen
    seen(1)
    seen(2)
    assert firsts == [False]  # of the first call; nobody has waited
    done.append(True)
    seen(3)
    assert firsts[1] is True
    result = counter.result()
    assert (result.calls, result.struck) == (3, 3)
    assert result.first is not None
    assert result.first.place.startswith(__file__)
