"""`var-attention-dtype`: VAR's attention on xformers' own code, with an operator for the CPU.

The modules are our own block in each state that VAR's file has been in (`var_module`), and, where `HOTFIX_VAR_REPO`
names a checkout of the real repository, its seven revisions.
"""

from __future__ import annotations

import importlib
import inspect
import json
import logging
import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import hotfix  # noqa: E402
from hotfix.models.var_attention_dtype import FIX  # noqa: E402
from hotfix.proofs.models.var_attention_dtype import block_causal_bias  # noqa: E402
from hotfix.proofs.testbed import Testbed  # noqa: E402
from hotfix.versions import verdict  # noqa: E402
from tests.facts import lacking  # noqa: E402
from tools.studies.parity import var_module  # noqa: E402
from tools.testbed import cpu, kernel, overlay, xformers_cpu  # noqa: E402
from tools.testbed.run import ROOT, run  # noqa: E402

ID = "var-attention-dtype"
XFORMERS, FLASH = "memory_efficient_attention", "flash_attn_func"
LEVELS = (1, 4, 9)
BROKEN = [state for state in var_module.STATES if state != "fixed"]

MIXED = (ValueError, "Query/Key/Value should either all have the same dtype")
BIAS = (RuntimeError, "invalid dtype for bias - should match query's dtype")
FLOAT32 = (RuntimeError, "FlashAttention only support fp16 and bf16 data type")

# How each state fails under half-precision autocast: in training (a bias, so xformers), in cached inference through
# xformers, in cached inference through flash-attn; None where it does not.
FAILURES: dict[str, dict[str, tuple[type[Exception], str] | None]] = {
    "nothing cast": {"training": MIXED, "xformers": MIXED, "flash": FLOAT32},
    "flash cast": {"training": MIXED, "xformers": MIXED, "flash": None},
    "bias wrong": {"training": BIAS, "xformers": None, "flash": None},
    "fixed": {"training": None, "xformers": None, "flash": None},
}


# -- where it runs -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def xformers():
    """The real xformers, importable while the tests of this file run, with an operator for the CPU."""
    folder = str(overlay.xformers("0.0.35"))
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        ops = importlib.import_module("xformers.ops")
        with xformers_cpu.registered():
            yield ops
    finally:
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "xformers"]:
            del sys.modules[name]


@torch.autocast("cpu", enabled=False)
def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
    """A replacement of flash-attn's function: the refusals of the real kernel, and its documented results."""
    cpu._check(q, k, v, dropout_p)
    return kernel.forward(q, k, v, kernel.Rule(softmax_scale, causal))[0].contiguous()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on `sys.path`; its imports, and the changes of hotfix, are undone in the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in os.environ if name.startswith("HOTFIX")]:
        monkeypatch.delenv(name)
    yield tmp_path
    hotfix.revert()
    for name in [name for name in sys.modules if (tmp_path / name.partition(".")[0]).exists()]:
        del sys.modules[name]


@pytest.fixture
def both(xformers, monkeypatch):
    """Xformers and flash-attn can be imported."""
    stub = ModuleType("flash_attn")
    vars(stub)[FLASH] = flash_attn_func
    monkeypatch.setitem(sys.modules, "flash_attn", stub)
    return xformers


def block(module, seed=0, fused=True):
    return Testbed("cpu").fill(module.SelfAttention(width=32, heads=2, fused=fused), seed)


def autocast(dtype):
    return torch.autocast("cpu", dtype=dtype, enabled=dtype is not torch.float32)


def train(attention, dtype, bias=None):
    """Output and all gradients of one step with a block-causal bias."""
    x = Testbed("cpu").randn(2, sum(LEVELS), 32).requires_grad_()
    with autocast(dtype):
        output = attention(x, block_causal_bias(LEVELS) if bias is None else bias)
    (output.float() * torch.linspace(-1, 1, 32)).sum().backward()
    return [output.detach(), x.grad, *(parameter.grad for parameter in attention.parameters())]


@torch.no_grad()
def infer(attention, dtype):
    """Outputs of cached inference, level by level, without a bias."""
    x = Testbed("cpu").randn(2, sum(LEVELS), 32)
    attention.eval().start_caching()
    with autocast(dtype):
        return [attention(level, None) for level in x.split(LEVELS, dim=1)]


def go(module, mode, dtype, fused=True):
    attention = block(module, fused=fused)
    attention.using_flash = attention.using_flash and mode == "flash"
    return train(attention, dtype) if mode == "training" else infer(attention, dtype)


def same(these, those):
    return len(these) == len(those) and all(
        tensor.dtype == other.dtype and torch.equal(tensor, other) for tensor, other in zip(these, those)
    )


def distance(these, those):
    """Distance of two lists of tensors, each taken as one vector, relative to the norm of the second."""
    this, that = (torch.cat([tensor.float().flatten() for tensor in many]) for many in (these, those))
    return float((this - that).norm() / that.norm())


def outcomes(module=""):
    return {
        outcome.target: (outcome.verdict.value, outcome.state.value)
        for outcome in hotfix.report()
        if outcome.fix == ID and outcome.target.startswith(module)
    }


def names(module):
    return f"{module}:{XFORMERS}", f"{module}:{FLASH}"


def test_the_stand_ins_compute_in_float32_under_autocast_as_kernels_do():
    q, k, v = (Testbed("cpu").randn(1, 14, 2, 16, dtype=torch.bfloat16, seed=seed) for seed in range(3))

    def computed():
        out, lse = xformers_cpu.attend(q, k, v, None, 0.25)
        back = xformers_cpu.gradients(out, q, k, v, None, 0.25, out, lse)
        return [out, lse, *back, flash_attn_func(q, k, v, softmax_scale=0.25)]

    with autocast(torch.bfloat16):
        under_autocast = computed()
    assert same(under_autocast, computed())


# -- broken before, right after ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", ["training", "xformers", "flash"])
@pytest.mark.parametrize("state", var_module.STATES)
def test_each_state_fails_in_half_precision_as_reported_and_then_equals_the_fixed_one(folder, both, state, mode, dtype):
    fixed = go(var_module.load(folder, "fixed_fork", var_module.text("fixed")), mode, dtype)
    module = var_module.load(folder, "models", var_module.text(state))
    failure = FAILURES[state][mode]
    if failure:
        with pytest.raises(failure[0], match=failure[1]):
            go(module, mode, dtype)
    else:
        assert same(go(module, mode, dtype), fixed)
    with hotfix.apply(only=[ID]):
        assert same(go(module, mode, dtype), fixed)
    if failure:
        with pytest.raises(failure[0], match=failure[1]):
            go(module, mode, dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("mode", ["training", "xformers", "flash"])
@pytest.mark.parametrize("state", BROKEN)
def test_a_repaired_module_equals_the_slow_path_within_rounding(folder, both, state, mode, dtype):
    hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text(state))
    fast, slow = go(module, mode, dtype), go(module, mode, dtype, fused=False)
    # Both paths get the same rounded q, k and v: autocast casts for the slow one. From there on either rounds at most
    # four times, scores, weights, attention and projection, by eps / 2 each; the way back rounds as often again. All
    # gradients are one vector: that of the learned scale alone is a sum in which most cancels.
    eps = torch.finfo(dtype).eps
    outputs = 1 if mode == "training" else len(LEVELS)
    assert distance(fast[:outputs], slow[:outputs]) <= 4 * eps
    assert fast[0].dtype is dtype
    if mode == "training":
        assert distance(fast[1:], slow[1:]) <= 8 * eps


def test_the_bound_for_rounding_tells_a_missing_bias_from_rounding(folder, both):
    module = var_module.load(folder, "models", var_module.text("fixed"))
    no_bias = torch.zeros(1, 1, sum(LEVELS), sum(LEVELS))
    right, wrong = (train(block(module), torch.bfloat16, bias) for bias in (None, no_bias))
    eps = torch.finfo(torch.bfloat16).eps
    assert distance(wrong[:1], right[:1]) > 4 * eps
    assert distance(wrong[1:], right[1:]) > 8 * eps


@pytest.mark.parametrize("mode", ["training", "xformers", "flash"])
@pytest.mark.parametrize("state", var_module.STATES)
def test_float32_without_autocast_is_as_it_was_to_the_bit(folder, both, state, mode):
    module = var_module.load(folder, "models", var_module.text(state))
    before = go(module, mode, torch.float32)
    with hotfix.apply(only=[ID]):
        assert same(go(module, mode, torch.float32), before)


def test_flash_attention_stays_off_where_there_is_a_bias(folder, both, monkeypatch):
    hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    attention = block(module)
    assert attention.using_flash
    monkeypatch.setattr(module, FLASH, None)
    xformers_cpu.CALLS.clear()
    train(attention, torch.bfloat16)
    assert [(torch.bfloat16, True)] == xformers_cpu.CALLS


def test_the_cache_of_inference_keeps_its_dtypes(folder, both):
    hotfix.apply(only=[ID])
    attention = block(var_module.load(folder, "models", var_module.text("nothing cast")))
    for attention.using_flash in (True, False):
        infer(attention, torch.bfloat16)
        keys, values = attention.cache
        assert (keys.dtype, values.dtype) == (torch.float32, torch.bfloat16)
        assert keys.shape == values.shape == (2, sum(LEVELS), 2, 16)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("mode", ["training", "xformers"])
def test_the_slow_path_is_untouched(folder, both, mode, dtype):
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    before = go(module, mode, dtype, fused=False)
    xformers_cpu.CALLS.clear()
    with hotfix.apply(only=[ID]):
        assert same(go(module, mode, dtype, fused=False), before)
    assert xformers_cpu.CALLS == []


# -- the verdict -------------------------------------------------------------------------------------------------------


def test_the_evidence_names_all_seven_revisions_for_both_names():
    targets = json.loads(verdict.evidence_file(FIX).read_text())["targets"]
    assert set(targets) == set(names("*.basic_var"))
    for name, entry in targets.items():
        broken, fixed = ([rev for revs in entry[verdict].values() for rev in revs] for verdict in ("broken", "fixed"))
        assert broken + fixed == ["75ba1e2", "a9ca763", "eb9956d", "ff9f756", "74138aa", "bd84ce5", "2236c79"], name


def test_the_fixed_state_is_left_alone(folder, both):
    hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text("fixed"))
    assert (vars(module)[XFORMERS], vars(module)[FLASH]) == (both.memory_efficient_attention, flash_attn_func)
    assert outcomes() == dict.fromkeys(names("models.basic_var"), ("fixed", "skipped"))


def test_a_name_that_the_module_could_not_import_is_unaffected(folder, xformers, monkeypatch):
    hotfix.apply(only=[ID])
    at_xformers, at_flash = names("models.basic_var")
    applied, unaffected = ("broken", "applied"), ("unaffected", "skipped")

    monkeypatch.setitem(sys.modules, "flash_attn", None)
    var_module.load(folder, "models", var_module.text("nothing cast"))
    assert outcomes() == {at_xformers: applied, at_flash: unaffected}

    monkeypatch.setitem(sys.modules, "xformers.ops", None)
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    assert outcomes() == {at_xformers: unaffected, at_flash: unaffected}
    assert (vars(module)[XFORMERS], vars(module)[FLASH]) == (None, None)
    reasons = [outcome.reason for outcome in hotfix.report() if outcome.fix == ID]
    assert lacking(reasons[0], "models.basic_var", "memory_efficient_attention") == []

    stub = ModuleType("flash_attn")
    vars(stub)[FLASH] = flash_attn_func
    monkeypatch.setitem(sys.modules, "flash_attn", stub)
    var_module.load(folder, "models", var_module.text("nothing cast"))
    assert outcomes() == {at_xformers: unaffected, at_flash: applied}


def test_a_name_that_a_fork_does_not_have_is_unaffected(folder, both):
    source = var_module.text("nothing cast").replace("flash_attn_func: Any = None\n", "")
    source = source.replace("    from flash_attn import flash_attn_func  #", "    pass  #")
    hotfix.apply(only=[ID])
    var_module.load(folder, "models", source)
    assert list(outcomes().values()) == [("broken", "applied"), ("unaffected", "skipped")]


UNRELATED = {
    "nothing of that name": "x = 1\n",
    "an import alone": "from xformers.ops import memory_efficient_attention\n",
    "no normalisation": """
from xformers.ops import memory_efficient_attention

class SelfAttention:
    def forward(self, q, k, v):
        return memory_efficient_attention(q, k, v)
""",
    "cast before the call": """
from torch.nn.functional import normalize
from xformers.ops import memory_efficient_attention

class SelfAttention:
    def forward(self, q, k, v, attn_bias):
        q, k = normalize(q), normalize(k)
        q, k = q.to(v.dtype), k.to(v.dtype)
        return memory_efficient_attention(q, k, v, attn_bias=attn_bias.to(q.dtype))
""",
    "cast the other way": """
from torch.nn.functional import normalize
from xformers.ops import memory_efficient_attention

class SelfAttention:
    def forward(self, q, k, v):
        q, k = normalize(q), normalize(k)
        return memory_efficient_attention(q, k, v.to(q.dtype))
""",
    "another attention": """
from torch.nn.functional import normalize, scaled_dot_product_attention
from xformers.ops import memory_efficient_attention

class SelfAttention:
    def forward(self, q, k, v):
        return scaled_dot_product_attention(normalize(q), normalize(k), v)
""",
}


@pytest.mark.parametrize("source", UNRELATED.values(), ids=UNRELATED)
def test_an_unrelated_module_of_that_name_is_left_alone_without_a_word(folder, both, caplog, source):
    hotfix.apply(only=[ID])
    with caplog.at_level(logging.INFO):
        module = var_module.load(folder, "models", source)
    assert vars(module).get(XFORMERS) in (None, both.memory_efficient_attention)
    assert caplog.records == []
    assert {verdict for verdict, _ in outcomes("models.").values()} <= {"absent", "fixed"}


def test_an_unrelated_module_of_that_name_is_silent_in_a_fresh_interpreter(tmp_path):
    var_module.write(tmp_path, "models", "class SelfAttention:\n    def forward(self, x):\n        return x\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(ROOT)])
    command = [sys.executable, "-c", "import hotfix.auto, models.basic_var, basic_var"]
    (tmp_path / "basic_var.py").write_text("")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SHAPES = {
    "keywords": "flash_attn_func(q=normalize(q), k=normalize(k), v=v)",
    "one of two": "memory_efficient_attention(normalize(q), normalize(k).to(v.dtype), v)",
    "bias in the old dtype": """memory_efficient_attention(
            q.to(v.dtype), normalize(k).to(v.dtype), v, attn_bias=None if m is None else m.to(q.dtype))""",
    "bias as fourth": "memory_efficient_attention(normalize(q).to(v.dtype), k.half(), v, m.to(k.dtype))",
}


@pytest.mark.parametrize("call", SHAPES.values(), ids=SHAPES)
def test_a_fork_with_a_body_of_its_own_is_recognised_by_its_calls(folder, both, call):
    hotfix.apply(only=[ID])
    imports = "from torch.nn.functional import normalize\nfrom xformers.ops import memory_efficient_attention\n"
    body = f"class SelfAttention:\n    def forward(self, q, k, v, m):\n        return {call}\n"
    var_module.load(folder, "fork", f"{imports}from flash_attn import flash_attn_func\n{body}")
    assert outcomes("fork.") == dict.fromkeys(names("fork.basic_var"), ("broken", "applied"))


# -- the wrapper -------------------------------------------------------------------------------------------------------


def test_the_wrapper_is_a_plain_function_with_the_signature_of_the_original(folder, both):
    hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    for wrapper, original in (
        (vars(module)[XFORMERS], both.memory_efficient_attention),
        (vars(module)[FLASH], flash_attn_func),
    ):
        assert inspect.isfunction(wrapper)
        assert wrapper is not original
        assert inspect.signature(wrapper) == inspect.signature(original)
        assert (wrapper.__name__, wrapper.__module__) == (original.__name__, original.__module__)


def test_the_wrapper_passes_on_arguments_that_need_no_cast(folder, both, monkeypatch):
    seen = []

    def original(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
        seen.append((query, key, value, attn_bias, p, scale, op))

    monkeypatch.setattr(both, XFORMERS, original)
    hotfix.apply(only=[ID])
    attend = vars(var_module.load(folder, "models", var_module.text("nothing cast")))[XFORMERS]
    half, single = torch.zeros(1, 2, 1, 4, dtype=torch.float16), torch.zeros(1, 2, 1, 4)
    mask, boolean, integers = object(), torch.zeros(1, 1, 2, 2, dtype=torch.bool), half.to(torch.int32)

    attend(half, half, half, mask, 0.5, op="op")
    attend(query=half, key=half, value=half, scale=2.0)
    attend(half, half, half, boolean)
    attend(single, integers, integers)  # quantized keys and values
    for got, given in zip(
        seen,
        [
            (half, half, half, mask, 0.5, None, "op"),
            (half, half, half, None, 0.0, 2.0, None),
            (half, half, half, boolean, 0.0, None, None),
            (single, integers, integers, None, 0.0, None, None),
        ],
    ):
        assert all(passed is other for passed, other in zip(got, given))


def test_an_expanded_bias_is_cast_without_memory_for_every_head(folder, both, monkeypatch):
    seen = []
    monkeypatch.setattr(both, XFORMERS, lambda query, key, value, attn_bias=None: seen.append(attn_bias))
    hotfix.apply(only=[ID])
    attend = vars(var_module.load(folder, "models", var_module.text("nothing cast")))[XFORMERS]
    value, bias = torch.zeros(3, 14, 2, 4, dtype=torch.float16), block_causal_bias(LEVELS)
    attend(value, value, value, attn_bias=bias.expand(3, 2, -1, -1))
    assert seen[0].stride() == (0, 0, 14, 1)
    assert torch.equal(seen[0], bias.half().expand(3, 2, -1, -1))


def test_a_function_with_other_arguments_under_the_name_is_refused(folder, both, monkeypatch):
    monkeypatch.setattr(both, XFORMERS, lambda qkv, mask: qkv)
    hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    assert vars(module)[XFORMERS] is both.memory_efficient_attention
    assert list(outcomes().values()) == [("broken", "failed"), ("broken", "applied")]


def test_a_compiled_block_runs_the_repaired_function(folder, both):
    hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    attention = block(module).eval()
    x = Testbed("cpu").randn(2, sum(LEVELS), 32)
    with torch.no_grad(), autocast(torch.bfloat16):
        eager = attention(x, None)
        compiled = torch.compile(attention, backend="eager", fullgraph=True)(x, None)
    assert torch.equal(compiled, eager)


# -- in a process ------------------------------------------------------------------------------------------------------


def test_two_forks_are_repaired_and_reverted_and_xformers_itself_is_never_touched(folder, both):
    original = both.memory_efficient_attention
    late = var_module.load(folder, "fork_a.models", var_module.text("nothing cast"))
    handle = hotfix.apply(only=[ID])
    early = var_module.load(folder, "fork_b", var_module.text("bias wrong"))
    assert both.memory_efficient_attention is original
    assert sys.modules["flash_attn"].flash_attn_func is flash_attn_func
    assert same(go(late, "training", torch.bfloat16), go(early, "training", torch.bfloat16))
    assert vars(late)[XFORMERS] is not vars(early)[XFORMERS]
    lateness = {outcome.target.partition(":")[0]: outcome.late for outcome in hotfix.report() if outcome.fix == ID}
    assert lateness == {"fork_a.models.basic_var": True, "fork_b.basic_var": False}
    handle.revert()
    for module in (late, early):
        assert (vars(module)[XFORMERS], vars(module)[FLASH]) == (original, flash_attn_func)
        with pytest.raises((ValueError, RuntimeError)):
            go(module, "training", torch.bfloat16)


def test_a_block_that_was_made_before_hotfix_is_repaired(folder, both):
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    attention = block(module)
    fixed = var_module.load(folder, "fixed_fork", var_module.text("fixed"))
    with hotfix.apply(only=[ID]):
        assert same(train(attention, torch.bfloat16), train(block(fixed), torch.bfloat16))


def test_a_module_that_is_reloaded_is_repaired_again(folder, both):
    handle = hotfix.apply(only=[ID])
    module = var_module.load(folder, "models", var_module.text("nothing cast"))
    attention = block(module)
    for _ in range(2):
        assert importlib.reload(module) is module
        assert vars(module)[XFORMERS] is not both.memory_efficient_attention
        attention.zero_grad()
        train(attention, torch.bfloat16)  # one that was made before the reload
        go(module, "flash", torch.bfloat16)
    assert outcomes() == dict.fromkeys(names("models.basic_var"), ("broken", "applied"))
    handle.revert()
    assert (vars(module)[XFORMERS], vars(module)[FLASH]) == (both.memory_efficient_attention, flash_attn_func)


def test_the_report_reads_well_before_and_after_the_import(folder, both):
    hotfix.apply(only=[ID])
    before = [outcome for outcome in hotfix.report() if outcome.fix == ID]
    assert [outcome.target for outcome in before] == list(names("*.basic_var"))
    assert [lacking(reason, "module", "*.basic_var") for reason in {outcome.reason for outcome in before}] == [[]]
    var_module.load(folder, "models", var_module.text("flash cast"))
    after = [outcome for outcome in hotfix.report() if outcome.fix == ID]
    assert [outcome.target for outcome in after] == list(names("models.basic_var"))
    assert {(outcome.verdict.value, outcome.state.value, outcome.reason) for outcome in after} == {
        ("broken", "applied", "It was wrapped.")
    }


# -- real packages, in a process of their own --------------------------------------------------------------------------


def shipped_case(testbed, target):
    """The fix's own case, with an operator for the CPU."""
    assert FIX.proof is not None
    with xformers_cpu.registered():
        return FIX.proof(testbed, target)


@pytest.mark.testbed
@pytest.mark.parametrize(("name", "failure"), [(XFORMERS, MIXED), (FLASH, FLOAT32)])
def test_the_shipped_case_fails_before_and_runs_after_on_real_flash_attn_and_xformers(name, failure):
    target = SimpleNamespace(module="hotfix.proofs.models._cases.basic_var", qualname=name)
    # All fixes are armed: only what the case itself imports of transformers is to be repaired.
    packages: dict[str, Any] = {"xformers": "0.0.35", "target": target, "fresh": True}
    before = run("tests.fixes.models.test_var:shipped_case", hotfix=False, **packages)
    assert before.error is not None
    assert before.error[0] == failure[0].__name__
    assert failure[1] in before.error[1]
    after = run("tests.fixes.models.test_var:shipped_case", hotfix=True, **packages).require()
    assert after.report is not None
    applied = [outcome for outcome in after.report["outcomes"] if outcome["state"] == "applied"]
    assert [outcome["target"] for outcome in applied] == list(names("hotfix.proofs.models._cases.basic_var"))
    assert after.tensors["output"].dtype is torch.bfloat16
    assert all(tensor.isfinite().all() and tensor.any() for tensor in after.tensors.values())
    assert after.stdout == ""


# -- the real repository -----------------------------------------------------------------------------------------------

REPOSITORY = os.environ.get("HOTFIX_VAR_REPO", "")
needs_repository = pytest.mark.skipif(
    not REPOSITORY, reason="HOTFIX_VAR_REPO does not name a checkout of FoundationVision/VAR"
)
REVISIONS = {
    "75ba1e2": "nothing cast",
    "a9ca763": "nothing cast",
    "eb9956d": "nothing cast",
    "ff9f756": "nothing cast",
    "74138aa": "flash cast",
    "bd84ce5": "bias wrong",
    "2236c79": "fixed",
}


def real(folder, revision):
    """VAR's own file, and the one beside it that it imports, as the checkout in `HOTFIX_VAR_REPO` has them."""
    (folder / "models").mkdir(exist_ok=True)
    (folder / "models" / "helpers.py").write_text(_shown(revision, "helpers"))
    sys.modules.pop("models.helpers", None)
    return var_module.load(folder, "models", _shown(revision, "basic_var"))


def _shown(revision, name):
    command = ["git", "-C", REPOSITORY, "show", f"{revision}:models/{name}.py"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def real_block(module, mode):
    switch = "attn_l2_norm" if "attn_l2_norm" in inspect.signature(module.SelfAttention).parameters else "cos_attn"
    attention = module.SelfAttention(block_idx=0, embed_dim=32, num_heads=2, **{switch: True})
    attention.using_flash = mode == "flash"
    attention.start_caching = lambda: attention.kv_caching(True)
    return Testbed("cpu").fill(attention)


@needs_repository
@pytest.mark.parametrize("mode", ["training", "xformers", "flash"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_real_revisions_fail_before_and_equal_the_fixed_one_after(folder, both, revision, mode):
    def go(module):
        attention = real_block(module, mode)
        return train(attention, torch.bfloat16) if mode == "training" else infer(attention, torch.bfloat16)

    fixed = go(real(folder, "2236c79"))
    module = real(folder, revision)
    failure = FAILURES[REVISIONS[revision]][mode]
    if failure:
        with pytest.raises(failure[0], match=failure[1]):
            go(module)
    else:
        assert same(go(module), fixed)
    with hotfix.apply(only=[ID]):
        assert same(go(module), fixed)


@needs_repository
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_verdict_on_the_real_revisions_is_right_for_each_name(folder, both, revision):
    hotfix.apply(only=[ID])
    real(folder, revision)
    failures = FAILURES[REVISIONS[revision]]
    expected = [("broken", "applied") if failures[mode] else ("fixed", "skipped") for mode in ("training", "flash")]
    assert list(outcomes("models.").values()) == expected
    reasons = [verdict.judge(FIX, target.in_module("models.basic_var"), _read).reason for target in FIX.targets]
    assert all("known to be" in reason for reason in reasons)


def _read(name):
    return inspect.getsource(sys.modules[name])
