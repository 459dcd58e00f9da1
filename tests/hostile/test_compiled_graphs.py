"""Compiled graphs match the running code, or a message says that they do not.

- A graph that was compiled before a late repair, or before a revert, is dropped, and the report says so.
- A repaired process does not use graphs that an unrepaired process left in inductor's cache or in that of AOTAutograd,
  and vice versa.
- If torch may take graphs of an earlier process from its cache, one warning says so; in strict mode it is an error.
- `torch.jit.script` compiles the source file: an edited function that was scripted is not reported as repaired.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from types import FunctionType

import pytest

from hotfix.engine.ledger import State
from hotfix.errors import HotfixError
from hotfix.patching import compiled

from .conftest import Lab, World, handled

torch = pytest.importorskip("torch")

TEXT = """
import torch


def scale(x: torch.Tensor) -> torch.Tensor:
    return x + 2


class Tower(torch.nn.Module):
    def forward(self, x):
        return scale(x)


class Layer(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 2
"""


def edited(lab: Lab, name: str = "scale"):
    fix = lab.fix(**{name.replace(".", "__"): TEXT})
    fix.edits(f"toys.toy:{name}", old="x + 2", new="x * 2")
    return fix


def replaced(lab: Lab):
    fix = lab.fix(scale=TEXT)

    @fix.replaces("toys.toy:scale")
    def scale(x):
        return x * 2

    return fix


def wrapped(lab: Lab):
    fix = lab.fix(scale=TEXT)

    @fix.wraps("toys.toy:scale")
    def around(original):
        def wrapper(x):
            return (original(x) - 2) * 2

        return wrapper

    return fix


@pytest.mark.testbed
@pytest.mark.parametrize("method", [edited, replaced, wrapped])
def test_a_graph_compiled_before_a_late_repair_or_a_revert_is_dropped_and_the_report_says_so(lab: Lab, method) -> None:
    toy = lab.module(text=TEXT)
    tower, inner = toy.Tower(), torch.compile(toy.scale, backend="eager", fullgraph=True)
    graph = torch.compile(tower, backend="eager", fullgraph=True)
    ones = torch.full((2,), 5.0)
    assert graph(ones).tolist() == inner(ones).tolist() == [7, 7]
    session = lab.session(method(lab))
    session.module_imported("toys.toy", late=True)
    assert graph(ones).tolist() == tower(ones).tolist() == [10, 10]
    (outcome,) = session.report()
    assert "torch.compile" in outcome.reason
    session.reset()
    assert graph(ones).tolist() == tower(ones).tolist() == [7, 7]


CONDITIONAL = """
import torch


class Tower(torch.nn.Module):
    def inner(self, x):
        return x

    def forward(self, x):
        if x.shape[0] == 3:
            raise ValueError("three")
        return self.inner(x) + 2
"""


class Refusing:
    """A finder that blocks every import of hotfix."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "hotfix":
            raise ImportError(f"{name} is not here")


WHEN = "import hotfix.models._hooks as _hooks\n_hooks.only_read(self) and x.shape[0] != 1"


COMPILED = """
import hotfix.auto
import torch
import transformers.toy as toy
with torch.no_grad():
    result = torch.compile(lambda x: toy.scale(x) * x)(torch.full((2,), 5.0))
print(result.tolist(), torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"])
"""


@pytest.mark.testbed
@pytest.mark.slow
def test_graphs_of_an_unrepaired_process_in_the_cache_of_inductor_do_not_come_back(world: World) -> None:
    if not shutil.which("g++"):
        pytest.skip("inductor needs a compiler of C++ on a CPU: g++")
    settings = {"TORCHINDUCTOR_CACHE_DIR": str(world.folder / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    for switch, wanted in (("0", "[35.0, 35.0] 0"), ("1", "[50.0, 50.0] 0"), ("1", "[50.0, 50.0] 1")):
        assert world.run(COMPILED, HOTFIX=switch, **settings).stdout == f"{wanted}\n"


TRAINED = """
import hotfix.auto
import torch, torch._functorch.config
import transformers.toy as toy
torch._functorch.config.enable_autograd_cache = True
x = torch.full((2,), 5.0, requires_grad=True)
torch.compile(lambda x: toy.scale(x) * x)(x).sum().backward()
counters = torch._dynamo.utils.counters["aot_autograd"]
print(x.grad.tolist(), counters["autograd_cache_hit"], counters["autograd_cache_miss"])
"""


@pytest.mark.testbed
@pytest.mark.slow
def test_graphs_of_an_unrepaired_process_in_the_cache_of_aotautograd_do_not_come_back(world: World) -> None:
    if not shutil.which("g++"):
        pytest.skip("inductor needs a compiler of C++ on a CPU: g++")
    settings = {"TORCHINDUCTOR_CACHE_DIR": str(world.folder / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    broken, right = "[12.0, 12.0]", "[20.0, 20.0]"
    runs = (("0", broken, "0 1"), ("0", broken, "1 0"), ("1", right, "0 1"), ("1", right, "1 0"), ("0", broken, "1 0"))
    for switch, gradient, counted in runs:
        assert world.run(TRAINED, HOTFIX=switch, **settings).stdout == f"{gradient} {counted}\n"


@pytest.mark.testbed
@pytest.mark.parametrize("condition", [{"own": ("self.inner",)}, {"when": WHEN}, {"along": ("toys.toy:Tower.inner",)}])
def test_a_repair_under_a_condition_is_in_one_graph_also_without_hotfix(lab: Lab, monkeypatch, condition) -> None:
    toy = lab.module(text=CONDITIONAL)
    fix = lab.fix(Tower__forward=CONDITIONAL, Tower__inner=CONDITIONAL)
    fix.edits("toys.toy:Tower.forward", old="self.inner(x) + 2", new="self.inner(x) * 2", **condition)
    fix.edits("toys.toy:Tower.inner", old="return x", new="return x * 1")
    session = lab.session(fix)
    session.module_imported("toys.toy")
    towers = [toy.Tower(), toy.Tower()]
    ones = torch.full((2,), 5.0)
    assert towers[0](ones).tolist() == [10, 10]
    assert torch.compile(towers[0], backend="eager", fullgraph=True)(ones).tolist() == [10, 10]
    torch._dynamo.reset()
    for name in [module for module in sys.modules if module.partition(".")[0] == "hotfix"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    assert towers[1](ones).tolist() == [10, 10]
    assert torch.compile(towers[1], backend="eager", fullgraph=True)(ones).tolist() == [10, 10]


@pytest.mark.testbed
def test_a_late_repair_resets_dynamo_also_where_guards_would_not_notice(lab: Lab, monkeypatch) -> None:
    toy = lab.module(text=TEXT)
    torch.compile(toy.scale, backend="eager")(torch.ones(2))
    resets = []
    monkeypatch.setattr(torch._dynamo, "reset", lambda: resets.append(1))
    session = lab.session(edited(lab))
    session.module_imported("toys.toy", late=True)
    assert len(resets) == 1
    session.module_imported("toys.toy", late=True)  # nothing is compiled again
    assert len(resets) == 1
    session.reset()
    assert len(resets) == 2
    session.reset()
    assert len(resets) == 2


@pytest.mark.testbed
@pytest.mark.parametrize("how", ["environment", "config"])
def test_graphs_of_an_earlier_process_are_warned_of_and_stop_strict_programs(
    lab: Lab, how, monkeypatch, caplog
) -> None:
    if how == "environment":
        monkeypatch.setenv("TORCH_CACHING_PRECOMPILE", "1")
    else:
        monkeypatch.setattr(importlib.import_module("torch._dynamo.config"), "caching_precompile", True)
    lab.module(text=TEXT)
    session = lab.session(edited(lab))
    handled(session)
    assert "TORCH_CACHING_PRECOMPILE is on" in caplog.text
    session.reset()
    strict = lab.session(edited(lab), strict=True)
    with pytest.raises(HotfixError, match="TORCH_CACHING_PRECOMPILE"):
        strict.module_imported("toys.toy")
    strict.reset()


@pytest.mark.testbed
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["scale", "Layer.forward"])
def test_an_edited_function_that_torch_jit_has_compiled_is_not_called_repaired(lab: Lab, name: str) -> None:
    toy = lab.module(text=TEXT)
    session = lab.session(edited(lab, name))
    session.module_imported("toys.toy")
    assert [outcome.state for outcome in session.report()] == [State.APPLIED]
    scripted = torch.jit.script(toy.scale if name == "scale" else toy.Layer())
    assert scripted(torch.full((1,), 5.0)).item() == 7  # once this is 10, the limit no longer exists
    (outcome,) = session.report()
    assert outcome.state is State.FAILED
    assert "torch.jit.script" in outcome.reason
    session.reset()


@pytest.mark.testbed
@pytest.mark.filterwarnings("ignore:`torch.jit.trace` is deprecated:DeprecationWarning")  # the old graph is still used
def test_torch_jit_trace_sees_the_repair(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    session = lab.session(edited(lab))
    session.module_imported("toys.toy")
    traced = torch.jit.trace(toy.scale, (torch.ones(1),), check_trace=False)
    assert traced(torch.full((1,), 5.0)).item() == 10
    session.reset()


def test_without_torch_nothing_is_queried(monkeypatch) -> None:
    import sys

    def nothing() -> None: ...

    assert isinstance(nothing, FunctionType)
    for name in ("torch._dynamo", "torch.jit._state", "torch.jit._recursive"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert not compiled.forget_graphs()
    assert not compiled.is_scripted(nothing)


@pytest.mark.slow
@pytest.mark.testbed
def test_siglip_compiled_before_a_late_repair_equals_siglip_not_compiled() -> None:
    from tools.testbed.run import run

    done = run("tests.hostile.test_compiled_graphs:siglip", transformers="4.57.1", flash_attn=None, hotfix=False)
    tensors = done.require().tensors
    assert not torch.equal(tensors["eager_before"], tensors["eager_after"])
    assert torch.equal(tensors["eager_after"], tensors["compiled_after"])
    assert torch.equal(tensors["eager_before"], tensors["compiled_reverted"])


def siglip(testbed, target):
    """The last hidden state of a small tower, eager and compiled, before and after a late repair."""
    from transformers.models.siglip import modeling_siglip

    import hotfix
    from hotfix.proofs.zoo import tower, tower_inputs

    torch.manual_seed(0)
    model = tower(testbed, modeling_siglip, "SiglipVisionModel")
    pixels = tower_inputs(testbed, "SiglipVisionModel")
    layers = torch.compile(model, backend="eager")

    def last(model_or_layers):
        with torch.no_grad():
            return model_or_layers(**pixels, output_hidden_states=True).hidden_states[-1]

    results = {"eager_before": last(model), "compiled_before": last(layers)}
    with hotfix.apply(only=["vision-hidden-states-post-ln"]):
        results.update(eager_after=last(model), compiled_after=last(layers))
    return {**results, "compiled_reverted": last(layers)}
